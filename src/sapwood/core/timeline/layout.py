"""Which rows are shown: turns that left view are folded, and the window has its divider."""

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import groupby

from msgspec import structs

from sapwood.core.ids import EventRef
from sapwood.core.timeline.rows import Banner, Divider, Fold, Row, RowKey, TimelineRow
from sapwood.core.timeline.timeline import IN_VIEW, Departure, Timeline

_CLIPPED = -2
"""The section of everything that the window clipped, however often it moved."""

_Run = tuple[int, list[Row]]


def lay_out(timeline: Timeline, opened: Collection[RowKey] = ()) -> list[TimelineRow]:
    """Returns the rows to show, oldest first. `opened` are the folds that a reader has opened.

    The turns that the window clipped last stay open above the divider: a reader was just reading
    them. All other turns out of view are folded.
    """
    page: list[TimelineRow] = []
    runs = [
        (section, [row for _, row in run])
        for section, run in groupby(_sections(timeline), key=lambda pair: pair[0])
    ]
    last = {section: number for number, (section, _) in enumerate(runs)}
    for number, (section, rows) in enumerate(runs):
        if section == IN_VIEW:
            page += rows
        elif section == _CLIPPED and _is_in_view(runs[number + 1 :]):
            page += [*rows, divider_for(timeline, _turns(rows))]
        else:
            page += _folded(timeline, section, rows, opened, is_last=last[section] == number)
    return [*_inherited_banner(timeline, page), *page]


def lay_out_in_view(timeline: Timeline) -> list[TimelineRow]:
    """Returns the rows that the model can see, with folds, banners and the divider between them."""
    return [row for row in lay_out(timeline) if not is_dim(timeline, row)]


def lay_out_everything(timeline: Timeline) -> list[TimelineRow]:
    """Returns all rows: every fold is open."""
    closed = [row.key for row in lay_out(timeline) if isinstance(row, Fold)]
    return lay_out(timeline, closed)


def is_dim(timeline: Timeline, row: TimelineRow) -> bool:
    """Whether this row shows a message that the model cannot see, or a mark that is no more."""
    if not isinstance(row, Row):
        return False
    if row.kind == "mark":
        return row.version in timeline.dead_marks
    return row.turn >= 0 and timeline.turns[row.turn].left != IN_VIEW


def fold_for(
    timeline: Timeline, departure: Departure, turns: Collection[int], first: int = 0
) -> Fold:
    """The fold over these turns, which left view together; `first` is its first row's version."""
    return Fold(
        departure.version,
        first,
        departure.cause,
        departure.at,
        _messages(timeline, turns),
        len(turns),
        departure.summary,
        None if departure.summary else _carried(timeline, departure),
        timeline.undo_action(departure, turns),
        tokens=departure.tokens if len(turns) == departure.turns else 0,
        exact=departure.exact,
    )


def banner_for(timeline: Timeline, departure: Departure, turns: Collection[int]) -> Banner:
    """The summary that replaced these turns."""
    return Banner(
        departure.summary,
        _messages(timeline, turns),
        departure.at,
        len(turns),
        departure.cause,
        _carried(timeline, departure),
        timeline.undo_action(departure),
        in_view=departure.summary == timeline.context.summary,
    )


def divider_for(timeline: Timeline, turns: Collection[int]) -> Divider:
    """The divider below these turns, which the window clipped, perhaps at several moments."""
    lefts = sorted({timeline.turns[turn].left for turn in turns})
    departures = [timeline.departures[left] for left in lefts]
    newest = departures[-1]
    return Divider(
        len(turns),
        sum(departure.tokens for departure in departures),
        _messages(timeline, turns),
        newest.version,
        newest.at,
        _carried(timeline, newest),
        back=timeline.undo_action(newest),
        exact=all(departure.exact for departure in departures),
    )


def _messages(timeline: Timeline, turns: Collection[int]) -> int:
    return sum(timeline.turns[turn].messages for turn in turns)


def _carried(timeline: Timeline, departure: Departure) -> EventRef | None:
    """The request of a departure, if the context carries it still."""
    request = departure.request
    return request if request == timeline.context.request else None


def _sections(timeline: Timeline) -> Iterator[tuple[int, Row]]:
    """Each row with its section. Rows between two turns that left view together belong to them."""
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


