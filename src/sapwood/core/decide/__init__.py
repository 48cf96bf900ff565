"""`decide(scene, command, given)`: what follows from a command, or why nothing does. Pure."""

from typing import assert_never

from sapwood.core.command_table import TABLE
from sapwood.core.commands import (
    AddPin,
    AddReply,
    Archive,
    CallModel,
    Clear,
    Command,
    Compact,
    CompleteTurn,
    Configure,
    DeferCompact,
    DropSummary,
    FailTurn,
    FinishRevert,
    FinishTool,
    Focus,
    Fork,
    Given,
    InterruptTurn,
    KeepLast,
    Kill,
    MakeCheckpoint,
    MaskResults,
    MissCheckpoint,
    ReadMail,
    RecordTurn,
    Redo,
    RemovePin,
    ReturnTo,
    Rewind,
    Send,
    SetMark,
    StartAgent,
    StartRevert,
    StartTool,
    StartTurn,
    Succeed,
    Undo,
    Unfocus,
)
from sapwood.core.decide import agents, contexts, files, turns
from sapwood.core.decide.forks import fork
from sapwood.core.decide.guards import require_may_run
from sapwood.core.decide.naming import bad_id
from sapwood.core.decide.scene import Accepted, Change, Decision, Refused, Scene
from sapwood.core.refusals import HumanOnly, Imported

__all__ = ["Accepted", "Change", "Decision", "Scene", "bad_id", "decide"]

# What a model may do beside the rows of the table, commands to come not included.
_FOR_MODELS: frozenset[type[Command]] = frozenset(
    {
        # their focus, as the `context` tool has it
        *(Focus, Unfocus),
        # their own turn
        *(CallModel, AddReply, StartTool, FinishTool, CompleteTurn, InterruptTurn, FailTurn),
    }
)


# What happens to an imported conversation happens where it runs, and is imported from there.
_ELSEWHERE: frozenset[type[Command]] = frozenset(
    {
        *(StartTurn, RecordTurn, Configure, Send),
        *(Clear, KeepLast, Rewind, Undo, Redo, Compact, MaskResults),
        *(MakeCheckpoint, MissCheckpoint, StartRevert, FinishRevert),
    }
)


def decide(scene: Scene, command: Command, given: Given) -> Decision:
    """The events that follow from the command, or a refusal. Nothing else happens here."""
    if (bad := bad_id(command, given)) is not None:
        return bad
    try:
        return _decided(scene, command, given)
    except Refused as refused:
        return refused.refusal


def _decided(scene: Scene, command: Command, given: Given) -> Accepted:
    kind = type(command)
    is_model = given.actor.role == "model"
    if is_model and kind not in _FOR_MODELS and not TABLE.lets_models(kind):
        raise Refused(HumanOnly(TABLE.label_of(kind)))
    origin = scene.state.origin
    if origin and given.actor.role != "system" and kind in _ELSEWHERE:
        raise Refused(Imported(scene.state.agent, origin.source))
    if not is_model:
        require_may_run(scene.state, TABLE.row_of(kind))
    match command:
        case StartAgent():
            return agents.start_agent(scene, command, given)
        case Configure():
            return agents.configure(scene, command, given)
        case AddPin():
            return agents.add_pin(scene, command, given)
        case RemovePin():
            return agents.remove_pin(scene, command, given)
        case Focus():
            return agents.focus(scene, command, given)
        case Unfocus():
            return agents.unfocus(scene, command, given)
        case Archive():
            return agents.archive(scene, command, given)
        case Succeed():
            return agents.succeed(scene, command, given)
        case Kill():
            return agents.kill(scene, command, given)
        case Send():
            return agents.send(scene, command, given)
        case ReadMail():
            return agents.read_mail(scene, command, given)
        case Fork():
            return fork(scene, command, given)
        case StartTurn():
            return turns.start_turn(scene, command, given)
        case CallModel():
            return turns.call_model(scene, command, given)
        case AddReply():
            return turns.add_reply(scene, command, given)
        case StartTool():
            return turns.start_tool(scene, command, given)
        case FinishTool():
            return turns.finish_tool(scene, command, given)
        case CompleteTurn():
            return turns.complete_turn(scene, command, given)
        case InterruptTurn():
            return turns.interrupt_turn(scene, command, given)
        case FailTurn():
            return turns.fail_turn(scene, command, given)
        case RecordTurn():
            return turns.record_turn(scene, command, given)
        case SetMark():
            return contexts.set_mark(scene, command, given)
        case Clear():
            return contexts.clear(scene, command, given)
        case KeepLast():
            return contexts.keep_last(scene, command, given)
        case Rewind():
            return contexts.rewind(scene, command, given)
        case Undo():
            return contexts.undo(scene, command, given)
        case Redo():
            return contexts.redo(scene, command, given)
        case Compact():
            return contexts.compact(scene, command, given)
        case DropSummary():
            return contexts.drop_summary(scene, command, given)
        case DeferCompact():
            return contexts.defer_compact(scene, command, given)
        case MaskResults():
            return contexts.mask_results(scene, command, given)
        case ReturnTo():
            return contexts.return_to(scene, command, given)
        case MakeCheckpoint():
            return files.make_checkpoint(scene, command, given)
        case MissCheckpoint():
            return files.miss_checkpoint(scene, command, given)
        case StartRevert():
            return files.start_revert(scene, command, given)
        case FinishRevert():
            return files.finish_revert(scene, command, given)
        case _:
            assert_never(command)
