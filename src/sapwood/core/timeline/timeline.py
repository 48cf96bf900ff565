"""`Timeline`: derives the rows of one conversation from its events.

It also follows the context as far as readers need it: which turns are on the path from `head` to
`tip`, and what took each of the others out of view.
"""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from typing import assert_never

from msgspec import Struct, structs

from sapwood.core import events
from sapwood.core.content import (
    File,
    Note,
    PromptPart,
    RecordedReply,
    ReplyPart,
    Text,
    Thinking,
    ToolCall,
)
from sapwood.core.context import (
    ROOT,
    Context,
    CutLayer,
    TurnCut,
    cuts_after_trim,
    loaded_after_trim,
)
from sapwood.core.cuts import NO_CUTS, Cuts, CutWalk, read_cuts
from sapwood.core.event_texts import event_texts
from sapwood.core.events import Cause, ContextCut, ContextTrimmed, Recorded, TurnRecorded
from sapwood.core.ids import AgentId, EventRef, TurnRef
from sapwood.core.state import UNDO_DEPTH, WINDOW_STEPS
from sapwood.core.timeline.row_content import shown_parts
from sapwood.core.timeline.rows import Row, RowKind, UndoAction
from sapwood.core.turn import Reply, Turn
from sapwood.core.turn_numbers import Names, joined_places, turn_place

IN_VIEW = -1

_UNFINISHED = ("interrupted", "failed")
_SPEAKERS: dict[RowKind, str] = {"prompt": "user", "reply": "model"}


class Departure(Struct, frozen=True):
    """A moment at which turns left view, and what took them out.

    `summary` is the event of the summary that replaced them, `request` that of the user's last
    request, which stays in view without its turn. `turns` counts them.
    """

    version: int
    cause: str
    at: int
    by_window: bool = False
    tokens: int = 0
    summary: EventRef | None = None
    request: EventRef | None = None
    exact: bool = False
    turns: int = 0


class PlacedTurn(Struct):
    """A turn of the timeline, and how people name it, such as `3` or `NAME/3`.

    `left` is the number of its departure, or `IN_VIEW`.
    """

    parent: TurnRef | None
    place: str
    messages: int = 1
    left: int = IN_VIEW


