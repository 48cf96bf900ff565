"""`evolve(state, recorded)`: the state after one more event.

Events are facts, so nothing is checked or refused here. Of an event that cannot be read, only the
kind is known, and only what follows from the kind changes: for example, a turn has ended.
"""

from typing import assert_never

from msgspec import UNSET, structs

from sapwood.core import events
from sapwood.core.content import Note, RecordedReply, Text, ToolCall, Usage
from sapwood.core.context import (
    Context,
    Mark,
    Moved,
    Step,
    StepCause,
    as_of_turn,
    cuts_after_trim,
    keep_marks,
    loaded_after_trim,
    undo_step,
)
from sapwood.core.events import Recorded
from sapwood.core.ids import TurnRef, title_of
from sapwood.core.program_session import ProgramSession, SyncedSession
from sapwood.core.state import (
    BACKGROUND_KEPT,
    ERASED_KEPT,
    JOBS_KEPT,
    JUDGED_SENTENCES,
    JUDGED_STRETCHES,
    MARKS_KEPT,
    NOTES_LIMIT,
    UNDO_DEPTH,
    WINDOW_STEPS,
    DeclaredNote,
    Files,
    Focus,
    Goal,
    Job,
    Judgement,
    OpenQuestion,
    OpenTurn,
    QueuedPrompt,
    Reverting,
    State,
    UnreadMail,
)


def evolve(state: State, recorded: Recorded) -> State:
    """The state after this event."""
    after = _applied(state, recorded)
    return after if after.session is None else _followed_by_session(state, after, recorded)


def _followed_by_session(before: State, after: State, recorded: Recorded) -> State:
    """Moves the context of the session too if its program itself made the change.

    It made every turn whose rows are known, and everything that the system imports.
    """
    held = before.session
    if held is None or before.context == after.context or held.context != before.context:
        return after
    match recorded.event:
        case events.TurnCompleted() | events.TurnInterrupted() | events.TurnFailed():
            moved = before.open is not None and before.open.native
        case events.TurnRecorded(passage=passage):
            moved = passage is not None
        case _:
            moved = before.origin is not None and recorded.actor.role == "system"
    if not moved:
        return after
    return structs.replace(after, session=structs.replace(held, context=after.context))


