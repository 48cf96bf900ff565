"""Events about the files of a workspace. Each has the version of the one before in `previous`."""

from typing import ClassVar, Literal

from msgspec import Struct

from sapwood.core.checkpoint import Destination, Saved

Moment = Literal["before", "after"]


class CheckpointMade(Struct, frozen=True, omit_defaults=True, gc=False):
    """The files were saved: before the turn that starts at `turn` changed any, or after it."""

    kind: ClassVar = "checkpoint.made"

    files: Saved
    turn: int = 0
    moment: Moment = "after"
    previous: int = 0


class CheckpointMissed(Struct, frozen=True, omit_defaults=True, gc=False):
    """The files could not be saved before or after a turn, nor up to the next checkpoint."""

    kind: ClassVar = "checkpoint.missed"

    reason: str
    turn: int = 0
    previous: int = 0
    moment: Moment = "after"


class RevertStarted(Struct, frozen=True, omit_defaults=True, gc=False):
    """The present files were saved, and others are going to replace them.

    Until `context.reverted` follows, some files may be replaced and some not. `of` is another agent
    whose files they are, as they were before its turn that starts at `turn`.
    """

    kind: ClassVar = "revert.started"

    files: Saved
    to: Destination
    previous: int = 0
    of: str = ""
    turn: int = 0


FilesEvent = CheckpointMade | CheckpointMissed | RevertStarted
