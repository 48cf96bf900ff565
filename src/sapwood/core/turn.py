"""A turn: one prompt, replies with their tool calls and results, an end.

Folded from the slice of a log that holds it. Other facts between its first and last event are
passed over, so a slice may be read as it stands; so are events that cannot be read, and results of
calls that stood in one.
"""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct, structs

from sapwood.core.content import (
    Ended,
    Note,
    PromptPart,
    ReplyPart,
    Said,
    Text,
    ToolCall,
    Usage,
)
from sapwood.core.events import (
    Recorded,
    ReplyAdded,
    Size,
    ToolFinished,
    ToolStarted,
    TurnCompleted,
    TurnFailed,
    TurnInterrupted,
    TurnRecorded,
    TurnStarted,
    UnreadableEvent,
)
from sapwood.core.ids import AgentId, EventRef, TurnRef
from sapwood.core.shortening import shortened

__all__ = [
    "Item",
    "Reply",
    "Result",
    "Status",
    "Turn",
    "closed_turn",
    "fold_turn",
    "grow",
    "open_turn",
    "recorded_turn",
]

Status = Literal["open", "completed", "interrupted", "failed"]


class Reply(Struct, frozen=True, gc=False):
    """One message of the model within the turn."""

    version: int
    parts: tuple[ReplyPart, ...]
    model: str = ""
    usage: Usage | None = None
    ended: Ended = "done"

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tools it wants to run."""
        return tuple([part for part in self.parts if isinstance(part, ToolCall)])

    @property
    def unfinished(self) -> ToolCall | None:
        """The call at which the reply was cut off: its arguments may not be whole."""
        last = self.parts[-1] if self.parts else None
        return last if self.ended != "done" and isinstance(last, ToolCall) else None


class Result(Struct, frozen=True, gc=False):
    """The result of one tool call. Lines `added` and `removed` are known of recorded turns only."""

    version: int
    call: str
    content: str
    error: bool = False
    added: int = 0
    removed: int = 0


Item = Reply | Result


class Turn(Struct, frozen=True, gc=False):
    """The atomic unit of a context: it is in view as a whole or not at all.

    `started` are calls that may have had effects and have no result. While the turn is open,
    `call_ids` are those of all its calls, so that a long turn need not be searched for them.
    """

    agent: AgentId
    first: int
    parent: TurnRef | None
    prompt: tuple[PromptPart, ...]
    items: tuple[Item, ...] = ()
    started: frozenset[str] = frozenset()
    call_ids: frozenset[str] = frozenset()
    status: Status = "open"
    last: int = 0
    size: Size | None = None
    reason: str = ""

    @property
    def ref(self) -> TurnRef:
        """Where the ended turn stands; an open one has no place in the tree yet."""
        if self.status == "open":
            raise ValueError("an open turn has no place in the tree yet")
        return TurnRef(self.agent, self.first, self.last)

    def covers(self, event: EventRef) -> bool:
        """Whether the event lies between this turn's first event and its last, if it has one."""
        if event.agent != self.agent or event.version < self.first:
            return False
        return self.status == "open" or event.version <= self.last

    @property
    def prompt_ref(self) -> EventRef:
        """The event that holds the prompt."""
        return EventRef(self.agent, self.first)

    @property
    def is_request(self) -> bool:
        """Whether somebody asked for something, as against a wake-up by notes alone."""
        return any(isinstance(part, Text) for part in self.prompt)

    @property
    def goes_on(self) -> bool:
        """Whether nobody prompted it: the program that ran it went on with the turn before."""
        notes = [part for part in self.prompt if isinstance(part, Note)]
        return (
            bool(notes) and all(note.origin == "program" for note in notes) and not self.is_request
        )

    @property
    def calls(self) -> dict[str, ToolCall]:
        """All tool calls by id, in order."""
        return {c.id: c for item in self.items if isinstance(item, Reply) for c in item.calls}

    @property
    def open_calls(self) -> tuple[ToolCall, ...]:
        """Tool calls that have no result."""
        done = {item.call for item in self.items if isinstance(item, Result)}
        return tuple(call for call in self.calls.values() if call.id not in done)

    @property
    def is_answered(self) -> bool:
        """Whether the model spoke last, and waits for no result."""
        last = self.items[-1] if self.items else None
        return isinstance(last, Reply) and not last.calls

    @property
    def messages(self) -> int:
        """How many messages a reader would count: the prompt, each reply, each result."""
        return 1 + len(self.items)

    def shown(self, result: Result) -> str:
        """What a request shows of a result that is not masked."""
        recorded = self.first == self.last  # one event holds all of the turn
        return shortened(result.content, f"{self.agent}:{result.version}", alone=not recorded)

    @property
    def usages(self) -> list[Usage]:
        """What was reported for each model call that was answered, in order."""
        replies = (item for item in self.items if isinstance(item, Reply))
        return [reply.usage for reply in replies if reply.usage is not None]

    def texts(self) -> list[str]:
        """Every text of the turn that a model would be sent, for counting."""
        found = [part.text for part in self.prompt]
        for item in self.items:
            if isinstance(item, Result):
                found.append(self.shown(item))
                continue
            for part in item.parts:
                if isinstance(part, ToolCall):
                    found.append(part.name)
                    found.append(part.args)
                else:
                    found.append(part.text)
        return found


