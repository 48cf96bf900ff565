"""A turn: one prompt, replies with their tool calls and results, an end.

`fold_turn` makes it of a slice of a log. It skips events between the first and the last one that
are not part of the turn, events that cannot be read, and results of calls in such events.

Excerpts of long tool results: how much of one a request contains. The log keeps the whole.

The excerpt depends on the result alone, so it is the same in every request. It does not change the
prefix that a provider has cached.

A turn as one text, to be quoted: what was asked, said, called and returned.
"""

from collections.abc import Callable, Sequence
from typing import Literal

from msgspec import Struct, structs

from sapwood.core import events
from sapwood.core.content import (
    Ended,
    File,
    Note,
    PromptPart,
    RecordedReply,
    ReplyPart,
    Text,
    Thinking,
    ToolCall,
    Usage,
)
from sapwood.core.ids import AgentId, EventRef, TurnRef
from sapwood.core.program_session import NativeRows, ProgramSession

Status = Literal["open", "completed", "interrupted", "failed"]


class Reply(Struct, frozen=True, gc=False, tag="reply"):
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
        """The call in which the reply was cut off: its arguments may be incomplete."""
        last = self.parts[-1] if self.parts else None
        return last if self.ended != "done" and isinstance(last, ToolCall) else None


class Result(Struct, frozen=True, gc=False, tag="result"):
    """The result of one tool call. `added` and `removed` count lines, in recorded turns only.

    `diff` is the change of a file, for readers of a timeline; it is left out in turns.
    """

    version: int
    call: str
    content: str
    error: bool = False
    added: int = 0
    removed: int = 0
    diff: str = ""
    files: tuple[File, ...] = ()


Item = Reply | Result


def goes_on(prompt: tuple[PromptPart, ...]) -> bool:
    """Whether a program continued the turn before with this, without a prompt of the user."""
    notes = [part for part in prompt if isinstance(part, Note)]
    return len(notes) == len(prompt) > 0 and all(note.origin == "program" for note in notes)


