"""Claude Code as an agent provider: its sessions in files, and its process."""

from sapwood.providers.claude_code.provider import ClaudeCodeProvider

__all__ = ["ClaudeCodeProvider"]
