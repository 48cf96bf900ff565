"""Decisions about agents: start, settings, pins, files, focus, judgements, archive, kill, mail.

Decisions about the session of an agent in another program. The system gives these commands.
"""

from sapwood.core import events, refusals
from sapwood.core.commands import (
    AddFile,
    AddPin,
    Archive,
    CommandMeta,
    Configure,
    DeclareNote,
    EndGoal,
    EndJob,
    Focus,
    Kill,
    QueuePrompt,
    ReadMail,
    RecordDifference,
    RecordJudgement,
    RecordNative,
    RecordShell,
    RecordSideAnswer,
    RecordSync,
    RemovePin,
    Rename,
    Send,
    SetGoal,
    StartAgent,
    StartJob,
    StartSuccessor,
    TagAgent,
    Unarchive,
    Unfocus,
    UnqueuePrompt,
    WriteTodo,
)
from sapwood.core.content import Note
from sapwood.core.decide import guards
from sapwood.core.decide.decision import Accepted, Change, DecisionInput, Draft, Refused, accept
from sapwood.core.decide.trims import slide
from sapwood.core.event_texts import goal_end
from sapwood.core.events.agent import inherited_pins
from sapwood.core.history_size import size_of
from sapwood.core.ids import AgentId
from sapwood.core.program_session import SyncedSession
from sapwood.core.settings import BUDGET, Settings, typed_name
from sapwood.core.state import (
    FOCUS_LIMIT,
    JOB_LIMIT,
    JUDGED_LENGTH,
    JUDGED_SENTENCES,
    JUDGED_STRETCHES,
    NOTES_LIMIT,
    PINS_LIMIT,
    QUEUE_LIMIT,
    TODO_LENGTH,
    TODO_LIMIT,
    State,
)
from sapwood.core.tags import (
    LABEL_LENGTH,
    LABELS_LIMIT,
    METADATA_LIMIT,
    OWNER_LENGTH,
    VALUE_LENGTH,
    Tags,
    changed_tags,
    is_reserved,
)
from sapwood.core.token_count import Count, show
from sapwood.core.turn_params import TurnParams
from sapwood.core.view.frames import framed_prompt

MAIL_LIMIT = 32_000
"""The most characters of one mail: unread mail is part of the receiver's state."""

NAME_LIMIT = 200
"""Characters of a name, which has to fit into a list."""

PIN_LIMIT = 200_000
"""The most characters of one pin: pins are in every request."""


def start_agent(inputs: DecisionInput, command: StartAgent, meta: CommandMeta) -> Accepted:
    if inputs.state.status != "none":
        raise Refused(refusals.AgentExists(command.agent))
    _require_settings(command.settings)
    for pin in command.pins:
        _require_pin(pin)
    pins = tuple({pin.name: pin for pin in command.pins}.values())
    if len(pins) > PINS_LIMIT:
        raise Refused(refusals.TooManyPins(PINS_LIMIT))
    event = events.AgentStarted(
        by="import" if command.origin else "script" if command.script else "person",
        name=command.name,
        settings=command.settings,
        workspace=command.workspace,
        pins=pins,
        parent=command.parent if command.origin else None,
        origin=command.origin,
        tags=_checked(command.tags, Tags(), meta) if command.tags else None,
    )
    return accept(inputs, meta, event, f"Started {command.agent}.")


def configure(inputs: DecisionInput, command: Configure, meta: CommandMeta) -> Accepted:
    guards.require_running(inputs.state)
    after = command.change.applied_to(inputs.state.settings)
    _require_settings(after)
    if after == inputs.state.settings:
        given = command.change.changed_fields()
        names = [name for name in given if name != "window" or "model" not in given]
        same = " and ".join(
            f"{typed_name(name)} is already {_shown(name, after)}" for name in names
        )
        return Accepted((), f"Nothing changed: {same or 'no setting was given'}.")
    draft = Draft(inputs.state, inputs.live, meta)
    draft.add(events.SettingsChanged(command.change, command.why))
    slide(draft, inputs.counter)
    changed = " ".join(
        f"{typed_name(name)} is now {_shown(name, after)}." for name in _differing(inputs, after)
    )
    return draft.accepted(f"{changed}{_offer(inputs, after)}")


