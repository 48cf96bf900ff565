"""Masking: large tool results inside the live path shown as one-line stubs.

The log keeps the whole; a stub says how large it was, what made it, and how to see it again.
"""

from sapwood.core.context import Mask
from sapwood.core.live import Live
from sapwood.core.turn import Result, Turn

__all__ = ["live_mask", "mask_edges", "stubs"]


def live_mask(live: Live) -> Mask | None:
    """The mask of this path, unless `head` has left behind all that it covers."""
    mask = live.context.mask
    if mask is None or not any(turn.covers(mask.upto) for turn in live.all_turns):
        return None
    return mask


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


def stubs(turn: Turn, edge: int, over: int) -> dict[str, str]:
    """What stands in place of the turn's masked results, by call.

    Masked are results up to version `edge` of more than `over` characters, unless the stub would
    be the longer text.
    """
    large = [
        item
        for item in (turn.items if edge else ())
        if isinstance(item, Result) and item.version <= edge and len(item.content) > over
    ]
    if not large:
        return {}
    calls = turn.calls
    made = {
        result.call: _stub(turn, result, calls[result.call].name if result.call in calls else "")
        for result in large
    }
    return {r.call: made[r.call] for r in large if len(made[r.call]) < len(r.content)}


def _stub(turn: Turn, result: Result, tool: str) -> str:
    return (
        f"[masked: {len(result.content):,} characters from {tool or 'a tool'}; "
        f"recall {turn.agent}:{result.version} shows them]"
    )
