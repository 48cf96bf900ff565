"""Evals: the quality of the ledger, chapters and the resumption prompt on labelled sessions.

Each eval prints its figures beside those of simple rules, for the tuned and for the held-out
sessions, and fails if a figure is below its limit.
"""
