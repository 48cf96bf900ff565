"""Runs: which commands are the same, which run tests, and what they left failing."""
