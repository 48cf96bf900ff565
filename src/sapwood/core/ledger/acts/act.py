"""What a tool call did, in terms that no longer depend on the program that ran it."""

from msgspec import Struct

__all__ = [
    "Act",
    "Committed",
    "Deleted",
    "Edited",
    "Moved",
    "Polled",
    "Ran",
    "Read",
    "Restored",
    "Wrote",
]


class Read(Struct, frozen=True, tag="read"):
    """The content of a file was read; `content` if it was read as a whole."""

    path: str
    content: str | None = None


class Wrote(Struct, frozen=True, tag="wrote"):
    """A file got this content, or this in addition; `was_there` if that is known.

    Lines `added` and `removed` are those that a program counted itself.
    """

    path: str
    content: str | None = None
    was_there: bool | None = None
    appended: bool = False
    added: int | None = None
    removed: int | None = None


class Edited(Struct, frozen=True, tag="edited"):
    """Texts in a file were replaced, or lines in a number that may be known."""

    path: str
    replaced: tuple[tuple[str, str], ...] = ()
    added: int | None = None
    removed: int | None = None


class Deleted(Struct, frozen=True, tag="deleted"):
    """A file was deleted, or a folder with all that is in it."""

    path: str
    folder: bool = False


class Moved(Struct, frozen=True, tag="moved"):
    """A file has another name now."""

    source: str
    target: str


class Restored(Struct, frozen=True, tag="restored"):
    """A file is again as it was committed last; an empty path means all of them."""

    path: str


class Committed(Struct, frozen=True, tag="committed"):
    """What was changed so far is what a restored file goes back to."""


class Ran(Struct, frozen=True, tag="ran"):
    """A command line ran in a folder. Some shells `keep` the folder that a line went to."""

    command: str
    folder: str = ""
    keeps: bool = False


class Polled(Struct, frozen=True, tag="polled"):
    """Somebody looked how a command in the background is doing."""

    handle: str


Act = Read | Wrote | Edited | Deleted | Moved | Restored | Committed | Ran | Polled
