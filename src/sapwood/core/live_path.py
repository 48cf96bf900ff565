"""The live path: the turns of a context, with their contents.

It is always derived from the log: `Walk` reads it by following references, `follow` updates it
event by event. Both give the same value.

An immutable sequence; making a longer copy of it costs only what is added.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Generic, TypeVar, overload

from msgspec import Struct, structs

from sapwood.core import events
from sapwood.core.content import PromptPart
from sapwood.core.context import ROOT, Context, CutLayer
from sapwood.core.cuts import NO_CUTS, Cuts, CutWalk, read_cuts, still_in_view
from sapwood.core.ids import AgentId, EventRef, TurnRef
from sapwood.core.turn import Turn, closed_turn, fold_turn, grow, open_turn, recorded_turn


class LivePath(Struct, frozen=True):
    """The turns in view, oldest first, the open one last, and what is sent before them.

    `weight` is the sum of the sizes of the ended turns, if one counter counted them all.
    """

    context: Context
    turns: Sequence[Turn] = ()
    open: Turn | None = None
    summary: events.ContextSummarized | None = None
    request: tuple[PromptPart, ...] = ()
    weight: events.Size | None = None
    loaded: tuple[events.ContextLoaded, ...] = ()
    cuts: Cuts = NO_CUTS

    @property
    def all_turns(self) -> Sequence[Turn]:
        """Ended turns and the open one."""
        return (*self.turns, self.open) if self.open else self.turns


EMPTY = LivePath(ROOT)


def follow(live: LivePath, recorded: events.Recorded, context: Context) -> LivePath | None:
    """The live path after an event, whose context is `context`; None if it must be read again.

    New turns at the tip, cuts and a head that moves forward are followed. Jumps to other turns,
    turns that come back into view and events that cannot be read are not.
    """
    if type(recorded.event) is events.UnreadableEvent:
        return None
    grown = _grown(live, recorded)
    return None if grown is None else inherited(grown, context)


def inherited(live: LivePath, context: Context) -> LivePath | None:
    """The path of another context with the same tip; None if this path lacks a part of it."""
    if context == live.context:
        return live
    if context.tip != live.context.tip:
        return None
    is_empty = context.head == context.tip
    kept = () if is_empty else _after(live.turns, context.head, live.context.head)
    if context.cuts != live.context.cuts and not (is_empty and context.cuts is None):
        return None
    if kept is None or context.summary not in (None, live.context.summary):
        return None
    if context.loaded not in ((), live.context.loaded):
        return None
    request = _carried(live, context.request)
    if request is None:
        return None
    summary = live.summary if context.summary else None
    weight = live.weight if len(kept) == len(live.turns) else _weigh(kept)
    loaded = live.loaded if context.loaded else ()
    cuts = live.cuts if context.cuts else NO_CUTS
    return LivePath(context, kept, live.open, summary, request, weight, loaded, cuts)


def _weigh(turns: Sequence[Turn]) -> events.Size | None:
    sizes = [turn.size for turn in turns if turn.size is not None]
    counters = {size.counter for size in sizes}
    if len(sizes) != len(turns) or len(counters) != 1:
        return None
    return events.Size(sum([size.tokens for size in sizes]), counters.pop())


def _heavier(weight: events.Size | None, size: events.Size | None) -> events.Size | None:
    if weight is None or size is None or weight.counter != size.counter:
        return None
    return events.Size(weight.tokens + size.tokens, weight.counter)


def _grown(live: LivePath, recorded: events.Recorded) -> LivePath | None:
    match recorded.event:
        case events.TurnStarted() as event:
            return structs.replace(live, open=open_turn(recorded, event))
        case events.TurnCompleted() | events.TurnInterrupted() | events.TurnFailed() if (
            live.open is not None
        ):
            return _joined(live, grow(live.open, recorded))
        case events.TurnRecorded(aside=True):
            return live
        case events.TurnRecorded() as event:
            return _joined(live, recorded_turn(recorded.agent, recorded.version, event))
        case events.ContextCut(layer):
            return _cut(live, recorded.ref, layer)
        case events.ContextRestored(layer, turns=turns):
            return None if turns else _cut(live, recorded.ref, layer)
        case _ if live.open is not None:
            return structs.replace(live, open=grow(live.open, recorded))
        case _:
            return live


def _cut(live: LivePath, event: EventRef, layer: CutLayer) -> LivePath:
    """The path after a change of its cuts that takes turns out of view, or changes results."""
    cuts = live.cuts.after(event, layer)
    turns = still_in_view(live.turns, live.context.tip, live.cuts, cuts)
    weight = live.weight if len(turns) == len(live.turns) else _weigh(turns)
    context = structs.replace(live.context, cuts=event if layer.below or layer.size else None)
    return structs.replace(live, context=context, turns=turns, weight=weight, cuts=cuts)


def _joined(live: LivePath, ended: Turn) -> LivePath | None:
    if ended.parent != live.context.tip:  # the turn before this one cannot be read
        return None
    context = structs.replace(live.context, tip=ended.ref)
    weight = _heavier(live.weight, ended.size) if live.turns else ended.size
    turns = (
        live.turns if isinstance(live.turns, AppendOnlySequence) else AppendOnlySequence(live.turns)
    )
    grown = turns.plus(ended)
    return LivePath(
        context, grown, None, live.summary, live.request, weight, live.loaded, live.cuts
    )


def _after(
    turns: Sequence[Turn], head: TurnRef | None, before: TurnRef | None
) -> Sequence[Turn] | None:
    if head == before:
        return turns
    for index, turn in enumerate(turns):
        if turn.ref == head:
            return turns[index + 1 :]
    return None


def _carried(live: LivePath, request: EventRef | None) -> tuple[PromptPart, ...] | None:
    if request is None:
        return ()
    if request == live.context.request:
        return live.request
    return next((turn.prompt for turn in live.turns if turn.prompt_ref == request), None)


class Slice(Struct, frozen=True):
    """A range of events of one log: versions `first` to `last`, both included."""

    agent: AgentId
    first: int
    last: int


class Walk:
    """Finds a live path without I/O: the caller reads the slice that `wanted` returns and passes
    its events to `feed`, until nothing is wanted.

    The walk goes from `tip` to `head`. Most turns follow one another in one log, so the walk asks
    for more events than one turn has, in growing strides, never past `head`. If the parent of a
    turn is elsewhere (another branch, another agent), the strides are short again, because the
    events before that place may belong to another branch. If `head` is not on the path, because
    events on the way cannot be read, the walk ends at the root.

    The events with the cuts are read first. Of turns that are cut, only the last is read, or the
    start of each where `head` may be among them.
    """

    FIRST_STRIDE, LAST_STRIDE = 64, 4096

    def __init__(self, context: Context, known: Sequence[events.Recorded] = ()) -> None:
        """`known` are consecutive events of one log that were read already."""
        self._context = context
        self._next = context.tip if context.tip != context.head else None
        self._turns: list[Turn] = []
        self._buffer = known
        self._stride = self.FIRST_STRIDE
        self._aside = [ref for ref in (context.summary, context.request, *context.loaded) if ref]
        self._found: dict[EventRef, events.Recorded] = {}
        self._layer = context.cuts
        self._layers: list[tuple[EventRef, CutLayer]] = []
        self._cuts, self._cut_walk = NO_CUTS, CutWalk(NO_CUTS)
        self._read_known_layers()

    def _read_known_layers(self) -> None:
        while self._layer is not None and (recorded := self._known(self._layer)) is not None:
            self._add_layer(recorded)
        if self._layer is None:
            self._start()

    def _known(self, ref: EventRef) -> events.Recorded | None:
        known = self._buffer
        place = ref.version - known[0].version if known else -1
        if 0 <= place < len(known) and known[0].agent == ref.agent:
            return known[place]
        return None

    def _add_layer(self, recorded: events.Recorded) -> None:
        event, self._layer = recorded.event, None
        if isinstance(event, events.ContextCut | events.ContextRestored):
            self._layers.append((recorded.ref, event.layer))
            self._layer = event.layer.below

    def _start(self) -> None:
        self._cuts = read_cuts(self._layers)
        self._cut_walk = CutWalk(self._cuts)
        if self._buffer:
            self._take_what_follows()
            self._stride = self._next_stride()

    def wanted(self) -> Slice | None:
        """The next events to read, or None if the path is complete."""
        if self._layer is not None:
            return Slice(self._layer.agent, self._layer.version, self._layer.version)
        if self._next is not None:
            turn, head = self._next, self._context.head
            end = head.last if head is not None and head.agent == turn.agent else 0
            first = min(turn.first, max(end + 1, turn.last - self._stride + 1))
            return Slice(turn.agent, first, turn.last)
        if self._aside:
            ref = self._aside[-1]
            return Slice(ref.agent, ref.version, ref.version)
        return None

    def feed(self, read: Sequence[events.Recorded]) -> None:
        """Adds the events of the slice that was wanted last, oldest first.

        Raises ValueError if they do not contain the turn.
        """
        if self._layer is not None:
            self._add_layer(read[0])
            self._read_known_layers()
            return
        if self._next is None:
            ref = self._aside.pop()
            self._found[ref] = read[0]
            return
        self._buffer = read
        if not self._take(self._next):
            raise ValueError(f"the log does not hold the turn {self._next}")
        self._take_what_follows()
        self._stride = self._next_stride()

    def _take_what_follows(self) -> None:
        while self._next is not None and self._take(self._next):
            pass

    def _next_stride(self) -> int:
        turn, first = self._next, self._buffer[0]
        is_near = (
            turn is not None
            and turn.agent == first.agent
            and first.version - turn.last <= self.FIRST_STRIDE
        )
        return min(self._stride * 4, self.LAST_STRIDE) if is_near else self.FIRST_STRIDE

    def _take(self, ref: TurnRef) -> bool:
        start = self._buffer[0].version if self._buffer else 0
        if not self._buffer or self._buffer[0].agent != ref.agent or ref.first < start:
            return False
        if ref.last - start >= len(self._buffer):
            return False
        head = self._buffer[ref.first - start]
        if self._cut_walk.is_cut(ref):
            before = self._cut_walk.skips_to(self._context.head)
            if before is not None:
                self._go_to(before)
                return True
            start = (
                head.event
                if isinstance(head.event, events.TurnStarted | events.TurnRecorded)
                else None
            )
            self._go_to(start.parent if start else None)
            return True
        if type(head.event) is events.TurnRecorded:
            turn = recorded_turn(head.agent, head.version, head.event)
        else:
            turn = fold_turn(self._buffer[ref.first - start : ref.last - start + 1])
            turn = closed_turn(turn, ref.last)
        self._turns.append(turn)
        self._go_to(turn.parent)
        if type(head.event) is events.UnreadableEvent:  # its parent is unknown
            self._next = None
        return True

    def _go_to(self, parent: TurnRef | None) -> None:
        self._next = parent if parent != self._context.head else None

    def live(self, open_turn: Turn | None = None) -> LivePath:
        """Returns the path. Call it when nothing more is wanted."""
        summary = request = None
        if self._context.summary:
            summary = self._found[self._context.summary].event
        if self._context.request:
            request = self._found[self._context.request].event
        loaded = [self._found[ref].event for ref in self._context.loaded]
        turns = tuple(reversed(self._turns))
        return LivePath(
            self._context,
            turns,
            open_turn,
            summary if isinstance(summary, events.ContextSummarized) else None,
            request.prompt if isinstance(request, events.TurnStarted | events.TurnRecorded) else (),
            _weigh(turns),
            tuple([event for event in loaded if isinstance(event, events.ContextLoaded)]),
            self._cuts,
        )


T = TypeVar("T")


class AppendOnlySequence(Sequence[T], Generic[T]):
    """The first items of a list that several sequences share.

    Adding an item to a tuple copies every item: with 5,000 turns that took longer than the commit.
    Here the longest sequence adds to the shared list; a shorter one copies its items first.

    >>> one = AppendOnlySequence([1, 2])
    >>> longer, other = one.plus(3), one.plus(4)
    >>> one, longer, other, longer[1:]
    (AppendOnlySequence(1, 2), AppendOnlySequence(1, 2, 3), AppendOnlySequence(1, 2, 4), (2, 3))
    >>> longer == (1, 2, 3), longer == other
    (True, False)
    """

    __slots__ = ("_items", "_size")

    def __init__(self, items: Sequence[T] = ()) -> None:
        self._items = list(items)
        self._size = len(self._items)

    def plus(self, item: T) -> "AppendOnlySequence[T]":
        """Returns a sequence with one more item at the end."""
        items = self._items if self._size == len(self._items) else self._items[: self._size]
        items.append(item)
        longer: AppendOnlySequence[T] = AppendOnlySequence()
        longer._items, longer._size = items, self._size + 1
        return longer

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[T, ...]: ...
    def __getitem__(self, index: int | slice) -> T | tuple[T, ...]:
        if isinstance(index, slice):
            return tuple([self._items[place] for place in range(*index.indices(self._size))])
        if not -self._size <= index < self._size:
            raise IndexError(index)
        return self._items[index + self._size if index < 0 else index]

    def __iter__(self) -> Iterator[T]:
        return islice(self._items, self._size)

    def __reversed__(self) -> Iterator[T]:
        return islice(reversed(self._items), len(self._items) - self._size, None)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AppendOnlySequence | tuple):
            return NotImplemented
        if len(self) != len(other):  # pyright: ignore[reportUnknownArgumentType]
            return False
        return all(mine == its for mine, its in zip(self, other, strict=True))  # pyright: ignore[reportUnknownVariableType,reportUnknownArgumentType]

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"AppendOnlySequence({', '.join(map(repr, self))})"