def open_turn(recorded: Recorded, event: TurnStarted) -> Turn:
    """The turn that this event opened."""
    return Turn(recorded.agent, recorded.version, event.parent, event.prompt)


def recorded_turn(agent: AgentId, version: int, event: TurnRecorded) -> Turn:
    """The turn that this event holds as a whole."""
    return Turn(
        agent,
        version,
        event.parent,
        event.prompt,
        tuple(
            [
                Reply(version, item.parts, item.model, item.usage)
                if isinstance(item, Said)
                else Result(version, item.call, item.content, item.error, item.added, item.removed)
                for item in event.items
            ]
        ),
        status=event.status,
        last=version,
        size=event.size,
        reason=event.reason,
    )


def grow(turn: Turn, recorded: Recorded) -> Turn:
    """The turn after one more event of its log."""
    return _grown(turn, (recorded,))


def fold_turn(slice_: Sequence[Recorded]) -> Turn:
    """The turn that a slice of a log holds; its first event opens it."""
    head = slice_[0]
    if isinstance(head.event, TurnRecorded):
        return recorded_turn(head.agent, head.version, head.event)
    if isinstance(head.event, UnreadableEvent):
        return _grown(_unreadable_start(head, head.event), slice_[1:])
    if not isinstance(head.event, TurnStarted):
        raise ValueError(f"{head.ref} does not open a turn")
    return _grown(open_turn(head, head.event), slice_[1:])


def closed_turn(turn: Turn, last: int) -> Turn:
    """A turn that ended at a version, also where the event that ended it cannot be read."""
    if turn.status != "open":
        return turn
    return structs.replace(
        turn,
        status="interrupted",
        last=last,
        call_ids=frozenset(),
        reason="the end of this turn cannot be read",
    )


def _unreadable_start(head: Recorded, event: UnreadableEvent) -> Turn:
    """A turn whose prompt, and with it its place in the tree, cannot be read."""
    lost = Note("program", f"[The prompt at {head.ref} cannot be read: {event.reason}]")
    return Turn(head.agent, head.version, None, (lost,))


def _grown(turn: Turn, events: Sequence[Recorded]) -> Turn:
    """All events at once, because a turn of thousands must not be copied thousands of times."""
    items: list[Item] = []
    calls: set[str] = set()
    started = set(turn.started)
    for recorded in events:
        match recorded.event:
            case ReplyAdded() as event:
                items.append(_reply(recorded.version, event))
                calls.update([part.id for part in event.parts if type(part) is ToolCall])
            case ToolStarted() as event:
                started.add(event.call)
            case ToolFinished() as event if event.call in calls or event.call in turn.call_ids:
                items.append(Result(recorded.version, event.call, event.content, event.error))
                started.discard(event.call)
            case TurnCompleted() as event:
                return _ended(turn, items, started, recorded, "completed", event.size, "")
            case TurnInterrupted() as event:
                return _ended(
                    turn, items, started, recorded, "interrupted", event.size, event.reason
                )
            case TurnFailed() as event:
                return _ended(turn, items, started, recorded, "failed", event.size, event.error)
            case _:
                pass
    return structs.replace(
        turn,
        items=(*turn.items, *items) if items else turn.items,
        started=frozenset(started),
        call_ids=turn.call_ids.union(calls) if calls else turn.call_ids,
    )


def _reply(version: int, event: ReplyAdded) -> Reply:
    return Reply(version, event.parts, event.model, event.usage, event.ended)


def _ended(
    turn: Turn,
    items: list[Item],
    started: set[str],
    recorded: Recorded,
    status: Status,
    size: Size,
    reason: str,
) -> Turn:
    return structs.replace(
        turn,
        items=(*turn.items, *items),
        started=frozenset(started),
        call_ids=frozenset(),
        status=status,
        last=recorded.version,
        size=size,
        reason=reason,
    )
