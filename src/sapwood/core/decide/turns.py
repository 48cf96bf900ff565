"""Decisions about a turn: prompt, model calls, replies, tool calls, the end.

Decisions about questions of tool calls to people. The first answer counts; no model answers.
"""

from collections.abc import Set as AbstractSet

from msgspec import structs

from sapwood.core import events, refusals
from sapwood.core.account import call_problem, restart_problem
from sapwood.core.command_table import TABLE
from sapwood.core.commands import (
    AddReply,
    AnswerQuestion,
    AskQuestion,
    CallModel,
    CommandMeta,
    CompleteTurn,
    FailTurn,
    FinishTool,
    InterruptTurn,
    LeaseTurn,
    RecordTurn,
    StartTool,
    StartTurn,
    StreamReply,
)
from sapwood.core.content import Note, PromptPart, RecordedResult, ReplyPart, Text, ToolCall
from sapwood.core.decide import guards
from sapwood.core.decide.contexts import apply_deferred, moved_since, restarts_turn
from sapwood.core.decide.decision import Accepted, DecisionInput, Draft, Refused, accept
from sapwood.core.decide.drops import apply_drops, drop_offer
from sapwood.core.decide.trims import slide
from sapwood.core.history_size import size_of
from sapwood.core.lease import MAX_LEASE, Lease
from sapwood.core.live_path import LivePath
from sapwood.core.state import OpenTurn, State
from sapwood.core.token_count import Counter
from sapwood.core.turn import recorded_turn
from sapwood.core.view import VIEW, view
from sapwood.core.view.request import digest

_PLAN = (
    "The permission mode is plan: read what you need and change nothing. Answer with a plan of "
    "numbered steps. The user accepts it or says what to change; only then is it carried out."
)
INSTRUCTIONS_LIMIT = 200_000
"""The most characters of one text of instructions: it is in every request."""


def start_turn(inputs: DecisionInput, command: StartTurn, meta: CommandMeta) -> Accepted:
    state = inputs.state
    guards.require_no_turn(state, "A new prompt")
    guards.require_whole_files(state)
    prompt: tuple[PromptPart, ...] = (*state.notes, *_fenced(_said(command.prompt), meta))
    if not prompt:
        raise Refused(refusals.EmptyText("prompt"))
    guards.require_params(command.params)
    draft = Draft(state, inputs.live, meta)
    slide(draft, inputs.counter)  # an undo may have brought back more than the cap
    if command.instructions is not None and _may_read(draft.state):
        for each in command.instructions:
            guards.require_length(each.text, INSTRUCTIONS_LIMIT, f"text of {each.name}")
        draft.add(events.InstructionsRead(_read_texts(command.instructions, meta)))
    if command.lease is not None:
        _require_bounded(command.lease, meta)
    lease, params = command.lease, command.params
    if (offer := drop_offer(draft.state, draft.live)) is not None:
        prompt = (offer, *prompt)
    if state.settings.permission_mode == "plan":
        prompt = (Note("program", _PLAN, fence=meta.nonce), *prompt)
    draft.add(events.TurnStarted(state.context.tip, prompt, lease, params, meta.trace))
    return draft.accepted()


def lease_turn(inputs: DecisionInput, command: LeaseTurn, meta: CommandMeta) -> Accepted:
    turn = guards.require_turn(inputs.state, command.turn)
    _require_bounded(command.lease, meta)
    # Whoever had the lease before cannot take it back; others can when it has ended.
    if (
        turn.lease is not None
        and not command.take_over
        and turn.lease.refuses(meta.holder, meta.at)
    ):
        raise Refused(refusals.TurnHeld(turn.lease.until))
    return accept(inputs, meta, events.TurnLeased(command.lease))


def _require_bounded(lease: Lease, meta: CommandMeta) -> None:
    guards.require_text(lease.holder, "holder")
    if lease.until > meta.at + MAX_LEASE:
        raise Refused(refusals.BadSetting("lease", "up to an hour"))


def _may_read(state: State) -> bool:
    """Whether instructions may change now: no request was sent, or its prefix has changed since."""
    tip = state.context.tip
    unasked = tip is None or (tip.agent != state.agent and not state.instructions)
    return unasked or state.context.head != state.instructions_head


def _read_texts(
    texts: tuple[events.InstructionText, ...], meta: CommandMeta
) -> tuple[events.InstructionText, ...]:
    """The texts that are not blank, each with the fence that its author cannot know."""
    return tuple(structs.replace(each, fence=meta.nonce) for each in texts if each.text.strip())


