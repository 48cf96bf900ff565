"""Clients of other protocols: OpenAI Responses, AG-UI and MCP."""
