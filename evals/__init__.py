"""Evals: how well the ledger, drift and resumption do on labelled sessions.

Each prints its figures beside those of a simple rule, for the sessions that rules were tuned on and
for those that were held out, and fails when a figure is short.
"""
