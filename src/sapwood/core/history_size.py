"""The size of the live history in tokens, for the window, the meter and the dividers.

The raw size of a turn is counted and stored when it ends, with the name of the counter. It is
counted again only for a model that needs another counter.

Masking: large tool results of the live path are sent as one-line stubs.

The log keeps the whole result. A stub has its size, its tool, and the command that shows it.
"""

from collections.abc import Iterable, Mapping, Sequence

from sapwood.core.context import Mask
from sapwood.core.cuts import numbered_results
from sapwood.core.events import Size
from sapwood.core.live_path import LivePath
from sapwood.core.token_count import Calibration, Count, Counter
from sapwood.core.turn import Result, Turn


def count_texts(texts: Iterable[str], counter: Counter) -> int:
    """Raw tokens of all these texts."""
    return sum(counter.count(text).tokens for text in texts)


def size_of(turn: Turn, counter: Counter) -> Size:
    """The raw size of a whole turn."""
    files = sum(file.tokens for file in turn.files())
    return Size(count_texts(turn.texts(), counter) + files, counter.name)


def calibrated(raw: int, counter: Counter, calibration: Calibration) -> Count:
    """A raw count as it is shown and compared: an exact count unchanged, an estimate corrected."""
    if counter.exact:
        return Count(raw, exact=True)
    return Count(calibration.apply(raw), exact=False)


def turn_sizes(live: LivePath, counter: Counter, newest: int | None = None) -> list[int]:
    """The raw size of each ended turn, or of each of the newest ones."""
    count = len(live.turns)
    return _raw_sizes(live, counter, slice(0 if newest is None else max(0, count - newest), count))


def settled(live: LivePath, counter: Counter, calibration: Calibration) -> Count:
    """The size of the ended turns. Nothing is counted if one counter counted them all before."""
    return calibrated(_raw_settled(live, counter), counter, calibration)


def history(live: LivePath, counter: Counter, calibration: Calibration) -> Count:
    """The size of the whole live history, the open turn included."""
    ended = settled(live, counter, calibration)
    if live.open is None:
        return ended
    return ended + calibrated(_raw_open(live, counter), counter, calibration)


def oldest(live: LivePath, counter: Counter, calibration: Calibration, count: int) -> Count:
    """The size of the `count` oldest turns in view; the open turn is the newest."""
    return calibrated(sum(_raw_sizes(live, counter, slice(count))), counter, calibration)


def raw_history(live: LivePath, counter: Counter) -> int:
    """The raw size of the whole live history, the open turn included."""
    return _raw_settled(live, counter) + (_raw_open(live, counter) if live.open else 0)


def _raw_settled(live: LivePath, counter: Counter) -> int:
    weight = live.weight
    is_whole = live.context.mask is None and not live.cuts.results
    if is_whole and weight is not None and weight.counter == counter.name:
        return weight.tokens
    return sum(turn_sizes(live, counter))


def _raw_open(live: LivePath, counter: Counter) -> int:
    (size,) = _raw_sizes(live, counter, slice(len(live.turns), None))
    return size


def _raw_sizes(live: LivePath, counter: Counter, which: slice) -> list[int]:
    pairs = list(zip(live.all_turns, live_stubs(live), strict=True))
    return [_raw(turn, counter) - stubs_save(turn, shown, counter) for turn, shown in pairs[which]]


def _raw(turn: Turn, counter: Counter) -> int:
    if turn.size is not None and turn.size.counter == counter.name:
        return turn.size.tokens
    return size_of(turn, counter).tokens


def stubs_save(turn: Turn, shown: Mapping[str, str], counter: Counter) -> int:
    """The raw tokens that these stubs of a turn save."""
    if not shown:
        return 0
    return sum(
        counter.count(turn.shown(item)).tokens
        + sum(file.tokens for file in item.files)
        - counter.count(shown[item.call]).tokens
        for item in turn.items
        if isinstance(item, Result) and item.call in shown
    )


def live_mask(live: LivePath) -> Mask | None:
    """The mask of this path; None if `head` has moved past everything that it covers."""
    mask = live.context.mask
    if mask is None or mask_edge(live.all_turns, mask, cut=bool(live.cuts.turns)) < 0:
        return None
    return mask


def mask_edge(turns: Sequence[Turn], mask: Mask, *, cut: bool) -> int:
    """The place of the newest turn that a mask reaches, among turns in view; -1: it reaches none.

    With cuts, the turn in which the mask ends may be out of view: then it reaches the one before.
    """
    for place, turn in enumerate(turns):
        if turn.covers(mask.upto):
            return place
    if not cut:
        return -1
    own = [place for place, turn in enumerate(turns) if turn.agent == mask.upto.agent]
    older = [place for place in own if turns[place].first <= mask.upto.version]
    return older[-1] if older else own[0] - 1 if own else -1


def mask_edges(live: LivePath) -> list[int]:
    """For each live turn, the version up to which its large results are masked; 0: none is."""
    turns = live.all_turns
    mask = live.context.mask
    if mask is None:
        return [0] * len(turns)
    edge = mask_edge(turns, mask, cut=bool(live.cuts.turns))
    return [
        0 if i > edge else mask.upto.version if turn.covers(mask.upto) else turn.last
        for i, turn in enumerate(turns)
    ]


def live_stubs(live: LivePath, first: int = 0) -> list[dict[str, str]]:
    """For each live turn from a place on, the stubs of its masked and dropped results."""
    mask, turns = live.context.mask, live.all_turns
    if mask is None and not live.cuts.results:
        return [{}] * (len(turns) - first)
    over, edges = mask.over if mask else 0, mask_edges(live)
    return [
        stubs(turn, edge, over) | dropped_stubs(turn, live.cuts.results_of(turn))
        for turn, edge in zip(turns[first:], edges[first:], strict=True)
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


def dropped_stubs(turn: Turn, numbers: Sequence[int]) -> dict[str, str]:
    """The stubs of the results with these numbers, by call id."""
    if not numbers:
        return {}
    calls = turn.calls
    return {
        result.call: _stub(
            turn, result, calls[result.call].name if result.call in calls else "", "dropped"
        )
        for number, result in numbered_results(turn)
        if number in numbers
    }


def _stub(turn: Turn, result: Result, tool: str, why: str = "masked") -> str:
    return (
        f"[{why}: {len(result.content):,} characters from {tool or 'a tool'}; "
        f"recall {turn.agent}:{result.version} shows them]"
    )