def _differing(inputs: DecisionInput, after: Settings) -> list[str]:
    before = inputs.state.settings
    return [
        name for name in after.__struct_fields__ if getattr(before, name) != getattr(after, name)
    ]


def _shown(name: str, settings: Settings) -> str:
    """The value of a setting in one short line."""
    value: str | int | float | tuple[float, ...] | TurnParams = getattr(settings, name)
    match value:
        case str():
            line = " ".join(value.split())
            return f"'{line[:60]}…'" if len(line) > 60 else line or "empty"
        case tuple():
            return " ".join(f"{each:g}" for each in value)
        case TurnParams():
            return str(value)
        case int() if name in ("cap", "window") and value:
            return show(Count(value, exact=True))
        case int():
            return str(value)
        case _:
            return f"{value:g}"


def _offer(inputs: DecisionInput, after: Settings) -> str:
    """Offers to bring clipped turns back, if the cap was raised and the window moved last."""
    before, undo = inputs.state.settings, inputs.state.undo
    raised = before.cap and (not after.cap or after.cap > before.cap)
    if not raised or not undo or undo[-1].cause != "window":
        return ""
    return " Type /undo to bring back the turns that were clipped last."


def add_pin(inputs: DecisionInput, command: AddPin, meta: CommandMeta) -> Accepted:
    guards.require_running(inputs.state)
    pin = events.Pin(command.name, command.text, command.source)
    _require_pin(pin)
    if pin in inputs.state.pins:
        return Accepted((), f"'{pin.name}' is already pinned with this text.")
    if len(inputs.state.pins) >= PINS_LIMIT and not _is_pinned(inputs.state, pin.name):
        raise Refused(refusals.TooManyPins(PINS_LIMIT))
    source = f" from {command.source}" if command.source else ""
    return accept(inputs, meta, events.PinAdded(pin), f"Pinned '{command.name}'{source}.")


def queue_prompt(inputs: DecisionInput, command: QueuePrompt, meta: CommandMeta) -> Accepted:
    state = inputs.state
    guards.require_running(state)
    if not command.text.strip():
        raise Refused(refusals.EmptyText("prompt"))
    if len(state.queue) >= QUEUE_LIMIT:
        raise Refused(refusals.QueueFull(QUEUE_LIMIT))
    return accept(inputs, meta, events.PromptQueued(command.entry, command.text), "Queued.")


def unqueue_prompt(inputs: DecisionInput, command: UnqueuePrompt, meta: CommandMeta) -> Accepted:
    state = inputs.state
    guards.require_running(state)
    if all(each.entry != command.entry for each in state.queue):
        raise Refused(refusals.NotQueued())
    return accept(inputs, meta, events.PromptUnqueued(command.entry))


def write_todo(inputs: DecisionInput, command: WriteTodo, meta: CommandMeta) -> Accepted:
    guards.require_running(inputs.state)
    if len(command.items) > TODO_LIMIT:
        raise Refused(refusals.TooManyTodos(TODO_LIMIT))
    for item in command.items:
        guards.require_text(item.text, "item")
        guards.require_length(item.text, TODO_LENGTH, "item")
    if command.items == inputs.state.todo:
        return Accepted((), "The list already looks like this.")
    event = events.TodoWritten(command.items)
    done = sum(item.status == "done" for item in command.items)
    return accept(inputs, meta, event, f"{done} of {len(command.items)} done.")


