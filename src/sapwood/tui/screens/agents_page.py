"""The page of `/agents`: the tree of agents with their mail."""

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from sapwood.app.connection import Connection
from sapwood.core.ids import AgentId
from sapwood.core.log_values import AgentSummary
from sapwood.display.agent_tree import state_of
from sapwood.display.quantities import ago, now
from sapwood.display.text import plain
from sapwood.tui.screens.picker_page import PickerItem, PickerPage
from sapwood.tui.sidebar import agent_lines

_MOST = 200
_ROOM = 44


class AgentsPage(PickerPage):
    """Returns a command: `/switch ID`, or the start of one that the person completes."""

    HEADING: ClassVar = "Agents and mail"
    FOOT: ClassVar = "enter opens · ^n mail · ^x kill · esc closes"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+n", "type('/send')", "Write mail", priority=True),
        Binding("ctrl+x", "type('/kill')", "Kill", priority=True),
    ]

    def __init__(self, connection: Connection, here: AgentId | None) -> None:
        super().__init__()
        self._connection = connection
        self._here = here

    async def items(self, typed: str) -> Sequence[PickerItem]:
        """The agents that match, parents before their children."""
        connection = self._connection
        agents = await connection.log.agents(connection.space, limit=_MOST)
        words = typed.casefold()
        fitting = [each for each in agents if words in f"{each.name} {each.agent}".casefold()]
        return [PickerItem(agent, line) for agent, line in agent_lines(fitting, self._here, _ROOM)]

    async def preview(self, id: str) -> Content:
        """The state of an agent and its unread mail."""
        connection = self._connection
        state = (await connection.dispatcher.open(AgentId(id))).state
        facts = await connection.log.facts(connection.space, AgentId(id))
        lines = [Content.styled(state.name or state.agent, "bold"), _about(facts)]
        if state.workspace.worktree:
            place = f"branch {state.workspace.branch} in {state.workspace.worktree}"
            lines.append(Content.styled(plain(place), "$faint"))
        lines.append(Content(""))
        for letter in state.inbox:
            head = f"✉ from {letter.sender or 'outside'}"
            lines += [Content.styled(head, "bold $mark"), Content(plain(letter.text)), Content("")]
        if not state.inbox:
            lines.append(Content.styled("No unread mail.", "$faint"))
        return Content("\n").join(lines)

    def pick(self, id: str | None) -> None:
        """Returns the command that switches to the agent."""
        if id is not None:
            self.dismiss(f"/switch {id}")

    def action_type(self, command: str) -> None:
        """Returns the start of a command for the highlighted agent."""
        if self.highlighted is not None:
            self.dismiss(f"{command} {self.highlighted} ")


def _about(facts: AgentSummary | None) -> Content:
    if facts is None:
        return Content("")
    model, when = facts.model or "no model", ago(facts.updated, now())
    return Content.styled(f"{facts.agent} · {state_of(facts)} · {model} · {when}", "$faint")
