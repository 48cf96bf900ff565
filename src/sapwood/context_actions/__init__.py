"""The actions of `sapwood context` and of the MCP tool `context`, on any session."""