def call_model(inputs: DecisionInput, command: CallModel, meta: CommandMeta) -> Accepted:
    if not command.instruction:
        _require_no_calls(guards.require_turn(inputs.state))
    elif inputs.live.open is None or not inputs.live.open.is_answered:
        guards.require_no_turn(inputs.state, "A call outside of the turn")
    if inputs.account is not None:
        guards.require_budget(call_problem(inputs.account))
    summarised = command.summarised
    request = view(
        inputs.state, inputs.live, command.model, command.instruction, summarised=summarised
    )
    if digest(request) != command.hash:
        raise Refused(refusals.StaleRequest())
    draft = Draft(inputs.state, inputs.live, meta)
    turn = inputs.state.open
    if command.lost and turn is not None and turn.asked == command.lost:
        words = inputs.live.open.words_so_far if inputs.live.open else ()
        draft.add(events.ReplyLost(words, turn.called, turn.estimate, turn.asked))
    draft.add(
        events.ModelCalled(
            model=command.model,
            context=inputs.state.context,
            hash=command.hash,
            estimate=command.estimate,
            params=command.params,
            tools=command.tools,
            view=VIEW,
            instruction=command.instruction,
            offered=command.offered,
            summarised=summarised,
        )
    )
    return draft.accepted()


def add_reply(inputs: DecisionInput, command: AddReply, meta: CommandMeta) -> Accepted:
    _require_no_calls(guards.require_turn(inputs.state, command.turn, command.asked))
    _new_calls(command.parts, inputs.live.open.call_ids if inputs.live.open else set[str]())
    draft = Draft(inputs.state, inputs.live, meta)
    if (reported := _reported(inputs.state, command)) is not None:
        draft.add(reported)
    response = command.report.response
    draft.add(
        events.ReplyAdded(command.parts, command.model, command.usage, command.ended, response)
    )
    return draft.accepted()


def _reported(state: State, command: AddReply) -> events.CallReported | None:
    """What the provider reported and nobody knows yet.

    It lists the thoughts that it leaves out again with each call, as long as they are in view.
    """
    last, report = state.last_call, command.report
    moved = moved_since(state, last.before)
    is_new = bool(moved) or report.dropped > last.dropped
    dropped = report.dropped if is_new else 0
    if not dropped and not report.missed:
        return None
    return events.CallReported(
        command.model,
        dropped,
        report.dropped_why if dropped else "",
        report.missed,
        report.missed_why,
        moved,
    )


def stream_reply(inputs: DecisionInput, command: StreamReply, meta: CommandMeta) -> Accepted:
    _require_no_calls(guards.require_turn(inputs.state, command.turn, command.asked))
    return accept(inputs, meta, events.ReplyStreamed(command.parts))


def start_tool(inputs: DecisionInput, command: StartTool, meta: CommandMeta) -> Accepted:
    turn = guards.require_turn(inputs.state, command.turn)
    if command.tool_call not in turn.calls:
        raise Refused(refusals.UnknownCall(command.tool_call))
    if command.tool_call in turn.started:
        raise Refused(refusals.CallStarted(command.tool_call))
    return accept(inputs, meta, events.ToolStarted(command.tool_call))


def finish_tool(inputs: DecisionInput, command: FinishTool, meta: CommandMeta) -> Accepted:
    turn = guards.require_turn(inputs.state, command.turn)
    if command.tool_call not in turn.calls:
        raise Refused(refusals.UnknownCall(command.tool_call))
    event = events.ToolFinished(
        command.tool_call,
        command.content,
        command.error,
        command.blocked,
        command.diff,
        command.files,
    )
    return accept(inputs, meta, event)


def complete_turn(inputs: DecisionInput, command: CompleteTurn, meta: CommandMeta) -> Accepted:
    turn = guards.require_turn(inputs.state, command.turn)
    _require_no_calls(turn)
    draft = Draft(inputs.state, inputs.live, meta)
    size = _size(inputs.live, inputs.counter)
    if (too_often := _restart_problem(inputs)) is not None:
        draft.add(events.TurnFailed(size, too_often.sentence, "budget"))
        slide(draft, inputs.counter)
        return draft.accepted()
    draft.add(events.TurnCompleted(size))
    if turn.deferred is not None:
        apply_deferred(draft, turn.deferred, inputs)
    if turn.drops and not restarts_turn(inputs.state):
        apply_drops(draft, turn.drops, inputs.counter)
    slide(draft, inputs.counter)
    return draft.accepted()


def interrupt_turn(inputs: DecisionInput, command: InterruptTurn, meta: CommandMeta) -> Accepted:
    turn = guards.require_turn(inputs.state, command.turn)
    draft = Draft(inputs.state, inputs.live, meta)
    partial = command.partial if command.asked and turn.asked == command.asked else ""
    _keep_words(draft, turn, partial)
    draft.add(events.TurnInterrupted(_size(draft.live, inputs.counter), command.reason))
    slide(draft, inputs.counter)
    return draft.accepted("Interrupted. The partial reply is kept.")


def fail_turn(inputs: DecisionInput, command: FailTurn, meta: CommandMeta) -> Accepted:
    turn = guards.require_turn(inputs.state, command.turn, command.asked)
    draft = Draft(inputs.state, inputs.live, meta)
    _keep_words(draft, turn)
    size = _size(draft.live, inputs.counter)
    draft.add(events.TurnFailed(size, command.error, command.failure or "", command.retry_at))
    slide(draft, inputs.counter)
    return draft.accepted()


