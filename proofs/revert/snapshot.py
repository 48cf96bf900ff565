"""What a workspace contains at one moment, and which of it a checkpoint must cover."""

import os
import stat
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

LARGE = 10_000_000
IGNORED_NAME, IGNORED_FOLDER = ".ign", "built"
_CONTENT = 1_000_000


class Entry(Struct, frozen=True):
    """A file or a symlink: its content or target, and its permissions."""

    kind: str
    content: bytes
    mode: int


class Snapshot(Struct, frozen=True):
    """The files and folders of a workspace, by their paths, and what git makes of them."""

    files: dict[str, Entry]
    folders: dict[str, int]
    nested: frozenset[str]
    tracked: frozenset[str]
    ignores_names: bool
    ignores_folder: bool
    privileged: bool

    def covered(self, path: str) -> bool | None:
        """Whether a checkpoint must cover a path; None if it may."""
        entry = self.files.get(path)
        if entry is None:
            return False
        above = _above(path)
        if any(folder in self.nested for folder in above):
            return False
        if entry.kind == "large":
            return False
        if not self._readable(entry, above):
            # In a folder that can be entered and not listed, files that are known are covered, and
            # so are links, which have no permissions of their own: they are saved before a revert
            # removes them. What must never be deleted is what existed and was not covered.
            known = all(self.folders.get(folder, 0o700) & stat.S_IXUSR for folder in above)
            is_readable = entry.kind == "link" or entry.mode & stat.S_IRUSR
            return None if known and is_readable else False
        return None if self._ignored(path) and path not in self.tracked else True

    def may_hold(self, path: str) -> bool:
        """Whether the path is below something that existed and that a checkpoint does not cover."""
        above = _above(path)
        return (
            any(folder in self.nested for folder in above)
            or any(each in self.folders and self._ignored(f"{each}/") for each in above)
            or any(not self._open(folder) for folder in above)
        )

    def blocked(self, path: str) -> bool:
        """Whether something that must not be touched is in the way of a path."""
        above = _above(path)
        if any(folder in self.nested for folder in above):
            return True
        if any(folder in self.files and not self.covered(folder) for folder in above):
            return True
        if any(not self._writable(folder) for folder in above):
            return True
        inside = [each for each in self.files if each.startswith(f"{path}/")]
        return any(not self.covered(each) for each in inside) or any(
            each == path or each.startswith(f"{path}/") for each in self.nested
        )

    def _ignored(self, path: str) -> bool:
        """Whether a rule ignores the path, or a folder around it. Folders end with a slash.

        `*.ign` means files and folders, and `/built/`, which ends with a slash, folders only. What
        is below an ignored folder is ignored too.
        """
        named = self.ignores_names and any(part.endswith(IGNORED_NAME) for part in path.split("/"))
        return named or (self.ignores_folder and path.startswith(f"{IGNORED_FOLDER}/"))

    def _readable(self, entry: Entry, above: list[str]) -> bool:
        if self.privileged:
            return True
        return all(self._open(folder) for folder in above) and (
            entry.kind == "link" or bool(entry.mode & stat.S_IRUSR)
        )

    def _open(self, folder: str) -> bool:
        return self.privileged or self.folders.get(folder, 0o700) & 0o500 == 0o500

    def _writable(self, folder: str) -> bool:
        return self.privileged or self.folders.get(folder, 0o700) & 0o700 == 0o700


def take(root: Path) -> Snapshot:
    """Reads everything, also what cannot be read: permissions are changed for a moment."""
    files: dict[str, Entry] = {}
    folders: dict[str, int] = {}
    nested: set[str] = set()
    _walk(root, "", files, folders, nested)
    rules = _text(root / ".gitignore") + _text(root / ".git" / "info" / "exclude")
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=root, capture_output=True, check=False
    ).stdout
    return Snapshot(
        files,
        folders,
        frozenset(nested),
        frozenset(os.fsdecode(listed).split("\0")),
        f"*{IGNORED_NAME}\n" in rules,
        f"/{IGNORED_FOLDER}/\n" in rules,
        os.geteuid() == 0,
    )


def _walk(
    folder: Path,
    start: str,
    files: dict[str, Entry],
    folders: dict[str, int],
    nested: set[str],
) -> None:
    for path in sorted(folder.iterdir()):
        shown, state = f"{start}{path.name}", path.lstat()
        mode = stat.S_IMODE(state.st_mode)
        if path.name == ".git":
            if start:
                nested.add(start.rstrip("/"))
        elif stat.S_ISLNK(state.st_mode):
            files[shown] = Entry("link", os.fsencode(os.readlink(path)), 0)
        elif stat.S_ISDIR(state.st_mode):
            folders[shown] = mode
            with _opened(path, mode, 0o700):
                _walk(path, f"{shown}/", files, folders, nested)
        elif state.st_size > _CONTENT:
            files[shown] = Entry("large", str(state.st_size).encode(), mode)
        else:
            with _opened(path, mode, 0o400):
                files[shown] = Entry("file", path.read_bytes(), mode)


@contextmanager
def _opened(path: Path, mode: int, needed: int) -> Generator[None]:
    """Gives the owner the permissions that are needed, while the block runs."""
    if mode & needed == needed or os.geteuid() == 0:
        yield
        return
    os.chmod(path, mode | needed)
    try:
        yield
    finally:
        os.chmod(path, mode)


def take_outside(home: Path, root: Path) -> dict[str, tuple[int, int, int]]:
    """The state of every file of the home folder outside the workspace."""
    found: dict[str, tuple[int, int, int]] = {}
    for base, folders, names in os.walk(home):
        folders[:] = [
            name for name in folders if Path(base, name) != root and name not in (".git", "sapwood")
        ]
        for name in names:
            state = os.lstat(os.path.join(base, name))
            found[os.path.join(base, name)] = (state.st_size, state.st_mode, state.st_mtime_ns)
    return found


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def _above(path: str) -> list[str]:
    parts = path.split("/")[:-1]
    return ["/".join(parts[: number + 1]) for number in range(len(parts))]
