"""Checks on the user's machine whether an agent program's sessions can be changed in place."""
