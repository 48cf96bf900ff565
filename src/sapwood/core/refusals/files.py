"""Why files were not taken back, and what to do instead. Typed values, one class a reason."""

from sapwood.core.refusals.refusal import Refusal

__all__ = [
    "CheckpointGone",
    "FilesInUse",
    "NoCheckpoint",
    "NotRestored",
    "NotSaved",
    "RevertCutOff",
    "RevertOvertaken",
    "UnknownCheckpoint",
]


class NoCheckpoint(Refusal, frozen=True):
    """There is nothing to revert to."""

    why: str = ""

    @property
    def sentence(self) -> str:
        why = self.why or "One is made at the end of each turn that changed files."
        return f"There is no checkpoint to revert to. {why} /rewind MARK moves the context alone."


class UnknownCheckpoint(Refusal, frozen=True):
    """What was typed is neither a turn nor a checkpoint of this agent."""

    typed: str
    turns: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        known = f" Those that changed files last: {', '.join(self.turns)}." if self.turns else ""
        return (
            f"'{self.typed[:60]}' is no turn with a checkpoint at or before it.{known} Type "
            "/revert and the number that a turn starts at. Nothing was changed."
        )


class CheckpointGone(Refusal, frozen=True):
    """The repository does not hold the files any more."""

    words: str

    @property
    def sentence(self) -> str:
        return (
            f"The files {self.words} are not in the repository any more: their ref was deleted. "
            "Nothing was changed. /rewind MARK moves the context alone."
        )


class NotSaved(Refusal, frozen=True):
    """Without the present files being saved there would be no way back."""

    reason: str

    @property
    def sentence(self) -> str:
        return f"{self.reason} The files could not be saved, so nothing was changed. Try again."


class NotRestored(Refusal, frozen=True):
    """Restoring stopped: some files are those of before the revert, some those of after it."""

    reason: str
    started: int

    @property
    def sentence(self) -> str:
        return (
            f"Not all files could be restored. {self.reason} What there was is kept: type /revert "
            f"to go on, or /revert {self.started} to take it back."
        )


class FilesInUse(Refusal, frozen=True):
    """Another agent is changing the same files."""

    agent: str

    @property
    def sentence(self) -> str:
        return (
            f"/revert would pull the files from under agent '{self.agent}', which is at work in "
            f"them. Wait for it, or stop it with sapwood interrupt {self.agent}."
        )


class RevertCutOff(Refusal, frozen=True):
    """Some files are those of before the revert, some those of after it."""

    words: str
    started: int

    @property
    def sentence(self) -> str:
        return (
            f"A revert to the files {self.words} was cut off: some are restored, some are not. "
            f"Type /revert to finish it, or /revert {self.started} to take it back."
        )


class RevertOvertaken(Refusal, frozen=True):
    """Another revert was started while files were restored."""

    @property
    def sentence(self) -> str:
        return "Another revert was started meanwhile. Type /revert to finish that one."
