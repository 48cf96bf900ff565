"""Phrases as patterns: each stands on a line of its own and begins and ends with whole words."""

import re

__all__ = ["opening", "phrases"]


def phrases(*patterns: str) -> re.Pattern[str]:
    """A pattern that finds any of these phrases anywhere in a sentence.

    >>> bool(phrases("go (?:with|for)", "decided to").search("We go with B."))
    True
    """
    return re.compile("|".join(rf"(?<!\w)(?:{each})(?!\w)" for each in patterns), re.IGNORECASE)


def opening(*patterns: str) -> re.Pattern[str]:
    """A pattern that finds any of these phrases at the beginning of a sentence."""
    return re.compile(rf"^(?:{'|'.join(patterns)})(?!\w)", re.IGNORECASE)
