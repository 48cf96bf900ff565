"""SIGKILLs of Sapwood and of Claude Code and Codex, around turns and changes of their sessions."""
