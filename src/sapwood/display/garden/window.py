"""How full a window is, and with what."""

from collections.abc import Sequence

from sapwood.core.counting import Count, show
from sapwood.display.text import cut, one_line, padded, width_of
from sapwood.garden.weighing import Amount, Breakdown, Estimate

__all__ = ["breakdown_lines", "estimate_lines"]

_BAR = 40
_NEXT = (
    "",
    "context prune says what could be forgotten.",
    "context archive --background keeps what is off the task.",
    "context archive now: a compaction is near.",
)


def estimate_lines(estimate: Estimate, width: int) -> list[str]:
    """The session, how full its window is, and what to do about it."""
    about = " ".join(filter(None, (estimate.source, estimate.session, estimate.model)))
    lines = [cut(about, width)]
    if estimate.used is None:
        return [*lines, "Nothing was said yet, and no usage was reported."]
    lines.append(_filled(estimate))
    if estimate.share is not None:
        blocks = min(_BAR, round(estimate.share * _BAR))
        lines.append(f"[{'█' * blocks}{'·' * (_BAR - blocks)}]")
    if not estimate.exact and estimate.source != "sapwood":
        lines.append("Counted here: the program reported no usage, so its own prompt is left out.")
    turns = f"{estimate.in_view} of {estimate.turns} turns in view"
    times = estimate.compactions
    lines.append(f"{turns}, {times} compaction{'' if times == 1 else 's'}.")
    return [*lines, _NEXT[estimate.level]] if estimate.level else lines


def breakdown_lines(found: Breakdown, width: int) -> list[str]:
    """The estimate, then what fills the window, the largest first."""
    lines = estimate_lines(found.estimate, width)
    for title, amounts in (
        ("By kind", found.kinds),
        ("By file", found.files),
        ("By topic", found.topics),
    ):
        if amounts:
            lines += ["", title, *_table(amounts, width)]
    return lines


def _filled(estimate: Estimate) -> str:
    used = show(Count(estimate.used or 0, estimate.exact))
    if estimate.window is None or estimate.share is None:
        return f"{used} tokens in view; the window's size is not known."
    of = show(Count(estimate.window, exact=True))
    return f"{used} of {of} tokens: {_percent(estimate.share)} of the window"


def _table(amounts: Sequence[Amount], width: int) -> list[str]:
    room = max(12, width - 20)
    names = [cut(one_line(amount.name) or "(no topic)", room) for amount in amounts]
    wide = max(map(width_of, names))
    return [
        f"  {padded(name, wide)}  {show(Count(a.tokens, a.exact)):>6}  {_percent(a.share):>5}"
        for name, a in zip(names, amounts, strict=True)
    ]


def _percent(share: float) -> str:
    return f"{share:.0%}".replace("%", " %")
