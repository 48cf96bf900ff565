"""The page of `/replay`: the requests of past model calls, rebuilt from the log and verified."""

from collections.abc import Sequence
from typing import ClassVar

from textual.content import Content

from sapwood.conversation.service import ConversationService
from sapwood.core.content import File, Text, Thinking, ToolCall
from sapwood.core.events import ModelCalled, Recorded
from sapwood.core.ids import AgentId
from sapwood.core.token_count import Count, show
from sapwood.core.view.request import MessagePart, Request, ToolResult
from sapwood.display.quantities import ago, now
from sapwood.display.text import plain
from sapwood.tui.screens.picker_page import PickerItem, PickerPage

_CALLS = 100
_LONGEST = 40_000


class ReplayPage(PickerPage):
    """Shows the model calls, newest first, and the request of the highlighted call."""

    HEADING: ClassVar = "What the model saw"
    FOOT: ClassVar = "pgup pgdn scroll the request · esc closes"
    NOTHING: ClassVar = "No model has been called yet."

    def __init__(self, service: ConversationService, agent: AgentId, call: str = "") -> None:
        super().__init__()
        self._service = service
        self._agent = agent
        self._call = call

    async def items(self, typed: str) -> Sequence[PickerItem]:
        """The model calls whose number starts with the filter."""
        wanted = typed or self._call
        at = now()
        return [
            PickerItem(str(each.version), _line(each, at))
            for each in await self._service.model_calls(self._agent, _CALLS)
            if str(each.version).startswith(wanted)
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


def _line(recorded: Recorded, at: int) -> Content:
    event = recorded.event
    assert isinstance(event, ModelCalled)
    tokens = show(Count(event.estimate, exact=False))
    purpose = " · summary" if event.instruction else ""
    return Content.assemble(
        (f"#{recorded.version:<7}", "$accent"),
        f"{tokens:>6}  ",
        (f"{ago(recorded.at, at):<11}{event.model}{purpose}", "$faint"),
    )


def _request(request: Request) -> list[Content]:
    lines: list[Content] = []
    for block in request.system:
        name = f"{block.kind} {block.name}".rstrip()
        lines += [Content.styled(name, "bold $accent"), Content(plain(block.text)), Content("")]
    for message in request.messages:
        colour = "$secondary" if message.role == "user" else "$primary"
        lines.append(Content.styled(message.role, f"bold {colour}"))
        lines += [_part(part) for part in message.parts]
        lines.append(Content(""))
    return lines


def _part(part: MessagePart) -> Content:
    match part:
        case Text() | File():
            return Content(plain(part.text)[:_LONGEST])
        case Thinking(text):
            return Content.styled(plain(text)[:_LONGEST], "italic $faint")
        case ToolCall(_, name, args):
            return Content.assemble(("→ ", "$accent"), f"{name} {plain(args)[:_LONGEST]}")
        case ToolResult(_, name, content):
            return Content.assemble(
                ("← ", "$accent"), (f"{name}\n{plain(content)[:_LONGEST]}", "$faint")
            )
