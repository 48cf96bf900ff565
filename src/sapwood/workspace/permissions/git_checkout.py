"""Tells a `git checkout` that changes the branch from one that overwrites files. Pure.

`git checkout main` keeps changes that are not committed, and `git checkout src` discards those in
`src`. Git decides by what exists, and these functions by what a word can be at all.
"""

import re
from collections.abc import Sequence

_MAKES_BRANCH = re.compile(r"-[a-z]*[bt][a-z]*|--(?:track(?:=.*)?|detach)")
"""Options with which git takes no operand for a file."""
_PART = r"[^\s\0-\x1f:?*\[\\/.^~][^\s\0-\x1f:?*\[\\/^~]*"
_REVISION = re.compile(rf"-|{_PART}(?:/{_PART})*(?:[~^]\d*)*")


def checkout_operands(words: Sequence[str]) -> tuple[str, ...]:
    """The operands of a `git checkout` that git may take for files.

    >>> checkout_operands("timeout 9 git --no-pager checkout -q HEAD -- src".split())
    ('HEAD', 'src')
    >>> checkout_operands("git checkout -b src main".split())
    ()
    """
    git = next((at for at, word in enumerate(words) if word.rpartition("/")[2] == "git"), None)
    if git is None:
        return ()
    rest = list(words[git + 1 :])
    while rest and rest[0].startswith("-"):
        del rest[0]
    if rest[:1] != ["checkout"]:
        return ()
    end = rest.index("--") if "--" in rest else len(rest)
    before, files = rest[1:end], rest[end + 1 :]
    if any(map(_MAKES_BRANCH.fullmatch, before)):
        return ()
    return (*(word for word in before if word == "-" or not word.startswith("-")), *files)


def overwritten_file(words: Sequence[str], open_words: Sequence[str]) -> str:
    """The first of the open words that a `git checkout` may overwrite as a file, or else ''.

    >>> overwritten_file(["git", "checkout", "main"], ["main"])
    ''
    >>> overwritten_file(["git", "checkout", "main", "src"], ["main", "src"])
    'src'
    """
    operands = checkout_operands(words)
    found = [word for word in operands if word in open_words]
    is_one = len(operands) == 1 and "--" not in words[:-1]
    if not found or (is_one and is_revision(found[0])):
        return ""
    return next((word for word in found if not is_revision(word)), found[-1]) or "''"


def is_revision(word: str) -> bool:
    """Whether a word can be a branch, a commit or a tag, and not only files.

    >>> [is_revision(word) for word in ("feature/x", "HEAD~2", "v1.2", "./src", "src/", "*.py")]
    [True, True, True, False, False, False]
    """
    return _REVISION.fullmatch(word) is not None
