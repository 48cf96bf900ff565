"""Search pages: everything in the log, and the messages that were sent."""

from collections.abc import Sequence
from typing import ClassVar

from textual.content import Content
from textual.widgets import Input

from sapwood.app.connection import Connection
from sapwood.conversation.turn_search import search_turns
from sapwood.core.errors import RefusedError
from sapwood.core.event_texts import event_texts
from sapwood.core.ids import AgentId
from sapwood.core.log_values import SearchHit
from sapwood.display.quantities import ago, now
from sapwood.display.text import cut, one_line, pieces, plain
from sapwood.tui.composer import SentHistory
from sapwood.tui.screens.picker_page import PickerItem, PickerPage

_MAX_HITS = 50
_PREVIEW = 4_000


class SearchPage(PickerPage):
    """Searches all conversations; returns the picked place as `agent:version`."""

    HEADING: ClassVar = "Search all conversations"
    HINT: ClassVar = 'A question, words, or "a phrase"; tool:shell after:2026-05-01 …'
    FOOT: ClassVar = "enter goes there · esc closes"
    NOTHING: ClassVar = "Type words to search for."

    def __init__(self, connection: Connection, words: str = "") -> None:
        super().__init__()
        self._connection = connection
        self._words = words
        self._hits: dict[str, SearchHit] = {}

    def on_mount(self) -> None:
        """Starts with the words of the command."""
        super().on_mount()
        self.query_one(Input).value = self._words

    async def items(self, typed: str) -> Sequence[PickerItem]:
        """The matches, best first."""
        if not typed.strip():
            return []
        connection = self._connection
        try:
            hits = await search_turns(connection, typed, limit=_MAX_HITS)
        except RefusedError:
            return []  # the name of an agent that is still being typed
        self._hits = {str(hit.ref): hit for hit in hits}
        return [PickerItem(str(hit.ref), _line(hit)) for hit in hits]

    async def preview(self, id: str) -> Content:
        """The whole text of the event."""
        agent, _, version = id.rpartition(":")
        connection = self._connection
        found = await connection.log.read(
            connection.space, AgentId(agent), int(version), int(version)
        )
        if not found:
            return Content("")
        summary = await connection.log.summary(connection.space, AgentId(agent))
        name = one_line(summary.name) if summary and summary.name else agent
        hit = self._hits.get(id)
        where = f"\n{_place(hit)} · {ago(hit.at, now())}" if hit else ""
        head = Content.assemble((name, "bold $accent"), (where, "$faint"))
        return Content.assemble(head, "\n\n", plain(event_texts(found[0].event).search)[:_PREVIEW])


def _place(hit: SearchHit) -> str:
    """The turn by its number, and what has the words in it."""
    turn = f"turn {hit.place.rpartition('/')[2]}" if hit.place else ""
    return ", ".join(each for each in (turn, hit.source) if each)


def _line(hit: SearchHit) -> Content:
    """The turn and the words, then the conversation."""
    words = ((piece, "bold" if is_found else "") for piece, is_found in pieces(hit))
    name = cut(one_line(hit.name), 24)
    return Content.assemble((f"{_place(hit)}  ", "$accent"), *words, (f"  {name}", "$faint"))


class HistoryPage(PickerPage):
    """Searches the sent messages; returns the picked one."""

    HEADING: ClassVar = "Sent messages"
    FOOT: ClassVar = "enter puts it into the composer · esc closes"

    def __init__(self, history: SentHistory) -> None:
        super().__init__()
        self._history = history
        self._found: list[str] = []

    async def items(self, typed: str) -> Sequence[PickerItem]:
        """Sent messages that match, newest first."""
        self._found = self._history.matching(typed)
        return [
            PickerItem(str(n), Content(cut(text[:400], 120))) for n, text in enumerate(self._found)
        ]

    async def preview(self, id: str) -> Content:
        """The whole message."""
        return Content(self._found[int(id)])

    def pick(self, id: str | None) -> None:
        """Returns the message itself."""
        if id is not None:
            self.dismiss(self._found[int(id)])
