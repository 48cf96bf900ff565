"""Decisions that move the context: mark, clear, rewind, undo, compact, mask."""

from typing import Literal

from msgspec import structs

from sapwood.core import events, refusals
from sapwood.core.command_table import SLASH, TABLE
from sapwood.core.commands import (
    Clear,
    CommandMeta,
    Compact,
    DeferCompact,
    DropSummary,
    ExtendSummary,
    KeepLast,
    Load,
    MaskResults,
    QuotedTurn,
    Redo,
    ReturnTo,
    Rewind,
    SetMark,
    Undo,
)
from sapwood.core.context import Context, Mark, Mask, Step, StepCause, find_mark, undo_step
from sapwood.core.decide import guards
from sapwood.core.decide.decision import Accepted, DecisionInput, Draft, Refused, accept
from sapwood.core.decide.drops import apply_drops
from sapwood.core.decide.trims import overflow, trim, trims_request
from sapwood.core.history_size import live_mask, mask_edges, size_of
from sapwood.core.ids import EventRef, TurnRef
from sapwood.core.live_path import LivePath
from sapwood.core.plural import counted
from sapwood.core.state import State
from sapwood.core.token_count import Counter
from sapwood.core.turn import Result, Turn
from sapwood.core.waiting_notes import describe_return, notes_after_return

LOAD_LIMIT = 64_000
"""The most characters of one quoted turn: it is in every request."""

LOADS_KEPT = 8
"""The most quoted turns in front of the live path."""


def set_mark(inputs: DecisionInput, command: SetMark, meta: CommandMeta) -> Accepted:
    guards.require_running(inputs.state)
    if command.name:
        guards.require_mark_name(command.name)
    state = inputs.state
    turn = state.open.first if state.open else None
    draft = Draft(state, inputs.live, meta)
    draft.add(events.MarkSet(command.name, turn, meta.call))
    if command.name and state.marks and _same_mark(state.marks[-1], draft.state.marks[-1]):
        return Accepted((), f"'{command.name}' already marks this point.")
    return draft.accepted(f"Marked '{command.name}'." if command.name else "Marked.")


def _same_mark(old: Mark, new: Mark) -> bool:
    return structs.replace(old, version=new.version) == new


def clear(inputs: DecisionInput, command: Clear, meta: CommandMeta) -> Accepted:
    if meta.actor.role == "model":
        return _defer(inputs, events.ClearDeferred(), meta)
    guards.require_running(inputs.state)
    draft = Draft(inputs.state, inputs.live, meta)
    trim(draft, "clear", len(inputs.live.turns), inputs.counter)
    if _nothing_changed(inputs.state, draft.state):
        return Accepted((), "The context is already empty.")
    return draft.accepted("Context cleared.")


def _nothing_changed(before: State, after: State) -> bool:
    """Whether a command left everything as it was: then it is no step and is not recorded."""
    return (before.context, before.marks, before.notes) == (
        after.context,
        after.marks,
        after.notes,
    )


def keep_last(inputs: DecisionInput, command: KeepLast, meta: CommandMeta) -> Accepted:
    if command.turns < 1:
        raise Refused(refusals.BadArguments("/clear N", "N is a number of turns: 1 or more."))
    if meta.actor.role == "model":
        return _defer(inputs, events.ClearDeferred(keep=command.turns), meta)
    guards.require_running(inputs.state)
    live = inputs.live
    leaving = max(0, len(live.turns) - command.turns)
    draft = Draft(inputs.state, live, meta)
    _keep(draft, command.turns, inputs.counter)
    count = len(live.turns) - leaving
    if not draft.events:
        return Accepted((), f"Nothing to trim: {counted(count, 'turn')} in view.")
    gone = [counted(leaving, "turn")] if leaving else []
    gone += ["the summary"] if live.summary else []
    gone += ["what was loaded"] if live.loaded else []
    left = " and ".join(gone) or "the carried request"
    kept = "turn" if count == 1 else f"{count} turns"
    return draft.accepted(f"Kept the last {kept}; {left} removed from view.")


def _keep(draft: Draft, turns: int, counter: Counter) -> None:
    """Keeps the last turns and nothing else in view. Adds no event if that is so already."""
    live = draft.live
    assert live is not None, "a trim needs the live path"
    leaving = max(0, len(live.turns) - turns)
    context = live.context
    if leaving or context.summary or context.loaded or trims_request(live):
        trim(draft, "keep", leaving, counter, mask=live.context.mask, keep=turns)


