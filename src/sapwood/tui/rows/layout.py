"""Which rows stand on the page: sections that left view are folded, the window has its divider."""

from collections.abc import Collection, Iterator, Sequence
from itertools import groupby

from sapwood.tui.rows.row import Banner, Divider, Fold, Key, Row, Shown
from sapwood.tui.rows.timeline import IN_VIEW, Departure, Timeline

__all__ = ["is_dim", "lay_out"]

_CLIPPED = -2
"""The section of everything that the window left behind, however often it moved."""

_Run = tuple[int, list[Row]]


def lay_out(timeline: Timeline, opened: Collection[Key] = ()) -> list[Shown]:
    """Every row to show, oldest first. `opened` are the folds that a reader has opened.

    What the window clipped stays open while it stands right above what is in view: it is what a
    reader was just reading. Everything else out of view is a fold.
    """
    page: list[Shown] = []
    runs = [
        (section, [row for _, row in run])
        for section, run in groupby(_sections(timeline), key=lambda pair: pair[0])
    ]
    for number, (section, rows) in enumerate(runs):
        if section == IN_VIEW:
            page += rows
        elif section == _CLIPPED and _is_last_left(runs[number + 1 :]):
            page += [*rows, _divider(timeline, rows)]
        else:
            page += _folded(timeline, section, rows, opened)
    return page


def is_dim(timeline: Timeline, row: Shown) -> bool:
    """Whether the model cannot see what this row shows."""
    return isinstance(row, Row) and row.turn >= 0 and timeline.turns[row.turn].left != IN_VIEW


def _sections(timeline: Timeline) -> Iterator[tuple[int, Row]]:
    """Each row with its section: what stands between two turns that left together left too."""
    between: list[Row] = []
    last: int | None = None
    for row in timeline.rows:
        if row.turn < 0:
            between.append(row)
            continue
        left = timeline.turns[row.turn].left
        section = _CLIPPED if left >= 0 and timeline.departures[left].by_window else left
        if between:
            owner = section if section == last else IN_VIEW
            yield from ((owner, each) for each in between)
            between.clear()
        yield section, row
        last = section
    yield from ((IN_VIEW, each) for each in between)


def _is_last_left(following: Sequence[_Run]) -> bool:
    return all(section == IN_VIEW for section, _ in following)


def _turns(rows: Sequence[Row]) -> set[int]:
    return {row.turn for row in rows if row.turn >= 0}


def _divider(timeline: Timeline, rows: Sequence[Row]) -> Divider:
    turns = _turns(rows)
    lefts = {timeline.turns[turn].left for turn in turns}
    return Divider(len(turns), sum(timeline.departures[left].tokens for left in lefts))


def _folded(
    timeline: Timeline, section: int, rows: list[Row], opened: Collection[Key]
) -> Iterator[Shown]:
    turns = _turns(rows)
    departure = _departure(timeline, section, turns)
    messages = sum(timeline.turns[turn].messages for turn in turns)
    fold = Fold(departure.version, rows[0].version, departure.cause, departure.at, messages)
    if fold.key in opened:
        yield fold.opened()
        yield from rows
    else:
        yield fold
    if departure.summary is not None:
        yield Banner(departure.summary, messages, departure.at)


def _departure(timeline: Timeline, section: int, turns: set[int]) -> Departure:
    if section != _CLIPPED:
        return timeline.departures[section]
    return timeline.departures[max(timeline.turns[turn].left for turn in turns)]