def _is_in_view(runs: Sequence[_Run]) -> bool:
    return all(section == IN_VIEW for section, _ in runs)


def _turns(rows: Sequence[Row]) -> set[int]:
    return {row.turn for row in rows if row.turn >= 0}


def _folded(
    timeline: Timeline,
    section: int,
    rows: list[Row],
    opened: Collection[RowKey],
    *,
    is_last: bool,
) -> Iterator[TimelineRow]:
    turns = _turns(rows)
    number = max(timeline.turns[turn].left for turn in turns) if section == _CLIPPED else section
    departure = timeline.departures[number]
    fold = fold_for(timeline, departure, turns, rows[0].version)
    if not is_last:
        fold = structs.replace(fold, request=None)
    if fold.key in opened:
        yield fold.opened()
        yield from rows
    else:
        yield fold
    if departure.summary is not None and is_last:
        gone = [place for place, turn in enumerate(timeline.turns) if turn.left == number]
        yield banner_for(timeline, departure, gone)


def _inherited_banner(timeline: Timeline, page: Sequence[TimelineRow]) -> list[Banner]:
    """A banner for the summary and the request that a fork inherited and no other row shows."""
    summary, request = timeline.context.summary, timeline.context.request
    if summary is None and request is None:
        return []
    for row in page:
        if isinstance(row, Banner) and row.summary == summary:
            summary = None
        if not isinstance(row, Row) and row.request == request:
            request = None
    if summary is None and request is None:
        return []
    return [Banner(summary, 0, 0, cause="fork", request=request)]


class Page:
    """The rows that are shown now. `opened` are the keys of the rows that a reader has opened.

    All rows are laid out again when the context moves; otherwise new rows are added at the end.
    """

    def __init__(self, timeline: Timeline) -> None:
        self.timeline = timeline
        self.opened: set[RowKey] = set()
        self.shown: list[TimelineRow] = []
        self._rows = 0
        self._changed = -1
        self.update()

    def update(self) -> bool:
        """Adds what the timeline has gained. Returns whether all rows were laid out again."""
        updated = self.timeline.take_updated()
        if self._changed != self.timeline.changed:
            self._lay_out()
            return True
        rows = self.timeline.rows
        for number in updated:
            # A replaced row belongs to the open turn, which is never folded and is the last one.
            place = len(self.shown) - (self._rows - number)
            if number < self._rows and place >= 0:
                self.shown[place] = rows[number]
        self.shown += rows[self._rows :]
        self._rows = len(rows)
        return False

    def toggle(self, key: RowKey) -> bool:
        """Opens or closes a row. Returns whether other rows are shown now."""
        self.opened ^= {key}
        if key[0] != "fold":
            return False
        self._lay_out()
        return True

    def find(self, key: RowKey) -> int | None:
        """Returns the place of a row. Opens the fold that it is in."""
        place = self._place(key)
        if place is None and self._open_around(key):
            place = self._place(key)
        return place

    def is_dim(self, place: int) -> bool:
        """Whether the row at this place shows a message that the model cannot see."""
        return is_dim(self.timeline, self.shown[place])

    def is_close(self, place: int) -> bool:
        """Whether no blank line follows this row: adjacent events are a list of lines."""
        following = self.shown[place : place + 2]
        return len(following) == 2 and all(
            isinstance(row, Row) and row.kind == "event" for row in following
        )

    def next(self, place: int, step: int, wanted: Callable[[TimelineRow], bool]) -> int | None:
        """The place of the nearest wanted row after a place, or before it if `step` is -1."""
        place += step
        while 0 <= place < len(self.shown):
            if wanted(self.shown[place]):
                return place
            place += step
        return None

    def _place(self, key: RowKey) -> int | None:
        return next((n for n, row in enumerate(self.shown) if row.key == key), None)

    def _open_around(self, key: RowKey) -> bool:
        """Opens the fold that holds a row. Returns whether there is one."""
        fold: RowKey | None = None
        for row in lay_out_everything(self.timeline):
            if isinstance(row, Fold):
                fold = row.key
            if row.key == key and fold is not None:
                self.opened.add(fold)
                self._lay_out()
                return True
        return False

    def _lay_out(self) -> None:
        self.shown = lay_out(self.timeline, self.opened)
        self._rows = len(self.timeline.rows)
        self._changed = self.timeline.changed
