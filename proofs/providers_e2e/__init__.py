"""The real Claude Code and Codex, driven and changed by Sapwood, against a scripted model."""
