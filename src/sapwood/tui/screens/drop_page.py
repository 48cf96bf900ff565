"""The page of `/drop`: picks several turns, with what dropping them saves and costs."""

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Input, OptionList

from sapwood.app.connection import Connection
from sapwood.conversation.cut_preview import DropPlace, DropPreview, drop_places, preview_drop
from sapwood.core.command_table import TABLE
from sapwood.core.ids import AgentId
from sapwood.core.plural import counted
from sapwood.core.token_count import show, show_tokens
from sapwood.core.turn_numbers import joined_places
from sapwood.display.text import cut
from sapwood.tui.screens.picker_page import PickerItem, PickerPage


class DropPage(PickerPage):
    """Returns the command that drops the picked turns."""

    HEADING: ClassVar = "Drop turns"
    FOOT: ClassVar = "tab picks · enter drops · nothing is lost: /undo · esc closes"
    NOTHING: ClassVar = "No turn that can be dropped matches this."
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "pick_turn", "Pick", show=False, priority=True),
    ]

    def __init__(self, connection: Connection, agent: AgentId) -> None:
        super().__init__()
        self._connection = connection
        self._agent = agent
        self._picked: list[str] = []
        self._places: tuple[DropPlace, ...] = ()

    async def items(self, typed: str) -> Sequence[PickerItem]:
        """The turns in view, newest first; the turn with the last request cannot be dropped."""
        self._places = await drop_places(self._connection, self._agent)
        words = typed.casefold()
        return [
            PickerItem(place.turn, self._line(place))
            for place in self._places
            if words in f"{place.turn} {place.title}".casefold()
        ]

    def _line(self, place: DropPlace) -> Content:
        sign = ("✂ ", "$warning") if place.turn in self._picked else ("  ", "")
        size = (f" {show(place.size)}", "$faint")
        return Content.assemble(sign, (f"#{place.turn} ", "$accent"), cut(place.title, 50), size)

    async def preview(self, id: str) -> Content:
        """What dropping the picked turns, or else the highlighted one, would save and cost."""
        chosen = self._chosen(id)
        found = await preview_drop(self._connection, self._agent, chosen)
        return Content("\n").join(_lines(found, joined_places(chosen)))

    def _chosen(self, id: str) -> list[str]:
        order = [place.turn for place in reversed(self._places)]
        return [turn for turn in order if turn in (self._picked or [id])]

    async def action_pick_turn(self) -> None:
        """Picks the highlighted turn, or no longer, and goes to the next one."""
        options = self.query_one(OptionList)
        if (id := self.highlighted) is None:
            return
        at = options.highlighted or 0
        self._picked = (
            [each for each in self._picked if each != id]
            if id in self._picked
            else [*self._picked, id]
        )
        await self.fill(self.query_one(Input).value)
        options.highlighted = min(at + 1, options.option_count - 1)

    def pick(self, id: str | None) -> None:
        """Closes the page and returns the command."""
        if id is not None:
            self.dismiss(f"{TABLE['drop'].typed} {joined_places(self._chosen(id))}")


def _lines(found: DropPreview, places: str) -> list[Content]:
    head = f"leaves view: {counted(found.turns, 'turn')}, {show_tokens(found.size)}"
    lines = [
        Content.styled(head, "bold $error"),
        Content.styled(f"{TABLE['drop'].typed} {places}", "$accent"),
        Content(f"{show_tokens(found.total)} stay"),
        Content(""),
    ]
    if found.once is not None and found.now is not None:
        lines.append(Content(f"next call {_dollars(found.once)}, now {_dollars(found.now)}"))
    if found.later is not None and found.before is not None:
        lines.append(Content(f"each later {_dollars(found.later)}, now {_dollars(found.before)}"))
    if found.pays_after is not None:
        lines.append(Content(f"pays for itself after {counted(found.pays_after, 'call')}"))
    lines.append(Content.styled(f"{show_tokens(found.rewritten)} leave the cache once", "$faint"))
    if found.thoughts:
        lost = f"{counted(found.thoughts, 'signed thought')} after it may be dropped"
        lines.append(Content.styled(lost, "$warning"))
    if found.cheaper:
        less = f"costs less: {TABLE['drop'].typed} {joined_places(found.cheaper)}"
        lines.append(Content.styled(less, "$faint"))
    return lines


def _dollars(cost: int) -> str:
    return f"${cost / 1_000_000:.4f}"
