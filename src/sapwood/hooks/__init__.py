"""Hooks of Claude Code, Codex and pi: what Sapwood does when these programs call it.

A hook runs while the user waits, so every module imports only what its own work needs. A hook that
fails writes a line to the journal and answers nothing: the session continues without Sapwood.
"""
