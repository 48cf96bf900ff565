"""From what happened in a transcript to commands: the turns and compactions of an ordinary agent.

Every command has an id that follows from its row, so giving it again is harmless, and the time at
which it happened there.
"""

from sapwood.core.commands import Compact, Given, RecordTurn, ReturnTo, StartAgent
from sapwood.core.content import Text
from sapwood.core.events import Actor
from sapwood.core.ids import AgentId, CommandId, TurnRef
from sapwood.core.origin import Origin, Passage
from sapwood.core.session import Boundary
from sapwood.core.settings import Settings, Workspace
from sapwood.sources.happenings import Compacted, Rewound, Told
from sapwood.sources.naming import agent_of, command_of
from sapwood.sources.reading import About

__all__ = ["IMPORTER", "Recorder"]

IMPORTER = Actor("system", "import")
"""Who acts when a conversation is imported."""

_NAME = 60
_UNREADABLE = "[The program keeps its summary encrypted. What the log tells instead is below.]"
_CUT_OFF = "The transcript ends here."


class Recorder:
    """The commands that import one session."""

    def __init__(self, source: str, session: str, path: str) -> None:
        self.origin = Origin(source, session, path)
        self.agent: AgentId = agent_of(source, session)

    def start(self, about: About, first: Told) -> tuple[StartAgent, Given]:
        """Starts the agent. Its program minds the size of its context, so that it has no cap."""
        command = StartAgent(
            self.agent,
            name=_name(about, first),
            settings=Settings(model=about.model, cap=0, window=about.window or 0),
            workspace=Workspace(folder=about.folder),
            origin=self.origin,
            parent=agent_of(self.origin.source, about.parent) if about.parent else None,
        )
        return command, self._given("start", "", first.first.at)

    def turn(self, told: Told) -> tuple[RecordTurn, Given]:
        """Records a turn; one that has not ended is cut off here."""
        first, last = told.first, told.last
        is_open = told.status == "open"
        command = RecordTurn(
            self.agent,
            told.prompt,
            told.items,
            "interrupted" if told.status == "open" else told.status,
            _CUT_OFF if is_open else told.reason,
            Passage(first.key, last.key, last.place),
        )
        return command, self._given("turn", first.key, max(first.at, last.at))

    def compaction(self, compacted: Compacted, ledger: str = "") -> tuple[Compact, Given]:
        """Puts the summary in place of the turns that left view."""
        boundary = compacted.boundary
        command = Compact(self.agent, _summary(boundary), keep=boundary.kept, ledger=ledger)
        return command, self._given("compaction", compacted.spot.key, compacted.spot.at)

    def return_to(self, rewound: Rewound, turn: TurnRef | None) -> tuple[ReturnTo, Given]:
        """Goes back to an earlier turn."""
        given = self._given("rewind", rewound.spot.key, rewound.spot.at)
        return ReturnTo(self.agent, turn), given

    def turn_id(self, key: str) -> CommandId:
        """The id of the command that records the turn whose first row has this key."""
        return command_of(self.origin.source, self.origin.session, "turn", key)

    def _given(self, what: str, key: str, at: int) -> Given:
        command = command_of(self.origin.source, self.origin.session, what, key)
        return Given(command, at, IMPORTER)


def _name(about: About, first: Told) -> str:
    asked = [part.text for part in first.prompt if isinstance(part, Text)]
    words = about.title or (asked or [first.prompt[-1].text])[0].strip().partition("\n")[0]
    line = " ".join(words.split())
    return line if len(line) <= _NAME else f"{line[: _NAME - 1]}…"


def _summary(boundary: Boundary) -> str:
    summary = boundary.summary or _UNREADABLE
    if not boundary.quoted:
        return summary
    return f"{summary}\n\n[Messages from before, kept as they were]\n{boundary.quoted}"