def start_job(inputs: DecisionInput, command: StartJob, meta: CommandMeta) -> Accepted:
    state = inputs.state
    guards.require_running(state)
    guards.require_text(command.line, "command")
    running = [each for each in state.jobs if not each.result and each.holder == command.holder]
    if len(running) >= JOB_LIMIT:
        raise Refused(refusals.TooManyJobs(JOB_LIMIT))
    number = state.jobs[-1].job + 1 if state.jobs else 1
    event = events.JobStarted(number, command.line, command.call, command.holder)
    return accept(inputs, meta, event)


def end_job(inputs: DecisionInput, command: EndJob, meta: CommandMeta) -> Accepted:
    guards.require_text(command.result, "result")
    running = [each.job for each in inputs.state.jobs if not each.result]
    if command.job not in running:
        raise Refused(refusals.JobNotRunning(command.job))
    event = events.JobEnded(command.job, command.result, command.output)
    return accept(inputs, meta, event, f"Job {command.job} is being ended.")


def record_shell(inputs: DecisionInput, command: RecordShell, meta: CommandMeta) -> Accepted:
    guards.require_running(inputs.state)
    guards.require_text(command.line, "command")
    if command.noted:
        guards.require_room_for_notes(inputs.state)
    fence = meta.nonce if command.noted else ""
    event = events.ShellRan(command.line, command.output, command.failed, command.noted, fence)
    return accept(inputs, meta, event)


def set_goal(inputs: DecisionInput, command: SetGoal, meta: CommandMeta) -> Accepted:
    guards.require_running(inputs.state)
    guards.require_text(command.goal, "id")
    guards.require_text(command.text, "goal")
    budget = (command.turns, command.tokens, command.cost)
    event = events.GoalSet(command.goal, command.text, command.check, *budget)
    return accept(inputs, meta, event, "The goal is set. To end it, type: /goal stop")


def end_goal(inputs: DecisionInput, command: EndGoal, meta: CommandMeta) -> Accepted:
    if inputs.state.goal is None or inputs.state.goal.id != command.goal:
        return Accepted((), "The goal has already ended.")
    event = events.GoalEnded(command.goal, command.reason, command.message)
    return accept(inputs, meta, event, goal_end(command.reason, command.message))


def record_side_answer(
    inputs: DecisionInput, command: RecordSideAnswer, meta: CommandMeta
) -> Accepted:
    guards.require_running(inputs.state)
    guards.require_text(command.question, "question")
    event = events.SideAnswered(command.child, command.question, command.answer, command.failed)
    return accept(inputs, meta, event)


def remove_pin(inputs: DecisionInput, command: RemovePin, meta: CommandMeta) -> Accepted:
    guards.require_running(inputs.state)
    names = tuple(pin.name for pin in inputs.state.pins)
    if command.name not in names:
        raise Refused(refusals.UnknownPin(command.name, refusals.nearest(command.name, names)))
    return accept(inputs, meta, events.PinRemoved(command.name), f"Unpinned '{command.name}'.")


def focus(inputs: DecisionInput, command: Focus, meta: CommandMeta) -> Accepted:
    guards.require_running(inputs.state)
    guards.require_text(command.topic, "topic")
    others = [focus for focus in inputs.state.focus if focus.topic != command.topic]
    if len(others) >= FOCUS_LIMIT:
        raise Refused(refusals.TooManyTopics(FOCUS_LIMIT))
    event = events.Focused(command.topic, max(1, command.priority))
    return accept(inputs, meta, event, f"In focus: {command.topic}.")


def unfocus(inputs: DecisionInput, command: Unfocus, meta: CommandMeta) -> Accepted:
    guards.require_running(inputs.state)
    guards.require_text(command.topic, "topic")
    event = events.Unfocused(command.topic)
    return accept(inputs, meta, event, f"In the background: {command.topic}.")