class Turn(Struct, frozen=True, gc=False):
    """The atomic unit of a context: the whole turn is in view, or nothing of it.

    `started` are the calls that may have had effects and have no result. While the turn is open,
    `call_ids` are the ids of all its calls, so that a long turn is not searched for them, and
    `streamed` are the words of the reply that is still arriving. `native` names the rows of the
    turn in the transcript of the program that ran it; their session has no id in recorded turns.
    `number` is the number of the turn in the conversation of `agent`; 0 if it is not known.
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
    size: events.Size | None = None
    reason: str = ""
    streamed: tuple[ReplyPart, ...] = ()
    native: NativeRows | None = None
    number: int = 0

    @property
    def ref(self) -> TurnRef:
        """The place of an ended turn. Raises ValueError for an open one: it has no place yet."""
        if self.status == "open":
            raise ValueError("an open turn has no place in the tree yet")
        return TurnRef(self.agent, self.first, self.last)

    def covers(self, event: EventRef) -> bool:
        """Whether the event is between the first and the last event of this turn."""
        if event.agent != self.agent or event.version < self.first:
            return False
        return self.status == "open" or event.version <= self.last

    @property
    def prompt_ref(self) -> EventRef:
        """The event that holds the prompt."""
        return EventRef(self.agent, self.first)

    @property
    def is_request(self) -> bool:
        """Whether a user asked for something. A turn that notes alone started is no request."""
        return any(isinstance(part, Text | File) for part in self.prompt)

    @property
    def goes_on(self) -> bool:
        """Whether the program that ran the turn continued the turn before, without a prompt."""
        return goes_on(self.prompt)

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
        """Whether the last item is a reply without tool calls."""
        last = self.items[-1] if self.items else None
        return isinstance(last, Reply) and not last.calls

    @property
    def answer(self) -> str:
        """The text of the last reply; empty if there is none."""
        replies = [item for item in self.items if isinstance(item, Reply)]
        parts = replies[-1].parts if replies else ()
        return "\n\n".join(part.text for part in parts if isinstance(part, Text)).strip()

    @property
    def messages(self) -> int:
        """The number of messages: the prompt, each reply, each result."""
        return 1 + len(self.items)

    def shown(self, result: Result) -> str:
        """The text of a result in a request, if it is not masked: shortened if it is long."""
        recorded = self.first == self.last  # one event holds all of the turn
        return shortened(result.content, f"{self.agent}:{result.version}", alone=not recorded)

    @property
    def usages(self) -> list[Usage]:
        """The reported usage of each answered model call, in order."""
        replies = (item for item in self.items if isinstance(item, Reply))
        return [reply.usage for reply in replies if reply.usage is not None]

    @property
    def words_so_far(self) -> tuple[ReplyPart, ...]:
        """The text and the reasoning of the reply that is still arriving, without its calls."""
        return tuple(
            part for part in self.streamed if not isinstance(part, ToolCall) and part.text.strip()
        )

    def files(self) -> list[File]:
        """Every file of the turn that is sent to a model, for counting."""
        found = [part for part in self.prompt if isinstance(part, File)]
        for item in self.items:
            if isinstance(item, Result):
                found += item.files
            else:
                found += [part for part in item.parts if isinstance(part, File)]
        return found

    def texts(self) -> list[str]:
        """Every text of the turn that is sent to a model, for counting."""
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


_IMPORTED = ProgramSession("", "")


def open_turn(recorded: events.Recorded, event: events.TurnStarted) -> Turn:
    """The turn that this event opened."""
    return Turn(recorded.agent, recorded.version, event.parent, event.prompt, number=event.number)


def recorded_turn(agent: AgentId, version: int, event: events.TurnRecorded) -> Turn:
    """The turn that is stored in this one event."""
    return Turn(
        agent,
        version,
        event.parent,
        event.prompt,
        tuple(
            [
                Reply(version, item.parts, item.model, item.usage)
                if isinstance(item, RecordedReply)
                else Result(
                    version,
                    item.call,
                    item.content,
                    item.error,
                    item.added,
                    item.removed,
                    files=item.files,
                )
                for item in event.items
            ]
        ),
        status=event.status,
        last=version,
        size=event.size,
        reason=event.reason,
        native=NativeRows(_IMPORTED, event.passage) if event.passage else None,
        number=event.number,
    )


def grow(turn: Turn, recorded: events.Recorded) -> Turn:
    """The turn after one more event of its log."""
    return _grown(turn, (recorded,))


def fold_turn(slice_: Sequence[events.Recorded]) -> Turn:
    """The turn in a slice of a log. Raises ValueError if the first event does not open a turn."""
    head = slice_[0]
    if isinstance(head.event, events.TurnRecorded):
        return recorded_turn(head.agent, head.version, head.event)
    if isinstance(head.event, events.UnreadableEvent):
        return _grown(_unreadable_start(head, head.event), slice_[1:])
    if not isinstance(head.event, events.TurnStarted):
        raise ValueError(f"{head.ref} does not open a turn")
    return _grown(open_turn(head, head.event), slice_[1:])


def closed_turn(turn: Turn, last: int) -> Turn:
    """The turn with its end at a version, even if the event that ended it cannot be read."""
    if turn.status != "open":
        return turn
    return structs.replace(
        turn,
        status="interrupted",
        last=last,
        call_ids=frozenset(),
        streamed=(),
        reason="the end of this turn cannot be read",
    )


def _unreadable_start(head: events.Recorded, event: events.UnreadableEvent) -> Turn:
    """A turn whose first event cannot be read: its prompt and its parent are unknown."""
    lost = Note("program", f"[The prompt at {head.ref} cannot be read: {event.reason}]")
    return Turn(head.agent, head.version, None, (lost,))


def _grown(turn: Turn, added: Sequence[events.Recorded]) -> Turn:
    """Adds them all at once: a turn of thousands of events is copied only once."""
    items: list[Item] = []
    calls: set[str] = set()
    started = set(turn.started)
    streamed = turn.streamed
    for recorded in added:
        match recorded.event:
            case events.ReplyStreamed() as event:
                streamed = joined_parts(streamed, event.parts)
            case events.ModelCalled(instruction="") | events.ReplyLost():
                streamed = ()
            case events.ReplyAdded() as event:
                streamed = ()
                items.append(_reply(recorded.version, event))
                calls.update([part.id for part in event.parts if type(part) is ToolCall])
            case events.ToolStarted() as event:
                started.add(event.call)
            case events.QuestionAsked() as event:
                started.discard(event.call)  # it has had no effect, and starts again
            case events.ToolFinished() as event if (
                event.call in calls or event.call in turn.call_ids
            ):
                items.append(
                    Result(
                        recorded.version, event.call, event.content, event.error, files=event.files
                    )
                )
                started.discard(event.call)
            case events.NativeRecorded() as event:
                turn = structs.replace(turn, native=event.rows)
            case events.TurnCompleted() as event:
                return _ended(turn, items, started, recorded, "completed", event.size, "")
            case events.TurnInterrupted() as event:
                return _ended(
                    turn, items, started, recorded, "interrupted", event.size, event.reason
                )
            case events.TurnFailed() as event:
                return _ended(turn, items, started, recorded, "failed", event.size, event.error)
            case _:
                pass  # it adds nothing to a turn
    return structs.replace(
        turn,
        items=(*turn.items, *items) if items else turn.items,
        started=frozenset(started),
        streamed=streamed,
        call_ids=turn.call_ids.union(calls) if calls else turn.call_ids,
    )


def joined_parts(
    parts: tuple[ReplyPart, ...], more: tuple[ReplyPart, ...]
) -> tuple[ReplyPart, ...]:
    """The parts of a reply with more pieces of it: text continues text, reasoning reasoning.

    Reasoning that is signed is whole.

    >>> joined_parts((Text("Hel"),), (Text("lo."),))
    (Text(text='Hello.'),)
    """
    joined = list(parts)
    for part in more:
        last = joined[-1] if joined else None
        if isinstance(part, Text) and isinstance(last, Text):
            joined[-1] = Text(last.text + part.text)
        elif (
            isinstance(part, Thinking)
            and isinstance(last, Thinking)
            and not (last.signature or part.signature)
        ):
            joined[-1] = Thinking(last.text + part.text)
        else:
            joined.append(part)
    return tuple(joined)


def _reply(version: int, event: events.ReplyAdded) -> Reply:
    return Reply(version, event.parts, event.model, event.usage, event.ended)


def _ended(
    turn: Turn,
    items: list[Item],
    started: set[str],
    recorded: events.Recorded,
    status: Status,
    size: events.Size,
    reason: str,
) -> Turn:
    return structs.replace(
        turn,
        items=(*turn.items, *items),
        started=frozenset(started),
        call_ids=frozenset(),
        streamed=(),
        status=status,
        last=recorded.version,
        size=size,
        reason=reason,
    )


MAX_SHOWN = 30_000
"""The most characters of one tool result in a request."""

_FIRST = MAX_SHOWN * 2 // 3
_LAST = MAX_SHOWN - _FIRST


def shortened(content: str, place: str, *, alone: bool = True) -> str:
    """The result, or its beginning and its end with a line between them about the rest.

    `place` is the place of the result in the log, such as `abc123:7`; `alone` is false if the event
    has other texts too.

    >>> shortened("short", "abc123:7")
    'short'
    >>> shortened("x" * 31_000, "abc123:7").splitlines()[1]
    '[1,000 of 31,000 characters are left out here; recall abc123:7:20000 shows them]'
    """
    left_out = len(content) - MAX_SHOWN
    if left_out <= 0:
        return content
    line = (
        f"\n[{left_out:,} of {len(content):,} characters are left out here; "
        f"recall {place}{f':{_FIRST}' if alone else ''} shows them]\n"
    )
    return f"{content[:_FIRST]}{line}{content[-_LAST:]}"


def excerpt(content: str, place: str, first: int = 0) -> str:
    """As many characters from `first` on as a result may have, with a line on how to read on.

    >>> excerpt("heron", "abc123:7", 2)
    'ron'
    """
    room = MAX_SHOWN - 200
    last = first + room
    if last >= len(content):
        return content[first:]
    return (
        f"{content[first:last]}\n[up to character {last:,} of {len(content):,}; "
        f"recall {place}:{last} goes on]"
    )


def quoted_turn(turn: Turn) -> str:
    """The turn as text, without its thinking; a long one without its middle."""
    place = str(EventRef(turn.agent, turn.first))
    return shortened(turn_text(turn, turn.shown), place, alone=False)


def turn_text(turn: Turn, result_text: Callable[[Result], str]) -> str:
    """The turn as text, without its thinking."""
    said = [
        f"Note ({part.origin}): {part.text}" if isinstance(part, Note) else f"User: {part.text}"
        for part in turn.prompt
    ]
    for item in turn.items:
        if isinstance(item, Reply):
            said += [_part(part) for part in item.parts if not isinstance(part, Thinking)]
        else:
            failed = " (failed)" if item.error else ""
            said.append(f"Result of {item.call}{failed}: {result_text(item)}")
    return "\n\n".join(said)


def _part(part: Text | ToolCall | File) -> str:
    if isinstance(part, ToolCall):
        return f"Call {part.id}: {part.name} {part.args}"
    return f"Assistant: {part.text}"
