"""How large the live history is: the one measure that the window, the meter and the dividers use.

A turn's raw size is recorded once, when it ends, with the name of the counter; it is counted anew
only for a model that needs another counter.
"""

from collections.abc import Iterable

from sapwood.core.calibration import Calibration
from sapwood.core.counting import Count, Counter
from sapwood.core.events import Size
from sapwood.core.live import Live
from sapwood.core.masking import hidden, mask_edges, stub
from sapwood.core.turn import Result, Turn

__all__ = ["calibrated", "count_texts", "history", "settled", "size_of", "turn_sizes"]


def count_texts(texts: Iterable[str], counter: Counter) -> int:
    """Raw tokens of all these texts."""
    return sum(counter.count(text).tokens for text in texts)


def size_of(turn: Turn, counter: Counter) -> Size:
    """The raw size of a whole turn."""
    return Size(count_texts(turn.texts(), counter), counter.name)


def calibrated(raw: int, counter: Counter, calibration: Calibration) -> Count:
    """A raw count as it is shown and compared: exact ones stand, estimates are corrected."""
    if counter.exact:
        return Count(raw, exact=True)
    return Count(calibration.apply(raw), exact=False)


def turn_sizes(live: Live, counter: Counter, calibration: Calibration) -> list[Count]:
    """The size of each live turn, the open one last."""
    return [calibrated(raw, counter, calibration) for raw in _raw_sizes(live, counter)]


def settled(live: Live, counter: Counter, calibration: Calibration) -> Count:
    """The size of the ended turns. Costs nothing while one counter counted them all."""
    weight = live.weight
    if live.context.mask is None and weight is not None and weight.counter == counter.name:
        return calibrated(weight.tokens, counter, calibration)
    raw = sum(_raw_sizes(live, counter)[: len(live.turns)])
    return calibrated(raw, counter, calibration)


def history(live: Live, counter: Counter, calibration: Calibration) -> Count:
    """The size of the whole live history, the open turn included."""
    ended = settled(live, counter, calibration)
    if live.open is None:
        return ended
    return ended + calibrated(_raw_sizes(live, counter)[-1], counter, calibration)


def _raw_sizes(live: Live, counter: Counter) -> list[int]:
    mask = live.context.mask
    over = mask.over if mask else 0
    return [
        _raw(turn, counter) - _saved(turn, edge, over, counter)
        for turn, edge in zip(live.all_turns, mask_edges(live), strict=True)
    ]


def _raw(turn: Turn, counter: Counter) -> int:
    if turn.size is not None and turn.size.counter == counter.name:
        return turn.size.tokens
    return size_of(turn, counter).tokens


def _saved(turn: Turn, edge: int, over: int, counter: Counter) -> int:
    if not edge:
        return 0
    return sum(
        counter.count(item.content).tokens - counter.count(stub(turn, item)).tokens
        for item in turn.items
        if isinstance(item, Result) and hidden(item, edge, over)
    )
