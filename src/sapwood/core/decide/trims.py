"""Moves of `head`: by a person, by a model at the end of its turn, or by the window.

The window stops at a low-water mark and not just below the cap. A window that moves at every turn
changes the start of every request, so the provider's prompt cache is never used.
"""

from collections.abc import Sequence

from sapwood.core.context import Context, Mask
from sapwood.core.decide.decision import Draft
from sapwood.core.events import Cause, ContextTrimmed
from sapwood.core.history_size import calibrated, live_mask, mask_edge, settled, turn_sizes
from sapwood.core.ids import EventRef
from sapwood.core.live_path import LivePath
from sapwood.core.token_count import Counter
from sapwood.core.turn import Turn


def turns_to_leave(sizes: Sequence[float], cap: int, low_water: float) -> int:
    """Returns how many of the oldest turns leave the window; the newest turn always stays.

    >>> turns_to_leave([40, 30, 20, 20], cap=100, low_water=0.6)
    2
    >>> turns_to_leave([40, 30, 20], cap=100, low_water=0.6)
    0
    >>> turns_to_leave([500], cap=100, low_water=0.6)
    0
    """
    total = sum(sizes)
    if cap <= 0 or total <= cap:
        return 0
    leaving = 0
    while leaving < len(sizes) - 1 and total > cap * low_water:
        total -= sizes[leaving]
        leaving += 1
    return leaving


def trim(
    draft: Draft,
    cause: Cause,
    leaving: int,
    counter: Counter,
    *,
    summary: EventRef | None = None,
    mask: Mask | None = None,
    keep: int = 0,
    tokens: int = 0,
    carries: bool = True,
) -> None:
    """Moves `head` past the oldest `leaving` live turns. `tokens` is their exact size, if known.

    If the last user request is in one of them, the context carries it on, so that it stays in view
    until a bare clear. If it `carries` none, a program moved its own history, without the request.
    """
    live = draft.live
    assert live is not None, "a trim needs the live path"
    sizes = turn_sizes(live, counter)
    gone, kept = live.turns[:leaving], live.turns[leaving:]
    head = gone[-1].ref if gone else live.context.head
    if not kept and (leaving or cause == "clear"):
        head = live.context.tip  # the newest turns may be cut
    covers = mask is not None and mask_edge(kept, mask, cut=bool(live.cuts.turns)) >= 0
    request = _carried(live.context, gone, kept) if carries and cause != "clear" else None
    draft.add(
        ContextTrimmed(
            cause=cause,
            head=head,
            turns=leaving,
            messages=sum(turn.messages for turn in gone),
            tokens=tokens or calibrated(sum(sizes[:leaving]), counter, draft.state.ratio()).tokens,
            summary=summary,
            request=request,
            mask=mask if covers else None,
            notes_dropped=cause == "clear" and bool(draft.state.notes),
            exact=counter.exact or tokens > 0,
            keep=keep,
        )
    )


def slide(draft: Draft, counter: Counter) -> None:
    """Moves the window if the live history is larger than its cap."""
    live = draft.live
    if live is None or live.open is not None:
        return
    leaving = overflow(draft, counter)
    if leaving:
        mask = _mask(live, leaving, draft.state.settings.mask_over)
        trim(draft, "window", leaving, counter, summary=live.context.summary, mask=mask)
        if mask != live.context.mask:
            slide(draft, counter)  # a stub has fewer characters than its result, maybe more tokens


def overflow(draft: Draft, counter: Counter) -> int:
    """Returns how many of the oldest live turns have to leave the window."""
    live, settings, calibration = draft.live, draft.state.settings, draft.state.ratio()
    assert live is not None, "the window needs the live path"
    total = settled(live, counter, calibration).tokens
    if not settings.cap or total <= settings.cap:
        return 0
    ratio = 1.0 if counter.exact else calibration.ratio
    sizes = [raw * ratio for raw in turn_sizes(live, counter)]
    return turns_to_leave(sizes, settings.cap, settings.low_water)


def trims_request(live: LivePath) -> bool:
    """Whether a carried request can leave view, because a newer one is among the live turns."""
    carried = live.context.request
    return carried is not None and _carried(live.context, (), live.turns) != carried


def _carried(context: Context, gone: Sequence[Turn], kept: Sequence[Turn]) -> EventRef | None:
    if any(turn.is_request for turn in kept):
        return None
    asked = next((turn.prompt_ref for turn in reversed(gone) if turn.is_request), None)
    return asked or context.request


def _mask(live: LivePath, leaving: int, over: int) -> Mask | None:
    """The mask after the window has moved: all turns but the newest. It never shrinks."""
    older = live.turns[leaving:-1]
    before = live_mask(live)
    if not over or not older:
        return before
    edge = EventRef(older[-1].agent, older[-1].last)
    if before is None:
        return Mask(edge, over)
    inside_newest = live.turns[-1].covers(before.upto)
    return Mask(before.upto if inside_newest else edge, min(over, before.over))
