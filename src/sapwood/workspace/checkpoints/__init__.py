"""Checkpoints: the files of a workspace in a private ref of its git repository, and back.

Nothing of the user's is touched but the files themselves: not the index, HEAD, a branch, the
stash or the configuration; and no program runs that any of them names.
"""