def declare_note(inputs: DecisionInput, command: DeclareNote, meta: CommandMeta) -> Accepted:
    guards.require_running(inputs.state)
    guards.require_text(command.text, command.note)
    notes = inputs.state.declared
    if command.replaces and command.replaces not in {each.id for each in notes}:
        raise Refused(refusals.UnknownNote(command.replaces))
    same = [each for each in notes if (each.note, each.text) == (command.note, command.text)]
    if same and not command.replaces:
        return Accepted((), f"Already noted as {same[0].id}.")
    if len(notes) >= NOTES_LIMIT and not command.replaces:
        raise Refused(refusals.TooManyNotes(NOTES_LIMIT))
    event = events.NoteDeclared(command.note, command.text, command.replaces)
    return accept(inputs, meta, event, f"Noted the {command.note}.")


def record_judgement(
    inputs: DecisionInput, command: RecordJudgement, meta: CommandMeta
) -> Accepted:
    guards.require_exists(inputs.state)
    guards.require_text(command.judge, "judge")
    stretches = command.stretches[:JUDGED_STRETCHES]
    sentences = tuple(map(_shortened, command.sentences[:JUDGED_SENTENCES]))
    event = events.SessionJudged(command.judge, stretches, sentences, command.usage)
    return accept(inputs, meta, event, f"Judged by {command.judge}.")


def _shortened(sentence: events.JudgedSentence) -> events.JudgedSentence:
    return events.JudgedSentence(
        sentence.text[:JUDGED_LENGTH],
        sentence.kind,
        sentence.was[:JUDGED_LENGTH],
        sentence.about[:JUDGED_LENGTH],
    )


def archive(inputs: DecisionInput, command: Archive, meta: CommandMeta) -> Accepted:
    guards.require_running(inputs.state)
    return accept(inputs, meta, events.AgentArchived(), f"Archived {command.agent}.")


def unarchive(inputs: DecisionInput, command: Unarchive, meta: CommandMeta) -> Accepted:
    guards.require_exists(inputs.state)
    if inputs.state.status != "archived":
        raise Refused(refusals.NotArchived(command.agent, inputs.state.status))
    guards.require_not_in_archive(inputs.state)
    return accept(inputs, meta, events.AgentUnarchived(), f"{command.agent} is open again.")


def rename(inputs: DecisionInput, command: Rename, meta: CommandMeta) -> Accepted:
    guards.require_exists(inputs.state)
    guards.require_text(command.name, "name")
    guards.require_length(command.name, NAME_LIMIT, "name")
    if command.name == inputs.state.name:
        return Accepted((), f"The name is already '{command.name}'.")
    if command.written_by and not inputs.state.named_by_prompt:
        return Accepted((), "The conversation already has a name.")
    event = events.AgentRenamed(command.name, command.written_by, command.usage)
    return accept(inputs, meta, event, f"Renamed {command.agent} to '{command.name}'.")


def tag_agent(inputs: DecisionInput, command: TagAgent, meta: CommandMeta) -> Accepted:
    guards.require_exists(inputs.state)
    before = inputs.state.tags or Tags()
    after = _checked(
        changed_tags(before, command.owner, command.labels, command.remove, command.metadata),
        before,
        meta,
    )
    if after == before:
        return Accepted(
            (), "Nothing changed: the owner, labels and metadata already have these values."
        )
    return accept(inputs, meta, events.AgentTagged(after), f"Tagged {command.agent}.")


def add_file(inputs: DecisionInput, command: AddFile, meta: CommandMeta) -> Accepted:
    guards.require_running(inputs.state)
    return accept(inputs, meta, events.FileAdded(command.file), f"Stored {command.file.text}.")


