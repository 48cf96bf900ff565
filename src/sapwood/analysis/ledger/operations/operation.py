"""Operations: what a tool call did, in terms that do not depend on the program that ran it."""

from msgspec import Struct


class FileRead(Struct, frozen=True, tag="read"):
    """A file was read. `content` is set if the whole file was read."""

    path: str
    content: str | None = None


class FileWritten(Struct, frozen=True, tag="wrote"):
    """A file was written, or extended if `appended`. `existed` is None if that is unknown.

    `added` and `removed` are line counts that the program reported.
    """

    path: str
    content: str | None = None
    existed: bool | None = None
    appended: bool = False
    added: int | None = None
    removed: int | None = None


class FileEdited(Struct, frozen=True, tag="edited"):
    """Parts of a file were replaced. `replacements` are pairs of old and new text, if known.

    `added` and `removed` are line counts, if known.
    """

    path: str
    replacements: tuple[tuple[str, str], ...] = ()
    added: int | None = None
    removed: int | None = None


class FileDeleted(Struct, frozen=True, tag="deleted"):
    """A file was deleted, or a folder with its content if `folder`."""

    path: str
    folder: bool = False


class FileMoved(Struct, frozen=True, tag="moved"):
    """A file was moved or renamed."""

    source: str
    target: str


class FileRestored(Struct, frozen=True, tag="restored"):
    """A file was reset to its last commit; an empty path means all files."""

    path: str


class FileListed(Struct, frozen=True, tag="listed"):
    """Version control listed a file: its `state`, and its old name if it was renamed.

    `state` is `changed`, `created`, `deleted`, `renamed` or `untracked`. `of_commit` if the list is
    that of the newest commit.
    """

    state: str
    path: str
    source: str = ""
    of_commit: bool = False


class FolderMade(Struct, frozen=True, tag="made"):
    """A folder was made by this session."""

    path: str


class ChangesCommitted(Struct, frozen=True, tag="committed"):
    """Changes were committed, so that a later restore keeps them.

    Without `paths` all of them; `known_only` if files that version control did not know were left.
    """

    paths: tuple[str, ...] = ()
    known_only: bool = False


class CommitReverted(Struct, frozen=True, tag="reverted"):
    """The newest commit was reverted."""


class CommandLineRan(Struct, frozen=True, tag="ran"):
    """A command line ran in a folder.

    `keeps_folder` if the shell starts the next line in the folder in which this line ended.
    """

    command: str
    folder: str = ""
    keeps_folder: bool = False


class BackgroundPolled(Struct, frozen=True, tag="polled"):
    """The output of a command in the background was requested."""

    handle: str


Operation = (
    FileRead
    | FileWritten
    | FileEdited
    | FileDeleted
    | FileMoved
    | FileRestored
    | FileListed
    | FolderMade
    | ChangesCommitted
    | CommitReverted
    | CommandLineRan
    | BackgroundPolled
)
