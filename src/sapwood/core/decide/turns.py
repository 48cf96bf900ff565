"""Decisions inside a turn: prompt, model calls, replies, tools, the end."""

from collections.abc import Set as AbstractSet

from msgspec import structs

from sapwood.core.commands import (
    AddReply,
    CallModel,
    CompleteTurn,
    FailTurn,
    FinishTool,
    Given,
    InterruptTurn,
    RecordTurn,
    StartTool,
    StartTurn,
)
from sapwood.core.content import Got, PromptPart, ReplyPart, Text, ToolCall
from sapwood.core.counting import Counter
from sapwood.core.decide.contexts import apply_deferred
from sapwood.core.decide.guards import require_no_turn, require_turn, require_whole_files
from sapwood.core.decide.scene import Accepted, Draft, Refused, Scene
from sapwood.core.decide.trimming import slide
from sapwood.core.events import (
    ModelCalled,
    ReplyAdded,
    Size,
    ToolFinished,
    ToolStarted,
    TurnCompleted,
    TurnFailed,
    TurnInterrupted,
    TurnRecorded,
    TurnStarted,
)
from sapwood.core.live import Live
from sapwood.core.measure import size_of
from sapwood.core.refusals import (
    CallsOpen,
    CallStarted,
    DuplicateCall,
    EmptyText,
    StaleRequest,
    UnknownCall,
)
from sapwood.core.state import OpenTurn
from sapwood.core.turn import recorded_turn
from sapwood.core.view import view
from sapwood.core.view.request import digest

__all__ = [
    "add_reply",
    "call_model",
    "complete_turn",
    "fail_turn",
    "finish_tool",
    "interrupt_turn",
    "record_turn",
    "start_tool",
    "start_turn",
]


def start_turn(scene: Scene, command: StartTurn, given: Given) -> Accepted:
    state = scene.state
    require_no_turn(state, "A new prompt")
    require_whole_files(state)
    prompt: tuple[PromptPart, ...] = (*state.notes, *_said(command.prompt))
    if not prompt:
        raise Refused(EmptyText("prompt"))
    draft = Draft(state, scene.live, given)
    slide(draft, scene.counter)  # an undo may have brought back more than the cap
    draft.add(TurnStarted(state.context.tip, prompt))
    return draft.accepted()


def call_model(scene: Scene, command: CallModel, given: Given) -> Accepted:
    if not command.instruction:
        _require_no_calls(require_turn(scene.state))
    elif scene.live.open is None or not scene.live.open.is_answered:
        require_no_turn(scene.state, "A call outside of the turn")
    request = view(scene.state, scene.live, command.model, command.instruction)
    if digest(request) != command.hash:
        raise Refused(StaleRequest())
    draft = Draft(scene.state, scene.live, given)
    draft.add(
        ModelCalled(
            model=command.model,
            context=scene.state.context,
            hash=command.hash,
            estimate=command.estimate,
            params=command.params,
            tools=command.tools,
            instruction=command.instruction,
            offered=command.offered,
        )
    )
    return draft.accepted()


def add_reply(scene: Scene, command: AddReply, given: Given) -> Accepted:
    _require_no_calls(require_turn(scene.state, command.turn, command.asked))
    _new_calls(command.parts, scene.live.open.call_ids if scene.live.open else set[str]())
    draft = Draft(scene.state, scene.live, given)
    draft.add(ReplyAdded(command.parts, command.model, command.usage, command.ended))
    return draft.accepted()


def start_tool(scene: Scene, command: StartTool, given: Given) -> Accepted:
    turn = require_turn(scene.state, command.turn)
    if command.tool_call not in turn.calls:
        raise Refused(UnknownCall(command.tool_call))
    if command.tool_call in turn.started:
        raise Refused(CallStarted(command.tool_call))
    draft = Draft(scene.state, scene.live, given)
    draft.add(ToolStarted(command.tool_call))
    return draft.accepted()


