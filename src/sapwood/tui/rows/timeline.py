"""The timeline: rows of one conversation, and which of its turns the model can see.

Fed with events in the order of the log. It folds only what a reader needs to know of the context:
which turns are on the path from head to tip, and what took each of the others out of view.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from sapwood.core.content import Got, Note, PromptPart, ReplyPart, Said, Text, Thinking, ToolCall
from sapwood.core.context import ROOT, Context
from sapwood.core.events import (
    AgentArchived,
    AgentForked,
    AgentKilled,
    AgentStarted,
    CheckpointMissed,
    ContextRedone,
    ContextReverted,
    ContextRewound,
    ContextSummarized,
    ContextTrimmed,
    ContextUndone,
    MailReceived,
    MailSent,
    MarkSet,
    PinAdded,
    PinRemoved,
    Recorded,
    ReplyAdded,
    ResultsMasked,
    SettingsChanged,
    ToolFinished,
    TurnCompleted,
    TurnFailed,
    TurnInterrupted,
    TurnRecorded,
    TurnStarted,
)
from sapwood.core.ids import AgentId, EventRef, TurnRef
from sapwood.core.turn import Reply, Turn
from sapwood.tui.rows.row import Kind, Row, spoken

__all__ = ["IN_VIEW", "Departure", "Placed", "Timeline"]

IN_VIEW = -1

_TOLD = (
    AgentForked,
    AgentArchived,
    AgentKilled,
    SettingsChanged,
    PinAdded,
    PinRemoved,
    MailSent,
    MailReceived,
    ResultsMasked,
    CheckpointMissed,
)


class Departure(Struct, frozen=True):
    """A moment at which turns left view: what did it, and what it said of them."""

    version: int
    cause: str
    at: int
    by_window: bool = False
    tokens: int = 0
    messages: int = 0
    summary: EventRef | None = None


class Placed(Struct):
    """A turn on the timeline. `left` is the number of its departure, or `IN_VIEW`."""

    parent: TurnRef | None
    messages: int = 1
    left: int = IN_VIEW


class Timeline:
    """Grows by events. `changed` counts the moves of the context: rows then stand otherwise."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.turns: list[Placed] = []
        self.departures: list[Departure] = []
        self.version = 0
        self.changed = 0
        self._context = ROOT
        self._path: list[int] = []
        self._place: dict[TurnRef, int] = {}
        self._open: int | None = None
        self._opened_at = 0
        self._calls: dict[str, int] = {}
        self._speaker = ""
        self._summary: EventRef | None = None
        self._updated: list[int] = []

    def take_updated(self) -> list[int]:
        """The numbers of rows that are others since this was last asked."""
        updated, self._updated = self._updated, []
        return updated

    def row_at(self, agent: AgentId, version: int) -> Row | None:
        """The first row that shows something of an event."""
        for row in self.rows:
            if row.agent == agent and version in (row.version, row.result):
                return row
        return None

    @property
    def is_open(self) -> bool:
        """Whether a turn is under way."""
        return self._open is not None

    def inherit(self, turns: Sequence[Turn]) -> None:
        """Turns of an ancestor that a child's context begins with."""
        for turn in turns:
            self._begin(turn.agent, turn.first, turn.parent, turn.prompt)
            part = len(turn.prompt)  # where a turn is one event, its parts are counted through
            for item in turn.items:
                whole = item.version == turn.first
                if isinstance(item, Reply):
                    said = spoken(item.parts, item.ended)
                    self._said(turn.agent, item.version, said, part if whole else 0)
                    part += len(item.parts)
                else:
                    self._got(item.call, item.version, part if whole else 0)
                    part += 1
            self._end(turn.ref, turn.agent, turn.last, failed=turn.status in _UNFINISHED)

    def add(self, recorded: Recorded) -> None:
        """The next event of the log."""
        agent, version = recorded.agent, recorded.version
        self.version = version
        match recorded.event:
            case AgentStarted():
                self._move_to(recorded.event.context)
            case TurnStarted(parent, prompt):
                self._opened_at = version
                self._begin(agent, version, parent, prompt)
            case ReplyAdded(parts, ended=ended):
                self._said(agent, version, spoken(parts, ended))
            case ToolFinished(call):
                self._got(call, version, 0)
            case TurnCompleted():
                self._end(TurnRef(agent, self._opened_at, version), agent, version)
            case TurnInterrupted() | TurnFailed():
                self._end(TurnRef(agent, self._opened_at, version), agent, version, failed=True)
            case TurnRecorded() as event:
                self._recorded(agent, version, event)
            case MarkSet():
                self._append("mark", agent, version, turn=-1)
            case ContextSummarized():
                self._summary = recorded.ref
            case ContextTrimmed() as event:
                self._trimmed(recorded, event)
            case ContextRewound(mark, _, context):
                self._jumped(recorded, context, f"/rewind {mark}".rstrip())
            case ContextReverted(_, context):
                self._jumped(recorded, context, "/revert")
            case ContextUndone(context):
                self._jumped(recorded, context, "/undo")
            case ContextRedone(context):
                self._jumped(recorded, context, "/redo")
            case event if isinstance(event, _TOLD):
                self._append("event", agent, version, turn=-1)
            case _:
                pass

    def _begin(
        self,
        agent: AgentId,
        version: int,
        parent: TurnRef | None,
        prompt: tuple[PromptPart, ...],
    ) -> None:
        self._open = len(self.turns)
        self.turns.append(Placed(parent))
        self._speaker = ""
        self._calls.clear()
        for number, part in enumerate(prompt):
            self._append("letter" if isinstance(part, Note) else "prompt", agent, version, number)

    def _said(
        self, agent: AgentId, version: int, parts: tuple[ReplyPart, ...], first: int = 0
    ) -> None:
        self._count()
        for number, part in enumerate(parts, first):
            match part:
                case Text(text) if text.strip():
                    self._append("reply", agent, version, number)
                case Thinking(text) if text.strip():
                    self._append("thinking", agent, version, number)
                case ToolCall(call):
                    self._calls[call] = len(self.rows)
                    self._append("tool", agent, version, number)
                case _:
                    pass

    def _got(self, call: str, version: int, part: int) -> None:
        self._count()
        place = self._calls.pop(call, None)
        if place is not None:
            self._updated.append(place)
            row = self.rows[place]
            self.rows[place] = Row(
                row.kind, row.agent, row.version, row.part, row.turn, version, part, row.heads
            )

    def _recorded(self, agent: AgentId, version: int, event: TurnRecorded) -> None:
        self._begin(agent, version, event.parent, event.prompt)
        part = len(event.prompt)
        for item in event.items:
            if isinstance(item, Said):
                self._said(agent, version, item.parts, part)
                part += len(item.parts)
            else:
                assert isinstance(item, Got)
                self._got(item.call, version, part)
                part += 1
        failed = event.status in _UNFINISHED
        self._end(TurnRef(agent, version, version), agent, version, failed=failed)

    def _end(self, ref: TurnRef, agent: AgentId, version: int, *, failed: bool = False) -> None:
        if failed:
            self._append("end", agent, version)
        if self._open is None:
            return
        self._place[ref] = self._open
        self._path.append(self._open)
        self._open = None
        self._context = Context(ref, self._context.head)

    def _trimmed(self, recorded: Recorded, event: ContextTrimmed) -> None:
        self._context = Context(self._context.tip, event.head)
        edge = self._place.get(event.head) if event.head else None
        leaving = self._path.index(edge) + 1 if edge in self._path else 0
        gone, self._path = self._path[:leaving], self._path[leaving:]
        cause = {"clear": "/clear", "compact": "/compact", "window": "window"}.get(
            event.cause, f"/clear {len(self._path)}"
        )
        self._leave(
            gone,
            Departure(
                recorded.version,
                cause,
                recorded.at,
                event.cause == "window",
                event.tokens,
                event.messages,
                self._summary if event.cause == "compact" else None,
            ),
        )
        self._summary = None

    def _jumped(self, recorded: Recorded, context: Context, cause: str) -> None:
        before = self._path
        self._move_to(context)
        stay = set(self._path)
        for turn in self._path:
            self.turns[turn].left = IN_VIEW
        gone = [turn for turn in before if turn not in stay]
        self._leave(gone, Departure(recorded.version, cause, recorded.at))
        self._append("event", recorded.agent, recorded.version, turn=-1)

    def _move_to(self, context: Context) -> None:
        self._context = context
        path: list[int] = []
        ref = context.tip
        while (
            ref is not None and ref != context.head and (turn := self._place.get(ref)) is not None
        ):
            path.append(turn)
            ref = self.turns[turn].parent
        self._path = path[::-1]

    def _leave(self, turns: Iterable[int], departure: Departure) -> None:
        for turn in turns:
            self.turns[turn].left = len(self.departures)
        self.departures.append(departure)
        self.changed += 1

    def _count(self) -> None:
        if self._open is not None:
            self.turns[self._open].messages += 1

    def _append(
        self, kind: Kind, agent: AgentId, version: int, part: int = 0, *, turn: int | None = None
    ) -> None:
        inside = (self._open if self._open is not None else -1) if turn is None else turn
        speaker = _SPEAKERS.get(kind, "")
        heads = bool(speaker) and speaker != self._speaker
        self._speaker = speaker or self._speaker
        self.rows.append(Row(kind, agent, version, part, inside, heads=heads))


_UNFINISHED = ("interrupted", "failed")
_SPEAKERS: dict[Kind, str] = {"prompt": "user", "reply": "model"}
