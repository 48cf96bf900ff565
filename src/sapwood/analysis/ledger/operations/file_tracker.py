"""Tracks the files of a session: which were read, created, changed and deleted in the end.

The state of one file of a session, and how many lines its changes have.
"""

from collections import Counter
from collections.abc import Iterator
from difflib import SequenceMatcher

from sapwood.analysis.ledger.entries import FileTouched, TouchedFiles
from sapwood.analysis.ledger.operations.operation import (
    ChangesCommitted,
    CommitReverted,
    FileDeleted,
    FileEdited,
    FileListed,
    FileMoved,
    FileRead,
    FileRestored,
    FileWritten,
    FolderMade,
    Operation,
)
from sapwood.analysis.ledger.operations.working_folder import relative_path

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


_GENERATED_FOLDERS = frozenset(
    "node_modules dist build target out coverage __pycache__ .pytest_cache .mypy_cache "
    ".ruff_cache .next .nuxt .cache .turbo .venv venv .tox htmlcov tmp".split()
)


_SCRATCH = ("/tmp/", "/private/tmp/", "/var/tmp/", "/dev/")


class FileTracker:
    """Takes operations in their order and returns the files by their final state."""

    def __init__(self, folder: str = "") -> None:
        self._folder = folder
        self._files: dict[str, FileState] = {}
        self._read: dict[str, None] = {}
        self._folders: set[str] = set()
        self._dirty: set[str] = set()
        self._before: dict[str, StateAt] = {}
        self._last_commit: dict[str, StateAt] | None = None

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
            case FileListed():
                self._apply_listed(operation)
            case FolderMade():
                self._folders.add(self._relative(operation.path))
            case ChangesCommitted():
                self._apply_commit(operation)
            case CommitReverted():
                for path, state in (self._last_commit or {}).items():
                    self._files[path].state = state
                self._last_commit = {}
            case _:
                pass

    def files(self) -> TouchedFiles:
        """Returns all files by their final state."""
        touched = {
            path: file
            for path, file in self._files.items()
            if file.touched and not path.startswith(_SCRATCH)
        }
        return TouchedFiles(
            read=tuple(FileTouched(path) for path in self._read),
            created=tuple(
                created_file(p, f) for p, f in touched.items() if f.exists and not f.existed
            ),
            changed=tuple(
                FileTouched(p, f.added, f.removed) for p, f in touched.items() if f.is_changed
            ),
            deleted=tuple(FileTouched(p) for p, f in touched.items() if f.existed and not f.exists),
        )

    def _relative(self, path: str) -> str:
        return relative_path(path, self._folder)

    def _file(self, path: str, existed: bool) -> FileState:
        return self._files.setdefault(path, FileState(existed))

    def _changing(self, path: str, existed: bool) -> FileState:
        """Returns a file that is about to be changed; its state now is that of the last commit."""
        file = self._file(path, existed)
        self._before.setdefault(path, file.state)
        return file

    def _apply_read(self, operation: FileRead) -> None:
        path = self._relative(operation.path)
        self._read[path] = None
        file = self._file(path, existed=True)
        if operation.content is not None:
            file.content = operation.content
            if not file.touched and file.existed:
                file.original = operation.content

    def _apply_write(self, operation: FileWritten) -> None:
        path = self._relative(operation.path)
        known = self._files.get(path)
        if operation.content == "" and operation.appended and known is not None and known.exists:
            return  # `touch` does not change a file that exists
        existed = operation.existed
        if existed is None:
            existed = operation.appended and operation.content != ""
        file = self._changing(path, existed)
        write_file(file, operation)
        file.exists = True

    def _apply_edit(self, operation: FileEdited) -> None:
        file = self._changing(self._relative(operation.path), existed=True)
        file.exists = True
        for old, new in operation.replacements:
            if operation.added is None:
                file.add_lines(*line_changes(old, new))
            known = file.content is not None and bool(old) and old in file.content
            file.content = (file.content or "").replace(old, new, 1) if known else None
        if not operation.replacements or operation.added is not None:
            file.add_lines(operation.added, operation.removed)
        if not operation.replacements:
            file.content = None

    def _apply_deletion(self, path: str, is_folder: bool) -> None:
        inside = [p for p in self._files if p.startswith(f"{path}/")] if is_folder else []
        for each in inside:
            self._delete(each)
        if path not in self._files and (
            inside or path.split("/")[-1] in _GENERATED_FOLDERS or self._is_in_own_folder(path)
        ):
            return
        self._delete(path)

    def _is_in_own_folder(self, path: str) -> bool:
        """Whether a path is a folder that the session made, or in one."""
        parts = path.split("/")
        return any("/".join(parts[:end]) in self._folders for end in range(1, len(parts) + 1))

    def _delete(self, path: str) -> None:
        file = self._changing(path, existed=True)
        file.exists, file.touched, file.content = False, True, None

    def _apply_move(self, source: str, target: str) -> None:
        inside = [p for p in self._files if p.startswith(f"{source}/") and self._files[p].exists]
        if inside and source not in self._files:
            for each in inside:
                self._apply_move(each, target + each[len(source) :])
            return
        if any(p.startswith(f"{target}/") for p in self._files):
            target = f"{target}/{source.rsplit('/', 1)[-1]}"
        if source not in self._files and _may_be_folder(source):
            return  # its files are not known
        self._move_file(source, target)

    def _move_file(self, source: str, target: str) -> None:
        old = self._files.get(source)
        new = self._changing(target, existed=False)
        new.exists, new.touched = True, True
        if old is not None:
            new.content = old.content
            if not old.existed:
                new.added = old.added
                del self._files[source]
                return
        self._delete(source)

    def _apply_commit(self, commit: ChangesCommitted) -> None:
        named = {self._relative(path) for path in commit.paths}
        chosen = [
            path
            for path in self._before
            if (path in named if named else not commit.known_only or self._is_known(path))
        ]
        self._last_commit = {path: self._before.pop(path) for path in chosen}
        for path, file in self._files.items():
            file.committed |= path in named or not named

    def _is_known(self, path: str) -> bool:
        """Whether version control knows a file: it existed, or was committed before."""
        file = self._files[path]
        return file.existed or file.committed

    def _apply_listed(self, listed: FileListed) -> None:
        """Takes what version control says; the list before the first change is the beginning."""
        path, source = self._relative(listed.path), self._relative(listed.source)
        if listed.of_commit and self._last_commit is None:
            return  # somebody else's commit
        if not listed.of_commit and not any(file.touched for file in self._files.values()):
            self._dirty |= {path, source}
        if path in self._dirty:
            return
        known = self._files.get(path)
        match listed.state:
            case "untracked":
                self._apply_untracked(path, known)
            case "renamed" if known is None or not known.exists:
                self._move_file(source, path)
            case "deleted" if known is None or known.exists:
                self._delete(path)
            case "created" | "changed" if known is None or not known.touched:
                file = self._changing(path, existed=listed.state == "changed")
                file.exists = file.touched = True
            case _:
                pass

    def _apply_untracked(self, path: str, known: FileState | None) -> None:
        if known is None:
            self._folders.add(path)
        elif path not in self._read:
            known.existed = False

    def _apply_restore(self, path: str) -> None:
        chosen = [path] if path else list(self._files)
        for each in chosen:
            file = self._files.get(each)
            if file is not None and file.existed and not file.committed:
                self._files[each] = FileState(existed=True)


def _may_be_folder(path: str) -> bool:
    """Whether a name looks like that of a folder: no dot, and no capital as in `Makefile`."""
    name = path.rsplit("/", 1)[-1]
    return "." not in name and name.islower()
