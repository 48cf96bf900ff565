"""Makes the commands that import a session: its turns, compactions and rewinds.

The id of every command is computed from its row, so dispatching it twice is harmless, also after a
version that reads the row otherwise. Its time is the time in the transcript.
"""

from sapwood.core import commands
from sapwood.core.content import Text
from sapwood.core.events import Actor
from sapwood.core.ids import AgentId, CommandId, Origin, TranscriptRange, TurnRef
from sapwood.core.program_session import ProgramSession
from sapwood.core.settings import Settings, Workspace
from sapwood.core.state import State
from sapwood.programs.transcripts.transcript_events import (
    RowRef,
    SessionDetails,
    TranscriptCompaction,
    TranscriptTurn,
    imported_agent_id,
    imported_command_id,
)
from sapwood.turns.clock_and_ids import new_nonce
from sapwood.turns.program_sessions import pins_digest

IMPORTER = Actor("system", "import")
"""The actor of every imported event."""

_NAME = 60
_CUT_OFF = "The transcript ends here."


class ImportCommands:
    """The commands that import one session."""

    def __init__(self, source: str, session: str, path: str) -> None:
        self.origin = Origin(source, session, path)
        self.agent: AgentId = imported_agent_id(source, session)

    def start(
        self, details: SessionDetails, first: TranscriptTurn
    ) -> tuple[commands.StartAgent, commands.CommandMeta]:
        """Starts the agent, without a cap: its own program limits the size of its context."""
        command = commands.StartAgent(
            self.agent,
            name=_name(details, first),
            settings=Settings(model=details.model, cap=0, window=details.window or 0),
            workspace=Workspace(folder=details.folder),
            origin=self.origin,
            parent=imported_agent_id(self.origin.source, details.parent)
            if details.parent
            else None,
        )
        return command, self._meta("start", "", first.first.at)

    def turn(
        self,
        turn: TranscriptTurn,
        *,
        aside: bool = False,
        after: TurnRef | None = None,
        earlier: int = 0,
    ) -> tuple[commands.RecordTurn, commands.CommandMeta]:
        """Records a turn. One that is still open is recorded as interrupted.

        One `aside` follows the turn `after`, and does not come into view. `earlier` counts the
        recorded turns that had the same key, in rows that the file has lost.
        """
        first, last = turn.first, turn.last
        is_open = turn.status == "open"
        command = commands.RecordTurn(
            self.agent,
            turn.prompt,
            turn.items,
            "interrupted" if turn.status == "open" else turn.status,
            _CUT_OFF if is_open else turn.reason,
            TranscriptRange(first.key, last.key, last.offset),
            aside,
            after,
        )
        return command, self._meta("turn", _numbered(first.key, earlier), max(first.at, last.at))

    def compaction(
        self, compacted: TranscriptCompaction, ledger: str = ""
    ) -> tuple[commands.Compact, commands.CommandMeta]:
        """Replaces the turns that left the view by the summary."""
        boundary = compacted.boundary
        command = commands.Compact(self.agent, boundary.text, keep=boundary.kept, ledger=ledger)
        return command, self._meta("compaction", compacted.ref.key, compacted.ref.at)

    def keep(
        self, compacted: TranscriptCompaction
    ) -> tuple[commands.Compact | commands.KeepLast | commands.Clear, commands.CommandMeta]:
        """Keeps only the last turns in view that a boundary names, after its summary if any."""
        boundary = compacted.boundary
        kept = len(boundary.turns)
        meta = self._meta("compaction", compacted.ref.key, compacted.ref.at)
        if boundary.summary:
            return commands.Compact(self.agent, boundary.summary, keep=kept), meta
        return (commands.KeepLast(self.agent, kept) if kept else commands.Clear(self.agent)), meta

    def synced(self, state: State, ref: RowRef) -> tuple[commands.RecordSync, commands.CommandMeta]:
        """Records that Sapwood appended this row, and was stopped before it could record that."""
        session = ProgramSession(self.origin.source, self.origin.session, self.origin.path)
        pins = pins_digest(state.pins)
        command = commands.RecordSync(
            self.agent, session, "boundary", state.context, (ref.key,), "", pins
        )
        return command, self._meta("assumed", ref.key, ref.at)

    def compaction_id(self, compacted: TranscriptCompaction) -> CommandId:
        """The id of the command that records a compaction."""
        origin = self.origin
        return imported_command_id(origin.source, origin.session, "compaction", compacted.ref.key)

    def return_to(
        self,
        ref: RowRef,
        turn: TurnRef | None,
        *,
        whole: bool = False,
        after: TurnRef | None = None,
    ) -> tuple[commands.ReturnTo, commands.CommandMeta]:
        """Returns to an earlier turn, or to the beginning, because of this row.

        `after` is the turn before it, if it was recorded aside.
        """
        meta = self._meta("rewind", ref.key, ref.at)
        return commands.ReturnTo(self.agent, turn, whole, after), meta

    def turn_id(self, key: str, earlier: int = 0) -> CommandId:
        """The id of the command that records the turn whose first row has this key.

        `earlier` recorded turns had the same key.
        """
        own = _numbered(key, earlier)
        return imported_command_id(self.origin.source, self.origin.session, "turn", own)

    def _meta(self, what: str, key: str, at: int) -> commands.CommandMeta:
        command = imported_command_id(self.origin.source, self.origin.session, what, key)
        return commands.CommandMeta(command, at, IMPORTER, nonce=new_nonce(), request=command)


def _numbered(key: str, earlier: int) -> str:
    return f"{key} {earlier + 1}" if earlier else key


def _name(details: SessionDetails, first: TranscriptTurn) -> str:
    asked = [part.text for part in first.prompt if isinstance(part, Text)]
    words = details.title or (asked or [first.prompt[-1].text])[0].strip().partition("\n")[0]
    line = " ".join(words.split())
    return line if len(line) <= _NAME else f"{line[: _NAME - 1]}…"
