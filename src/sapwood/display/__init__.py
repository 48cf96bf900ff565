"""Formats values as text: conversations, context answers, times, money, the tree of agents.

Pure functions. The shell, the screen and the MCP server share them, so they show the same text.
"""
