"""The page to open a conversation: all conversations, those of this folder first.

Sessions of other programs in this folder are listed too, imported or not.

The page of `/agents`: the tree of agents with their mail.
"""

import asyncio
from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from sapwood.app.connection import Connection
from sapwood.context_actions.session_finder import read_transcript
from sapwood.conversation.conversation_list import sessions_elsewhere, without_imported
from sapwood.core.ids import AgentId
from sapwood.core.log_values import AgentSummary
from sapwood.core.token_count import Count, show
from sapwood.core.turn import Turn
from sapwood.display.agent_tree import state_of
from sapwood.display.quantities import ago, now
from sapwood.display.text import one_line, plain
from sapwood.programs.transcripts.session_files import FoundSession
from sapwood.tui.screens.picker_page import PickerItem, PickerPage, prompt_line
from sapwood.tui.sidebar import agent_lines

_MAX_LISTED = 500
_TURNS = 6


class ResumePage(PickerPage):
    """Returns the picked agent, or the path of a transcript to import."""

    HEADING: ClassVar = "Conversations"
    FOOT: ClassVar = "enter opens · esc closes"
    NOTHING: ClassVar = "No conversation matches."

    def __init__(self, connection: Connection, folder: str) -> None:
        super().__init__()
        self._connection = connection
        self._folder = folder
        self._found: dict[str, FoundSession] | None = None

    async def items(self, typed: str) -> Sequence[PickerItem]:
        """The conversations that match; those of this folder first, then the newest first."""
        connection = self._connection
        here = await connection.log.conversations(connection.space, self._folder, limit=_MAX_LISTED)
        newest = await connection.log.agents(connection.space, limit=_MAX_LISTED)
        agents = list({each.agent: each for each in (*here, *newest)}.values())
        words = typed.casefold()
        fitting = [each for each in agents if words in _searched(each)]
        elsewhere = [
            found
            for found in without_imported(await self._elsewhere(), agents)
            if words in f"{found.source} {found.id}".casefold()
        ]
        at = now()
        items = [(each.folder, each.updated, self._item(each, at)) for each in fitting]
        items += [(self._folder, each.updated, _found_item(each, at)) for each in elsewhere]
        items.sort(key=lambda each: (each[0] != self._folder, -each[1]))
        return [item for _, _, item in items]

    async def _elsewhere(self) -> dict[str, FoundSession]:
        """The sessions of other programs in this folder, by their path."""
        if self._found is None:
            self._found = await sessions_elsewhere(self._folder)
        return self._found

    async def preview(self, id: str) -> Content:
        """Name, model and folder of a conversation, and its last prompts."""
        if found := (await self._elsewhere()).get(id):
            return await _found_preview(found)
        connection = self._connection
        opened = await connection.dispatcher.open(AgentId(id))
        state = opened.state
        source = f"from {state.origin.source}: /fork to continue\n" if state.origin else ""
        lines = [
            Content.styled(one_line(state.name) or state.agent, "bold"),
            Content.styled(
                f"{source}{state.settings.model or 'no model'} · {state.workspace.folder}",
                "$faint",
            ),
            Content(""),
        ]
        return Content("\n").join([*lines, *_last_prompts(opened.live.all_turns)])

    def _item(self, summary: AgentSummary, at: int) -> PickerItem:
        here = "$foreground" if summary.folder == self._folder else "$faint"
        name = one_line(summary.name) or summary.agent
        tokens = show(Count(summary.tokens, summary.exact))
        about = f"{summary.source or state_of(summary)} · {tokens} · {ago(summary.updated, at)}"
        return PickerItem(
            summary.agent, Content.assemble((name, f"bold {here}"), (f"\n  {about}", "$faint"))
        )


def _found_item(found: FoundSession, at: int) -> PickerItem:
    about = f"not imported yet · {found.size / 1e6:.1f} MB · {ago(found.updated, at)}"
    return PickerItem(
        str(found.path),
        Content.assemble((f"{found.source} {found.id[:8]}", "bold"), (f"\n  {about}", "$faint")),
    )


async def _found_preview(found: FoundSession) -> Content:
    session = await asyncio.to_thread(read_transcript, found.path, found.source or None)
    return Content("\n").join(
        [
            Content.styled(f"{found.source} {found.id}", "bold"),
            Content.styled(f"{session.model or 'no model'} · {found.folder}", "$faint"),
            Content.styled("Press enter to import it, then type /fork to continue it.", "$accent"),
            Content(""),
            *_last_prompts(session.turns),
        ]
    )


def _last_prompts(turns: Sequence[Turn]) -> list[Content]:
    """The last prompts of a conversation."""
    return [
        Content.assemble(("┃ ", "$secondary"), prompt_line(turn, 200)) for turn in turns[-_TURNS:]
    ]


def _searched(summary: AgentSummary) -> str:
    words = (summary.name, summary.agent, summary.folder, summary.model, summary.source)
    return " ".join(words).casefold()


_MAX_AGENTS = 200
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
        agents = await connection.log.agents(connection.space, limit=_MAX_AGENTS)
        words = typed.casefold()
        fitting = [each for each in agents if words in f"{each.name} {each.agent}".casefold()]
        return [PickerItem(agent, line) for agent, line in agent_lines(fitting, self._here, _ROOM)]

    async def preview(self, id: str) -> Content:
        """The state of an agent and its unread mail."""
        connection = self._connection
        state = (await connection.dispatcher.open(AgentId(id))).state
        summary = await connection.log.summary(connection.space, AgentId(id))
        lines = [Content.styled(state.name or state.agent, "bold"), _about(summary)]
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


def _about(summary: AgentSummary | None) -> Content:
    if summary is None:
        return Content("")
    model, when = summary.model or "no model", ago(summary.updated, now())
    return Content.styled(f"{summary.agent} · {state_of(summary)} · {model} · {when}", "$faint")