def rewind(inputs: DecisionInput, command: Rewind, meta: CommandMeta) -> Accepted:
    state = inputs.state
    if command.before is not None and command.context is not None:
        return _rewind_before(inputs, command, command.before, command.context, meta)
    if meta.actor.role == "model":
        guards.require_turn(state)
        _, mark = guards.require_mark(state, command.mark)
        deferred = events.ClearDeferred(
            mark=mark.name, version=mark.version, note=command.note.strip()
        )
        return _defer(inputs, deferred, meta)
    guards.require_running(inputs.state)
    _, mark = guards.require_mark(state, command.mark)
    if command.note.strip():
        guards.require_room_for_notes(state)
    draft = Draft(state, inputs.live, meta)
    if mark.context == state.context and not command.note.strip():
        where = f"'{mark.name}'" if mark.name else "the last mark"
        return Accepted((), f"Nothing changed: this is {where}.")
    draft.add(
        events.ContextRewound(
            mark.name, mark.version, mark.context, command.note.strip(), draft.nonce
        )
    )
    return draft.accepted(
        f"Rewound to '{mark.name}'." if mark.name else "Rewound to the last mark."
    )


def _rewind_before(
    inputs: DecisionInput, command: Rewind, turn: TurnRef, context: Context, meta: CommandMeta
) -> Accepted:
    """Goes back to before a turn, its own or an inherited one."""
    state = inputs.state
    if meta.actor.role == "model":
        raise Refused(refusals.HumanOnly(TABLE["rewind"].typed))
    guards.require_running(state)
    if context == state.context:
        return Accepted((), f"Nothing changed: you are already just before turn {command.place}.")
    version = turn.first - 1 if turn.agent == state.agent else 0
    waiting = notes_after_return(state.notes, command.notes_left, command.notes_in_view)
    event = events.ContextRewound(
        "",
        version,
        context,
        before=turn.first,
        place=command.place,
        cause=command.cause,
        waiting=None if waiting == state.notes else waiting,
    )
    again = describe_return(state.notes, command.notes_left, waiting)
    return accept(inputs, meta, event, f"Rewound to just before turn {command.place}.{again}")


def return_to(inputs: DecisionInput, command: ReturnTo, meta: CommandMeta) -> Accepted:
    state, turn = inputs.state, command.turn
    guards.require_recordable(state, meta, "A return")
    if state.origin is None:
        raise Refused(refusals.NotImported(state.agent))
    context = Context(turn)
    if turn == state.context.tip and not command.whole:
        return Accepted((), "The conversation is already at that point.")
    draft = Draft(state, inputs.live, meta)
    dropped = _context_without_lag(state)
    if dropped is not None and dropped.tip in (turn, command.after):
        draft.add(events.ContextUndone(structs.replace(dropped, tip=turn)))
        return draft.accepted(
            "The program continued from the old history, so the last change was undone."
        )
    in_view = any(each.ref == turn for each in inputs.live.turns)
    if not command.whole and (in_view or turn == state.context.head):
        context = structs.replace(state.context, tip=turn, mask=None)
    draft.add(events.ContextRewound("", turn.last if turn else 0, context))
    return draft.accepted("Returned to an earlier turn.")


def _context_without_lag(state: State) -> Context | None:
    """The context before the last move of the tip, if the program's session never followed it."""
    lags = state.session is not None and state.session.context != state.context
    if not lags or not state.undo or state.undo[-1].moved != "tip":
        return None
    return undo_step(state.undo[-1], state.context, state.marks)[0]


