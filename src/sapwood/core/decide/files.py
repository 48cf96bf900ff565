"""Decisions about the files of a workspace: checkpoints and reverts."""

from sapwood.core.checkpoint import Restored, Saved, describe_left_out
from sapwood.core.commands import (
    CommandMeta,
    FinishRevert,
    MakeCheckpoint,
    MissCheckpoint,
    StartRevert,
)
from sapwood.core.decide.decision import Accepted, DecisionInput, Draft, Refused, accept
from sapwood.core.decide.guards import require_running
from sapwood.core.events import CheckpointMade, CheckpointMissed, ContextReverted, RevertStarted
from sapwood.core.plural import counted
from sapwood.core.refusals import RevertOvertaken
from sapwood.core.state import State
from sapwood.core.waiting_notes import describe_return, notes_after_return


def make_checkpoint(inputs: DecisionInput, command: MakeCheckpoint, meta: CommandMeta) -> Accepted:
    state = inputs.state
    require_running(state)
    known = state.files
    # A checkpoint before a turn is recorded even if no file has changed: people may edit files
    # after the turn, and then only this event has the files before it.
    is_new_turn = command.moment == "before" and known is not None and known.version < command.turn
    if known is not None and known.tree == command.files.tree and not is_new_turn:
        return Accepted((), "No file has changed since the last checkpoint.")
    draft = Draft(state, inputs.live, meta)
    event = CheckpointMade(command.files, command.turn, command.moment, _newest(state))
    draft.add(event)
    left = describe_left_out(command.files.left_out, command.files.more)
    return draft.accepted(f"Checkpoint made.{f' Not covered: {left}.' if left else ''}")


def miss_checkpoint(inputs: DecisionInput, command: MissCheckpoint, meta: CommandMeta) -> Accepted:
    state = inputs.state
    require_running(state)
    if state.files is not None and not state.files.tree:
        return Accepted((), "The previous checkpoint is missing too.")
    event = CheckpointMissed(command.reason, command.turn, _newest(state), command.moment)
    return accept(inputs, meta, event)


def start_revert(inputs: DecisionInput, command: StartRevert, meta: CommandMeta) -> Accepted:
    require_running(inputs.state)
    newest = _newest(inputs.state)
    event = RevertStarted(command.files, command.to, newest, command.of, command.turn)
    return accept(inputs, meta, event)


def finish_revert(inputs: DecisionInput, command: FinishRevert, meta: CommandMeta) -> Accepted:
    state = inputs.state
    require_running(inputs.state)
    if state.reverting is None or state.reverting.started != command.started:
        raise Refused(RevertOvertaken())
    to = state.reverting.to
    heard = command.notes_in_view
    waiting = notes_after_return(state.notes, command.notes_left, heard)
    again = describe_return(state.notes, command.notes_left, waiting)
    event = ContextReverted(
        to,
        command.context,
        command.files,
        command.restored,
        _newest(state),
        heard,
        command.marks,
        None if waiting == notes_after_return(state.notes, (), heard) else waiting,
    )
    return accept(
        inputs,
        meta,
        event,
        f"Files and context are as they were {to.words}: {_counted(command.restored)}. "
        f"Not changed: {_left(command.files, command.restored)}.{again} Type /revert to go further "
        "back, /revert back to undo this, or /undo to move only the context.",
    )


def _counted(restored: Restored) -> str:
    if not restored.written + restored.removed:
        return "no files had changed"
    files = counted(restored.written, "file")
    return f"{files} restored, {restored.removed:,} removed"


def _left(files: Saved, restored: Restored) -> str:
    """Names the files that were not saved or could not be restored."""
    left = {each.path: each for each in (*files.left_out, *restored.left)}
    others = describe_left_out(tuple(left.values()), max(files.more, restored.more))
    return f"ignored files, {others}" if others else "ignored files"


def _newest(state: State) -> int:
    return state.files.version if state.files else 0
