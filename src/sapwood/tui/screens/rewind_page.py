"""The page to go back to a mark or to a turn, with a preview of what leaves and comes back."""

from collections.abc import Sequence
from typing import ClassVar

from textual.content import Content

from sapwood.app.connection import Connection
from sapwood.conversation.rewind_preview import RewindPlace, preview_rewind, rewind_places
from sapwood.core.command_table import TABLE
from sapwood.core.ids import AgentId
from sapwood.core.plural import counted
from sapwood.core.token_count import Count, show_tokens
from sapwood.core.turn import Turn
from sapwood.display.text import cut
from sapwood.tui.screens.picker_page import PickerItem, PickerPage, prompt_line

_SHOWN = 40
_UNDO = "undo the last context command"


class RewindPage(PickerPage):
    """Returns the picked command."""

    HEADING: ClassVar = "Rewind"
    FOOT: ClassVar = "enter goes back · nothing is lost: /undo · esc closes"
    NOTHING: ClassVar = "Nothing to go back to matches this."

    def __init__(
        self, connection: Connection, agent: AgentId, command: str = "", *, marks: bool = True
    ) -> None:
        """`command` goes back to a turn, by default /rewind. Without `marks`, lists turns alone."""
        super().__init__()
        self._connection = connection
        self._agent = agent
        self._command = command or TABLE["rewind"].typed
        self._marks = marks
        self._places: dict[str, RewindPlace] = {}

    async def items(self, typed: str) -> Sequence[PickerItem]:
        """The undo of the last context command, then marks and turns, newest first."""
        places = await rewind_places(self._connection, self._agent, self._command)
        self._places = {
            place.line: place for place in places if self._marks or place.turn is not None
        }
        words = typed.casefold()
        return [
            PickerItem(place.line, _line(place))
            for place in self._places.values()
            if words in _words(place).casefold()
        ]

    async def preview(self, id: str) -> Content:
        """The turns that would leave the context or come back to it."""
        found = await preview_rewind(self._connection, self._agent, self._places[id])
        if found.same:
            return Content.styled("The model would see the same as now.", "$faint")
        parts = [
            *_part("leaves view", "-", "$error", found.leaving, found.leaving_size),
            *_part("comes back", "+", "$success", found.returning, found.returning_size),
            Content.styled(_staying(found.shared), "$faint"),
        ]
        if found.front_differs:
            parts.append(Content.styled("The summary or carried-over request changes.", "$faint"))
        return Content("\n").join(parts)


def _staying(turns: int) -> str:
    return "1 turn stays in view." if turns == 1 else f"{turns:,} turns stay in view."


def _part(
    title: str, sign: str, colour: str, turns: tuple[Turn, ...], size: Count
) -> list[Content]:
    if not turns:
        return []
    count = counted(len(turns), "turn")
    head = f"{title}: {count}, {show_tokens(size)}"
    lines = [Content.styled(head, f"bold {colour}")]
    lines += [
        Content.assemble((f"{sign} ", colour), prompt_line(turn, 90)) for turn in turns[:_SHOWN]
    ]
    if len(turns) > _SHOWN:
        lines.append(Content.styled(f"  … {len(turns) - _SHOWN} more", "$faint"))
    return [*lines, Content("")]


def _words(place: RewindPlace) -> str:
    """What the filter looks for in a line."""
    return f"{place.mark} {place.prompt}" if place.version or place.turn is not None else _UNDO


def _line(place: RewindPlace) -> Content:
    if place.turn is not None:
        return Content.assemble(("  before ", "$faint"), cut(place.prompt, 60) or "(wake-up)")
    if not place.version:
        return Content.assemble(("↶ ", "$accent"), _UNDO)
    return Content.assemble(
        ("◆ ", "$mark"),
        (cut(place.mark, 40), "bold"),
        (f"  #{place.version}", "$faint"),
    )
