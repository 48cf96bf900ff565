"""Names for agents that nobody named: the beginning of what they were asked."""

__all__ = ["title_of"]

_LONGEST = 40


def title_of(text: str) -> str:
    """The beginning of a text on one line.

    >>> title_of("Fix the login.\\nIt drops.")
    'Fix the login. It drops.'
    >>> len(title_of("word " * 100))
    40
    """
    line = " ".join(text[:400].split())
    if len(line) <= _LONGEST:
        return line
    return line[: _LONGEST - 1].rstrip() + "…"
