"""The page: the rows that are shown now, kept up to date as the timeline grows. Pure."""

from collections.abc import Callable

from sapwood.tui.rows.layout import is_dim, lay_out
from sapwood.tui.rows.row import Banner, Divider, Fold, Key, Row, Shown
from sapwood.tui.rows.timeline import Timeline

__all__ = ["Page", "can_open", "is_landmark"]


class Page:
    """Rows in the order in which they stand. `opened` are those that a reader has opened.

    Laid out anew when the context moves; otherwise rows are added at the end.
    """

    def __init__(self, timeline: Timeline) -> None:
        self.timeline = timeline
        self.opened: set[Key] = set()
        self.shown: list[Shown] = []
        self._rows = 0
        self._changed = -1
        self.update()

    def update(self) -> bool:
        """Takes in what the timeline has gained; true if everything was laid out anew."""
        updated = self.timeline.take_updated()
        if self._changed != self.timeline.changed:
            self._lay_out()
            return True
        rows = self.timeline.rows
        for number in updated:
            # What has changed belongs to the open turn, which is never folded and stands last.
            place = len(self.shown) - (self._rows - number)
            if number < self._rows and place >= 0:
                self.shown[place] = rows[number]
        self.shown += rows[self._rows :]
        self._rows = len(rows)
        return False

    def toggle(self, key: Key) -> bool:
        """Opens or closes a row; true if that changed which rows there are."""
        self.opened ^= {key}
        if key[0] != "fold":
            return False
        self._lay_out()
        return True

    def find(self, key: Key) -> int | None:
        """Where a row stands. The fold that it is in is opened."""
        place = self._place(key)
        if place is None and self._open_around(key):
            place = self._place(key)
        return place

    def is_dim(self, place: int) -> bool:
        """Whether the model cannot see what stands there."""
        return is_dim(self.timeline, self.shown[place])

    def is_close(self, place: int) -> bool:
        """Whether no blank line follows: what merely happened is a list of lines."""
        following = self.shown[place : place + 2]
        return len(following) == 2 and all(
            isinstance(row, Row) and row.kind == "event" for row in following
        )

    def next(self, place: int, step: int, wanted: Callable[[Shown], bool]) -> int | None:
        """The nearest row of a kind after a place, or before it."""
        place += step
        while 0 <= place < len(self.shown):
            if wanted(self.shown[place]):
                return place
            place += step
        return None

    def _place(self, key: Key) -> int | None:
        return next((n for n, row in enumerate(self.shown) if row.key == key), None)

    def _open_around(self, key: Key) -> bool:
        """Opens the fold that holds a row, if there is one."""
        closed = [row.key for row in self.shown if isinstance(row, Fold) and not row.open]
        everything = lay_out(self.timeline, {*self.opened, *closed})
        fold: Key | None = None
        for row in everything:
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


def can_open(row: Shown) -> bool:
    """Whether there is more of a row than is shown at first."""
    match row:
        case Fold() | Banner():
            return True
        case Row(kind):
            return kind in ("tool", "thinking")
        case Divider():
            return False


def is_landmark(row: Shown) -> bool:
    """Whether readers jump here: dividers, folds, summaries, marks."""
    return not isinstance(row, Row) or row.kind == "mark"
