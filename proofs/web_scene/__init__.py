"""The web page drives the real Claude Code and the real Codex, with a trim in the middle."""
