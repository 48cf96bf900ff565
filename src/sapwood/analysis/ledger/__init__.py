"""The artifact ledger: what a conversation did, computed from its turns without a model.

It lists the files read, created, changed and deleted, the commands and tests with their outcomes,
what still fails, decisions and open questions. Summaries tend to lose these facts.
"""