def load(inputs: DecisionInput, command: Load, meta: CommandMeta) -> Accepted:
    state, live = inputs.state, inputs.live
    guards.require_running(state)
    in_view = {EventRef(turn.agent, turn.first) for turn in live.turns}
    in_view |= {each.source for each in live.loaded}
    wanted = {each.source: each for each in (command, *command.more)}
    for each in wanted.values():
        guards.require_text(each.text, "turn")
        guards.require_length(each.text, LOAD_LIMIT, "turn")
    new = [each for source, each in wanted.items() if source not in in_view]
    if not new:
        named = f"Turn {_name(command)} is" if len(wanted) == 1 else "These turns are"
        return Accepted((), f"{named} already in view.")
    if len(state.context.loaded) + len(new) > LOADS_KEPT:
        raise Refused(refusals.TooManyLoaded(LOADS_KEPT))
    draft = Draft(state, live, meta)
    for each in new:
        joined = bool(draft.events)
        draft.add(events.ContextLoaded(each.source, each.text, draft.nonce, joined, each.place))
    if len(new) > 1:
        what, them = f"{len(new)} turns", "They are"
    else:
        what, them = f"turn {_name(new[0])}", "It is"
    return draft.accepted(f"Brought {what} back. {them} quoted above the turns in view.")


def _name(quoted: Load | QuotedTurn) -> str:
    return quoted.place or str(quoted.source)


def undo(inputs: DecisionInput, command: Undo, meta: CommandMeta) -> Accepted:
    state = inputs.state
    guards.require_running(inputs.state)
    if not state.undo or command.step not in (0, state.undo[-1].version):
        raise Refused(refusals.NothingToUndo())
    step = state.undo[-1]
    if step.cause == "window":  # no later move of the window can be in force
        context, _ = undo_step(step, state.context, state.marks)
    else:
        context = _context_before(inputs, step)
    event = events.ContextUndone(context, named(step))
    sentence = f"Undone: {named(step)}{_undone_with(inputs, step)}."
    return accept(inputs, meta, event, sentence)


def _undone_with(inputs: DecisionInput, step: Step) -> str:
    """The later turns that leave view with a step, as the end of a sentence."""
    later = len(undone_with(inputs.state, inputs.live, step))
    if not later:
        return ""
    return (
        f" and {counted(later, 'later turn')}; /redo brings {'it' if later == 1 else 'them'} back"
    )


def undone_with(state: State, live: LivePath, step: Step) -> tuple[Turn, ...]:
    """The turns of this agent that leave view when a step that moved the tip is undone.

    They were started after the command. The turn that `/retry` asked is not one of them.
    """
    if step.moved != "tip":
        return ()
    since = step.since or step.version
    later = [turn for turn in live.turns if turn.agent == state.agent and turn.first > since]
    return tuple(later[1:] if step.cause == "retry" else later)


def redo(inputs: DecisionInput, command: Redo, meta: CommandMeta) -> Accepted:
    state = inputs.state
    guards.require_running(inputs.state)
    if not state.redo:
        raise Refused(refusals.NothingToRedo())
    step = state.redo[-1]
    event = events.ContextRedone(_context_before(inputs, step), named(step))
    return accept(inputs, meta, event, f"Redone: {named(step)}.")


def named(step: Step) -> str:
    """The command or move of a step, in words."""
    if step.place:
        return f"/drop {step.place}"
    return f"/clear {step.keep}" if step.keep else _STEPS[step.cause]


def moved_since(state: State, version: int) -> str:
    """The newest context command or move of the window after this version; '' if there is none."""
    newest = max((*state.undo[-1:], *state.redo[-1:]), key=lambda step: step.version, default=None)
    if newest is None or newest.version <= version:
        return ""
    return "/undo" if newest in state.redo[-1:] else named(newest)


_STEPS: dict[StepCause, str] = {
    "": "the last context command",
    "clear": "/clear",
    "keep": "/clear of older turns",
    "compact": "/compact",
    "window": "the move of the window",
    "rewind": "/rewind",
    "retry": "/retry",
    "revert": "the context of /revert",
    "load": "/bring",
    "drop": "/drop",
}


def _context_before(inputs: DecisionInput, step: Step) -> Context:
    """The context without this step. Moves of the window after the step are kept.

    Without the step, the window would have moved past the same turns, or more.
    """
    state, now = inputs.state, inputs.state.context
    context, _ = undo_step(step, now, state.marks)
    if step.moved == "tip" or state.window_moved_at <= step.version:
        return context
    if context.head == now.head or any(turn.ref == context.head for turn in inputs.live.turns):
        return context
    return structs.replace(context, head=now.head, request=now.request, mask=now.mask)


