"""Tracks the files of a session: which were read, created, changed and deleted in the end."""

from collections import Counter
from collections.abc import Iterator
from difflib import SequenceMatcher

from sapwood.analysis.ledger.entries import Files, FileTouched
from sapwood.analysis.ledger.operations.operation import (
    ChangesCommitted,
    FileDeleted,
    FileEdited,
    FileMoved,
    FileRead,
    FileRestored,
    FileWritten,
    Operation,
)
from sapwood.analysis.ledger.operations.working_folder import relative_path

__all__ = ["FileTracker", "line_changes"]

_MAX_DIFF_LINES = 2_000
_GENERATED_FOLDERS = frozenset(
    "node_modules dist build target out coverage __pycache__ .pytest_cache .mypy_cache "
    ".ruff_cache .next .nuxt .cache .turbo .venv venv .tox htmlcov tmp".split()
)


class _File:
    """The state of one path. `existed` is about the start of the session, `exists` about now."""

    def __init__(self, existed: bool) -> None:
        self.existed = existed
        self.exists = existed
        self.touched = False
        self.committed = False
        self.content: str | None = None
        self.added: int | None = None
        self.removed: int | None = None

    def add_lines(self, added: int | None, removed: int | None) -> None:
        self.touched = True
        if added is not None:
            self.added = (self.added or 0) + added
        if removed is not None:
            self.removed = (self.removed or 0) + removed


class FileTracker:
    """Takes operations in their order and returns the files by their final state."""

    def __init__(self, folder: str = "") -> None:
        self._folder = folder
        self._files: dict[str, _File] = {}
        self._read: dict[str, None] = {}

    def add(self, operation: Operation) -> None:
        """Applies one more operation; operations that are not about files change nothing."""
        match operation:
            case FileRead():
                self._apply_read(operation)
            case FileWritten():
                self._apply_write(operation)
            case FileEdited():
                self._apply_edit(operation)
            case FileDeleted():
                self._apply_deletion(self._relative(operation.path), operation.folder)
            case FileMoved():
                self._apply_move(self._relative(operation.source), self._relative(operation.target))
            case FileRestored():
                self._apply_restore(self._relative(operation.path) if operation.path else "")
            case ChangesCommitted():
                for file in self._files.values():
                    file.committed = True
            case _:
                pass

    def files(self) -> Files:
        """Returns all files by their final state."""
        touched = {path: file for path, file in self._files.items() if file.touched}
        return Files(
            read=tuple(FileTouched(path) for path in self._read),
            created=tuple(_created(p, f) for p, f in touched.items() if f.exists and not f.existed),
            changed=tuple(
                FileTouched(p, f.added, f.removed)
                for p, f in touched.items()
                if f.exists and f.existed
            ),
            deleted=tuple(FileTouched(p) for p, f in touched.items() if not f.exists),
        )

    def _relative(self, path: str) -> str:
        return relative_path(path, self._folder)

    def _file(self, path: str, existed: bool) -> _File:
        return self._files.setdefault(path, _File(existed))

    def _apply_read(self, operation: FileRead) -> None:
        path = self._relative(operation.path)
        self._read[path] = None
        file = self._file(path, existed=True)
        if operation.content is not None:
            file.content = operation.content

    def _apply_write(self, operation: FileWritten) -> None:
        path = self._relative(operation.path)
        known = self._files.get(path)
        if operation.content == "" and operation.appended and known is not None and known.exists:
            return  # `touch` does not change a file that exists
        existed = operation.existed
        if existed is None:
            existed = operation.appended and operation.content != ""
        file = self._file(path, existed=existed)
        _write(file, operation)
        file.exists = True

    def _apply_edit(self, operation: FileEdited) -> None:
        file = self._file(self._relative(operation.path), existed=True)
        file.exists = True
        for old, new in operation.replacements:
            if operation.added is None:
                file.add_lines(*line_changes(old, new))
            if file.content is not None and old in file.content:
                file.content = file.content.replace(old, new, 1)
        if not operation.replacements or operation.added is not None:
            file.add_lines(operation.added, operation.removed)
        if not operation.replacements:
            file.content = None

    def _apply_deletion(self, path: str, is_folder: bool) -> None:
        inside = [p for p in self._files if p.startswith(f"{path}/")] if is_folder else []
        for each in inside:
            self._delete(each)
        if path not in self._files and (inside or path.split("/")[-1] in _GENERATED_FOLDERS):
            return
        self._delete(path)

    def _delete(self, path: str) -> None:
        file = self._file(path, existed=True)
        file.exists, file.touched, file.content = False, True, None

    def _apply_move(self, source: str, target: str) -> None:
        inside = [p for p in self._files if p.startswith(f"{source}/") and self._files[p].exists]
        if inside and source not in self._files:
            for each in inside:
                self._apply_move(each, target + each[len(source) :])
            return
        if any(p.startswith(f"{target}/") for p in self._files):
            target = f"{target}/{source.rsplit('/', 1)[-1]}"
        old = self._files.get(source)
        new = self._file(target, existed=False)
        new.exists, new.touched = True, True
        if old is not None:
            new.content = old.content
            if not old.existed:
                new.added = old.added
                del self._files[source]
                return
        self._delete(source)

    def _apply_restore(self, path: str) -> None:
        chosen = [path] if path else list(self._files)
        for each in chosen:
            file = self._files.get(each)
            if file is not None and file.existed and not file.committed:
                self._files[each] = _File(existed=True)


def _write(file: _File, operation: FileWritten) -> None:
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


def _created(path: str, file: _File) -> FileTouched:
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