class Timeline:
    """The rows of a conversation, oldest first. `add` takes the events in the order of the log.

    `changed` counts the moves of the context and the erasures of words; after one the rows must be
    laid out again.
    `context` is the context after the last event, without its mask. `turns_before` counts the turns
    that were started before the first event that is added.
    """

    def __init__(self, turns_before: int = 0) -> None:
        self._started = turns_before
        self.rows: list[Row] = []
        self.turns: list[PlacedTurn] = []
        self.departures: list[Departure] = []
        self.version = 0
        self.changed = 0
        self.context = ROOT
        self._path: list[int] = []
        self._place: dict[TurnRef, int] = {}
        self._open: int | None = None
        self._opened_at = 0
        self._retried: int | None = None  # the row of a retry whose turn has not started yet
        self._calls: dict[str, int] = {}
        self._speaker = ""
        self._summary: EventRef | None = None
        self._updated: list[int] = []
        self._undo: list[int] = []
        self._redo: list[int] = []
        self._by_window: dict[int, TurnRef | None] = {}
        self._layers: dict[EventRef, CutLayer] = {}
        self._dropped: set[int] = set()
        self._results: dict[int, list[int | None]] = {}  # the rows of the results of each turn
        self._dropped_results: dict[int, tuple[int, ...]] = {}
        self._drops: dict[int, Departure] = {}  # by the version of the drop, its undo or its redo
        self.dead_marks: frozenset[int] = frozenset()

    def know_marks(self, live: Iterable[int]) -> None:
        """Takes the versions of the marks that exist now; the rows of all others are dead marks."""
        set_here = (row.version for row in self.rows if row.kind == "mark")
        dead = frozenset(set_here) - frozenset(live)
        if dead != self.dead_marks:
            self.dead_marks = dead
            self.changed += 1

    @property
    def is_open(self) -> bool:
        """Whether a turn is open."""
        return self._open is not None

    def take_updated(self) -> list[int]:
        """Returns the numbers of the rows that were replaced since the last call."""
        updated, self._updated = self._updated, []
        return updated

    def row_of_turn(self, place: str) -> Row | None:
        """The first row of the turn that people name so, such as `3`."""
        return next((row for row in self.rows if row.turn >= 0 and row.place == place), None)

    def row_at(self, agent: AgentId, version: int) -> Row | None:
        """The first row that shows something of an event."""
        for row in self.rows:
            if row.agent == agent and version in (row.version, row.result):
                return row
        return None

    def undo_action(self, departure: Departure, turns: Collection[int] = ()) -> UndoAction | None:
        """The command that brings turns of a departure back, or None if there is none."""
        if turns and self._dropped.issuperset(turns):
            return UndoAction(
                "load", place=joined_places([self.turns[turn].place for turn in turns])
            )
        if departure.version in self._undo:
            return UndoAction("undo", len(self._undo) - self._undo.index(departure.version))
        if departure.version in self._redo:
            return UndoAction("redo", len(self._redo) - self._redo.index(departure.version))
        return None

    def inherit(self, turns: Sequence[Turn], names: Names, cuts: Cuts = NO_CUTS) -> None:
        """Adds the turns of ancestors with which a fork begins, before its own first event.

        `names` are those of the ancestors. `cuts` are those that the fork inherited; the turns that
        they cut are among `turns`.
        """
        self._layers.update(cuts.layers)
        for turn in turns:
            place = turn_place(turn.agent, turn.number, names)
            self._begin(turn.agent, turn.first, turn.parent, turn.prompt, place, inherited=True)
            part = len(turn.prompt)  # parts are numbered through if one event holds the turn
            for item in turn.items:
                whole = item.version == turn.first
                if isinstance(item, Reply):
                    parts = shown_parts(item.parts, item.ended)
                    self._reply(turn.agent, item.version, parts, part if whole else 0)
                    part += len(item.parts)
                else:
                    self._result(item.call, item.version, part if whole else 0)
                    part += 1
            self._end(turn.ref, unfinished=turn.status in _UNFINISHED)

    def add(self, recorded: Recorded) -> None:
        """Adds the next event of the log."""
        agent, version = recorded.agent, recorded.version
        self.version = version
        event = recorded.event
        match event:
            case events.AgentStarted():
                before = self._path
                self._move_to(event.context)
                gone = [turn for turn in before if turn not in self._path]
                if gone:
                    self._leave(gone, Departure(version, "/drop", recorded.at))
            case events.TurnStarted():
                self._opened_at = version
                self._begin(agent, version, event.parent, event.prompt, self._next(event.number))
            case events.ShellRan() | events.SideAnswered():
                self._append("tool", agent, version, turn=-1)
            case events.ReplyAdded():
                self._reply(agent, version, shown_parts(event.parts, event.ended))
            case events.ReplyLost():
                self._reply(agent, version, event.parts)
                self._append("event", agent, version, len(event.parts), turn=-1)
            case events.ToolFinished():
                self._result(event.call, version, 0)
            case events.TurnCompleted():
                self._end(TurnRef(agent, self._opened_at, version))
            case events.TurnInterrupted() | events.TurnFailed():
                self._end(TurnRef(agent, self._opened_at, version), unfinished=True)
            case events.TurnRecorded():
                self._recorded(agent, version, event, recorded.at)
            case events.MarkSet():
                inside = self._open if event.turn else None
                place = "" if inside is None else self.turns[inside].place
                self._append("mark", agent, version, turn=-1, place=place)
            case events.ContextSummarized():
                self._summary = recorded.ref
            case events.ContextTrimmed():
                self._trimmed(recorded, event)
            case events.ContextLoaded(joined=joined):
                if not joined:
                    self._step(version)
                loaded = (*self.context.loaded, recorded.ref)
                self.context = structs.replace(self.context, loaded=loaded)
                self._append("event", agent, version, turn=-1)
            case events.ContextCut():
                self._step(version)
                self._cut(recorded, event)
            case events.ContextRestored(layer):
                self._step(version)
                self._layers[recorded.ref] = layer
                cuts = recorded.ref if layer.below or layer.size else None
                self._jumped(recorded, structs.replace(self.context, cuts=cuts), "/bring")
            case events.ContextRewound():
                self._step(version)
                place = event.mark or event.place if event.cause == "rewind" else ""
                self._jumped(recorded, event.context, f"/{event.cause} {place}".rstrip())
                if event.cause == "retry":
                    self._retried = len(self.rows) - 1
            case events.ContextReverted():
                self._step(version)
                self._jumped(recorded, event.context, "/revert")
            case events.ContextUndone():
                self._take_step(self._undo, self._redo, version)
                self._jumped(recorded, event.context, "/undo")
            case events.ContextRedone():
                self._take_step(self._redo, self._undo, version)
                self._jumped(recorded, event.context, "/redo", self._drops.get(version))
            case events.WordsErased():
                self.changed += 1  # rows that were drawn may have the words
                self._append("event", agent, version, turn=-1)
            case _:
                # Other rows, a sidebar or the log show the kinds that have no notice.
                if event_texts(event).notice:
                    self._append("event", agent, version, turn=-1)

    # Turns

    def _next(self, number: int) -> str:
        """The number of a turn that starts; versions that recorded none are counted."""
        self._started = number or self._started + 1
        return str(self._started)

    def _begin(
        self,
        agent: AgentId,
        version: int,
        parent: TurnRef | None,
        prompt: tuple[PromptPart, ...],
        place: str,
        *,
        inherited: bool = False,
    ) -> None:
        self._open = len(self.turns)
        self.turns.append(PlacedTurn(parent, place))
        if self._retried is not None:
            self.rows[self._retried] = structs.replace(self.rows[self._retried], turn=self._open)
            self._updated.append(self._retried)
            self._retried = None
        self._speaker = ""
        self._calls.clear()
        for number, part in enumerate(prompt):
            if inherited or not _has_own_row(part):
                kind = "note" if isinstance(part, Note) else "prompt"
                self._append(kind, agent, version, number)

    def _reply(
        self, agent: AgentId, version: int, parts: tuple[ReplyPart, ...], first: int = 0
    ) -> None:
        self._count_message()
        for number, part in enumerate(parts, first):
            match part:
                case Text(text):
                    if text.strip():
                        self._append("reply", agent, version, number)
                case File():
                    self._append("reply", agent, version, number)
                case Thinking(text):
                    if text.strip():
                        self._append("thinking", agent, version, number)
                case ToolCall(call):
                    self._calls[call] = len(self.rows)
                    self._append("tool", agent, version, number)
                case _:
                    assert_never(part)

    def _result(self, call: str, version: int, part: int) -> None:
        self._count_message()
        place = self._calls.pop(call, None)
        if self._open is not None:
            self._results.setdefault(self._open, []).append(place)
        if place is not None:
            self._updated.append(place)
            row = self.rows[place]
            self.rows[place] = structs.replace(row, result=version, result_part=part)

    def _recorded(self, agent: AgentId, version: int, event: TurnRecorded, at: int) -> None:
        self._begin(agent, version, event.parent, event.prompt, self._next(event.number))
        part = len(event.prompt)
        for item in event.items:
            if isinstance(item, RecordedReply):
                self._reply(agent, version, item.parts, part)
                part += len(item.parts)
            else:
                self._result(item.call, version, part)
                part += 1
        ref = TurnRef(agent, version, version)
        if event.aside and self._open is not None:
            self._place[ref] = self._open
            self._leave([self._open], Departure(version, "the turn of the command itself", at))
            self._open = None
            return
        self._end(ref, unfinished=event.status in _UNFINISHED)

    def _end(self, ref: TurnRef, *, unfinished: bool = False) -> None:
        if unfinished:
            self._append("end", ref.agent, ref.last)
        if self._open is None:
            return
        self._place[ref] = self._open
        self._path.append(self._open)
        self._open = None
        before = self.context
        self.context = structs.replace(before, tip=ref, mask=None)

    # Moves of the context

    def _trimmed(self, recorded: Recorded, event: ContextTrimmed) -> None:
        if event.cause == "window" and self._summary is not None:
            self._extended(event)
            return
        tip, loaded = self.context.tip, loaded_after_trim(self.context, event.cause)
        cuts = cuts_after_trim(self.context, event.cause)
        self.context = Context(tip, event.head, event.summary, event.request, None, loaded, cuts)
        if self._dropped_results:
            self._show_results()
        edge = self._place.get(event.head) if event.head else None
        leaving = self._path.index(edge) + 1 if edge in self._path else 0
        if event.head == tip:
            leaving = len(self._path)
            self._dropped.clear()
        gone, self._path = self._path[:leaving], self._path[leaving:]
        by_window = event.cause == "window"
        if by_window:
            self._window_step(recorded.version)
        else:
            self._step(recorded.version)
        self._leave(
            gone,
            Departure(
                recorded.version,
                _cause(event.cause, len(self._path)),
                recorded.at,
                by_window,
                event.tokens,
                self._summary if event.cause == "compact" else None,
                event.request,
                event.exact,
            ),
        )
        self._summary = None

    def _cut(self, recorded: Recorded, event: ContextCut) -> None:
        self._layers[recorded.ref] = event.layer
        self.context = structs.replace(self.context, cuts=recorded.ref)
        gone = [turn for cut in event.layer.turns if not cut.back for turn in self._inside(cut)]
        for turn in gone:
            del self._path[bisect_left(self._path, turn)]
        self._dropped.update(gone)
        cause = f"/drop {event.place}".rstrip()
        departure = Departure(
            recorded.version, cause, recorded.at, tokens=event.tokens, exact=event.exact
        )
        self._drops[recorded.version] = departure
        self._leave(gone, departure)
        if event.layer.results or self._dropped_results:
            self._show_results()
        if event_texts(event).notice:
            self._append("event", recorded.agent, recorded.version, turn=-1)

    def _inside(self, cut: TurnCut) -> list[int]:
        """The turns of a cut that are in view."""
        last = self._place.get(cut.last, -1)
        if not self._is_on_path(last) and last not in self._dropped:
            return []  # of another branch
        found: list[int] = []
        ref: TurnRef | None = cut.last
        while ref != cut.before and ref is not None and (turn := self._place.get(ref)) is not None:
            if self._is_on_path(turn):
                found.append(turn)
            ref = self.turns[turn].parent
        return found

    def _is_on_path(self, turn: int) -> bool:
        place = bisect_left(self._path, turn)  # a turn comes after its parent
        return place < len(self._path) and self._path[place] == turn

    def _cuts(self, context: Context) -> Cuts:
        layers: list[tuple[EventRef, CutLayer]] = []
        ref = context.cuts
        while ref is not None and ref in self._layers:
            layers.append((ref, self._layers[ref]))
            ref = self._layers[ref].below
        return read_cuts(layers)

    def _extended(self, event: ContextTrimmed) -> None:
        """The last move of the window got a longer summary; nothing left view."""
        self.context = structs.replace(self.context, summary=event.summary, request=event.request)
        if self.departures and self.departures[-1].by_window:
            self.departures[-1] = structs.replace(self.departures[-1], summary=self._summary)
        self._summary = None
        self.changed += 1

    def _jumped(
        self, recorded: Recorded, context: Context, cause: str, drop: Departure | None = None
    ) -> None:
        """The context became another one. A `drop` that was made again keeps its own words."""
        before = self._path
        self._move_to(context)
        stay = set(self._path)
        for turn in self._path:
            self.turns[turn].left = IN_VIEW
        gone = [turn for turn in before if turn not in stay]
        departure = drop or Departure(recorded.version, cause, recorded.at)
        self._leave(gone, structs.replace(departure, version=recorded.version, at=recorded.at))
        self._append("event", recorded.agent, recorded.version, turn=-1)

    def _move_to(self, context: Context) -> None:
        self.context = context
        walk = CutWalk(self._cuts(context))
        path: list[int] = []
        self._dropped.clear()
        ref = context.tip
        while (
            ref is not None and ref != context.head and (turn := self._place.get(ref)) is not None
        ):
            if walk.is_cut(ref):
                self._dropped.add(turn)
            else:
                path.append(turn)
            ref = self.turns[turn].parent
        self._path = path[::-1]
        self._show_results()

    def _show_results(self) -> None:
        """Marks the rows whose results are dropped in this context, and no others."""
        found = self._cuts(self.context).results
        dropped = {self._place[ref]: found[ref] for ref in found if ref in self._place}
        before, self._dropped_results = self._dropped_results, dropped
        for turn in before.keys() | dropped.keys():
            if before.get(turn) == dropped.get(turn):
                continue
            for number, place in enumerate(self._results.get(turn, ()), 1):
                if place is not None:
                    is_dropped = number in dropped.get(turn, ())
                    name = f"{self.turns[turn].place}.{number}" if is_dropped else ""
                    self.rows[place] = structs.replace(self.rows[place], dropped=name)
                    self._updated.append(place)

    def _leave(self, turns: Sequence[int], departure: Departure) -> None:
        for turn in turns:
            self.turns[turn].left = len(self.departures)
        self.departures.append(structs.replace(departure, turns=len(turns)))
        self.changed += 1

    def _step(self, version: int) -> None:
        """A context command that `/undo` takes back."""
        self._retried = None
        self._undo = [*self._undo, version][-UNDO_DEPTH:]
        self._redo.clear()

    def _window_step(self, version: int) -> None:
        """A move of the window is a step too, as in the state. An undone one has no redo then."""
        self._redo = [step for step in self._redo if step not in self._by_window]
        tip, newest = self.context.tip, self._undo[-1] if self._undo else 0
        if newest in self._by_window and self._by_window[newest] == tip:
            return
        self._by_window[version] = tip
        steps = [*self._undo, version]
        moves = [step for step in steps if step in self._by_window]
        if len(moves) > WINDOW_STEPS:
            steps.remove(moves[0])
        self._undo = steps[-UNDO_DEPTH:]

    def _take_step(self, taken: list[int], given: list[int], version: int) -> None:
        """Moves a step from one stack to the other, at the version of the undo or redo."""
        self._retried = None
        if taken:  # a timeline of the last events alone does not know the older steps
            step = taken.pop()
            if step in self._by_window:
                self._by_window[version] = self.context.tip
            if step in self._drops:
                self._drops[version] = self._drops[step]
        given.append(version)

    # Rows

    def _count_message(self) -> None:
        if self._open is not None:
            self.turns[self._open].messages += 1

    def _append(
        self,
        kind: RowKind,
        agent: AgentId,
        version: int,
        part: int = 0,
        *,
        turn: int | None = None,
        place: str = "",
    ) -> None:
        inside = (self._open if self._open is not None else -1) if turn is None else turn
        place = self.turns[inside].place if inside >= 0 else place
        speaker = _SPEAKERS.get(kind, "")
        heads = bool(speaker) and speaker != self._speaker
        self._speaker = speaker or self._speaker
        self.rows.append(Row(kind, agent, version, part, inside, heads=heads, place=place))


def _has_own_row(part: PromptPart) -> bool:
    """Whether a part of a prompt was shown before it: the output of a command that a person ran."""
    return isinstance(part, Note) and part.origin == "shell"


def _cause(cause: Cause, kept: int) -> str:
    """What a person would type, or 'window'."""
    match cause:
        case "clear":
            return "/clear"
        case "keep":
            return f"/clear {kept}"
        case "compact":
            return "/compact"
        case "window":
            return "window"
        case _:
            assert_never(cause)