def _applied(state: State, recorded: Recorded) -> State:
    event = recorded.event
    if isinstance(event, events.WordsErased):  # nobody used the agent, so it was not updated
        sources = (*state.erased, event.source)[-ERASED_KEPT:]
        return structs.replace(state, version=recorded.version, erased=sources)
    state = structs.replace(state, version=recorded.version, updated=recorded.at)
    match event:
        case events.AgentStarted():
            return _started(state, recorded, event)
        case events.AgentForked():
            return _forked(state, event)
        case events.AgentArchived():
            return structs.replace(state, status="archived")
        case events.AgentUnarchived():
            return structs.replace(state, status="running")
        case events.AgentRenamed():
            named = structs.replace(state, name=event.name, named_by_prompt=False)
            return _spent(named, event.usage)
        case events.AgentTagged():
            return structs.replace(state, tags=event.tags)
        case events.AgentKilled():
            return structs.replace(state, status="killed")
        case events.SettingsChanged():
            return structs.replace(state, settings=event.change.applied_to(state.settings))
        case events.PinAdded():
            others = tuple(pin for pin in state.pins if pin.name != event.pin.name)
            return structs.replace(state, pins=(*others, event.pin))
        case events.PinRemoved():
            left = tuple(pin for pin in state.pins if pin.name != event.name)
            return structs.replace(state, pins=left)
        case events.PromptQueued(entry, text):
            return structs.replace(state, queue=(*state.queue, QueuedPrompt(entry, text)))
        case events.PromptUnqueued(entry):
            rest = tuple([each for each in state.queue if each.entry != entry])
            return structs.replace(state, queue=rest)
        case events.TodoWritten(items):
            return structs.replace(state, todo=items)
        case events.JobStarted(job, line, _, holder):
            return structs.replace(state, jobs=(*state.jobs, Job(job, line, holder)))
        case events.JobEnded():
            return _job_ended(state, event)
        case events.GoalSet():
            goal = Goal(
                event.goal,
                event.text,
                event.check,
                event.turns,
                event.tokens,
                event.cost,
                state.turns,
            )
            return structs.replace(state, goal=goal)
        case events.GoalEnded():
            return structs.replace(state, goal=None)
        case events.ShellRan(line, output, noted=True):
            return _noted(state, Note("shell", output, line, event.fence))
        case events.ShellRan() | events.SideAnswered():
            return state
        case events.InstructionsRead():
            head = state.context.head
            return structs.replace(state, instructions=event.texts, instructions_head=head)
        case events.Focused():
            return _focused(state, recorded, event)
        case events.Unfocused():
            return _unfocused(state, event)
        case events.NoteDeclared():
            return _declared(state, recorded, event)
        case events.SessionJudged():
            return _judged(state, recorded, event)
        case events.TurnStarted():
            opened = OpenTurn(
                recorded.version,
                event.parent,
                lease=event.lease,
                params=event.params,
                trace=event.trace,
                actor=recorded.actor,
            )
            alone = 0 if recorded.actor.role == "human" else state.turns_without_human + 1
            return structs.replace(
                _titled(state, event),
                open=opened,
                notes=(),
                turns_without_human=alone,
                instructions_head=state.context.head,
                turns=state.turns + 1,
                goal=_goal_with_turn(state.goal, recorded),
            )
        case events.TurnLeased():
            return _open(state, lease=event.lease)
        case events.ModelCalled():
            return _called(state, recorded, event)
        case events.CallReported():
            return _last(state, dropped=event.dropped)
        case events.ReplyAdded():
            return _replied(state, event)
        case events.ReplyStreamed() | events.FileAdded():
            return state
        case events.ReplyLost():
            return _open(state, asked=0, estimate=0, called="")
        case events.QuestionAsked():
            return _asked(state, recorded, event)
        case events.QuestionAnswered():
            return _answered(state, recorded, event)
        case events.ToolStarted():
            return _tool_started(state, event)
        case events.ToolFinished():
            return _finished(state, event)
        case events.TurnCompleted() | events.TurnInterrupted() | events.TurnFailed():
            return _ended(state, recorded)
        case events.TurnRecorded():
            return _recorded(state, recorded, event)
        case events.MarkSet():
            return _marked(state, recorded, event)
        case events.ContextTrimmed():
            return _trimmed(state, recorded, event)
        case events.ContextSummarized() | events.SummaryDropped():
            return _spent(state, event.usage)
        case events.ContextLoaded(joined=joined):
            return _loaded(state, recorded, joined=joined)
        case events.ContextCut():
            return _cut(state, recorded, event)
        case events.ContextRestored():
            return _restored(state, recorded, event)
        case events.ContextRewound():
            return _rewound(state, recorded, event)
        case events.ContextReverted():
            return _reverted(state, recorded, event)
        case events.ContextUndone():
            return _undone(state, recorded, event)
        case events.ContextRedone():
            return _redone(state, recorded, event)
        case events.ResultsMasked():
            return structs.replace(state, context=structs.replace(state.context, mask=event.mask))
        case events.ClearDeferred():
            return _open(state, deferred=event)
        case events.DropDeferred():
            return state if state.open is None else _open(state, drops=(*state.open.drops, event))
        case events.CheckpointMade():
            return structs.replace(state, files=Files(recorded.version, event.files.tree))
        case events.CheckpointMissed():
            return structs.replace(state, files=Files(recorded.version, ""))
        case events.RevertStarted():
            files = Files(recorded.version, event.files.tree)
            return structs.replace(
                state, files=files, reverting=Reverting(recorded.version, event.to)
            )
        case events.MailSent():
            return state
        case events.MailReceived():
            letter = UnreadMail(event.mail, event.text, event.sender)
            return structs.replace(state, inbox=(*state.inbox, letter))
        case events.MailRead():
            return _mail_read(state, event)
        case events.SessionSynced():
            held = SyncedSession(event.session, event.context, event.pins)
            return structs.replace(state, session=held)
        case events.NativeRecorded():
            return _open(state, native=True)
        case events.SessionDiffered():
            return state
        case events.UnreadableEvent():
            return _unreadable(state, recorded, event)
        case _:
            assert_never(event)


