"""Decisions that move the context: mark, clear, rewind, undo, compact, mask."""

from msgspec import structs

from sapwood.core.command_table import TABLE
from sapwood.core.commands import (
    Clear,
    Compact,
    DeferCompact,
    DropSummary,
    Given,
    KeepLast,
    MaskResults,
    Redo,
    ReturnTo,
    Rewind,
    SetMark,
    Undo,
)
from sapwood.core.context import Context, Mark, Mask, Step, find_mark, take_back
from sapwood.core.counting import Counter
from sapwood.core.decide.guards import (
    require_exists,
    require_mark,
    require_mark_name,
    require_may_run,
    require_no_turn,
    require_room_for_notes,
    require_running,
    require_text,
    require_turn,
)
from sapwood.core.decide.scene import Accepted, Draft, Refused, Scene
from sapwood.core.decide.trimming import overflow, trim
from sapwood.core.events import (
    ClearDeferred,
    ContextRedone,
    ContextRewound,
    ContextSummarized,
    ContextUndone,
    MarkSet,
    ResultsMasked,
    SummaryDropped,
    TurnCompleted,
    TurnStarted,
)
from sapwood.core.ids import EventRef
from sapwood.core.masking import live_mask, mask_edges
from sapwood.core.measure import size_of
from sapwood.core.refusals import (
    BadArguments,
    NothingToRedo,
    NothingToUndo,
    NotImported,
    SummaryOutdated,
)
from sapwood.core.turn import Result

__all__ = [
    "apply_deferred",
    "clear",
    "compact",
    "defer_compact",
    "drop_summary",
    "keep_last",
    "mask_results",
    "redo",
    "return_to",
    "rewind",
    "set_mark",
    "undo",
]


def set_mark(scene: Scene, command: SetMark, given: Given) -> Accepted:
    require_running(scene.state)
    if command.name:
        require_mark_name(command.name)
    turn = scene.state.open.first if scene.state.open else None
    draft = Draft(scene.state, scene.live, given)
    draft.add(MarkSet(command.name, turn, given.call))
    return draft.accepted(f"Marked '{command.name}'." if command.name else "Marked.")


def clear(scene: Scene, command: Clear, given: Given) -> Accepted:
    if given.actor.role == "model":
        return _deferred(scene, ClearDeferred(), given)
    require_running(scene.state)
    state, context = scene.state, scene.state.context
    if not (scene.live.turns or context.summary or context.request or state.marks):
        return Accepted((), "The context is clear already.")
    draft = Draft(state, scene.live, given)
    trim(draft, "clear", len(scene.live.turns), scene.counter)
    return draft.accepted("Context cleared.")


def keep_last(scene: Scene, command: KeepLast, given: Given) -> Accepted:
    if command.turns < 1:
        raise Refused(BadArguments("/clear N", "N counts turns, from 1."))
    if given.actor.role == "model":
        return _deferred(scene, ClearDeferred(keep=command.turns), given)
    require_running(scene.state)
    live = scene.live
    leaving = len(live.turns) - command.turns
    if leaving <= 0:
        count = len(live.turns)
        return Accepted((), f"Nothing to trim: {count} {_turns(count)} in view.")
    draft = Draft(scene.state, live, given)
    trim(draft, "keep", leaving, scene.counter, mask=live.context.mask)
    return draft.accepted(f"Kept the last {command.turns}; {leaving} {_turns(leaving)} left view.")


def rewind(scene: Scene, command: Rewind, given: Given) -> Accepted:
    state = scene.state
    if given.actor.role == "model":
        require_turn(state)
        _, mark = require_mark(state, command.mark)
        wish = ClearDeferred(mark=mark.name, version=mark.version, note=command.note.strip())
        return _deferred(scene, wish, given)
    require_running(scene.state)
    _, mark = require_mark(state, command.mark)
    if command.note.strip():
        require_room_for_notes(state)
    draft = Draft(state, scene.live, given)
    draft.add(ContextRewound(mark.name, mark.version, mark.context, command.note.strip()))
    return draft.accepted(
        f"Rewound to '{mark.name}'." if mark.name else "Rewound to the last mark."
    )


def return_to(scene: Scene, command: ReturnTo, given: Given) -> Accepted:
    state, turn = scene.state, command.turn
    require_no_turn(state, "A return")
    if state.origin is None:
        raise Refused(NotImported(state.agent))
    context = Context(turn)
    if any(each.ref == turn for each in scene.live.turns) or turn == state.context.head:
        context = structs.replace(state.context, tip=turn, mask=None)
    draft = Draft(state, scene.live, given)
    draft.add(ContextRewound("", turn.last if turn else 0, context))
    return draft.accepted("Returned to an earlier turn.")


def undo(scene: Scene, command: Undo, given: Given) -> Accepted:
    state = scene.state
    require_running(scene.state)
    if not state.undo:
        raise Refused(NothingToUndo())
    draft = Draft(state, scene.live, given)
    draft.add(ContextUndone(_taken_back(scene, state.undo[-1])))
    return draft.accepted("Undone.")


def redo(scene: Scene, command: Redo, given: Given) -> Accepted:
    state = scene.state
    require_running(scene.state)
    if not state.redo:
        raise Refused(NothingToRedo())
    draft = Draft(state, scene.live, given)
    draft.add(ContextRedone(_taken_back(scene, state.redo[-1])))
    return draft.accepted("Redone.")


