"""Masking: large tool results of the live path are sent as one-line stubs.

The log keeps the whole result. A stub has its size, its tool, and the command that shows it.
"""

from sapwood.core.context import Mask
from sapwood.core.live_path import LivePath
from sapwood.core.turn import Result, Turn


def live_mask(live: LivePath) -> Mask | None:
    """The mask of this path; None if `head` has moved past everything that it covers."""
    mask = live.context.mask
    if mask is None or not any(turn.covers(mask.upto) for turn in live.all_turns):
        return None
    return mask


def mask_edges(live: LivePath) -> list[int]:
    """For each live turn, the version up to which its large results are masked; 0: none is."""
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
    """The stubs of the turn's masked results, by call id.

    Results up to version `edge` with more than `over` characters are masked, unless the stub would
    be longer than the result.
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
