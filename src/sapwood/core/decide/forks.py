"""The decision to fork: the context and the first prompt of a child.

A fork in an open turn has the context at the start of that turn, and the turn's prompt as its own
first prompt. It does not have the replies and results of the open turn.
"""

from collections.abc import Sequence

from msgspec import UNSET, structs

from sapwood.core.account import fork_problem
from sapwood.core.commands import CommandMeta, Fork
from sapwood.core.content import Note, PromptPart, Text, ToolCall
from sapwood.core.context import Context, Mark, as_of_turn, find_mark
from sapwood.core.decide.decision import Accepted, Change, DecisionInput, Draft, Refused
from sapwood.core.decide.guards import (
    require_budget,
    require_exists,
    require_mark,
    require_not_in_archive,
    require_room_for_notes,
    require_running,
)
from sapwood.core.decide.trims import slide
from sapwood.core.events import AgentForked, AgentStarted, ParentNote, Recorded, TurnStarted
from sapwood.core.ids import AgentId
from sapwood.core.live_path import LivePath, inherited
from sapwood.core.refusals import AgentExists, NoGoal
from sapwood.core.settings import Settings, SettingsChange
from sapwood.core.state import State
from sapwood.core.tags import Tags
from sapwood.core.turn import Reply, Turn

_ON_THE_SIDE = (
    "The user asks the question below on the side. Your answer does not become a part of the "
    "conversation. Answer briefly and change nothing."
)


def fork(inputs: DecisionInput, command: Fork, meta: CommandMeta) -> Accepted:
    state = inputs.state
    if meta.actor.role == "model":
        require_running(state)
        if inputs.account is not None:
            require_budget(fork_problem(inputs.account, state))
    require_exists(state)
    require_not_in_archive(state)
    if command.child == state.agent or command.child in inputs.others:
        raise Refused(AgentExists(command.child))
    mark = require_mark(state, command.mark)[1] if command.mark is not None else None
    context, prompt = _inheritance(inputs, mark, meta.call)
    prompt = () if command.side else prompt
    goal: tuple[PromptPart, ...] = (Text(command.goal),) if command.goal.strip() else ()
    if mark is not None and _within_open_turn(inputs, mark) and not (prompt or goal):
        raise Refused(NoGoal(mark.name))

    draft = Draft(state, inputs.live, meta)
    delegated = command.delegated and bool(goal)
    if delegated:
        require_room_for_notes(state)
    draft.add(
        AgentForked(
            command.child,
            command.mark or "",
            goal,
            delegated,
            meta.nonce if delegated else "",
            command.side,
        )
    )
    started = AgentStarted(
        by="fork",
        name=command.name,
        settings=_settings(state, command.change),
        workspace=command.workspace or state.workspace,
        pins=state.pins,
        parent=state.agent,
        mark=command.mark or "",
        context=context,
        calibration=state.calibration,
        offered=state.tool_schema_tokens,
        unprompted=state.turns_without_human if meta.actor.role == "model" else 0,
        instructions=state.instructions,
        tags=Tags(state.tags.owner) if state.tags and state.tags.owner else None,
        told=None if prompt or goal or command.continues else _told_idle(state, meta),
    )
    if command.side:
        told: tuple[Note, ...] = (Note("program", _ON_THE_SIDE, fence=meta.nonce or UNSET),)
    else:
        told = () if command.continues else _told(state, meta, has_goal=bool(goal))
    asked = (*prompt, *told, *goal)
    first = TurnStarted(context.tip, asked, trace=meta.trace, number=1) if prompt or goal else None
    return Accepted(
        (draft.change(), _born(inputs, started, first, command, meta)),
        _answer(command.child, command.name, command.mark or "", idle=not (prompt or goal)),
    )


def _told_idle(state: State, meta: CommandMeta) -> ParentNote | None:
    """What a child without a goal is told about itself."""
    return None if state.origin else ParentNote(state.name or state.agent, meta.nonce)


def _told(state: State, meta: CommandMeta, *, has_goal: bool) -> tuple[Note, ...]:
    """What the child is told about itself. One that continues an imported agent is no helper."""
    if state.origin is not None:
        return ()
    if has_goal:
        goal = "The goal below is yours and outranks"
    else:
        goal = "No goal was given, so the request above is yours too and outranks"
    text = f"{goal} what you inherited. Your final answer is mailed to the parent."
    return (Note("parent", text, state.name or state.agent, meta.nonce or UNSET),)


