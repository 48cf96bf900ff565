"""Tools: files, search and shell in an agent's workspace, and the tools of MCP servers.

`permissions` decides what a model may do with them. `tools` and `mcp_client` do the work.
`checkpoints` saves and restores the files of a workspace. The runtime masks secrets in the results
of all tools.
"""
