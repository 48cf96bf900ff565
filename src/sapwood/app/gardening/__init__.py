"""Tending the context of a session: what `context` does, on a command line and over MCP alike."""
