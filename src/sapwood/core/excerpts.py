"""Excerpts of long tool results: how much of one a request contains. The log keeps the whole.

The excerpt depends on the result alone, so it is the same in every request. It does not change the
prefix that a provider has cached.
"""

MAX_SHOWN = 30_000
"""The most characters of one tool result in a request."""

_FIRST = MAX_SHOWN * 2 // 3
_LAST = MAX_SHOWN - _FIRST


def shortened(content: str, place: str, *, alone: bool = True) -> str:
    """The result, or its beginning and its end with a line between them about the rest.

    `place` is the place of the result in the log, such as `abc123:7`; `alone` is false if the event
    has other texts too.

    >>> shortened("short", "abc123:7")
    'short'
    >>> shortened("x" * 31_000, "abc123:7").splitlines()[1]
    '[1,000 of 31,000 characters are left out here; recall abc123:7:20000 shows them]'
    """
    left_out = len(content) - MAX_SHOWN
    if left_out <= 0:
        return content
    line = (
        f"\n[{left_out:,} of {len(content):,} characters are left out here; "
        f"recall {place}{f':{_FIRST}' if alone else ''} shows them]\n"
    )
    return f"{content[:_FIRST]}{line}{content[-_LAST:]}"


def excerpt(content: str, place: str, first: int = 0) -> str:
    """As many characters from `first` on as a result may have, with a line on how to read on.

    >>> excerpt("heron", "abc123:7", 2)
    'ron'
    """
    room = MAX_SHOWN - 200
    last = first + room
    if last >= len(content):
        return content[first:]
    return (
        f"{content[first:last]}\n[up to character {last:,} of {len(content):,}; "
        f"recall {place}:{last} goes on]"
    )