def compact(inputs: DecisionInput, command: Compact, meta: CommandMeta) -> Accepted:
    due = meta.actor.role == "system" and _is_due(inputs)
    if not due and inputs.state.origin is not None:
        guards.require_recordable(inputs.state, meta, TABLE["compact"].typed)
    elif not due:
        guards.require_may_run(inputs.state, TABLE["compact"])
    guards.require_text(command.summary, "summary")
    if _is_outdated(command, inputs.state.context):
        raise Refused(refusals.SummaryOutdated())
    draft = Draft(inputs.state, inputs.live, meta)
    if due and inputs.live.open is not None:
        draft.add(events.TurnCompleted(size_of(inputs.live.open, inputs.counter)))
    assert draft.live is not None
    summarised = len(draft.live.turns) - max(0, command.keep)
    covered = {turn.ref for turn in draft.live.turns[: max(0, summarised)]}
    if due and inputs.state.open is not None:
        apply_drops(draft, inputs.state.open.drops, inputs.counter)
    count = len(draft.live.turns)
    at_least = overflow(draft, inputs.counter) if due else 0
    leaving = max(at_least, sum(turn.ref in covered for turn in draft.live.turns))
    if leaving != summarised or draft.state.context.cuts != inputs.state.context.cuts:
        command = structs.replace(command, tokens=0)  # other turns leave than were counted
    is_programs = inputs.state.origin is not None and meta.actor.role == "system" and not due
    # A program may compact its own summary again, before another turn.
    if leaving <= 0 and not (is_programs and draft.live.summary):
        return draft.accepted(f"Nothing to compact: {counted(count, 'turn')} in view.")
    _replace_by_summary(draft, command, leaving, inputs.counter, carries=not is_programs)
    share = (
        ""
        if command.score is None
        else f" It contains {command.score:.0%} of the facts that were checked."
    )
    return draft.accepted(
        f"Compacted {counted(leaving, 'turn')} into a summary.{share.replace('%', ' %')}"
    )


def _is_outdated(command: Compact, now: Context) -> bool:
    """Whether other turns are in view than when the summary was written.

    A mask hides results of the same turns.
    """
    if command.of is not None and command.of != now.tip:
        return True
    if command.context is None:
        return False
    return structs.replace(command.context, mask=None) != structs.replace(now, mask=None)


def _replace_by_summary(
    draft: Draft,
    command: Compact | ExtendSummary,
    leaving: int,
    counter: Counter,
    cause: Literal["compact", "window"] = "compact",
    *,
    carries: bool = True,
) -> None:
    """Adds the summary and moves `head` past the oldest `leaving` turns."""
    summary = EventRef(draft.state.agent, draft.next_version)
    draft.add(
        events.ContextSummarized(
            command.summary,
            command.ledger,
            command.score,
            command.model,
            command.usage,
            draft.nonce,
            *((command.signer, command.signature) if isinstance(command, Compact) else ()),
        )
    )
    mask = draft.state.context.mask
    tokens = command.tokens if isinstance(command, Compact) else 0
    trim(draft, cause, leaving, counter, summary=summary, mask=mask, tokens=tokens, carries=carries)


def extend_summary(inputs: DecisionInput, command: ExtendSummary, meta: CommandMeta) -> Accepted:
    state = inputs.state
    guards.require_running(state)
    guards.require_no_turn(state, "A longer summary")
    guards.require_text(command.summary, "summary")
    newest = state.undo[-1] if state.undo else None
    if state.window_moved_at != command.moved or newest is None or newest.cause != "window":
        raise Refused(refusals.SummaryOutdated())
    draft = Draft(state, inputs.live, meta)
    _replace_by_summary(draft, command, 0, inputs.counter, "window")
    return draft.accepted("The summary now covers the turns that moved out of the window.")


def drop_summary(inputs: DecisionInput, command: DropSummary, meta: CommandMeta) -> Accepted:
    guards.require_exists(inputs.state)
    return accept(inputs, meta, events.SummaryDropped(command.model, command.usage, command.reason))


def defer_compact(inputs: DecisionInput, command: DeferCompact, meta: CommandMeta) -> Accepted:
    return _defer(inputs, events.ClearDeferred(keep=max(0, command.keep), compact=True), meta)


def _is_due(inputs: DecisionInput) -> bool:
    """Whether the open turn is answered and its model asked to compact at its end."""
    turn = inputs.state.open
    asked = turn is not None and turn.deferred is not None and turn.deferred.compact
    return asked and inputs.live.open is not None and inputs.live.open.is_answered


