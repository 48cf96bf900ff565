"""A client of MCP servers: starts them when they are needed and offers their tools."""
