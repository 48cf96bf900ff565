"""The resume picker: every conversation, those of this folder first."""

from collections.abc import Sequence
from typing import ClassVar

from textual.content import Content

from sapwood.app.connection import Connection
from sapwood.core.content import Text
from sapwood.core.counting import Count, show
from sapwood.core.ids import AgentId
from sapwood.core.log import Facts
from sapwood.display.text import cut, one_line
from sapwood.display.times import ago
from sapwood.display.tree import state_of
from sapwood.runtime.fresh import now
from sapwood.tui.screens.picker import Item, Picker

__all__ = ["ResumePage"]

_MOST = 500
_TURNS = 6


class ResumePage(Picker):
    """Gives the agent that was picked."""

    HEADING: ClassVar = "Conversations"
    FOOT: ClassVar = "enter opens · esc closes"
    NOTHING: ClassVar = "No conversation fits."

    def __init__(self, connection: Connection, folder: str) -> None:
        super().__init__()
        self._connection = connection
        self._folder = folder

    async def items(self, typed: str) -> Sequence[Item]:
        """Last written to first."""
        held = self._connection
        agents = await held.log.agents(held.space, limit=_MOST)
        words = typed.casefold()
        fitting = [each for each in agents if words in _searched(each)]
        fitting.sort(key=lambda each: (each.folder != self._folder, -each.updated))
        at = now()
        return [Item(each.agent, self._line(each, at)) for each in fitting]

    async def preview(self, id: str) -> Content:
        """What was asked last, and where it stands."""
        held = self._connection
        opened = await held.dispatcher.open(AgentId(id))
        state = opened.state
        source = (
            f"from {state.origin.source}, to read, mark and fork from\n" if state.origin else ""
        )
        lines = [
            Content.styled(one_line(state.name) or state.agent, "bold"),
            Content.styled(
                f"{source}{state.settings.model or 'no model'} · {state.workspace.folder}",
                "$faint",
            ),
            Content(""),
        ]
        for turn in opened.live.all_turns[-_TURNS:]:
            asked = " ".join(part.text for part in turn.prompt if isinstance(part, Text))
            lines.append(
                Content.assemble(("┃ ", "$secondary"), cut(asked[:400], 200) or "(wake-up)")
            )
        return Content("\n").join(lines)

    def _line(self, facts: Facts, at: int) -> Content:
        here = "$foreground" if facts.folder == self._folder else "$faint"
        name = one_line(facts.name) or facts.agent
        tokens = show(Count(facts.tokens, facts.exact))
        about = f"{facts.source or state_of(facts)} · {tokens} · {ago(facts.updated, at)}"
        return Content.assemble((name, f"bold {here}"), (f"\n  {about}", "$faint"))


def _searched(facts: Facts) -> str:
    return f"{facts.name} {facts.agent} {facts.folder} {facts.model} {facts.source}".casefold()
