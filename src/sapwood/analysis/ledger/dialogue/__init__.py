"""Decisions and open questions, found in the sentences of users and models.

Rules find them, without a model. The log still contains what the rules miss.
"""
