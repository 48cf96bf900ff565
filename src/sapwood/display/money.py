"""What calls cost and what the provider's cache served."""

from sapwood.core.content import Usage

__all__ = ["cache_share", "money", "short_usage", "usage_line"]


def money(cost: int) -> str:
    """An amount that comes in millionths of a dollar.

    >>> money(0), money(420), money(1_234_567)
    ('$0', '$0.0004', '$1.23')
    """
    dollars = cost / 1_000_000
    if not cost:
        return "$0"
    return f"${dollars:.2f}" if dollars >= 0.1 else f"${dollars:.4f}"


def cache_share(usage: Usage) -> float | None:
    """The share of what was sent that the provider's cache served."""
    return usage.cache_read / usage.input if usage.input else None


def usage_line(usage: Usage) -> str:
    """What was used, on one line.

    >>> usage_line(Usage(input=2_000, output=100, cache_read=1_500, cost=420))
    '2,000 tokens in (75 % cached), 100 out, $0.0004'
    """
    share = cache_share(usage) or 0.0
    cost = money(usage.cost) if usage.cost else "price unknown"
    cached = f"{share:.0%} cached".replace("%", " %")
    return f"{usage.input:,} tokens in ({cached}), {usage.output:,} out, {cost}"


def short_usage(usage: Usage) -> str:
    """The most important of it, where there is little room.

    >>> short_usage(Usage(input=2_000, output=100, cache_read=1_500, cost=420))
    '$0.0004, 2,000 in'
    """
    return f"{money(usage.cost) if usage.cost else '$?'}, {usage.input:,} in"
