"""Quantities as text: costs, token usage, times, and how far a to-do list is.

Times are in microseconds since 1970 (UTC).
"""

import time
from datetime import UTC, datetime

from sapwood.core.budget import Budget
from sapwood.core.content import Usage
from sapwood.core.events import TodoItem
from sapwood.core.token_count import Count, show, show_tokens
from sapwood.display.text import one_line


def percent_of(count: Count, whole: int) -> str:
    """Formats a number of tokens as a share of another.

    >>> percent_of(Count(62_000, exact=True), 100_000)
    '62 % of 100k'
    """
    return f"{count.tokens / whole:.0%} of {show(Count(whole, exact=True))}".replace("%", " %")


def edge_text(budget: Budget) -> str:
    """Formats how full the context is, measured at the cap, or at the window.

    >>> few, none = Count(200, exact=True), Count(0, exact=True)
    >>> edge_text(Budget(few, none, none, none, Count(61_800, exact=True), 1_000_000, 0, 100_000))
    'history 62k of 100k cap · 62 %'
    """
    if budget.share is None:
        return show_tokens(budget.total)
    share = f"{budget.share:.0%}".replace("%", " %")
    limit = show(Count(budget.limit, exact=True))
    if budget.edge == "cap":
        return f"history {show(budget.history)} of {limit} cap · {share}"
    return f"{show(budget.total)} of {limit} · {share}"


def money(cost: int) -> str:
    """Formats a cost in millionths of a dollar.

    >>> money(0), money(420), money(1_234_567)
    ('$0', '$0.0004', '$1.23')
    """
    dollars = cost / 1_000_000
    if not cost:
        return "$0"
    return f"${dollars:.2f}" if dollars >= 0.1 else f"${dollars:.4f}"


def cache_share(usage: Usage) -> float | None:
    """Returns the share of the input that the cache of the provider served; None without input."""
    return usage.cache_read / usage.input if usage.input else None


def usage_line(usage: Usage) -> str:
    """Formats a usage on one line.

    >>> usage_line(Usage(input=2_000, output=100, cache_read=1_500, cost=420))
    '2,000 tokens in (75 % cached), 100 out, $0.0004'
    """
    share = cache_share(usage) or 0.0
    cost = money(usage.cost) if usage.cost else "price unknown"
    cached = f"{share:.0%} cached".replace("%", " %")
    return f"{usage.input:,} tokens in ({cached}), {usage.output:,} out, {cost}"


def short_usage(usage: Usage) -> str:
    """Formats the cost and the input of a usage, for narrow columns.

    >>> short_usage(Usage(input=2_000, output=100, cache_read=1_500, cost=420))
    '$0.0004, 2,000 in'
    """
    return f"{money(usage.cost) if usage.cost else '$?'}, {usage.input:,} in"


_SECOND = 1_000_000
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"))


def ago(at: int, now: int) -> str:
    """Formats how long ago a time was.

    >>> [ago(0, seconds * 1_000_000) for seconds in (3, 200, 7_300, 200_000)]
    ['just now', '3 min ago', '2 h ago', '2 d ago']
    """
    seconds = max(0, now - at) // _SECOND
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{seconds // size} {unit} ago"
    return "just now"


def now() -> int:
    """Returns the current time."""
    return time.time_ns() // 1000


def iso(at: int) -> str:
    """Formats a time as ISO 8601 in UTC.

    >>> iso(0)
    '1970-01-01T00:00:00+00:00'
    """
    return datetime.fromtimestamp(at / _SECOND, UTC).isoformat()


def clock(at: int) -> str:
    """Formats a time in the local time zone; a time that no calendar has is 'unknown time'."""
    try:
        return f"{datetime.fromtimestamp(at / _SECOND).astimezone():%Y-%m-%d %H:%M:%S}"
    except (ValueError, OverflowError, OSError):
        return "unknown time"


TODO_SIGNS = {"done": "✓", "active": "◐", "open": "○"}


def todo_line(items: tuple[TodoItem, ...]) -> str:
    """The to-do list on one line: how far it is, and what is being done.

    >>> todo_line((TodoItem("Read", "done"), TodoItem("Write", "active"), TodoItem("Test")))
    'to do 1 of 3  ✓ ◐ ○  Write'
    """
    done = sum(item.status == "done" for item in items)
    signs = " ".join(TODO_SIGNS[item.status] for item in items)
    active = [item for item in items if item.status == "active"]
    waiting = [item for item in items if item.status == "open"]
    now = next((one_line(item.text) for item in (*active, *waiting)), "")
    return f"to do {done} of {len(items)}  {signs}  {now}"