def finish_tool(scene: Scene, command: FinishTool, given: Given) -> Accepted:
    turn = require_turn(scene.state, command.turn)
    if command.tool_call not in turn.calls:
        raise Refused(UnknownCall(command.tool_call))
    draft = Draft(scene.state, scene.live, given)
    draft.add(ToolFinished(command.tool_call, command.content, command.error))
    return draft.accepted()


def complete_turn(scene: Scene, command: CompleteTurn, given: Given) -> Accepted:
    turn = require_turn(scene.state, command.turn)
    _require_no_calls(turn)
    draft = Draft(scene.state, scene.live, given)
    draft.add(TurnCompleted(_size(scene.live, scene.counter)))
    if turn.deferred is not None:
        apply_deferred(draft, turn.deferred, scene)
    slide(draft, scene.counter)
    return draft.accepted()


def interrupt_turn(scene: Scene, command: InterruptTurn, given: Given) -> Accepted:
    turn = require_turn(scene.state, command.turn)
    draft = Draft(scene.state, scene.live, given)
    if command.said.strip() and command.asked and turn.asked == command.asked:
        draft.add(ReplyAdded((Text(command.said),), turn.called))
    draft.add(TurnInterrupted(_size(draft.live, scene.counter), command.reason))
    slide(draft, scene.counter)
    return draft.accepted("Interrupted. What was there is kept.")


def fail_turn(scene: Scene, command: FailTurn, given: Given) -> Accepted:
    require_turn(scene.state, command.turn, command.asked)
    draft = Draft(scene.state, scene.live, given)
    size = _size(scene.live, scene.counter)
    draft.add(TurnFailed(size, command.error, command.failure or ""))
    slide(draft, scene.counter)
    return draft.accepted()


def record_turn(scene: Scene, command: RecordTurn, given: Given) -> Accepted:
    state = scene.state
    require_no_turn(state, "A new turn")
    prompt: tuple[PromptPart, ...] = (*state.notes, *_said(command.prompt))
    if not prompt:
        raise Refused(EmptyText("prompt"))
    _require_pairs(command)
    turn = TurnRecorded(
        state.context.tip,
        prompt,
        command.items,
        Size(0, ""),
        command.status,
        command.reason,
        command.passage,
    )
    size = size_of(recorded_turn(state.agent, state.version + 1, turn), scene.counter)
    draft = Draft(state, scene.live, given)
    draft.add(structs.replace(turn, size=size))
    slide(draft, scene.counter)
    return draft.accepted()


def _require_no_calls(turn: OpenTurn) -> None:
    if turn.calls:
        raise Refused(CallsOpen(turn.calls))


def _require_pairs(command: RecordTurn) -> None:
    """Every call is answered before the model speaks again, and, in a completed turn, at all."""
    known: set[str] = set()
    waiting: list[str] = []
    for item in command.items:
        if isinstance(item, Got):
            if item.call not in waiting:
                raise Refused(UnknownCall(item.call))
            waiting.remove(item.call)
            continue
        if waiting:
            raise Refused(CallsOpen(tuple(waiting)))
        waiting = _new_calls(item.parts, known)
        known.update(waiting)
    if waiting and command.status == "completed":
        raise Refused(CallsOpen(tuple(waiting)))


def _said(prompt: tuple[PromptPart, ...]) -> tuple[PromptPart, ...]:
    return tuple(part for part in prompt if part.text.strip())


def _new_calls(parts: tuple[ReplyPart, ...], known: AbstractSet[str]) -> list[str]:
    """The ids of the calls in a reply, which no other call of the turn may have."""
    new: dict[str, None] = {}
    for part in parts:
        if isinstance(part, ToolCall):
            if part.id in known or part.id in new:
                raise Refused(DuplicateCall(part.id))
            new[part.id] = None
    return list(new)


def _size(live: Live | None, counter: Counter) -> Size:
    assert live is not None
    assert live.open is not None
    return size_of(live.open, counter)
