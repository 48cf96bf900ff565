"""The resume picker: every conversation, those of this folder first.

What Claude Code, Codex and Gemini CLI said in this folder is listed too, imported or not.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from textual.content import Content

from sapwood.app.connection import Connection
from sapwood.app.gardening.transcripts import transcript_at
from sapwood.core.content import Text
from sapwood.core.counting import Count, show
from sapwood.core.ids import AgentId
from sapwood.core.log import Facts
from sapwood.core.turn import Turn
from sapwood.display.text import cut, one_line
from sapwood.display.times import ago
from sapwood.display.tree import state_of
from sapwood.runtime.fresh import now
from sapwood.sources import Found, discover
from sapwood.sources.naming import agent_of
from sapwood.tui.screens.picker import Item, Picker

__all__ = ["ResumePage"]

_MOST = 500
_TURNS = 6


class ResumePage(Picker):
    """Gives the agent that was picked, or the path of a transcript that is to be imported."""

    HEADING: ClassVar = "Conversations"
    FOOT: ClassVar = "enter opens · esc closes"
    NOTHING: ClassVar = "No conversation fits."

    def __init__(self, connection: Connection, folder: str) -> None:
        super().__init__()
        self._connection = connection
        self._folder = folder
        self._found: dict[str, Found] | None = None

    async def items(self, typed: str) -> Sequence[Item]:
        """Last written to first."""
        held = self._connection
        here = await held.log.conversations(held.space, self._folder, limit=_MOST)
        newest = await held.log.agents(held.space, limit=_MOST)
        agents = list({each.agent: each for each in (*here, *newest)}.values())
        words = typed.casefold()
        fitting = [each for each in agents if words in _searched(each)]
        known = {each.agent for each in agents}
        elsewhere = [
            found
            for found in (await self._elsewhere()).values()
            if words in f"{found.source} {found.id}".casefold()
            and agent_of(found.source, found.id) not in known
        ]
        at = now()
        items = [(each.folder, each.updated, self._item(each, at)) for each in fitting]
        items += [(self._folder, each.updated, _found_item(each, at)) for each in elsewhere]
        items.sort(key=lambda each: (each[0] != self._folder, -each[1]))
        return [item for _, _, item in items]

    async def _elsewhere(self) -> dict[str, Found]:
        """The sessions of other programs in this folder, by their path."""
        if self._found is None:
            found = await asyncio.to_thread(discover, folder=Path(self._folder))
            self._found = {str(each.path): each for each in found[:_MOST]}
        return self._found

    async def preview(self, id: str) -> Content:
        """What was asked last, and where it stands."""
        if found := (await self._elsewhere()).get(id):
            return await _found_preview(found)
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
        return Content("\n").join([*lines, *_asked(opened.live.all_turns)])

    def _item(self, facts: Facts, at: int) -> Item:
        here = "$foreground" if facts.folder == self._folder else "$faint"
        name = one_line(facts.name) or facts.agent
        tokens = show(Count(facts.tokens, facts.exact))
        about = f"{facts.source or state_of(facts)} · {tokens} · {ago(facts.updated, at)}"
        return Item(
            facts.agent, Content.assemble((name, f"bold {here}"), (f"\n  {about}", "$faint"))
        )


def _found_item(found: Found, at: int) -> Item:
    about = f"not imported yet · {found.size / 1e6:.1f} MB · {ago(found.updated, at)}"
    return Item(
        str(found.path),
        Content.assemble((f"{found.source} {found.id[:8]}", "bold"), (f"\n  {about}", "$faint")),
    )


async def _found_preview(found: Found) -> Content:
    session = await asyncio.to_thread(transcript_at, found.path, found.source or None)
    return Content("\n").join(
        [
            Content.styled(f"{found.source} {found.id}", "bold"),
            Content.styled(f"{session.model or 'no model'} · {found.folder}", "$faint"),
            Content.styled("Enter imports it, to read, mark and fork from.", "$accent"),
            Content(""),
            *_asked(session.turns),
        ]
    )


def _asked(turns: Sequence[Turn]) -> list[Content]:
    """What was asked last."""
    lines: list[Content] = []
    for turn in turns[-_TURNS:]:
        asked = " ".join(part.text for part in turn.prompt if isinstance(part, Text))
        lines.append(Content.assemble(("┃ ", "$secondary"), cut(asked[:400], 200) or "(wake-up)"))
    return lines


def _searched(facts: Facts) -> str:
    return f"{facts.name} {facts.agent} {facts.folder} {facts.model} {facts.source}".casefold()
