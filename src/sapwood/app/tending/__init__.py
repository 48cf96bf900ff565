"""Tending sessions of Claude Code and Codex: what happens at their hooks and in their status line.

Each hook is a module of its own, imported when it is called, because a hook runs before the user
gets an answer. Whatever fails, fails open: the session goes on as if there were no Sapwood.
"""
