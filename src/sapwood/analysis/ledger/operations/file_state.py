"""The state of one file of a session, and how many lines its changes have."""

from collections import Counter
from collections.abc import Iterator
from difflib import SequenceMatcher

from sapwood.analysis.ledger.entries import FileTouched
from sapwood.analysis.ledger.operations.operation import FileWritten

_MAX_DIFF_LINES = 2_000
StateAt = tuple[bool, bool, str | None]
"""Whether a file exists, whether it was touched, and its content, at some time."""


class FileState:
    """The state of one path. `existed` is about the start of the session, `exists` about now.

    `original` is the content at the start, if it was read before the first change.
    """

    def __init__(self, existed: bool) -> None:
        self.existed = existed
        self.exists = existed
        self.touched = False
        self.committed = False
        self.content: str | None = None
        self.original: str | None = None
        self.added: int | None = None
        self.removed: int | None = None

    @property
    def is_changed(self) -> bool:
        """Whether the file differs from the start, as far as its content is known."""
        return self.exists and self.existed and not self._is_as_before

    @property
    def _is_as_before(self) -> bool:
        return self.original is not None and self.original == self.content

    @property
    def state(self) -> StateAt:
        return self.exists, self.touched, self.content

    @state.setter
    def state(self, state: StateAt) -> None:
        self.exists, self.touched, self.content = state

    def add_lines(self, added: int | None, removed: int | None) -> None:
        self.touched = True
        if added is not None:
            self.added = (self.added or 0) + added
        if removed is not None:
            self.removed = (self.removed or 0) + removed


def write_file(file: FileState, operation: FileWritten) -> None:
    if operation.added is not None:
        file.add_lines(operation.added, operation.removed)
        file.content = operation.content
    elif operation.content is None:
        file.add_lines(None, None)
        file.content = None
    elif operation.appended:
        file.add_lines(_lines(operation.content), 0)
        file.content = None if file.content is None else file.content + operation.content
    elif file.exists and file.existed and file.content is not None:
        file.add_lines(*line_changes(file.content, operation.content))
        file.content = operation.content
    else:
        file.add_lines(_lines(operation.content), 0 if not file.existed else None)
        file.content = operation.content


def created_file(path: str, file: FileState) -> FileTouched:
    if file.content is not None:
        return FileTouched(path, _lines(file.content), 0)
    return FileTouched(path, file.added, file.removed)


def _lines(text: str) -> int:
    return len(text.splitlines())


def line_changes(old: str, new: str) -> tuple[int, int]:
    """Returns how many lines were added and how many removed.

    >>> line_changes("a\\nb\\nc", "a\\nx\\ny\\nc")
    (2, 1)
    """
    before, after = old.splitlines(), new.splitlines()
    if len(before) + len(after) > _MAX_DIFF_LINES:
        old_lines, new_lines = Counter(before), Counter(after)
        return (new_lines - old_lines).total(), (old_lines - new_lines).total()
    added = removed = 0
    for tag, i, j, k, m in _changes(before, after):
        if tag != "equal":
            removed += j - i
            added += m - k
    return added, removed


def _changes(before: list[str], after: list[str]) -> Iterator[tuple[str, int, int, int, int]]:
    yield from SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
