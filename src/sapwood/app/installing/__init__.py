"""Connecting Sapwood with Claude Code and Codex, and taking it out again without a trace."""