def _started(state: State, recorded: Recorded, event: events.AgentStarted) -> State:
    return structs.replace(
        state,
        status="running",
        name=event.name,
        parent=event.parent,
        created=recorded.at,
        settings=event.settings,
        workspace=event.workspace,
        pins=event.pins,
        context=event.context,
        calibration=event.calibration,
        tool_schema_tokens=event.offered,
        origin=event.origin,
        session=_imported_session(event),
        turns_without_human=event.unprompted,
        notes=event.waiting,
        instructions=event.instructions,
        instructions_head=event.context.head,
        tags=event.tags,
    )


def _imported_session(event: events.AgentStarted) -> SyncedSession | None:
    origin = event.origin
    if origin is None:
        return None
    return SyncedSession(ProgramSession(origin.source, origin.session, origin.path), event.context)


def _titled(state: State, event: events.TurnStarted) -> State:
    """Names a conversation without a name after its first prompt."""
    if event.parent is not None or state.parent is not None:
        return state
    title = next((title_of(part.text) for part in event.prompt if isinstance(part, Text)), "")
    if not title or state.name not in ("", title):
        return state
    return structs.replace(state, name=title, named_by_prompt=True)


def _unreadable(state: State, recorded: Recorded, event: events.UnreadableEvent) -> State:
    """Applies what follows from the kind alone: a turn starts although its prompt is lost."""
    match event.kind:
        case events.AgentStarted.kind if state.status == "none":
            return structs.replace(state, status="running", created=recorded.at)
        case events.AgentArchived.kind:
            return structs.replace(state, status="archived")
        case events.AgentUnarchived.kind:
            return structs.replace(state, status="running")
        case events.AgentKilled.kind:
            return structs.replace(state, status="killed")
        case events.TurnStarted.kind:
            opened = OpenTurn(recorded.version, state.context.tip)
            return structs.replace(
                state,
                open=opened,
                notes=(),
                instructions_head=state.context.head,
                turns=state.turns + 1,
            )
        case events.TurnRecorded.kind:
            return structs.replace(state, turns=state.turns + 1)
        case events.TurnCompleted.kind | events.TurnInterrupted.kind | events.TurnFailed.kind:
            return _ended(state, recorded)
        case _:
            return state


def _ended(state: State, recorded: Recorded) -> State:
    if state.open is None:  # its start cannot be read
        return state
    tip = TurnRef(state.agent, state.open.first, recorded.version)
    return structs.replace(state, context=structs.replace(state.context, tip=tip), open=None)


def _recorded(state: State, recorded: Recorded, event: events.TurnRecorded) -> State:
    tip = TurnRef(state.agent, recorded.version, recorded.version)
    used = [item.usage for item in event.items if isinstance(item, RecordedReply) and item.usage]
    state = structs.replace(
        state,
        spent=sum(used, state.spent),
        imported_until=event.passage or state.imported_until,
        turns=state.turns + 1,
    )
    if event.aside:
        return state
    return structs.replace(state, context=structs.replace(state.context, tip=tip), notes=())


def _forked(state: State, event: events.AgentForked) -> State:
    if not event.delegated:
        return state
    goal = "\n\n".join(part.text for part in event.goal if isinstance(part, Text))
    return _noted(state, Note("delegated", goal, event.child, event.fence or UNSET))


def _focused(state: State, recorded: Recorded, event: events.Focused) -> State:
    others = tuple(focus for focus in state.focus if focus.topic != event.topic)
    focus = (*others, Focus(event.topic, event.priority, recorded.at))
    return structs.replace(
        state,
        focus=tuple(sorted(focus, key=lambda f: (f.priority, -f.since, f.topic))),
        background=tuple(topic for topic in state.background if topic != event.topic),
    )


def _declared(state: State, recorded: Recorded, event: events.NoteDeclared) -> State:
    replaced = next((each for each in state.declared if each.id == event.replaces), None)
    about = replaced.text if replaced and event.note == "answer" else ""
    note = DeclaredNote(
        recorded.version, event.note, event.text, recorded.at, recorded.actor.role, about
    )
    kept = tuple(each for each in state.declared if each is not replaced)
    return structs.replace(state, declared=(*kept, note)[-NOTES_LIMIT:])


