"""`decide(inputs, command, meta)`: the events that a command leads to, or a refusal. Pure."""

from typing import assert_never

from sapwood.core import commands
from sapwood.core.command_table import TABLE
from sapwood.core.decide import agents, contexts, drops, files, turns
from sapwood.core.decide.decision import Accepted, Change, Decision, DecisionInput, Refused
from sapwood.core.decide.forks import fork, path_after_mark
from sapwood.core.decide.guards import bad_id, require_may_run
from sapwood.core.refusals import HumanOnly, Imported, SystemOnly, TurnHeld

__all__ = ["Accepted", "Change", "Decision", "DecisionInput", "bad_id", "decide", "path_after_mark"]

# What changes the context of an imported conversation too, where a person may do it if the
# program's session can be brought to another history.
_CHANGES_SESSION: frozenset[type[commands.Command]] = frozenset(
    {
        commands.Clear,
        commands.KeepLast,
        commands.Drop,
        commands.Restore,
        commands.Load,
        commands.Rewind,
        commands.Undo,
        commands.Redo,
        commands.Compact,
    }
)

# Not allowed on an imported conversation: they happen in its own program and are imported.
_ELSEWHERE = _CHANGES_SESSION | {
    commands.StartTurn,
    commands.RecordTurn,
    commands.RecordShell,
    commands.RecordSideAnswer,
    commands.StartJob,
    commands.SetGoal,
    commands.Configure,
    commands.Send,
    commands.MaskResults,
    commands.MakeCheckpoint,
    commands.MissCheckpoint,
    commands.StartRevert,
    commands.FinishRevert,
}


def decide(
    inputs: DecisionInput, command: commands.Command, meta: commands.CommandMeta
) -> Decision:
    """Returns the events that the command leads to, or a refusal. Changes nothing."""
    if (bad := bad_id(command, meta)) is not None:
        return bad
    try:
        return _decided(inputs, command, meta)
    except Refused as refused:
        return refused.refusal


def _require_lease(
    inputs: DecisionInput, command: commands.Command, meta: commands.CommandMeta
) -> None:
    """No other process has the lease of the open turn. Everybody may interrupt a turn."""
    lease = inputs.state.open.lease if inputs.state.open else None
    if lease is None or (isinstance(command, commands.CallModel) and command.instruction):
        return
    is_late = isinstance(command, commands.InterruptTurn) and bool(meta.holder)
    if (TABLE.giver_of(type(command)) == "holder" or is_late) and lease.refuses(
        meta.holder, meta.at
    ):
        raise Refused(TurnHeld(lease.until))


def _decided(
    inputs: DecisionInput, command: commands.Command, meta: commands.CommandMeta
) -> Accepted:
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
        case commands.StartAgent():
            return agents.start_agent(inputs, command, meta)
        case commands.Configure():
            return agents.configure(inputs, command, meta)
        case commands.AddPin():
            return agents.add_pin(inputs, command, meta)
        case commands.RemovePin():
            return agents.remove_pin(inputs, command, meta)
        case commands.QueuePrompt():
            return agents.queue_prompt(inputs, command, meta)
        case commands.UnqueuePrompt():
            return agents.unqueue_prompt(inputs, command, meta)
        case commands.WriteTodo():
            return agents.write_todo(inputs, command, meta)
        case commands.StartJob():
            return agents.start_job(inputs, command, meta)
        case commands.EndJob():
            return agents.end_job(inputs, command, meta)
        case commands.RecordShell():
            return agents.record_shell(inputs, command, meta)
        case commands.SetGoal():
            return agents.set_goal(inputs, command, meta)
        case commands.EndGoal():
            return agents.end_goal(inputs, command, meta)
        case commands.RecordSideAnswer():
            return agents.record_side_answer(inputs, command, meta)
        case commands.Focus():
            return agents.focus(inputs, command, meta)
        case commands.Unfocus():
            return agents.unfocus(inputs, command, meta)
        case commands.DeclareNote():
            return agents.declare_note(inputs, command, meta)
        case commands.RecordJudgement():
            return agents.record_judgement(inputs, command, meta)
        case commands.Unarchive():
            return agents.unarchive(inputs, command, meta)
        case commands.Rename():
            return agents.rename(inputs, command, meta)
        case commands.TagAgent():
            return agents.tag_agent(inputs, command, meta)
        case commands.AddFile():
            return agents.add_file(inputs, command, meta)
        case commands.Archive():
            return agents.archive(inputs, command, meta)
        case commands.StartSuccessor():
            return agents.succeed(inputs, command, meta)
        case commands.Kill():
            return agents.kill(inputs, command, meta)
        case commands.Send():
            return agents.send(inputs, command, meta)
        case commands.ReadMail():
            return agents.read_mail(inputs, command, meta)
        case commands.Load():
            return contexts.load(inputs, command, meta)
        case commands.Fork():
            return fork(inputs, command, meta)
        case commands.StartTurn():
            return turns.start_turn(inputs, command, meta)
        case commands.LeaseTurn():
            return turns.lease_turn(inputs, command, meta)
        case commands.CallModel():
            return turns.call_model(inputs, command, meta)
        case commands.AddReply():
            return turns.add_reply(inputs, command, meta)
        case commands.StreamReply():
            return turns.stream_reply(inputs, command, meta)
        case commands.AskQuestion():
            return turns.ask_question(inputs, command, meta)
        case commands.AnswerQuestion():
            return turns.answer_question(inputs, command, meta)
        case commands.StartTool():
            return turns.start_tool(inputs, command, meta)
        case commands.FinishTool():
            return turns.finish_tool(inputs, command, meta)
        case commands.CompleteTurn():
            return turns.complete_turn(inputs, command, meta)
        case commands.InterruptTurn():
            return turns.interrupt_turn(inputs, command, meta)
        case commands.FailTurn():
            return turns.fail_turn(inputs, command, meta)
        case commands.RecordTurn():
            return turns.record_turn(inputs, command, meta)
        case commands.SetMark():
            return contexts.set_mark(inputs, command, meta)
        case commands.Clear():
            return contexts.clear(inputs, command, meta)
        case commands.KeepLast():
            return contexts.keep_last(inputs, command, meta)
        case commands.Drop():
            return drops.drop(inputs, command, meta)
        case commands.Restore():
            return drops.restore(inputs, command, meta)
        case commands.Rewind():
            return contexts.rewind(inputs, command, meta)
        case commands.Undo():
            return contexts.undo(inputs, command, meta)
        case commands.Redo():
            return contexts.redo(inputs, command, meta)
        case commands.Compact():
            return contexts.compact(inputs, command, meta)
        case commands.ExtendSummary():
            return contexts.extend_summary(inputs, command, meta)
        case commands.DropSummary():
            return contexts.drop_summary(inputs, command, meta)
        case commands.DeferCompact():
            return contexts.defer_compact(inputs, command, meta)
        case commands.MaskResults():
            return contexts.mask_results(inputs, command, meta)
        case commands.ReturnTo():
            return contexts.return_to(inputs, command, meta)
        case commands.MakeCheckpoint():
            return files.make_checkpoint(inputs, command, meta)
        case commands.MissCheckpoint():
            return files.miss_checkpoint(inputs, command, meta)
        case commands.StartRevert():
            return files.start_revert(inputs, command, meta)
        case commands.FinishRevert():
            return files.finish_revert(inputs, command, meta)
        case commands.RecordSync():
            return agents.record_sync(inputs, command, meta)
        case commands.RecordNative():
            return agents.record_native(inputs, command, meta)
        case commands.RecordDifference():
            return agents.record_difference(inputs, command, meta)
        case _:
            assert_never(command)
