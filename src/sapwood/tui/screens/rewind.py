"""The rewind picker: marks, with what would leave view and what would come back."""

from collections.abc import Sequence
from typing import ClassVar

from textual.content import Content

from sapwood.app.connection import Connection
from sapwood.core.content import Text
from sapwood.core.context import Context, Mark
from sapwood.core.counting import show
from sapwood.core.diff import diff
from sapwood.core.measure import calibrated, size_of
from sapwood.core.turn import Turn
from sapwood.display.text import cut
from sapwood.runtime.opening import Opened, read_live
from sapwood.tui.screens.picker import Item, Picker

__all__ = ["RewindPage"]

_SHOWN = 40


class RewindPage(Picker):
    """Gives the command that was picked."""

    HEADING: ClassVar = "Rewind"
    FOOT: ClassVar = "enter goes back · nothing is lost: /undo · esc closes"
    NOTHING: ClassVar = (
        "There is no mark yet. /mark NAME sets one, and /rewind NAME comes back to it."
    )

    def __init__(self, connection: Connection, opened: Opened) -> None:
        super().__init__()
        self._connection = connection
        self._opened = opened
        self._places: dict[str, Context] = {}

    async def items(self, typed: str) -> Sequence[Item]:
        """The newest mark first; before it the last context command, to be taken back."""
        state = self._opened.state
        found: list[Item] = []
        if state.undo:
            self._places["/undo"] = state.undo[-1].context
            found.append(
                Item("/undo", Content.assemble(("↶ ", "$accent"), "take the last one back"))
            )
        for mark in reversed(state.marks):
            if mark.name and typed.casefold() in mark.name.casefold():
                self._places[f"/rewind {mark.name}"] = mark.context
                found.append(Item(f"/rewind {mark.name}", _line(mark)))
        return found

    async def preview(self, id: str) -> Content:
        """What going there would change."""
        held, state = self._connection, self._opened.state
        there = await read_live(held.log, held.space, state, context=self._places[id])
        found = diff(self._opened.live, there)
        if found.same:
            return Content.styled("The model would see the same as now.", "$faint")
        parts = [
            *self._part("leaves view", "-", "$error", found.only_left),
            *self._part("comes back", "+", "$success", found.only_right),
            Content.styled(f"{found.shared} turns stay in view.", "$faint"),
        ]
        if found.front_differs:
            parts.append(Content.styled("The summary or carried request changes.", "$faint"))
        return Content("\n").join(parts)

    def _part(self, title: str, sign: str, colour: str, turns: tuple[Turn, ...]) -> list[Content]:
        if not turns:
            return []
        state = self._opened.state
        counter = self._connection.counter_for(state.settings.model)
        raw = sum((turn.size or size_of(turn, counter)).tokens for turn in turns)
        size = calibrated(raw, counter, state.ratio())
        count = f"{len(turns)} turn{'' if len(turns) == 1 else 's'}"
        head = f"{title}: {count}, {show(size)} tokens"
        lines = [Content.styled(head, f"bold {colour}")]
        lines += [Content.assemble((f"{sign} ", colour), _gist(turn)) for turn in turns[:_SHOWN]]
        if len(turns) > _SHOWN:
            lines.append(Content.styled(f"  … {len(turns) - _SHOWN} more", "$faint"))
        return [*lines, Content("")]


def _line(mark: Mark) -> Content:
    return Content.assemble(("◆ ", "$mark"), (mark.name, "bold"), (f"  #{mark.version}", "$faint"))


def _gist(turn: Turn) -> str:
    return cut(
        " ".join(p.text for p in turn.prompt if isinstance(p, Text))[:500] or "(wake-up)", 90
    )
