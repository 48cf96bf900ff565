"""Events of the files of a workspace: saved, about to be restored. Each names the one before it."""

from typing import ClassVar, Literal

from msgspec import Struct

from sapwood.core.checkpoint import Destination, Saved

__all__ = ["CheckpointMade", "CheckpointMissed", "FilesEvent", "Moment", "RevertStarted"]

Moment = Literal["before", "after"]


class CheckpointMade(Struct, frozen=True, omit_defaults=True, gc=False):
    """The files were saved before the turn that started at `turn` changed any, or after it."""

    kind: ClassVar = "checkpoint.made"

    files: Saved
    turn: int = 0
    moment: Moment = "after"
    previous: int = 0


class CheckpointMissed(Struct, frozen=True, omit_defaults=True, gc=False):
    """The files should have been saved after a turn, and could not be; nor after those since."""

    kind: ClassVar = "checkpoint.missed"

    reason: str
    turn: int = 0
    previous: int = 0


class RevertStarted(Struct, frozen=True, omit_defaults=True, gc=False):
    """The present files were saved, and those of another moment are about to take their place.

    Until `context.reverted` follows, files may be of either.
    """

    kind: ClassVar = "revert.started"

    files: Saved
    to: Destination
    previous: int = 0


FilesEvent = CheckpointMade | CheckpointMissed | RevertStarted
