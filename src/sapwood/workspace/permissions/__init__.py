"""Permissions: rules, the questions that they lead to, and what a shell command would run."""
