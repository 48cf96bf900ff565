"""Tools: files, search and shell in an agent's workspace, and those of MCP servers.

What a model may do with them is in `permissions`; how each works is in `tools` and `servers`.
Keeping secrets out of what they return is the runtime's part, for every tool alike.
"""