def _taken_back(scene: Scene, step: Step) -> Context:
    """The context that taking a step back leads to; the window's moves since are not taken back.

    Had the step not been, the window would have left the same old turns behind, or more.
    """
    state, now = scene.state, scene.state.context
    context, _ = take_back(step, now, state.marks)
    if step.moved == "tip" or state.slid <= step.version:
        return context
    if context.head == now.head or any(turn.ref == context.head for turn in scene.live.turns):
        return context
    return Context(now.tip, now.head, context.summary, now.request, now.mask)


def compact(scene: Scene, command: Compact, given: Given) -> Accepted:
    due = given.actor.role == "system" and _is_due(scene)
    if not due:
        require_may_run(scene.state, TABLE["compact"])
    require_text(command.summary, "summary")
    if command.of is not None and command.of != scene.state.context.tip:
        raise Refused(SummaryOutdated())
    draft = Draft(scene.state, scene.live, given)
    if due and scene.live.open is not None:
        draft.add(TurnCompleted(size_of(scene.live.open, scene.counter)))
    at_least = overflow(draft, scene.counter) if due else 0
    return draft.accepted(_compacted(draft, command, scene.counter, at_least))


def drop_summary(scene: Scene, command: DropSummary, given: Given) -> Accepted:
    require_exists(scene.state)
    draft = Draft(scene.state, scene.live, given)
    draft.add(SummaryDropped(command.model, command.usage, command.reason))
    return draft.accepted()


def _compacted(draft: Draft, command: Compact, counter: Counter, at_least: int) -> str:
    live = draft.live
    assert live is not None
    leaving = max(at_least, len(live.turns) - max(0, command.keep))
    if leaving <= 0:
        count = len(live.turns)
        return f"Nothing to compact: {count} {_turns(count)} in view."
    summary = EventRef(draft.state.agent, draft.next_version)
    draft.add(
        ContextSummarized(
            command.summary, command.ledger, command.score, command.model, command.usage
        )
    )
    trim(draft, "compact", leaving, counter, summary=summary, mask=live.context.mask)
    found = "" if command.score is None else f" It holds {command.score:.0%} of what was checked."
    return f"Compacted {leaving} {_turns(leaving)} into a summary.{found.replace('%', ' %')}"


def defer_compact(scene: Scene, command: DeferCompact, given: Given) -> Accepted:
    return _deferred(scene, ClearDeferred(keep=max(0, command.keep), compact=True), given)


def _is_due(scene: Scene) -> bool:
    """Whether the open turn is answered and its model asked to compact at its end."""
    turn = scene.state.open
    asked = turn is not None and turn.deferred is not None and turn.deferred.compact
    return asked and scene.live.open is not None and scene.live.open.is_answered


def mask_results(scene: Scene, command: MaskResults, given: Given) -> Accepted:
    require_running(scene.state)
    if command.over < 1:
        raise Refused(BadArguments("mask results over N", "N counts characters, from 1."))
    before = live_mask(scene.live)
    over = min(command.over, before.over) if before else command.over
    if not _has_more_to_mask(scene, before, over):
        return Accepted((), f"No further tool result in view is over {over:,} characters.")
    newest = scene.live.all_turns[-1]
    last = scene.state.version if newest.status == "open" else newest.last
    draft = Draft(scene.state, scene.live, given)
    draft.add(ResultsMasked(Mask(EventRef(newest.agent, last), over)))
    return draft.accepted("Large tool results are masked.")


def _has_more_to_mask(scene: Scene, before: Mask | None, over: int) -> bool:
    """Whether a result of more than `over` characters is not masked yet."""
    shown_up_to = before.over if before else 0
    return any(
        isinstance(item, Result)
        and len(item.content) > over
        and (item.version > edge or len(item.content) <= shown_up_to)
        for turn, edge in zip(scene.live.all_turns, mask_edges(scene.live), strict=True)
        for item in turn.items
    )


def apply_deferred(draft: Draft, deferred: ClearDeferred, scene: Scene) -> None:
    """What a model asked of its own context, now that its turn has completed."""
    assert draft.live is not None
    if deferred.compact:
        return  # a summary would have completed the turn; there is none
    if deferred.keep is not None:
        leaving = len(draft.live.turns) - deferred.keep
        if leaving > 0:
            trim(draft, "keep", leaving, scene.counter, mask=draft.live.context.mask)
    elif deferred.mark is None:
        trim(draft, "clear", len(draft.live.turns), scene.counter)
    else:
        _rewind_deferred(draft, deferred)


def _rewind_deferred(draft: Draft, deferred: ClearDeferred) -> None:
    """A mark made inside a turn stands for that turn's start, where a prompt waits for an answer:
    so a rewind to it opens the turn again, with the note that tells the model why.
    """
    mark = _deferred_mark(draft.state.marks, deferred)
    if mark is None or draft.live is None:
        return
    turns = draft.live.turns if mark.turn is not None else ()
    asked = next((turn.prompt for turn in turns if turn.parent == mark.context.tip), None)
    draft.add(ContextRewound(mark.name, mark.version, mark.context, deferred.note))
    if asked is not None:
        draft.add(TurnStarted(draft.state.context.tip, (*draft.state.notes, *asked)))


def _deferred_mark(marks: tuple[Mark, ...], deferred: ClearDeferred) -> Mark | None:
    """The mark that was meant, wherever its name has moved since."""
    for mark in marks:
        if mark.version == deferred.version:
            return mark
    index = find_mark(marks, deferred.mark) if deferred.mark else None
    return None if index is None else marks[index]


def _deferred(scene: Scene, event: ClearDeferred, given: Given) -> Accepted:
    require_turn(scene.state)
    draft = Draft(scene.state, scene.live, given)
    draft.add(event)
    return draft.accepted("Takes effect when this turn completes.")


def _turns(count: int) -> str:
    return "turn" if count == 1 else "turns"
