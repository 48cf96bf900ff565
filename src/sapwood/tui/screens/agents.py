"""`/agents`: the tree of agents with their mail."""

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from sapwood.app.connection import Connection
from sapwood.core.ids import AgentId
from sapwood.core.log import Facts
from sapwood.display.text import plain
from sapwood.display.times import ago, now
from sapwood.display.tree import state_of
from sapwood.tui.screens.picker import Item, Picker
from sapwood.tui.side.sidebar import agent_lines

__all__ = ["AgentsPage"]

_MOST = 200
_ROOM = 44


class AgentsPage(Picker):
    """Gives what to do: `/switch ID`, or the beginning of a command to go on typing."""

    HEADING: ClassVar = "Agents and mail"
    FOOT: ClassVar = "enter switches · ctrl+n mail · ctrl+x kill · esc closes"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+n", "type('/send')", "Write mail", priority=True),
        Binding("ctrl+x", "type('/kill')", "Kill", priority=True),
    ]

    def __init__(self, connection: Connection, here: AgentId | None) -> None:
        super().__init__()
        self._connection = connection
        self._here = here

    async def items(self, typed: str) -> Sequence[Item]:
        """Parents before their children."""
        held = self._connection
        agents = await held.log.agents(held.space, limit=_MOST)
        words = typed.casefold()
        fitting = [each for each in agents if words in f"{each.name} {each.agent}".casefold()]
        return [Item(agent, line) for agent, line in agent_lines(fitting, self._here, _ROOM)]

    async def preview(self, id: str) -> Content:
        """Its state, and the mail that it has not read."""
        held = self._connection
        state = (await held.dispatcher.open(AgentId(id))).state
        facts = await held.log.facts(held.space, AgentId(id))
        lines = [Content.styled(state.name or state.agent, "bold"), _about(facts), Content("")]
        for letter in state.inbox:
            head = f"✉ from {letter.sender or 'outside'}"
            lines += [Content.styled(head, "bold $mark"), Content(plain(letter.text)), Content("")]
        if not state.inbox:
            lines.append(Content.styled("No unread mail.", "$faint"))
        return Content("\n").join(lines)

    def pick(self, id: str | None) -> None:
        """Goes there."""
        if id is not None:
            self.dismiss(f"/switch {id}")

    def action_type(self, command: str) -> None:
        """Begins a command on the lit agent."""
        if self.lit is not None:
            self.dismiss(f"{command} {self.lit} ")


def _about(facts: Facts | None) -> Content:
    if facts is None:
        return Content("")
    model, when = facts.model or "no model", ago(facts.updated, now())
    return Content.styled(f"{facts.agent} · {state_of(facts)} · {model} · {when}", "$faint")
