"""MCP servers: started when first needed, their tools offered like our own."""
