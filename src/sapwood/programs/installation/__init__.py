"""Connects Sapwood with Claude Code and Codex, and removes it again without a trace."""
