"""`decide(inputs, command, meta)`: the events that a command leads to, or a refusal. Pure."""

from typing import assert_never

from sapwood.core.command_table import TABLE
from sapwood.core.commands import (
    AddFile,
    AddPin,
    AddReply,
    AnswerQuestion,
    Archive,
    AskQuestion,
    CallModel,
    Clear,
    Command,
    CommandMeta,
    Compact,
    CompleteTurn,
    Configure,
    DeclareNote,
    DeferCompact,
    Drop,
    DropSummary,
    EndGoal,
    EndJob,
    ExtendSummary,
    FailTurn,
    FinishRevert,
    FinishTool,
    Focus,
    Fork,
    InterruptTurn,
    KeepLast,
    Kill,
    LeaseTurn,
    Load,
    MakeCheckpoint,
    MaskResults,
    MissCheckpoint,
    QueuePrompt,
    ReadMail,
    RecordDifference,
    RecordJudgement,
    RecordNative,
    RecordShell,
    RecordSideAnswer,
    RecordSync,
    RecordTurn,
    Redo,
    RemovePin,
    Rename,
    Restore,
    ReturnTo,
    Rewind,
    Send,
    SetGoal,
    SetMark,
    StartAgent,
    StartJob,
    StartRevert,
    StartSuccessor,
    StartTool,
    StartTurn,
    StreamReply,
    TagAgent,
    Unarchive,
    Undo,
    Unfocus,
    UnqueuePrompt,
    WriteTodo,
)
from sapwood.core.decide import agents, contexts, drops, files, turns
from sapwood.core.decide.decision import Accepted, Change, Decision, DecisionInput, Refused
from sapwood.core.decide.forks import fork, path_after_mark
from sapwood.core.decide.guards import bad_id, require_may_run
from sapwood.core.refusals import HumanOnly, Imported, SystemOnly, TurnHeld

__all__ = ["Accepted", "Change", "Decision", "DecisionInput", "bad_id", "decide", "path_after_mark"]

# Not allowed on an imported conversation: they happen in its own program and are imported.
_ELSEWHERE: frozenset[type[Command]] = frozenset(
    {
        *(StartTurn, RecordTurn, RecordShell, RecordSideAnswer, StartJob, SetGoal, Configure, Send),
        *(Clear, KeepLast, Drop, Restore, Load, Rewind, Undo, Redo, Compact, MaskResults),
        *(MakeCheckpoint, MissCheckpoint, StartRevert, FinishRevert),
    }
)


# Of these, what a person may do if the program's session can be brought to another history.
_CHANGES_SESSION: frozenset[type[Command]] = frozenset(
    {Clear, KeepLast, Drop, Restore, Load, Rewind, Undo, Redo, Compact}
)


def decide(inputs: DecisionInput, command: Command, meta: CommandMeta) -> Decision:
    """Returns the events that the command leads to, or a refusal. Changes nothing."""
    if (bad := bad_id(command, meta)) is not None:
        return bad
    try:
        return _decided(inputs, command, meta)
    except Refused as refused:
        return refused.refusal


def _require_lease(inputs: DecisionInput, command: Command, meta: CommandMeta) -> None:
    """No other process has the lease of the open turn. Everybody may interrupt a turn."""
    lease = inputs.state.open.lease if inputs.state.open else None
    if lease is None or (isinstance(command, CallModel) and command.instruction):
        return
    is_late = isinstance(command, InterruptTurn) and bool(meta.holder)
    if (TABLE.giver_of(type(command)) == "holder" or is_late) and lease.refuses(
        meta.holder, meta.at
    ):
        raise Refused(TurnHeld(lease.until))


