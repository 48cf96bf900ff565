"""Decisions about the files of a workspace: checkpoints, and going back to one."""

from sapwood.core.checkpoint import Restored, Saved, told_of
from sapwood.core.commands import FinishRevert, Given, MakeCheckpoint, MissCheckpoint, StartRevert
from sapwood.core.decide.guards import require_running
from sapwood.core.decide.scene import Accepted, Draft, Refused, Scene
from sapwood.core.events import CheckpointMade, CheckpointMissed, ContextReverted, RevertStarted
from sapwood.core.refusals import RevertOvertaken
from sapwood.core.state import State

__all__ = ["finish_revert", "make_checkpoint", "miss_checkpoint", "start_revert"]


def make_checkpoint(scene: Scene, command: MakeCheckpoint, given: Given) -> Accepted:
    state = scene.state
    require_running(state)
    if state.files is not None and state.files.tree == command.files.tree:
        return Accepted((), "No file has changed since the last checkpoint.")
    draft = Draft(state, scene.live, given)
    event = CheckpointMade(command.files, command.turn, command.moment, _newest(state))
    draft.add(event)
    left = told_of(command.files.left_out, command.files.more)
    return draft.accepted(f"Checkpoint made.{f' Not covered: {left}.' if left else ''}")


def miss_checkpoint(scene: Scene, command: MissCheckpoint, given: Given) -> Accepted:
    state = scene.state
    require_running(state)
    if state.files is not None and not state.files.tree:
        return Accepted((), "The checkpoint before this one was missed too.")
    draft = Draft(state, scene.live, given)
    draft.add(CheckpointMissed(command.reason, command.turn, _newest(state)))
    return draft.accepted()


def start_revert(scene: Scene, command: StartRevert, given: Given) -> Accepted:
    require_running(scene.state)
    draft = Draft(scene.state, scene.live, given)
    draft.add(RevertStarted(command.files, command.to, _newest(scene.state)))
    return draft.accepted()


def finish_revert(scene: Scene, command: FinishRevert, given: Given) -> Accepted:
    state = scene.state
    require_running(scene.state)
    if state.reverting is None or state.reverting.started != command.started:
        raise Refused(RevertOvertaken())
    to = state.reverting.to
    draft = Draft(state, scene.live, given)
    draft.add(
        ContextReverted(
            to, command.context, command.files, command.restored, command.started, command.heard
        )
    )
    return draft.accepted(
        f"Files and context are as they were {to.words}: {_counted(command.restored)}. "
        f"Left as they are: {_left(command.files, command.restored)}. "
        "/revert takes this back; /undo moves the context alone."
    )


def _counted(restored: Restored) -> str:
    if not restored.written + restored.removed:
        return "no file differed"
    files = "1 file" if restored.written == 1 else f"{restored.written:,} files"
    return f"{files} restored, {restored.removed:,} removed"


def _left(files: Saved, restored: Restored) -> str:
    """What was not covered when the files were saved, or could not be put back."""
    left = {each.path: each for each in (*files.left_out, *restored.left)}
    told = told_of(tuple(left.values()), max(files.more, restored.more))
    return f"ignored files, {told}" if told else "ignored files"


def _newest(state: State) -> int:
    return state.files.version if state.files else 0
