"""What can be completed after an `@`: files, folders, marks, agents and past conversations.

`WorkspaceFiles` lists the files in a thread and keeps the list, so that a letter costs no listing.
"""

import asyncio
import re
import time
from collections.abc import Callable, Sequence
from threading import Event

from msgspec import structs

from sapwood.conversation.completion import Choice, KnownNames, Names
from sapwood.conversation.prompt_files import files_named
from sapwood.core.token_count import Count, show_tokens
from sapwood.workspace.file_index import FileIndex
from sapwood.workspace.file_walk import ShouldStop, walk
from sapwood.workspace.safe_paths import ResolvedPath

_MAX_FILES = 500_000
_AGE_SECONDS = 5.0
_AGE_TIMES = 20.0
_FILES = 8
_OTHERS = 4
_PATHS = ("file", "folder")
_LINES = re.compile(r":\d+(-\d*)?$")


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
    """The same choices; files and folders with about how many tokens they add to the prompt."""
    found: list[Choice] = []
    for each in choices:
        named = files_named(each.word, folder) if each.help in _PATHS else ()
        size = f", {show_tokens(Count(named[0].tokens, exact=False))}" if named else ""
        found.append(structs.replace(each, help=each.help + size))
    return found


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
