"""Shortening: how much of one tool result a request shows. The log keeps the whole.

What is shown follows from the result alone, so it is the same in every request: it neither moves
the prefix that a provider has cached nor depends on any command.
"""

__all__ = ["MOST_SHOWN", "excerpt", "shortened"]

MOST_SHOWN = 30_000
"""Characters of one tool result that a model is sent."""

_FIRST = MOST_SHOWN * 2 // 3
_LAST = MOST_SHOWN - _FIRST


def shortened(content: str, place: str, *, alone: bool = True) -> str:
    """The result, or its beginning and its end with a line between that says how to get the rest.

    `place` is where the whole stands in the log, as in `abc123:7`, `alone` or among other texts.

    >>> shortened("short", "abc123:7")
    'short'
    >>> shortened("x" * 31_000, "abc123:7").splitlines()[1]
    '[1,000 of 31,000 characters are left out here; recall abc123:7:20000 shows them]'
    """
    left_out = len(content) - MOST_SHOWN
    if left_out <= 0:
        return content
    line = (
        f"\n[{left_out:,} of {len(content):,} characters are left out here; "
        f"recall {place}{f':{_FIRST}' if alone else ''} shows them]\n"
    )
    return f"{content[:_FIRST]}{line}{content[-_LAST:]}"


def excerpt(content: str, place: str, first: int = 0) -> str:
    """The characters from `first` on, as many as a result may show, and how to read on.

    >>> excerpt("heron", "abc123:7", 2)
    'ron'
    """
    room = MOST_SHOWN - 200
    last = first + room
    if last >= len(content):
        return content[first:]
    return (
        f"{content[first:last]}\n[up to character {last:,} of {len(content):,}; "
        f"recall {place}:{last} goes on]"
    )