def _decided(inputs: DecisionInput, command: Command, meta: CommandMeta) -> Accepted:
    kind = type(command)
    is_model = meta.actor.role == "model"
    if is_model and not TABLE.lets_models(kind):
        raise Refused(HumanOnly(TABLE.label_of(kind)))
    if TABLE.giver_of(kind) == "system" and meta.actor.role != "system":
        raise Refused(SystemOnly(kind.__name__))
    origin = inputs.state.origin
    if origin and meta.actor.role != "system" and kind in _ELSEWHERE:
        follows = kind in _CHANGES_SESSION and inputs.can_sync and not is_model
        if not follows:
            raise Refused(Imported(inputs.state.agent, origin.source))
    _require_lease(inputs, command, meta)
    if not is_model:
        require_may_run(inputs.state, TABLE.row_of(kind))
    match command:
        case StartAgent():
            return agents.start_agent(inputs, command, meta)
        case Configure():
            return agents.configure(inputs, command, meta)
        case AddPin():
            return agents.add_pin(inputs, command, meta)
        case RemovePin():
            return agents.remove_pin(inputs, command, meta)
        case QueuePrompt():
            return agents.queue_prompt(inputs, command, meta)
        case UnqueuePrompt():
            return agents.unqueue_prompt(inputs, command, meta)
        case WriteTodo():
            return agents.write_todo(inputs, command, meta)
        case StartJob():
            return agents.start_job(inputs, command, meta)
        case EndJob():
            return agents.end_job(inputs, command, meta)
        case RecordShell():
            return agents.record_shell(inputs, command, meta)
        case SetGoal():
            return agents.set_goal(inputs, command, meta)
        case EndGoal():
            return agents.end_goal(inputs, command, meta)
        case RecordSideAnswer():
            return agents.record_side_answer(inputs, command, meta)
        case Focus():
            return agents.focus(inputs, command, meta)
        case Unfocus():
            return agents.unfocus(inputs, command, meta)
        case DeclareNote():
            return agents.declare_note(inputs, command, meta)
        case RecordJudgement():
            return agents.record_judgement(inputs, command, meta)
        case Unarchive():
            return agents.unarchive(inputs, command, meta)
        case Rename():
            return agents.rename(inputs, command, meta)
        case TagAgent():
            return agents.tag_agent(inputs, command, meta)
        case AddFile():
            return agents.add_file(inputs, command, meta)
        case Archive():
            return agents.archive(inputs, command, meta)
        case StartSuccessor():
            return agents.succeed(inputs, command, meta)
        case Kill():
            return agents.kill(inputs, command, meta)
        case Send():
            return agents.send(inputs, command, meta)
        case ReadMail():
            return agents.read_mail(inputs, command, meta)
        case Load():
            return contexts.load(inputs, command, meta)
        case Fork():
            return fork(inputs, command, meta)
        case StartTurn():
            return turns.start_turn(inputs, command, meta)
        case LeaseTurn():
            return turns.lease_turn(inputs, command, meta)
        case CallModel():
            return turns.call_model(inputs, command, meta)
        case AddReply():
            return turns.add_reply(inputs, command, meta)
        case StreamReply():
            return turns.stream_reply(inputs, command, meta)
        case AskQuestion():
            return turns.ask_question(inputs, command, meta)
        case AnswerQuestion():
            return turns.answer_question(inputs, command, meta)
        case StartTool():
            return turns.start_tool(inputs, command, meta)
        case FinishTool():
            return turns.finish_tool(inputs, command, meta)
        case CompleteTurn():
            return turns.complete_turn(inputs, command, meta)
        case InterruptTurn():
            return turns.interrupt_turn(inputs, command, meta)
        case FailTurn():
            return turns.fail_turn(inputs, command, meta)
        case RecordTurn():
            return turns.record_turn(inputs, command, meta)
        case SetMark():
            return contexts.set_mark(inputs, command, meta)
        case Clear():
            return contexts.clear(inputs, command, meta)
        case KeepLast():
            return contexts.keep_last(inputs, command, meta)
        case Drop():
            return drops.drop(inputs, command, meta)
        case Restore():
            return drops.restore(inputs, command, meta)
        case Rewind():
            return contexts.rewind(inputs, command, meta)
        case Undo():
            return contexts.undo(inputs, command, meta)
        case Redo():
            return contexts.redo(inputs, command, meta)
        case Compact():
            return contexts.compact(inputs, command, meta)
        case ExtendSummary():
            return contexts.extend_summary(inputs, command, meta)
        case DropSummary():
            return contexts.drop_summary(inputs, command, meta)
        case DeferCompact():
            return contexts.defer_compact(inputs, command, meta)
        case MaskResults():
            return contexts.mask_results(inputs, command, meta)
        case ReturnTo():
            return contexts.return_to(inputs, command, meta)
        case MakeCheckpoint():
            return files.make_checkpoint(inputs, command, meta)
        case MissCheckpoint():
            return files.miss_checkpoint(inputs, command, meta)
        case StartRevert():
            return files.start_revert(inputs, command, meta)
        case FinishRevert():
            return files.finish_revert(inputs, command, meta)
        case RecordSync():
            return agents.record_sync(inputs, command, meta)
        case RecordNative():
            return agents.record_native(inputs, command, meta)
        case RecordDifference():
            return agents.record_difference(inputs, command, meta)
        case _:
            assert_never(command)
