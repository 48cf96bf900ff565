"""The decision to fork: which context and which first prompt a child is born with.

A fork taken in an open turn sees the context as of that turn's prompt: the prompt is in, because
the child is asked it too, and the half-done work is not.
"""

from msgspec import structs

from sapwood.core.commands import Fork, Given
from sapwood.core.content import PromptPart, Text, ToolCall
from sapwood.core.context import Context, Mark, as_of_turn
from sapwood.core.decide.guards import (
    require_exists,
    require_mark,
    require_room_for_notes,
    require_running,
)
from sapwood.core.decide.scene import Accepted, Change, Draft, Refused, Scene
from sapwood.core.events import AgentForked, AgentStarted, Event, TurnStarted
from sapwood.core.refusals import AgentExists, NoGoal
from sapwood.core.settings import Settings
from sapwood.core.state import State
from sapwood.core.turn import Reply, Turn

__all__ = ["fork"]


def fork(scene: Scene, command: Fork, given: Given) -> Accepted:
    state = scene.state
    if given.actor.role == "model":
        require_running(state)
    require_exists(state)
    if command.child == state.agent or command.child in scene.others:
        raise Refused(AgentExists(command.child))
    mark = require_mark(state, command.mark)[1] if command.mark is not None else None
    context, prompt = _inheritance(scene, mark, given.call)
    goal: tuple[PromptPart, ...] = (Text(command.goal),) if command.goal.strip() else ()
    if mark is not None and _within_open_turn(scene, mark) and not (prompt or goal):
        raise Refused(NoGoal(mark.name))

    draft = Draft(state, scene.live, given)
    delegated = command.delegated and bool(goal)
    if delegated:
        require_room_for_notes(state)
    draft.add(AgentForked(command.child, command.mark or "", goal, delegated))
    born: list[Event] = [
        AgentStarted(
            by="fork",
            name=command.name,
            settings=_settings(state),
            workspace=state.workspace,
            pins=state.pins,
            parent=state.agent,
            mark=command.mark or "",
            context=context,
            calibration=state.calibration,
            offered=state.offered,
        )
    ]
    if prompt or goal:
        born.append(TurnStarted(context.tip, (*prompt, *goal)))
    origin = f" (from {command.mark})" if command.mark else ""
    return Accepted(
        (draft.change(), Change(command.child, tuple(born))),
        f"Forked. Child: {command.child}{origin}",
    )


def _settings(state: State) -> Settings:
    """The parent's; but an imported one has no cap, because its program takes care of that."""
    if state.origin is None:
        return state.settings
    return structs.replace(state.settings, cap=Settings().cap)


def _inheritance(
    scene: Scene, mark: Mark | None, call: str | None
) -> tuple[Context, tuple[PromptPart, ...]]:
    context, turn = scene.state.context, scene.live.open
    if turn is not None:
        context = as_of_turn(context, turn.agent, turn.first)
    asked = turn.prompt if turn else ()
    if mark is None:
        return context, asked
    if turn is not None and mark.turn == turn.first:
        return Context(context.tip, context.tip), _written_after(turn, mark.call, call)
    return _suffix(scene, context, mark), asked


def _within_open_turn(scene: Scene, mark: Mark) -> bool:
    turn = scene.state.open
    return turn is not None and mark.turn == turn.first


def _suffix(scene: Scene, context: Context, mark: Mark) -> Context:
    """What the parent sees from the mark on: all of it, when the mark is older than its view."""
    head = mark.context.tip
    if head == context.head or any(turn.ref == head for turn in scene.live.turns):
        return Context(context.tip, head, mask=context.mask)
    return context


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
