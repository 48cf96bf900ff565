"""Connects Sapwood with Claude Code, Codex and pi, and removes it again without a trace."""
