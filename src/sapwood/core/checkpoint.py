"""What is known of the files of a workspace that were saved or restored. Values only.

How files are saved is the business of `sapwood.workspace`; which of them an agent may go back to is
told by its log.
"""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

__all__ = ["SHOWN", "Destination", "LeftOut", "Restored", "Saved", "Unsaved", "Why", "told_of"]

Why = Literal["large", "repository", "unreadable", "unsaved", "unwritable"]

SHOWN = 5
"""So many paths are named in an answer; of further ones the number is told."""

_WORDS: dict[Why, str] = {
    "large": "too large",
    "repository": "a repository of its own",
    "unreadable": "cannot be read",
    "unsaved": "in the way and not saved",
    "unwritable": "cannot be written",
}


class LeftOut(Struct, frozen=True, array_like=True, gc=False):
    """A path that was not saved or not restored, and why. A folder's ends in a slash."""

    path: str
    why: Why


class Saved(Struct, frozen=True, omit_defaults=True):
    """Files as they were at one moment: a commit that holds them, and the tree in it.

    `left_out` names some of what could not be covered; `more` is how many it does not name.
    """

    commit: str
    tree: str
    left_out: tuple[LeftOut, ...] = ()
    more: int = 0


class Unsaved(Struct, frozen=True):
    """Why files cannot be saved or restored, and what to do, in one sentence or two.

    `failed` tells what went wrong from what was never to be, such as without a repository.
    """

    reason: str
    failed: bool = True


class Restored(Struct, frozen=True, omit_defaults=True):
    """How many files were put back and taken away, and what was left as it is."""

    written: int = 0
    removed: int = 0
    left: tuple[LeftOut, ...] = ()
    more: int = 0


class Destination(Struct, frozen=True):
    """Where a revert goes: versions of the log that tell the files and the context, and in words.

    >>> Destination(12, 9, "before turn 9").words
    'before turn 9'
    """

    files: int
    context: int
    words: str


def told_of(left: Sequence[LeftOut], more: int = 0) -> str:
    """What was left and why, as a clause; empty if nothing was.

    >>> told_of([LeftOut("model.bin", "large"), LeftOut("vendor/", "repository")], more=3)
    'model.bin (too large), vendor/ (a repository of its own) and 3 more'
    """
    named = [f"{each.path} ({_WORDS[each.why]})" for each in left[:SHOWN]]
    more += len(left) - len(named)
    return ", ".join(named) + (f" and {more:,} more" if more else "")
