"""Values about the saved and restored files of a workspace.

`sapwood.workspace` saves and restores the files; the log of an agent has its checkpoints.
"""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

Why = Literal["large", "repository", "unreadable", "unsaved", "unwritable", "ignored", "name"]

SHOWN = 5
"""The most paths that a message names; of further ones it has the number."""

_WORDS: dict[Why, str] = {
    "large": "too large",
    "repository": "a separate repository",
    "unreadable": "cannot be read",
    "unsaved": "in the way, and not saved",
    "unwritable": "cannot be written",
    "ignored": "ignored",
    "name": "a name that git reserves",
}


class LeftOut(Struct, frozen=True, array_like=True, gc=False):
    """A path that was not saved or not restored, and why. The path of a folder ends in a slash."""

    path: str
    why: Why


class Saved(Struct, frozen=True, omit_defaults=True):
    """Saved files: the git commit that holds them, and a name for their state.

    Checkpoints with the same `tree` have the same files, permissions and uncovered paths.
    `left_out` are some of the paths that could not be saved, `more` is the number of the others.
    `branch` is the git branch at that moment, 'HEAD' for none, empty if it is not known.
    """

    commit: str
    tree: str
    left_out: tuple[LeftOut, ...] = ()
    more: int = 0
    branch: str = ""


class Unsaved(Struct, frozen=True):
    """Why files cannot be saved or restored, and what to do, in one sentence or two.

    `failed` is false if saving is not possible at all here, such as without a repository.
    """

    reason: str
    failed: bool = True


class Restored(Struct, frozen=True, omit_defaults=True):
    """How many files were written and removed, and which were left unchanged."""

    written: int = 0
    removed: int = 0
    left: tuple[LeftOut, ...] = ()
    more: int = 0


class Destination(Struct, frozen=True):
    """The destination of a revert: the versions of the log with the files and with the context.

    `words` describes it for readers. If `files` is 0, the files stay as they are.

    >>> Destination(12, 9, "before turn 9").words
    'before turn 9'
    """

    files: int
    context: int
    words: str


def describe_left_out(left: Sequence[LeftOut], more: int = 0) -> str:
    """Names the paths that were left out, with the reasons; empty if there are none.

    >>> describe_left_out([LeftOut("model.bin", "large"), LeftOut("vendor/", "repository")], more=3)
    'model.bin (too large), vendor/ (a separate repository) and 3 more'
    """
    named = [f"{each.path} ({_WORDS[each.why]})" for each in left[:SHOWN]]
    more += len(left) - len(named)
    return ", ".join(named) + (f" and {more:,} more" if more else "")
