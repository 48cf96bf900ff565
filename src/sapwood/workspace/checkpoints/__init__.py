"""Checkpoints: the files of a workspace, saved in a private store outside the workspace.

Only the files themselves are ever changed: not the user's index, HEAD, branches, stash or
configuration. No program runs that any of those names.
"""