def record_turn(inputs: DecisionInput, command: RecordTurn, meta: CommandMeta) -> Accepted:
    state = inputs.state
    guards.require_recordable(state, meta, "A new turn")
    notes = () if command.aside else state.notes
    prompt: tuple[PromptPart, ...] = (*notes, *_fenced(_said(command.prompt), meta))
    if not prompt:
        raise Refused(refusals.EmptyText("prompt"))
    _require_pairs(command)
    turn = events.TurnRecorded(
        command.after if command.aside else state.context.tip,
        prompt,
        command.items,
        events.Size(0, ""),
        command.status,
        command.reason,
        command.passage,
        command.aside,
    )
    size = size_of(recorded_turn(state.agent, state.version + 1, turn), inputs.counter)
    draft = Draft(state, inputs.live, meta)
    draft.add(structs.replace(turn, size=size))
    if not command.aside:
        slide(draft, inputs.counter)
    return draft.accepted()


def _fenced(prompt: tuple[PromptPart, ...], meta: CommandMeta) -> tuple[PromptPart, ...]:
    """The prompt with a fence around each note: a text of a program or of a parent."""
    return tuple(
        structs.replace(part, fence=meta.nonce)
        if isinstance(part, Note) and meta.nonce and not part.fence
        else part
        for part in prompt
    )


def _restart_problem(inputs: DecisionInput) -> refusals.BudgetReached | None:
    """Why the open turn may not start again although its model asked for it; None if it may."""
    if not restarts_turn(inputs.state) or (inputs.live.open and inputs.live.open.is_answered):
        return None
    limits = inputs.account.limits if inputs.account else inputs.state.settings
    return restart_problem(limits, inputs.state)


def _require_no_calls(turn: OpenTurn) -> None:
    if turn.calls:
        raise Refused(refusals.CallsOpen(turn.calls))


def _require_pairs(command: RecordTurn) -> None:
    """Every call has a result before the next reply; in a completed turn every call has one."""
    known: set[str] = set()
    waiting: list[str] = []
    for item in command.items:
        if isinstance(item, RecordedResult):
            if item.call not in waiting:
                raise Refused(refusals.UnknownCall(item.call))
            waiting.remove(item.call)
            continue
        if waiting:
            raise Refused(refusals.CallsOpen(tuple(waiting)))
        waiting = _new_calls(item.parts, known)
        known.update(waiting)
    if waiting and command.status == "completed":
        raise Refused(refusals.CallsOpen(tuple(waiting)))


def _said(prompt: tuple[PromptPart, ...]) -> tuple[PromptPart, ...]:
    return tuple(part for part in prompt if part.text.strip())


def _new_calls(parts: tuple[ReplyPart, ...], known: AbstractSet[str]) -> list[str]:
    """Returns the ids of the calls in a reply. Refuses an id that the turn already has."""
    new: dict[str, None] = {}
    for part in parts:
        if isinstance(part, ToolCall):
            if part.id in known or part.id in new:
                raise Refused(refusals.DuplicateCall(part.id))
            new[part.id] = None
    return list(new)


def _keep_words(draft: Draft, turn: OpenTurn, partial: str = "") -> None:
    """Makes a reply of the words that had arrived. `partial` is used if no word was stored."""
    assert draft.live is not None
    words = draft.live.open.words_so_far if draft.live.open else ()
    if not words and partial.strip():
        words = (Text(partial),)
    if words:
        draft.add(events.ReplyAdded(words, turn.called, ended="cut"))


def _size(live: LivePath | None, counter: Counter) -> events.Size:
    assert live is not None
    assert live.open is not None
    return size_of(live.open, counter)


def ask_question(inputs: DecisionInput, command: AskQuestion, meta: CommandMeta) -> Accepted:
    guards.require_turn(inputs.state, command.turn)
    event = events.QuestionAsked(
        command.question,
        command.tool,
        command.subject,
        command.shown,
        command.hash,
        command.of_call,
        command.until,
    )
    return accept(inputs, meta, event)


def answer_question(inputs: DecisionInput, command: AnswerQuestion, meta: CommandMeta) -> Accepted:
    state = inputs.state
    guards.require_running(state)
    if command.allowed and meta.actor.role != "human":
        raise Refused(refusals.HumanOnly(TABLE.label_of(AnswerQuestion)))
    waiting = state.open.questions if state.open else ()
    asked = next((each for each in waiting if each.question == command.question), None)
    if asked is None:
        raise Refused(refusals.NoQuestion())
    if asked.hash != command.hash:
        raise Refused(refusals.OtherQuestion())
    event = events.QuestionAnswered(command.question, command.allowed, command.answer)
    return accept(inputs, meta, event, "Allowed." if command.allowed else "Denied.")