def _judged(state: State, recorded: Recorded, event: events.SessionJudged) -> State:
    """Newer words about the same turns or the same sentence replace older ones."""
    before = state.judged
    turns = {(each.first, each.last) for each in event.stretches}
    said = {each.was or each.text for each in event.sentences}
    stretches = [each for each in before.stretches if (each.first, each.last) not in turns]
    sentences = [each for each in before.sentences if (each.was or each.text) not in said]
    judged = Judgement(
        event.judge,
        recorded.at,
        (*stretches, *event.stretches)[-JUDGED_STRETCHES:],
        (*sentences, *event.sentences)[-JUDGED_SENTENCES:],
        before.usage + (event.usage or Usage(0)),
    )
    return structs.replace(_spent(state, event.usage), judged=judged)


def _unfocused(state: State, event: events.Unfocused) -> State:
    others = tuple(topic for topic in state.background if topic != event.topic)
    return structs.replace(
        state,
        focus=tuple(focus for focus in state.focus if focus.topic != event.topic),
        background=(*others, event.topic)[-BACKGROUND_KEPT:],
    )


def _called(state: State, recorded: Recorded, event: events.ModelCalled) -> State:
    state = structs.replace(state, tool_schema_tokens=event.offered, calls=state.calls + 1)
    if event.instruction or state.open is None:
        return state
    last = state.last_call.followed(recorded.version, recorded.at, state.open.first)
    state = structs.replace(state, last_call=last)
    return _open(state, asked=recorded.version, estimate=event.estimate, called=event.model)


def _last(state: State, **changes: object) -> State:
    return structs.replace(state, last_call=structs.replace(state.last_call, **changes))


def _replied(state: State, event: events.ReplyAdded) -> State:
    turn = state.open
    if turn is None:
        return _spent(state, event.usage)
    calls = (*turn.calls, *(part.id for part in event.parts if isinstance(part, ToolCall)))
    after = _spent(_open(state, calls=calls, asked=0, estimate=0, called=""), event.usage)
    if event.response:
        after = _last(after, response=event.response)
    if event.usage is None or not turn.estimate:
        return after
    learnt = state.ratio(turn.called).observe(turn.estimate, event.usage.input)
    return structs.replace(after, calibration={**state.calibration, turn.called: learnt})


def _job_ended(state: State, event: events.JobEnded) -> State:
    jobs = [
        structs.replace(each, result=event.result, output=event.output)
        if each.job == event.job
        else each
        for each in state.jobs
    ]
    kept = {each.job for each in [each for each in jobs if each.result][-JOBS_KEPT:]}
    left = tuple([each for each in jobs if not each.result or each.job in kept])
    return structs.replace(state, jobs=left)


def _asked(state: State, recorded: Recorded, event: events.QuestionAsked) -> State:
    turn = state.open
    if turn is None:
        return state
    call = event.call
    question = OpenQuestion(event.question, event.hash, recorded.version, call, event.until)
    others = tuple([each for each in turn.questions if not call or each.call != call])
    started = tuple([each for each in turn.started if each != call])
    return _open(state, questions=(*others, question), started=started)


def _answered(state: State, recorded: Recorded, event: events.QuestionAnswered) -> State:
    turn = state.open
    if turn is None:
        return state
    now = [each for each in turn.questions if each.question == event.question and each.call]
    return _open(
        state,
        questions=tuple([each for each in turn.questions if each.question != event.question]),
        answered=(
            *turn.answered,
            *(structs.replace(each, answered=recorded.version) for each in now),
        ),
    )


def _tool_started(state: State, event: events.ToolStarted) -> State:
    turn = state.open
    return state if turn is None else _open(state, started=(*turn.started, event.call))


def _finished(state: State, event: events.ToolFinished) -> State:
    turn = state.open
    if turn is None:
        return state
    return _open(
        state,
        calls=(left := tuple([call for call in turn.calls if call != event.call])),
        questions=_of_other_calls(turn.questions, event.call) if left else (),
        answered=_of_other_calls(turn.answered, event.call),
        started=tuple([call for call in turn.started if call != event.call]),
    )


def _of_other_calls(questions: tuple[OpenQuestion, ...], call: str) -> tuple[OpenQuestion, ...]:
    return tuple([each for each in questions if each.call != call])


def _marked(state: State, recorded: Recorded, event: events.MarkSet) -> State:
    context = state.context
    if state.open is not None:
        context = as_of_turn(context, state.agent, state.open.first)
    mark = Mark(event.name, context, recorded.version, event.turn, event.call)
    others = tuple(m for m in state.marks if not event.name or m.name != event.name)
    return structs.replace(state, marks=(*others, mark)[-MARKS_KEPT:])