def succeed(inputs: DecisionInput, command: StartSuccessor, meta: CommandMeta) -> Accepted:
    state = inputs.state
    guards.require_running(inputs.state)
    if command.successor == state.agent or command.successor in inputs.others:
        raise Refused(refusals.AgentExists(command.successor))
    draft = Draft(state, inputs.live, meta)
    draft.add(events.AgentArchived(command.successor))
    fresh = events.AgentStarted(
        by="succession",
        name=command.name or ("" if state.named_by_prompt else state.name),
        settings=state.settings,
        workspace=state.workspace,
        pins=inherited_pins(state.pins),
        parent=state.parent,
        calibration=state.calibration,
        offered=state.tool_schema_tokens,
        tags=state.tags,
    )
    return Accepted(
        (draft.change(), Change(command.successor, (fresh,))),
        f"Archived {command.agent}. New agent: {command.successor}",
    )


def kill(inputs: DecisionInput, command: Kill, meta: CommandMeta) -> Accepted:
    """Kills the target and its descendants, which are `inputs.others`."""
    target = inputs.state
    guards.require_exists(target)
    guards.require_not_in_archive(target)
    if meta.actor.role == "model":
        if target.parent is None:
            raise Refused(refusals.RootNeedsHuman(target.agent))
        if command.by not in inputs.ancestors:
            raise Refused(refusals.NotDescendant(target.agent))
    family = [target, *inputs.others.values()]
    ended = [state for state in family if state.status != "killed"]
    if not ended:
        return Accepted((), f"{target.agent} was already killed.")
    changes = tuple(Change(state.agent, _end(inputs, state, command)) for state in ended)
    return Accepted(changes, f"Killed {', '.join(state.agent for state in ended)}.")


def send(inputs: DecisionInput, command: Send, meta: CommandMeta) -> Accepted:
    guards.require_running(inputs.state)
    guards.require_text(command.text, "message")
    guards.require_length(command.text, MAIL_LIMIT, "message")
    guards.require_room_for_notes(inputs.state)
    received = events.MailReceived(command.mail, command.text, command.sender or "")
    changes = [Change(command.agent, (received,))]
    if command.sender is not None:
        guards.require_running(_sender(inputs, command.sender))
        sent = events.MailSent(command.mail, command.agent, command.text)
        if command.sender == command.agent:
            changes = [Change(command.agent, (sent, received))]
        else:
            changes.append(Change(command.sender, (sent,)))
    return Accepted(tuple(changes), f"Sent to {command.agent}.")


def read_mail(inputs: DecisionInput, command: ReadMail, meta: CommandMeta) -> Accepted:
    guards.require_running(inputs.state)
    inbox = inputs.state.inbox
    if not inbox:
        return Accepted((), "No mail.")
    mails = tuple(letter.mail for letter in inbox)
    event = events.MailRead(mails, noted=command.into == "prompt", fence=meta.nonce)
    letters = tuple(Note("mail", each.text, each.sender, meta.nonce) for each in inbox)
    return accept(inputs, meta, event, "\n\n".join(part.text for part in framed_prompt(letters)))


def _sender(inputs: DecisionInput, sender: AgentId) -> State:
    return (
        inputs.state if sender == inputs.state.agent else inputs.others.get(sender, State(sender))
    )


def _end(inputs: DecisionInput, state: State, command: Kill) -> tuple[events.Event, ...]:
    killed = events.AgentKilled(inputs.state.agent, command.by)
    if state.open is None:
        return (killed,)
    return (events.TurnInterrupted(_open_size(inputs, state), "killed"), killed)


def _open_size(inputs: DecisionInput, state: State) -> events.Size:
    """The size of the target's open turn. A descendant's turn is counted when it is next shown."""
    turn = inputs.live.open
    if turn is None or turn.agent != state.agent:
        return events.Size(0, "")
    return size_of(turn, inputs.counter)


def _is_pinned(state: State, name: str) -> bool:
    return any(pin.name == name for pin in state.pins)


def _require_pin(pin: events.Pin) -> None:
    guards.require_text(pin.name, "name of the pin")
    guards.require_text(pin.text, "pin")
    guards.require_length(pin.text, PIN_LIMIT, "pin")


