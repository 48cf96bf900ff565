"""The MCP server: the tools `context` and `slash`, over stdio or over HTTP on this machine."""
