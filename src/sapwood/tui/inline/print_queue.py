"""Decides which rows of a conversation are printed, and when.

A row is printed once, when it is finished. It stays in the scrollback when it leaves the context,
so a line is printed at the moment at which it leaves.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Literal

from msgspec import Struct

from sapwood.core.plural import counted
from sapwood.core.timeline.layout import Page, banner_for, divider_for, fold_for
from sapwood.core.timeline.rows import Fold, Row, RowKey, TimelineRow, divider_label
from sapwood.core.timeline.timeline import IN_VIEW, Departure, Timeline

_MESSAGES = ("prompt", "note", "reply", "tool")


class Rule(Struct, frozen=True):
    """A line of the full width with a text of Sapwood, such as a title."""

    words: str
    kind: Literal["heading", "note", "window"] = "note"


class PrintItem(Struct, frozen=True):
    """Something to print. `dim` is true for what was not in the context at that moment."""

    what: TimelineRow | Rule
    dim: bool = False


class PrintQueue:
    """The rows of one timeline that wait to be printed."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._next = self._finished(0)
        self._departed_at = timeline.version
        self._in_view = _in_view(timeline)
        self._turns = len(timeline.turns)

    def finished_rows(self) -> list[PrintItem]:
        """All finished rows so far, oldest first."""
        page = Page(self._timeline)
        unfinished = len(self._timeline.rows) - self._next
        shown = page.shown[: len(page.shown) - unfinished]
        return [PrintItem(row, page.is_dim(place)) for place, row in enumerate(shown)]

    def complete(self, timeline: Timeline) -> None:
        """Replaces the timeline by one that begins earlier; nothing is printed again."""
        waits = {row.key for row in self.unfinished}
        rows, place = timeline.rows, len(timeline.rows)
        while place and _is_new(rows[place - 1], self._timeline.version, waits):
            place -= 1
        self._timeline, self._next = timeline, place
        self._in_view, self._turns = _in_view(timeline), len(timeline.turns)

    @property
    def unfinished(self) -> Sequence[Row]:
        """Rows that are not finished, such as a tool call without a result."""
        return self._timeline.rows[self._next :]

    @property
    def is_open(self) -> bool:
        """Whether a turn is open."""
        return self._timeline.is_open

    def take(self) -> list[PrintItem]:
        """The items that became printable since the last call, in the order of their events."""
        rows, departures = self._timeline.rows, self._timeline.departures
        end = self._finished(self._next)
        found = [(row.version, 0, [PrintItem(row)]) for row in rows[self._next : end]]
        self._next = end
        fresh = [n for n, each in enumerate(departures) if each.version > self._departed_at]
        for number in fresh:
            items = [*self._departed(number)]
            if number == fresh[-1]:
                items += self._returned(departures[number])
            found.append((departures[number].version, 1, items))
            self._departed_at = departures[number].version
        if fresh:
            self._in_view, self._turns = _in_view(self._timeline), len(self._timeline.turns)
        found.sort(key=lambda each: each[:2])
        return [item for _, _, items in found for item in items]

    def _finished(self, start: int) -> int:
        """The index of the first unfinished row, from an index on."""
        rows, turn = self._timeline.rows, len(self._timeline.turns) - 1
        if not self._timeline.is_open:
            return len(rows)
        places = range(start, len(rows))
        return next((n for n in places if _waits(rows[n]) and rows[n].turn == turn), len(rows))

    def _departed(self, number: int) -> Iterator[PrintItem]:
        """The items that announce a departure from the context."""
        timeline, departure = self._timeline, self._timeline.departures[number]
        turns = [turn for turn, each in enumerate(timeline.turns) if each.left == number]
        if not turns:
            return
        if departure.by_window:
            yield PrintItem(Rule(f"▲ {self._clipped(turns)}", "window"))
            return
        yield PrintItem(fold_for(timeline, departure, turns))
        if departure.summary is not None:
            yield PrintItem(banner_for(timeline, departure, turns))

    def _clipped(self, turns: Sequence[int]) -> str:
        timeline = self._timeline
        seen = next((r for r in timeline.rows if r.turn >= 0 and r.place and self._sees(r)), None)
        place = f" #{seen.place}" if seen else ""
        return divider_label(divider_for(timeline, turns), place=place)

    def _sees(self, row: Row) -> bool:
        return self._timeline.turns[row.turn].left == IN_VIEW

    def _returned(self, departure: Departure) -> list[PrintItem]:
        """An item that announces the messages that came back into the context."""
        turns = self._timeline.turns
        back = [n for n in _in_view(self._timeline) - self._in_view if n < self._turns]
        messages = sum(turns[number].messages for number in back)
        if not messages:
            return []
        return [PrintItem(Rule(f"{counted(messages, 'message')} back in view · {departure.cause}"))]


def messages_in(items: Sequence[PrintItem]) -> int:
    """The number of messages in these items, with those behind folds."""
    folded = sum(each.what.messages for each in items if isinstance(each.what, Fold))
    return folded + sum(
        isinstance(each.what, Row) and each.what.kind in _MESSAGES for each in items
    )


def _is_new(row: Row, version: int, waits: Collection[RowKey]) -> bool:
    """Whether a row is not printed yet: it is newer than a version, or was unfinished then."""
    return row.version > version or row.key in waits


def _waits(row: Row) -> bool:
    return row.kind == "tool" and not row.result


def _in_view(timeline: Timeline) -> frozenset[int]:
    return frozenset(n for n, turn in enumerate(timeline.turns) if turn.left == IN_VIEW)
