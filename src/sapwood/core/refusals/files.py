"""Refusals about the files of a workspace: checkpoints, reverts and worktrees."""

from sapwood.core.refusals.refusal import Refusal


class NoCheckpoint(Refusal, frozen=True):
    """There is no checkpoint to revert to."""

    why: str = ""

    @property
    def sentence(self) -> str:
        why = self.why or "Sapwood saves one at the end of each turn that changed files."
        return (
            f"There is no checkpoint to revert to. {why} To move only the context, type /rewind "
            "MARK."
        )


class UnknownCheckpoint(Refusal, frozen=True):
    """The typed text is neither a turn nor a checkpoint of this agent.

    `turns` are turns that can be reverted; `reverts`: a revert can be undone.
    """

    typed: str
    turns: tuple[str, ...] = ()
    reverts: bool = False

    @property
    def sentence(self) -> str:
        turns = f" Type /revert with turn {_any_of(self.turns)}." if self.turns else ""
        back = " To undo the last revert, type /revert back." if self.reverts else ""
        return f"There is no checkpoint at {self.typed[:60]}.{turns}{back} Nothing was changed."


class CheckpointGone(Refusal, frozen=True):
    """The saved files are not in any store of this machine."""

    words: str
    says = (
        "The files {words} are not on this machine: their checkpoints were deleted or "
        "made elsewhere. Nothing was changed. To move only the context, type /rewind MARK."
    )


class NotSaved(Refusal, frozen=True):
    """The present files could not be saved, so they are not replaced."""

    reason: str
    says = "{reason} The files could not be saved, so nothing was changed. Try again."


class PinnedFileUnreadable(Refusal, frozen=True):
    """The file that was to be pinned cannot be read, or may not be."""

    path: str
    reason: str
    says = (
        "{path} cannot be pinned: {reason} Nothing was changed. "
        "Type /pin NAME @FILE with the path of a text file in the workspace."
    )


class OtherBranch(Refusal, frozen=True):
    """The files were saved on another git branch than the present one."""

    words: str
    then: str
    now: str
    typed: str = ""

    @property
    def sentence(self) -> str:
        there = f"on {_branch(self.then)}, and the folder is now on {_branch(self.now)}"
        way = "" if self.then == "HEAD" else f"Type git switch {self.then} first, or "
        command = f"/revert {self.typed}".rstrip()
        insist = f"type {command} --anyway to restore those files here."
        return (
            f"The files {self.words} were saved {there}. Nothing was changed. "
            f"{way}{insist if way else insist.capitalize()}"
        )


class NotRestored(Refusal, frozen=True):
    """The restore stopped: some files are restored and some are not."""

    reason: str
    says = (
        "Some files could not be restored. {reason} The previous files are saved: type "
        "/revert to try again, or /revert back to get them back."
    )


class FilesInUse(Refusal, frozen=True):
    """Another agent is changing the same files."""

    agent: str
    says = (
        "Agent '{agent}' is working in these files, so nothing was reverted. "
        "Wait for it, or stop it with sapwood interrupt {agent}."
    )


class RevertCutOff(Refusal, frozen=True):
    """An earlier revert is unfinished: some files are restored and some are not."""

    words: str
    says = (
        "A revert to the files {words} did not finish: only some of them were restored. "
        "Type /revert to finish it, or /revert back to undo it."
    )


class RevertOvertaken(Refusal, frozen=True):
    """Another revert started while files were restored."""

    says = "Another revert started in the meantime. Type /revert to finish that one."


class FolderNotAllowed(Refusal, frozen=True):
    """Agents of a space work only in the folder that the space was given."""

    path: str
    says = (
        "Conversations in this space cannot use {path}. Nothing was changed. Leave it "
        "out, or ask the server's operator to give the space a folder with 'sapwood serve "
        "--folder SPACE=PATH'."
    )


class NoRepository(Refusal, frozen=True):
    """A worktree needs a git repository with a commit."""

    folder: str
    why: str = "is not in a git repository"

    @property
    def sentence(self) -> str:
        return (
            f"{self.folder or 'This folder'} {self.why}, so Sapwood cannot create a worktree. "
            "Nothing was changed. Make a first commit there, or type /fork without --worktree."
        )


class BranchExists(Refusal, frozen=True):
    """The branch for a new worktree exists."""

    branch: str
    says = (
        "Branch {branch} already exists. Nothing was changed. Give another name after "
        "--worktree, or no name to name the branch after the agent."
    )


class WorktreeNotMade(Refusal, frozen=True):
    """Git could not make the worktree."""

    branch: str
    reason: str

    @property
    def sentence(self) -> str:
        return (
            f"The worktree for branch {self.branch} could not be created: "
            f"{self.reason.rstrip('.')}. Nothing was changed. Give another branch after "
            "--worktree, or leave it out."
        )


def _any_of(words: tuple[str, ...]) -> str:
    *most, last = words
    return f"{', '.join(most)} or {last}" if most else last


def _branch(name: str) -> str:
    return "no branch" if name == "HEAD" else f"branch {name}"