def mask_results(inputs: DecisionInput, command: MaskResults, meta: CommandMeta) -> Accepted:
    guards.require_running(inputs.state)
    if command.over < 1:
        raise Refused(
            refusals.BadArguments("mask results over N", "N is a number of characters: 1 or more.")
        )
    before = live_mask(inputs.live)
    over = min(command.over, before.over) if before else command.over
    if not _has_more_to_mask(inputs, before, over):
        return Accepted((), f"No other tool result in view is longer than {over:,} characters.")
    newest = inputs.live.all_turns[-1]
    last = inputs.state.version if newest.status == "open" else newest.last
    event = events.ResultsMasked(Mask(EventRef(newest.agent, last), over))
    return accept(inputs, meta, event, "Large tool results are now masked.")


def _has_more_to_mask(inputs: DecisionInput, before: Mask | None, over: int) -> bool:
    """Whether a result of more than `over` characters is not masked yet."""
    shown_up_to = before.over if before else 0
    return any(
        isinstance(item, Result)
        and len(item.content) > over
        and (item.version > edge or len(item.content) <= shown_up_to)
        for turn, edge in zip(inputs.live.all_turns, mask_edges(inputs.live), strict=True)
        for item in turn.items
    )


def apply_deferred(draft: Draft, deferred: events.ClearDeferred, inputs: DecisionInput) -> None:
    """Does what a model asked for its own context, after its turn has completed."""
    assert draft.live is not None
    if deferred.compact:
        return  # `compact` completes the turn if there is a summary, so there is none
    if deferred.keep is not None:
        _keep(draft, deferred.keep, inputs.counter)
    elif deferred.mark is None:
        trim(draft, "clear", len(draft.live.turns), inputs.counter)
    else:
        _rewind_deferred(draft, deferred, inputs)


def restarts_turn(state: State) -> bool:
    """Whether the model of the open turn asked to go back to the start of this turn.

    Then the turn ends as soon as its tool calls have results: the request is not answered yet, and
    is asked again with the model's note.
    """
    turn = state.open
    if turn is None or turn.deferred is None or turn.deferred.mark is None:
        return False
    mark = _deferred_mark(state.marks, turn.deferred)
    return mark is not None and mark.turn is not None and mark.context.tip == turn.parent


def _rewind_deferred(draft: Draft, deferred: events.ClearDeferred, before: DecisionInput) -> None:
    """Rewinds to a mark. If that is the start of the turn that has just ended, and the turn has no
    answer, its request is asked again with the model's note. No other request is asked again.
    """
    mark = _deferred_mark(draft.state.marks, deferred)
    turn = before.live.open
    if mark is None or turn is None:
        return
    note = deferred.note
    restarts = restarts_turn(before.state) and not turn.is_answered
    if restarts:
        note = "\n".join(line for line in (_effects(turn), note) if line)
    draft.add(events.ContextRewound(mark.name, mark.version, mark.context, note, draft.nonce))
    if restarts:
        prompt = (*draft.state.notes, *turn.prompt)
        now = before.state.open
        lease, params = (now.lease, now.params) if now else (None, None)
        draft.add(events.TurnStarted(draft.state.context.tip, prompt, lease, params))


def _effects(turn: Turn) -> str:
    """Which tools ran in a turn that leaves view; empty if none did."""
    tools = dict.fromkeys(call.name for call in turn.calls.values() if call.name != SLASH)
    if not tools:
        return ""
    return f"Out of view, these tools have run, and what they did stays: {', '.join(tools)}."


def _deferred_mark(marks: tuple[Mark, ...], deferred: events.ClearDeferred) -> Mark | None:
    """The mark that the model named when it asked, even if the name has moved since."""
    for mark in marks:
        if mark.version == deferred.version:
            return mark
    index = find_mark(marks, deferred.mark) if deferred.mark else None
    return None if index is None else marks[index]


def _defer(inputs: DecisionInput, event: events.ClearDeferred, meta: CommandMeta) -> Accepted:
    guards.require_turn(inputs.state)
    draft = Draft(inputs.state, inputs.live, meta)
    draft.add(event)
    if restarts_turn(draft.state):
        return draft.accepted("This turn ends here, and its request starts again with your note.")
    return draft.accepted("This takes effect when the current turn ends.")
