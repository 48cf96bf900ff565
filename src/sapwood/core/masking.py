"""Masking: large tool results inside the live path shown as one-line stubs.

The log keeps the whole; a stub says how large it was, what made it, and how to see it again.
"""

from sapwood.core.live import Live
from sapwood.core.turn import Result, Turn

__all__ = ["hidden", "mask_edges", "stub"]


def mask_edges(live: Live) -> list[int]:
    """For each live turn, the version up to which its large results are masked; 0 for none."""
    turns = live.all_turns
    mask = live.context.mask
    if mask is None:
        return [0] * len(turns)
    edge = next((i for i, turn in enumerate(turns) if turn.covers(mask.upto)), -1)
    return [
        turn.last if i < edge else mask.upto.version if i == edge else 0
        for i, turn in enumerate(turns)
    ]


def hidden(result: Result, edge: int, over: int) -> bool:
    """Whether this result shows as a stub."""
    return result.version <= edge and len(result.content) > over


def stub(turn: Turn, result: Result) -> str:
    """What stands in place of a masked result."""
    call = turn.calls.get(result.call)
    made_by = call.name if call else "a tool"
    return (
        f"[masked: {len(result.content):,} characters from {made_by}; "
        f"recall {turn.agent}:{result.version} shows them]"
    )
