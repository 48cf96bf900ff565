"""Runs of commands: which are the same command, which run tests, and which still fail."""
