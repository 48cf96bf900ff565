"""Refusals about the files of a workspace: checkpoints and reverts."""

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
    """There is no checkpoint to revert to."""

    why: str = ""

    @property
    def sentence(self) -> str:
        why = self.why or "One is made at the end of each turn that changed files."
        return f"There is no checkpoint to revert to. {why} /rewind MARK moves the context alone."


class UnknownCheckpoint(Refusal, frozen=True):
    """The typed text is neither a turn nor a checkpoint of this agent."""

    typed: str
    turns: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        known = (
            f" The last turns that changed files: {', '.join(self.turns)}." if self.turns else ""
        )
        return (
            f"There is no checkpoint for '{self.typed[:60]}'.{known} Type /revert and the version "
            "at which a turn starts. Nothing was changed."
        )


class CheckpointGone(Refusal, frozen=True):
    """The saved files are no longer in the repository."""

    words: str

    @property
    def sentence(self) -> str:
        return (
            f"The files {self.words} are no longer in the repository: their ref was deleted. "
            "Nothing was changed. /rewind MARK moves the context alone."
        )


class NotSaved(Refusal, frozen=True):
    """The present files could not be saved, so they are not replaced."""

    reason: str

    @property
    def sentence(self) -> str:
        return f"{self.reason} The files could not be saved, so nothing was changed. Try again."


class NotRestored(Refusal, frozen=True):
    """The restore stopped: some files are restored and some are not."""

    reason: str
    started: int

    @property
    def sentence(self) -> str:
        return (
            f"Some files could not be restored. {self.reason} The files from before are saved: "
            f"type /revert to try again, or /revert {self.started} to go back to them."
        )


class FilesInUse(Refusal, frozen=True):
    """Another agent is changing the same files."""

    agent: str

    @property
    def sentence(self) -> str:
        return (
            f"Agent '{self.agent}' is working in these files, so nothing was reverted. "
            f"Wait for it, or stop it with sapwood interrupt {self.agent}."
        )


class RevertCutOff(Refusal, frozen=True):
    """An earlier revert is unfinished: some files are restored and some are not."""

    words: str
    started: int

    @property
    def sentence(self) -> str:
        return (
            f"A revert to the files {self.words} did not finish: some are restored, some are not. "
            f"Type /revert to finish it, or /revert {self.started} to go back."
        )


class RevertOvertaken(Refusal, frozen=True):
    """Another revert started while files were restored."""

    @property
    def sentence(self) -> str:
        return "Another revert has started in the meantime. Type /revert to finish that one."
