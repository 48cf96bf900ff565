"""The page to go back to a mark or to a turn, with a preview of what leaves and comes back.

The page of `/replay`: the requests of past model calls, rebuilt from the log and verified.
"""

from collections.abc import Sequence
from typing import ClassVar

from textual.content import Content

from sapwood.app.connection import Connection
from sapwood.conversation.cut_preview import RewindPlace, preview_rewind, rewind_places
from sapwood.conversation.service import ConversationService
from sapwood.core.command_table import TABLE
from sapwood.core.content import File, Text, Thinking, ToolCall
from sapwood.core.ids import AgentId
from sapwood.core.plural import counted
from sapwood.core.token_count import Count, show, show_tokens
from sapwood.core.turn import Turn
from sapwood.core.turn_numbers import NumberedCall
from sapwood.core.view.request import MessagePart, Request, ToolResult
from sapwood.display.quantities import ago, now
from sapwood.display.text import cut, plain
from sapwood.tui.screens.picker_page import PickerItem, PickerPage, prompt_line

_SHOWN = 40
_UNDO = "undo the last context command"


class RewindPage(PickerPage):
    """Returns the picked command."""

    FOOT: ClassVar = "enter goes back · nothing is lost: /undo · esc closes"
    NOTHING: ClassVar = "No turn or mark matches."

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

    @property
    def heading(self) -> str:
        """The command for which a place is picked."""
        return self._command.removeprefix("/").capitalize()

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
        number = place.line.rpartition(" ")[2]
        words = cut(place.prompt, 60) or "(wake-up)"
        return Content.assemble(("  before ", "$faint"), (f"#{number} ", "$accent"), words)
    if not place.version:
        return Content.assemble(("↶ ", "$accent"), _UNDO)
    return Content.assemble(("◆ ", "$mark"), (cut(place.mark, 40), "bold"))


_CALLS = 100
_MAX_LENGTH = 40_000


class ReplayPage(PickerPage):
    """Shows the model calls, newest first, and the request of the highlighted call."""

    HEADING: ClassVar = "What the model saw"
    HINT: ClassVar = "Type the number of a turn"
    FOOT: ClassVar = "pgup pgdn scroll the request · esc closes"
    NOTHING: ClassVar = "No model has been called yet."

    def __init__(self, service: ConversationService, agent: AgentId, call: str = "") -> None:
        super().__init__()
        self._service = service
        self._agent = agent
        self._call = call

    async def items(self, typed: str) -> Sequence[PickerItem]:
        """The model calls of the turn that is typed; before that, the one that was asked for."""
        at = now()
        calls = await self._service.model_calls(self._agent, _CALLS)
        ids = [str(each.recorded.version) for each in calls]
        return [
            PickerItem(id, _call_line(each, at))
            for id, each in zip(ids, calls, strict=True)
            if (_is_of(each, typed) if typed else self._call in ("", id))
        ]

    async def preview(self, id: str) -> Content:
        """The rebuilt request, and whether its hash matches the one that was sent."""
        seen = (await self._service.replay(self._agent, int(id))).replayed
        if seen is None:
            return Content("")
        verdict = (
            Content.styled(
                "✓ the hash matches: this is what was sent, byte for byte", "bold $success"
            )
            if seen.matches
            else Content.styled("✗ THE HASH DOES NOT MATCH", "bold $error")
        )
        digest = Content.styled(f"{seen.called.hash[:32]}…", "$faint")
        return Content("\n").join([verdict, digest, Content(""), *_request(seen.request)])

    def pick(self, id: str | None) -> None:
        """Does nothing: a call cannot be picked."""


def _is_of(call: NumberedCall, typed: str) -> bool:
    """Whether the beginning of a call's turn, or of its number in the transcript, is typed."""
    return str(call.turn or call.nth).startswith(typed.strip().lstrip("#"))


def _call_line(call: NumberedCall, at: int) -> Content:
    tokens = show(Count(call.called.estimate, exact=False))
    when = ago(call.recorded.at, at)
    return Content.assemble(
        (f"{call.place:<18}", "$accent"),
        f"{tokens:>6}  ",
        (f"{when:<11}{call.called.model}", "$faint"),
    )


def _request(request: Request) -> list[Content]:
    lines: list[Content] = []
    for block in request.system:
        name = f"{block.kind} {block.name}".rstrip()
        lines += [Content.styled(name, "bold $accent"), Content(plain(block.text)), Content("")]
    for message in request.messages:
        colour = "$secondary" if message.role == "user" else "$primary"
        lines.append(Content.styled(message.role, f"bold {colour}"))
        lines += [_call_part(part) for part in message.parts]
        lines.append(Content(""))
    return lines


def _call_part(part: MessagePart) -> Content:
    match part:
        case Text() | File():
            return Content(plain(part.text)[:_MAX_LENGTH])
        case Thinking(text):
            return Content.styled(plain(text)[:_MAX_LENGTH], "italic $faint")
        case ToolCall(_, name, args):
            return Content.assemble(("→ ", "$accent"), f"{name} {plain(args)[:_MAX_LENGTH]}")
        case ToolResult(_, name, content):
            return Content.assemble(
                ("← ", "$accent"), (f"{name}\n{plain(content)[:_MAX_LENGTH]}", "$faint")
            )