def _trimmed(state: State, recorded: Recorded, event: events.ContextTrimmed) -> State:
    tip = state.context.tip
    loaded = loaded_after_trim(state.context, event.cause)
    cuts = cuts_after_trim(state.context, event.cause)
    context = Context(tip, event.head, event.summary, event.request, event.mask, loaded, cuts)
    if event.cause == "window":
        state = _window_stepped(state, recorded.version, event)
        return structs.replace(state, context=context, window_moved_at=recorded.version)
    notes = () if event.notes_dropped else state.notes
    state = _stepped(state, "head", recorded.version, event.cause, notes, event.keep)
    marks = () if event.cause == "clear" else state.marks
    return structs.replace(state, context=context, marks=marks, notes=notes)


def _loaded(state: State, recorded: Recorded, *, joined: bool) -> State:
    context = state.context
    context = structs.replace(context, loaded=(*context.loaded, recorded.ref))
    if not joined:
        state = _stepped(state, "head", recorded.version, "load", state.notes)
    return structs.replace(state, context=context)


def _cut(state: State, recorded: Recorded, event: events.ContextCut) -> State:
    notes = (*state.notes, Note("program", event.note)) if event.note else state.notes
    state = _stepped(state, "head", recorded.version, "drop", notes, place=event.place)
    context = structs.replace(state.context, cuts=recorded.ref)
    return structs.replace(state, context=context, notes=notes)


def _restored(state: State, recorded: Recorded, event: events.ContextRestored) -> State:
    state = _stepped(state, "head", recorded.version, "load", state.notes)
    cuts = recorded.ref if event.layer.below or event.layer.size else None
    return structs.replace(state, context=structs.replace(state.context, cuts=cuts))


def _rewound(state: State, recorded: Recorded, event: events.ContextRewound) -> State:
    index = next((i for i, mark in enumerate(state.marks) if mark.version == event.version), None)
    if index is not None:
        marks = keep_marks(state.marks, index)
    else:
        marks = tuple(
            mark
            for mark in state.marks
            if mark.version <= event.version or mark.context == event.context
        )
    notes = state.notes if event.waiting is None else event.waiting
    if event.note:
        notes = (*notes, Note("self", event.note, fence=event.fence))
    before = state.context
    stays = (before.tip, before.mask) == (event.context.tip, event.context.mask)
    state = _stepped(state, "head" if stays else "tip", recorded.version, event.cause, notes)
    return structs.replace(state, context=event.context, marks=marks, notes=notes)


def _reverted(state: State, recorded: Recorded, event: events.ContextReverted) -> State:
    marks = event.marks
    if marks is None:
        marks = tuple(mark for mark in state.marks if mark.version <= event.to.context)
    notes = event.waiting
    if notes is None:
        notes = tuple(note for note in state.notes if note not in event.heard)
    state = _stepped(state, "tip", recorded.version, "revert", notes)
    files = Files(recorded.version, event.files.tree)
    return structs.replace(
        state, context=event.context, marks=marks, notes=notes, files=files, reverting=None
    )


def _undone(state: State, recorded: Recorded, event: events.ContextUndone) -> State:
    if not state.undo:  # the event that was undone cannot be read
        return structs.replace(state, context=event.context)
    before, step = state, state.undo[-1]
    state = _state_before(state, step, event.context)
    again = _step_again(before, recorded.version, step, state.notes)
    return structs.replace(state, undo=state.undo[:-1], redo=(*state.redo, again))


def _redone(state: State, recorded: Recorded, event: events.ContextRedone) -> State:
    if not state.redo:  # the event that was redone cannot be read
        return structs.replace(state, context=event.context)
    before, step = state, state.redo[-1]
    state = _state_before(state, step, event.context)
    again = _step_again(before, recorded.version, step, state.notes)
    return structs.replace(state, undo=(*state.undo, again), redo=state.redo[:-1])


def _step_again(before: State, version: int, step: Step, left: tuple[Note, ...]) -> Step:
    """The step by which a step that was just undone or redone at `version` can be changed back."""
    again = _step(before, step.moved, version, step.cause, left, step.keep, step.place)
    return structs.replace(again, since=step.since or step.version)


