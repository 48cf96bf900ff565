"""What can be completed after an `@`: files, folders, marks, agents and past conversations.

`WorkspaceFiles` lists the files in a thread and keeps the list, so that a letter costs no listing.
`FileIndex` searches long joined strings and not path by path, so that 100,000 files take
milliseconds.
"""

import asyncio
import os
import re
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from heapq import nsmallest
from itertools import accumulate, islice
from threading import Event

from msgspec import structs

from sapwood.conversation.completion import Choice, KnownNames, Names
from sapwood.conversation.prompt_files import files_named
from sapwood.core.token_count import Count, show_tokens
from sapwood.workspace.file_walk import ShouldStop, walk
from sapwood.workspace.safe_paths import ResolvedPath, locate
from sapwood.workspace.tool_output import ToolError

_MAX_FILES = 500_000
_AGE_SECONDS = 5.0
_AGE_TIMES = 20.0
_FILES = 8
_OTHERS = 4
_PATHS = ("file", "folder")
_LINES = re.compile(r":\d+(-\d*)?$")
_ENOUGH = 256
"""Paths of one kind of match that are compared with each other."""


class _JoinedLines:
    """Texts joined to one string, each on a line of its own."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._text = "\n" + "\n".join(lines) + "\n"
        self._starts = list(accumulate((len(line) + 1 for line in lines), initial=1))

    def having(self, words: str) -> Iterator[int]:
        """The numbers of the lines that have these words; a line starts and ends with a newline."""
        place = self._text.find(words)
        while place >= 0:
            number = bisect_right(self._starts, place + words.startswith("\n")) - 1
            yield number
            place = self._text.find(words, self._starts[number + 1] - 1)

    def scattered(self, letters: str) -> Iterator[tuple[int, int]]:
        """The lines with these letters in this order: how far apart they are, and the number."""
        if not all(letter in self._text for letter in letters):
            return
        first, *rest = (re.escape(letter) for letter in letters)
        tail = "".join(f"[^{letter}\\n]*+{letter}" for letter in rest)
        for match in re.finditer(f"\n[^{first}\\n]*+({first}{tail})", self._text):
            yield match.end() - match.start(1), bisect_right(self._starts, match.start(1)) - 1


class FileIndex:
    """Paths that can be found by a few of their letters.

    >>> index = FileIndex(["docs/refunds.md", "shop/receipt_format.py", "shop/refund.py"])
    >>> index.best("refund", 2), index.best("shrf", 1)
    (['shop/refund.py', 'docs/refunds.md'], ['shop/refund.py'])
    """

    def __init__(self, paths: Sequence[str]) -> None:
        self.paths = paths
        self._known = frozenset(paths)
        self._lower = [path.casefold() for path in paths]
        self._whole = _JoinedLines(self._lower)
        self._names = _JoinedLines([path.rpartition("/")[2] for path in self._lower])
        self._first = nsmallest(64, range(len(paths)), key=lambda each: paths[each].count("/"))

    def __contains__(self, path: object) -> bool:
        """Whether this is one of the paths."""
        return path in self._known

    def best(self, typed: str, limit: int) -> list[str]:
        """The paths that fit best: by the beginning of a name, by a part, by scattered letters."""
        typed = typed.casefold()
        if not typed:
            return [self.paths[each] for each in self._first[:limit]]
        found: dict[int, None] = {}
        for numbers in self._by_quality(typed):
            found |= dict.fromkeys(numbers)
            if len(found) >= limit:
                break
        return [self.paths[each] for each in list(found)[:limit]]

    def _by_quality(self, typed: str) -> Iterator[list[int]]:
        """The numbers of paths, those that fit best first."""
        if "/" not in typed:
            for words in (f"\n{typed}\n", f"\n{typed}.", f"\n{typed}", typed):
                yield sorted(islice(self._names.having(words), _ENOUGH), key=self._rank)
        yield sorted(islice(self._whole.having(typed), _ENOUGH), key=self._rank)
        near = islice(self._whole.scattered(typed), _ENOUGH)
        yield [
            number for _, number in sorted(near, key=lambda each: (each[0], self._rank(each[1])))
        ]

    def _rank(self, number: int) -> tuple[int, str]:
        path = self._lower[number]
        return len(path), path


class WorkspaceFiles:
    """The files and folders of one workspace, listed again when the list is old.

    `clock` returns seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.root = ""
        self.files = FileIndex(())
        self.folders = FileIndex(())
        self._clock = clock
        self._listed_at = 0.0
        self._took = 0.0
        self._once = asyncio.Lock()

    async def refresh(self, root: str) -> bool:
        """Lists the files of a folder unless the list is fresh. Returns whether it was listed.

        What ignore files hide is left out. A large folder, which takes long, is listed less often.
        """
        async with self._once:
            age = self._clock() - self._listed_at
            if root == self.root and age < max(_AGE_SECONDS, _AGE_TIMES * self._took):
                return False
            began = self._clock()
            stop = Event()
            try:
                files, folders = await asyncio.to_thread(_indexes, root, stop.is_set)
            except OSError:  # the folder is gone
                files = folders = FileIndex(())
            finally:
                stop.set()
            self.root, self.files, self.folders = root, files, folders
            self._listed_at = self._clock()
            self._took = self._listed_at - began
            return True


