"""The book of files: what became of each, from the first act to the last."""

from collections import Counter
from collections.abc import Iterator
from difflib import SequenceMatcher

from sapwood.core.ledger.acts.act import (
    Act,
    Committed,
    Deleted,
    Edited,
    Moved,
    Read,
    Restored,
    Wrote,
)
from sapwood.core.ledger.acts.paths import shown
from sapwood.core.ledger.entries import Files, FileTouched

__all__ = ["FileBook", "line_changes"]

_COMPARED = 2_000
_GENERATED = frozenset(
    "node_modules dist build target out coverage __pycache__ .pytest_cache .mypy_cache "
    ".ruff_cache .next .nuxt .cache .turbo .venv venv .tox htmlcov tmp".split()
)


class _File:
    """What is known of one path. `existed` is about the beginning, `exists` about now."""

    def __init__(self, existed: bool) -> None:
        self.existed = existed
        self.exists = existed
        self.touched = False
        self.committed = False
        self.content: str | None = None
        self.added: int | None = None
        self.removed: int | None = None

    def grew(self, added: int | None, removed: int | None) -> None:
        self.touched = True
        if added is not None:
            self.added = (self.added or 0) + added
        if removed is not None:
            self.removed = (self.removed or 0) + removed


class FileBook:
    """Enters acts in their order and tells the files by what became of them."""

    def __init__(self, folder: str = "") -> None:
        self._folder = folder
        self._files: dict[str, _File] = {}
        self._read: dict[str, None] = {}

    def enter(self, act: Act) -> None:
        """One more act; those that are not about files change nothing."""
        match act:
            case Read():
                self._was_read(act)
            case Wrote():
                self._was_written(act)
            case Edited():
                self._was_edited(act)
            case Deleted():
                self._was_deleted(self._shown(act.path), act.folder)
            case Moved():
                self._was_moved(self._shown(act.source), self._shown(act.target))
            case Restored():
                self._was_restored(self._shown(act.path) if act.path else "")
            case Committed():
                for file in self._files.values():
                    file.committed = True
            case _:
                pass

    def files(self) -> Files:
        """All files by what became of them."""
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

    def _shown(self, path: str) -> str:
        return shown(path, self._folder)

    def _file(self, path: str, existed: bool) -> _File:
        return self._files.setdefault(path, _File(existed))

    def _was_read(self, act: Read) -> None:
        path = self._shown(act.path)
        self._read[path] = None
        file = self._file(path, existed=True)
        if act.content is not None:
            file.content = act.content

    def _was_written(self, act: Wrote) -> None:
        path = self._shown(act.path)
        known = self._files.get(path)
        if act.content == "" and act.appended and known is not None and known.exists:
            return  # touched, as the program of that name does
        was_there = act.was_there
        if was_there is None:
            was_there = act.appended and act.content != ""
        file = self._file(path, existed=was_there)
        _write(file, act)
        file.exists = True

    def _was_edited(self, act: Edited) -> None:
        file = self._file(self._shown(act.path), existed=True)
        file.exists = True
        for old, new in act.replaced:
            if act.added is None:
                file.grew(*line_changes(old, new))
            if file.content is not None and old in file.content:
                file.content = file.content.replace(old, new, 1)
        if not act.replaced or act.added is not None:
            file.grew(act.added, act.removed)
        if not act.replaced:
            file.content = None

    def _was_deleted(self, path: str, is_folder: bool) -> None:
        inside = [p for p in self._files if p.startswith(f"{path}/")] if is_folder else []
        for each in inside:
            self._gone(each)
        if path not in self._files and (inside or path.split("/")[-1] in _GENERATED):
            return
        self._gone(path)

    def _gone(self, path: str) -> None:
        file = self._file(path, existed=True)
        file.exists, file.touched, file.content = False, True, None

    def _was_moved(self, source: str, target: str) -> None:
        inside = [p for p in self._files if p.startswith(f"{source}/") and self._files[p].exists]
        if inside and source not in self._files:
            for each in inside:
                self._was_moved(each, target + each[len(source) :])
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
        self._gone(source)

    def _was_restored(self, path: str) -> None:
        chosen = [path] if path else list(self._files)
        for each in chosen:
            file = self._files.get(each)
            if file is not None and file.existed and not file.committed:
                self._files[each] = _File(existed=True)


def _write(file: _File, act: Wrote) -> None:
    if act.added is not None:
        file.grew(act.added, act.removed)
        file.content = act.content
    elif act.content is None:
        file.grew(None, None)
        file.content = None
    elif act.appended:
        file.grew(_lines(act.content), 0)
        file.content = None if file.content is None else file.content + act.content
    elif file.exists and file.existed and file.content is not None:
        file.grew(*line_changes(file.content, act.content))
        file.content = act.content
    else:
        file.grew(_lines(act.content), 0 if not file.existed else None)
        file.content = act.content


def _created(path: str, file: _File) -> FileTouched:
    if file.content is not None:
        return FileTouched(path, _lines(file.content), 0)
    return FileTouched(path, file.added, file.removed)


def _lines(text: str) -> int:
    return len(text.splitlines())


def line_changes(old: str, new: str) -> tuple[int, int]:
    """How many lines were added and how many removed.

    >>> line_changes("a\\nb\\nc", "a\\nx\\ny\\nc")
    (2, 1)
    """
    before, after = old.splitlines(), new.splitlines()
    if len(before) + len(after) > _COMPARED:
        gone, come = Counter(before), Counter(after)
        return (come - gone).total(), (gone - come).total()
    added = removed = 0
    for tag, i, j, k, m in _changes(before, after):
        if tag != "equal":
            removed += j - i
            added += m - k
    return added, removed


def _changes(before: list[str], after: list[str]) -> Iterator[tuple[str, int, int, int, int]]:
    yield from SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
