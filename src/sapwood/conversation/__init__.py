"""Conversations: every face sends prompts and commands here and shows the typed answer.

`sapwood.core.command_table` describes the commands. Here one handler is bound to each of them.
"""
