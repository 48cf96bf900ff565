"""Moves of `head`, whoever asks for them: a person, a model at the end of its turn, the window."""

from collections.abc import Sequence

from sapwood.core.context import Context, Mask
from sapwood.core.counting import Counter
from sapwood.core.decide.scene import Draft
from sapwood.core.events import Cause, ContextTrimmed
from sapwood.core.ids import EventRef
from sapwood.core.live import Live
from sapwood.core.masking import live_mask
from sapwood.core.measure import calibrated, settled, turn_sizes
from sapwood.core.turn import Turn
from sapwood.core.window import turns_to_leave

__all__ = ["overflow", "slide", "trim"]


def trim(
    draft: Draft,
    cause: Cause,
    leaving: int,
    counter: Counter,
    *,
    summary: EventRef | None = None,
    mask: Mask | None = None,
) -> None:
    """Leaves the oldest `leaving` live turns behind.

    The last user request stays in view: when it leaves with its turn, the context carries it,
    until a bare clear.
    """
    live = draft.live
    assert live is not None, "a trim needs the live path"
    sizes = turn_sizes(live, counter)
    gone, kept = live.turns[:leaving], live.turns[leaving:]
    covers = mask is not None and any(turn.covers(mask.upto) for turn in kept)
    draft.add(
        ContextTrimmed(
            cause=cause,
            head=gone[-1].ref if gone else live.context.head,
            turns=leaving,
            messages=sum(turn.messages for turn in gone),
            tokens=calibrated(sum(sizes[:leaving]), counter, draft.state.ratio()).tokens,
            summary=summary,
            request=None if cause == "clear" else _carried(live.context, gone, kept),
            mask=mask if covers else None,
        )
    )


def slide(draft: Draft, counter: Counter) -> None:
    """Moves the window if live history has outgrown its cap."""
    live = draft.live
    if live is None or live.open is not None:
        return
    leaving = overflow(draft, counter)
    if leaving:
        mask = _mask(live, leaving, draft.state.settings.mask_over)
        trim(draft, "window", leaving, counter, summary=live.context.summary, mask=mask)
        if mask != live.context.mask:
            slide(draft, counter)  # a stub is shorter than what it hides, but may weigh more


def overflow(draft: Draft, counter: Counter) -> int:
    """How many of the oldest live turns the window leaves behind."""
    live, settings, calibration = draft.live, draft.state.settings, draft.state.ratio()
    assert live is not None, "the window needs the live path"
    total = settled(live, counter, calibration).tokens
    if not settings.cap or total <= settings.cap:
        return 0
    ratio = 1.0 if counter.exact else calibration.ratio
    sizes = [raw * ratio for raw in turn_sizes(live, counter)]
    return turns_to_leave(sizes, settings.cap, settings.low_water)


def _carried(context: Context, gone: Sequence[Turn], kept: Sequence[Turn]) -> EventRef | None:
    if any(turn.is_request for turn in kept):
        return None
    asked = next((turn.prompt_ref for turn in reversed(gone) if turn.is_request), None)
    return asked or context.request


def _mask(live: Live, leaving: int, over: int) -> Mask | None:
    """All but the newest turn is masked. What was masked before stays so: it made room."""
    older = live.turns[leaving:-1]
    before = live_mask(live)
    if not over or not older:
        return before
    edge = EventRef(older[-1].agent, older[-1].last)
    if before is None:
        return Mask(edge, over)
    inside_newest = live.turns[-1].covers(before.upto)
    return Mask(before.upto if inside_newest else edge, min(over, before.over))
