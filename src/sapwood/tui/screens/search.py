"""`/recall` and search: everything ever said, by every agent."""

from collections.abc import Sequence
from typing import ClassVar

from textual.content import Content
from textual.widgets import Input

from sapwood.app.connection import Connection
from sapwood.core.ids import AgentId
from sapwood.core.searching import text_of
from sapwood.display.text import cut, one_line, plain
from sapwood.display.times import ago, now
from sapwood.tui.screens.picker import Item, Picker

__all__ = ["SearchPage"]

_MOST = 50
_PREVIEW = 4_000


class SearchPage(Picker):
    """Gives the place that was picked, as `agent:version`."""

    HEADING: ClassVar = "Search everything"
    HINT: ClassVar = 'Words, or "a phrase"'
    FOOT: ClassVar = "enter goes there · esc closes"
    NOTHING: ClassVar = "Type what you remember of it."

    def __init__(self, connection: Connection, words: str = "") -> None:
        super().__init__()
        self._connection = connection
        self._words = words

    def on_mount(self) -> None:
        """Begins with the words of a command, if it had any."""
        super().on_mount()
        self.query_one(Input).value = self._words

    async def items(self, typed: str) -> Sequence[Item]:
        """Best first."""
        if not typed.strip():
            return []
        held = self._connection
        hits = await held.log.search(held.space, typed, limit=_MOST)
        at = now()
        return [
            Item(
                str(hit.ref),
                Content.assemble(
                    (f"{ago(hit.at, at):<11}", "$accent"),
                    cut(hit.snippet, 120),
                ),
            )
            for hit in hits
        ]

    async def preview(self, id: str) -> Content:
        """All of what was said there."""
        agent, _, version = id.rpartition(":")
        held = self._connection
        found = await held.log.read(held.space, AgentId(agent), int(version), int(version))
        if not found:
            return Content("")
        facts = await held.log.facts(held.space, AgentId(agent))
        name = one_line(facts.name) if facts and facts.name else agent
        head = Content.assemble(
            (name, "bold $accent"), (f"\n{found[0].ref} · {found[0].kind}", "$faint")
        )
        return Content.assemble(head, "\n\n", plain(text_of(found[0].event))[:_PREVIEW])