def _checked(tags: Tags, before: Tags, meta: CommandMeta) -> Tags:
    """The tags in their order, with each label once.

    Raises `Refused` if they are out of bounds, or if anybody but the system changes a label or an
    entry that is reserved. Those have no bounds: bounds are for users.
    """
    tags = changed_tags(tags, None, (), (), ())
    changed = {entry.name for entry in {*tags.metadata} ^ {*before.metadata}}
    changed |= {*tags.labels} ^ {*before.labels}
    reserved = sorted(name for name in changed if is_reserved(name))
    if reserved and meta.actor.role != "system":
        raise Refused(refusals.ReservedName(reserved[0]))
    metadata = [entry for entry in tags.metadata if not entry.is_reserved]
    labels = [label for label in tags.labels if not is_reserved(label)]
    names = [("label", label) for label in labels]
    names += [("metadata name", entry.name) for entry in metadata]
    if tags.owner:
        guards.require_word(tags.owner, OWNER_LENGTH, "owner")
    for what, name in names:
        guards.require_word(name, LABEL_LENGTH, what)
    for entry in metadata:
        guards.require_length(entry.value, VALUE_LENGTH, "metadata value")
    for what, count, limit in (
        ("labels", len(labels), LABELS_LIMIT),
        ("metadata", len(metadata), METADATA_LIMIT),
    ):
        if count > limit:
            raise Refused(refusals.BadSetting(what, f"at most {limit}"))
    return tags


def _require_settings(settings: Settings) -> None:
    low, middle, high = settings.levels
    rules = (
        ("cap", settings.cap >= 0, "0 (no cap) or a number of tokens"),
        ("low_water", 0 < settings.low_water <= 1, "more than 0 and no more than 1"),
        ("mask_over", settings.mask_over >= 0, "0 (never) or a number of characters"),
        ("offer_drops", settings.offer_drops >= 0, "0 (never) or a number of tokens"),
        ("window", settings.window >= 0, "0 (unknown) or a number of tokens"),
        ("levels", 0 < low <= middle <= high <= 1, "three increasing fractions between 0 and 1"),
        *_budget_rules(settings),
        ("summary_cap", settings.summary_cap >= 0, "0 (no cap) or a number of tokens"),
        ("summary_score", 0 <= settings.summary_score <= 1, "a fraction between 0 and 1"),
    )
    for name, holds, rule in rules:
        if not holds:
            raise Refused(refusals.BadSetting(name, rule))
    guards.require_params(settings.params)


def _budget_rules(settings: Settings) -> list[tuple[str, bool, str]]:
    names = [name for name in Settings.__struct_fields__ if name.startswith(BUDGET)]
    rule = "0 (no limit) or a positive number"
    return [(typed_name(name), getattr(settings, name) >= 0, rule) for name in names]


def record_sync(inputs: DecisionInput, command: RecordSync, meta: CommandMeta) -> Accepted:
    guards.require_exists(inputs.state)
    draft = Draft(inputs.state, inputs.live, meta)
    held = SyncedSession(command.session, command.context, command.pins)
    if held == inputs.state.session and not (command.rows or command.loss):
        return draft.accepted()
    draft.add(
        events.SessionSynced(
            command.session,
            command.by,
            command.context,
            command.rows,
            command.loss,
            command.pins,
        )
    )
    return draft.accepted()


def record_native(inputs: DecisionInput, command: RecordNative, meta: CommandMeta) -> Accepted:
    guards.require_turn(inputs.state, command.turn)
    draft = Draft(inputs.state, inputs.live, meta)
    if inputs.live.open is None or inputs.live.open.native != command.rows:
        draft.add(events.NativeRecorded(command.rows))
    return draft.accepted()


def record_difference(
    inputs: DecisionInput, command: RecordDifference, meta: CommandMeta
) -> Accepted:
    guards.require_exists(inputs.state)
    return accept(inputs, meta, events.SessionDiffered(command.text))