def _indexes(root: str, stop: ShouldStop) -> tuple[FileIndex, FileIndex]:
    files: list[str] = []
    folders: list[str] = []
    for entry in walk(ResolvedPath(root, root, "."), stop=stop):
        if entry.is_special or not entry.is_text or '"' in entry.path or "\n" in entry.path:
            continue
        (folders if entry.is_folder else files).append(entry.path)
        if len(files) == _MAX_FILES:
            break
    return FileIndex(files), FileIndex(folders)


def is_mention(word: str) -> bool:
    """Whether a word is begun as a mention."""
    return word.startswith("@")


def mention_choices(word: str, known: KnownNames, listed: WorkspaceFiles) -> list[Choice]:
    """What the word may become: files, folders, then names; nothing if it is complete."""
    if not is_mention(word) or is_complete_mention(word, listed):
        return []
    typed = word[1:].removeprefix('"')
    return [
        *(Choice(_written(path), "", "file") for path in listed.files.best(typed, _FILES)),
        *(
            Choice(_written(f"{path}/"), "", "folder")
            for path in listed.folders.best(typed.rstrip("/"), _OTHERS)
        ),
        *_named(typed, known.marks, "mark"),
        *_named(typed, known.agents, "agent"),
        *_named(typed, known.conversations, "conversation"),
    ]


def with_tokens(choices: Sequence[Choice], folder: str) -> list[Choice]:
    """The same choices; files and folders with about how many tokens they add to the prompt.

    A link out of the folder has no number: whoever asks may read the folder only.
    """
    found: list[Choice] = []
    for each in choices:
        is_counted = each.help in _PATHS and _is_inside(each.word, folder)
        named = files_named(each.word, folder) if is_counted else ()
        size = f", {show_tokens(Count(named[0].tokens, exact=False))}" if named else ""
        found.append(structs.replace(each, help=each.help + size))
    return found


def _is_inside(word: str, folder: str) -> bool:
    """Whether a mention leads into the folder, all links followed."""
    try:
        return locate(os.path.realpath(folder), word[1:].strip('"')).is_inside
    except ToolError:  # a name with signs that nobody sees
        return False


def is_complete_mention(word: str, listed: WorkspaceFiles) -> bool:
    """Whether a mention names a file, or lines of one, so that no completion may replace it."""
    path = _LINES.sub("", word[1:].strip('"'))
    return path in listed.files


def _written(path: str) -> str:
    return f'@"{path}"' if re.search(r"\s", path) else f"@{path}"


def _named(typed: str, names: Names, kind: str) -> list[Choice]:
    wanted = typed.casefold()
    found = [
        Choice(f"@{name}", "", f"{kind} {about}".rstrip())
        for name, about in names
        if wanted in name.casefold() or wanted in about.casefold()
    ]
    return found[:_OTHERS]