def _state_before(state: State, step: Step, context: Context) -> State:
    _, marks = undo_step(step, state.context, state.marks)
    notes = _notes_before(step, state.notes)
    return structs.replace(
        state,
        context=context,
        marks=marks[-MARKS_KEPT:],
        notes=notes,
        window_moved_at=step.window_moved_at,
    )


def _notes_before(step: Step, now: tuple[Note, ...]) -> tuple[Note, ...]:
    """The notes that waited before the step, and those that were added after it.

    If the step moved `head`, the turns since stay in view with the notes in their prompts, so only
    notes that the step itself dropped or added change.
    """
    if now == step.left:
        return step.notes
    if step.moved == "tip":
        return (*step.notes, *_without(now, step.left))
    dropped, added = _without(step.notes, step.left), _without(step.left, step.notes)
    return (*dropped, *_without(now, added))


def _without(notes: tuple[Note, ...], others: tuple[Note, ...]) -> tuple[Note, ...]:
    """The notes without the others, each of which takes one equal note out."""
    left = list(others)
    kept: list[Note] = []
    for note in notes:
        if note in left:
            left.remove(note)
        else:
            kept.append(note)
    return tuple(kept)


def _mail_read(state: State, event: events.MailRead) -> State:
    read = [letter for letter in state.inbox if letter.mail in event.mails]
    left = tuple(letter for letter in state.inbox if letter.mail not in event.mails)
    state = structs.replace(state, inbox=left)
    if event.noted:
        for letter in read:
            note = Note("mail", letter.text, source=letter.sender, fence=event.fence)
            state = _noted(state, note)
    return state


def _step(
    state: State,
    moved: Moved,
    version: int,
    cause: StepCause,
    left: tuple[Note, ...],
    keep: int = 0,
    place: str = "",
) -> Step:
    return Step(
        moved,
        state.context,
        state.marks,
        version,
        state.notes,
        left,
        cause,
        state.window_moved_at,
        keep,
        place,
    )


def _stepped(
    state: State,
    moved: Moved,
    version: int,
    cause: StepCause,
    left: tuple[Note, ...],
    keep: int = 0,
    place: str = "",
) -> State:
    steps = (*state.undo, _step(state, moved, version, cause, left, keep, place))
    return structs.replace(state, undo=steps[-UNDO_DEPTH:], redo=())


def _window_stepped(state: State, version: int, event: events.ContextTrimmed) -> State:
    """Makes a move of the window a step. Two moves at the same tip are one step.

    A longer summary, for which `head` stays, belongs to the move before it. A move that was undone
    cannot be redone after the window has moved by itself: it would change nothing.
    Only the newest of these steps are kept, so that they do not push the user's own commands out.
    """
    newest = state.undo[-1] if state.undo else None
    extends = event.head == state.context.head and event.summary != state.context.summary
    same = newest is not None and (extends or newest.context.tip == state.context.tip)
    if not extends:
        redo = tuple([step for step in state.redo if step.cause != "window"])
        state = structs.replace(state, redo=redo)
    if newest and newest.cause == "window" and same:
        return state
    steps = (*state.undo, _step(state, "head", version, "window", state.notes))
    moves = [step for step in steps if step.cause == "window"]
    if len(moves) > WINDOW_STEPS:
        steps = tuple(step for step in steps if step is not moves[0])
    return structs.replace(state, undo=steps[-UNDO_DEPTH:])


def _spent(state: State, usage: Usage | None) -> State:
    if usage is None:
        return state
    goal = state.goal
    if goal is not None and state.open is not None and state.open.first == goal.turn:
        goal = structs.replace(goal, used=goal.used + usage)
    return structs.replace(state, spent=state.spent + usage, goal=goal)


def _goal_with_turn(goal: Goal | None, started: Recorded) -> Goal | None:
    """The goal, with this turn if it opened it."""
    if goal is None or started.command != goal.next_command:
        return goal
    return structs.replace(goal, opened=goal.opened + 1, turn=started.version)


def _noted(state: State, note: Note) -> State:
    return structs.replace(state, notes=(*state.notes, note))


def _open(state: State, **changes: object) -> State:
    """The state with changes to its open turn; unchanged if the turn's start cannot be read."""
    if state.open is None:
        return state
    return structs.replace(state, open=structs.replace(state.open, **changes))