def fork_answer(events: Sequence[Recorded]) -> str:
    """The answer to a fork with these events; empty if they are not those of a fork.

    A receipt does not store it. Receipts of earlier versions have it.
    """
    forked = next((each.event for each in events if isinstance(each.event, AgentForked)), None)
    if forked is None:
        return ""
    born = [each.event for each in events if each.agent == forked.child]
    started = next((event for event in born if isinstance(event, AgentStarted)), None)
    if started is None:
        return ""
    idle = not any(isinstance(event, TurnStarted) for event in born)
    return _answer(forked.child, started.name, forked.mark, idle=idle)


def _answer(agent: AgentId, name: str, mark: str, *, idle: bool) -> str:
    child = f"{name} ({agent})" if name else agent
    origin = f" from {mark}" if mark else ""
    if not idle:
        return f"Forked. Child: {child}{origin}"
    return (
        f"Forked. Child: {child}{origin}. To give it work, type: /switch {agent}, "
        f"or sapwood run --agent {agent} -p GOAL"
    )


def _born(
    inputs: DecisionInput,
    started: AgentStarted,
    first: TurnStarted | None,
    command: Fork,
    meta: CommandMeta,
) -> Change:
    """The events of the child. Its window moves at once if what came after the mark is too much."""
    if inputs.since_mark is None or inputs.since_mark.context != started.context:
        return Change(command.child, (started, first) if first else (started,))
    child = Draft(State(command.child), inputs.since_mark, meta)
    child.add(started)
    slide(child, inputs.counter)
    if first is not None:
        child.add(first)
    return child.change()


def path_after_mark(state: State, live: LivePath, command: Fork) -> Context | None:
    """The context after a mark that has left view: `decide` needs its path, which is not loaded."""
    index = find_mark(state.marks, command.mark) if command.mark is not None else None
    if index is None:
        return None
    mark, turn = state.marks[index], live.open
    if turn is not None and mark.turn == turn.first:
        return None
    context = _suffix(state, live, mark)
    return None if inherited(structs.replace(live, open=None), context) else context


def _settings(state: State, change: SettingsChange | None) -> Settings:
    """The parent's settings with a change.

    An imported parent has no cap, so the child gets the default one.
    """
    settings = state.settings
    if state.origin is not None:
        settings = structs.replace(settings, cap=Settings().cap)
    return settings if change is None else change.applied_to(settings)


def _inheritance(
    inputs: DecisionInput, mark: Mark | None, call: str | None
) -> tuple[Context, tuple[PromptPart, ...]]:
    context, turn = inputs.state.context, inputs.live.open
    if turn is not None:
        context = as_of_turn(context, turn.agent, turn.first)
    asked = turn.prompt if turn else ()
    if mark is None:
        return context, asked
    if turn is not None and mark.turn == turn.first:
        return Context(context.tip, context.tip), _written_after(turn, mark.call, call)
    return _suffix(inputs.state, inputs.live, mark), asked


def _within_open_turn(inputs: DecisionInput, mark: Mark) -> bool:
    turn = inputs.state.open
    return turn is not None and mark.turn == turn.first


def _suffix(state: State, live: LivePath, mark: Mark) -> Context:
    """The parent's turns from the mark on, whatever it trimmed since, and nothing before them.

    Of turns before the parent's `head`, the cuts may be forgotten, so a fork from there has none.
    """
    context, turn = state.context, live.open
    if turn is not None:
        context = as_of_turn(context, turn.agent, turn.first)
    start, head = mark.context.tip, context.head
    is_met = any(start in (each.ref, each.parent) for each in live.turns)
    if head is None or start == head or is_met:
        is_in_view = True
    elif start is None:
        is_in_view = False
    else:  # a turn that is out of view, before `head` or in a cut
        same = start.agent == head.agent
        is_in_view = start.last > head.last if same else start.agent == state.agent
    return Context(context.tip, start, mask=context.mask, cuts=context.cuts if is_in_view else None)


def _written_after(
    turn: Turn, mark_call: str | None, fork_call: str | None
) -> tuple[PromptPart, ...]:
    """The model's text between the call that set the mark and the call that forks."""
    if mark_call is None:
        return ()
    parts = [part for item in turn.items if isinstance(item, Reply) for part in item.parts]
    ids = [part.id if isinstance(part, ToolCall) else None for part in parts]
    start = ids.index(mark_call) + 1 if mark_call in ids else 0
    end = ids.index(fork_call) if fork_call is not None and fork_call in ids else len(parts)
    texts = [part.text for part in parts[start:end] if isinstance(part, Text) and part.text.strip()]
    return (Text("\n\n".join(texts)),) if texts else ()
