"""Files for which only a rule for exactly that path counts, and no permission mode.

Such a file makes a program run something (a hook of git, a start-up file of a shell, the settings
of an agent), holds the rules themselves, or is private. Whoever may write 'all files' is not meant
to write these. `guarded_files.py` has the names; this module judges a place by its name, by where
it is, by its content, by the other names of the same file (hard links), and by the protected links
that lead to it.
"""

import glob
import os
import re
import stat
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from sapwood.workspace.permissions.git_checkout import checkout_operands
from sapwood.workspace.permissions.guarded_files import (
    private_files_of_homes,
    why_private,
    why_runs_programs,
)
from sapwood.workspace.permissions.printed_values import SOME_FILE
from sapwood.workspace.permissions.printing_scripts import files_of_script
from sapwood.workspace.permissions.shell_commands import simple_commands
from sapwood.workspace.safe_paths import ResolvedPath, real_path

_ALWAYS = frozenset((".git", ".ssh", ".gnupg"))
"""Folders that stay guarded when the workspace is in one of them."""
_PEM_SUFFIXES = (".pem", ".key")
_PRIVATE_KEY = re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY")
_IN_REPOSITORY = frozenset(
    "head config config.worktree commondir gitdir objects refs hooks info index packed-refs "
    "worktrees modules reftable".split()
)
"""The names that git reads in a folder that it takes for a repository."""
_HOOKS_PATH = re.compile(r"^\s*hookspath\s*=\s*\"?(.+?)\"?\s*$", re.IGNORECASE | re.MULTILINE)


_MAX_PRIVATE_FILES = 20_000
_MAX_DEPTH = 4
_MAX_WORDS = 500
_MAX_LISTED = 20_000
_MAX_LEVELS = 200
_SYSTEM = ("/usr/", "/bin/", "/lib/", "/lib64/", "/opt/", "/nix/store/")
"""Where programs and libraries are: links to them are in every environment of Python."""
_TARGETS_SECONDS = 1.0
"""How long the targets of links are used again: a command line has many words."""
_INODES_SECONDS = 1.0
"""How long the list of private files that exist is used again: a search looks at many files."""


class PathGuards:
    """Says which files are guarded. `own` are Sapwood's own folders and files, as absolute paths.

    `keys` is the file of API keys, which is not read without a question either. `home` is the
    folder in which private files are looked for, if a file has several names.
    """

    def __init__(self, own: Iterable[str] = (), keys: str = "", home: str = "") -> None:
        self._own = tuple(real_path(path) for path in own)
        self._keys = real_path(keys) if keys else ""
        self._home = real_path(home or os.path.expanduser("~"))
        self._inodes: tuple[float, frozenset[tuple[int, int]] | None] = (float("-inf"), None)
        self._targets: tuple[float, str, Mapping[str, str]] = (float("-inf"), "", {})

    def against_writing(self, place: ResolvedPath) -> str:
        """Why writing here needs a rule for exactly this path; '' if it does not."""
        return self.against_writing_itself(place) or self._by_link(place)

    def against_writing_itself(self, place: ResolvedPath) -> str:
        """The same without the links of the workspace that lead here."""
        return self.against_writing_name(place) or _by_repository(place) or _by_hooks_path(place)

    def against_writing_name(self, place: ResolvedPath) -> str:
        """The same by the path alone, for a file that is one of many."""
        if any(_is_in(place.real, own) for own in self._own):
            return _sentence(place, "it belongs to Sapwood: its settings, rules, keys or database")
        return _by_name(place) or self._by_home(place)

    def against_reading(self, place: ResolvedPath) -> str:
        """Why reading this file needs a rule for exactly this path; '' if it does not."""
        return self.against_reading_name(place.real, place.shown) or _by_content(place)

    def against_reading_name(self, path: str, shown: str) -> str:
        """The same by the absolute path alone, for a file that is one of many."""
        if why := why_private(path):
            return f"{shown} is protected: it may hold private keys or passwords ({why})."
        if self._is_own(path):
            return f"{shown} is protected: it belongs to Sapwood and may hold keys."
        if self._is_link_to_private(path):
            return f"{shown} is protected: it is another name for a private file."
        return ""

    def words_astray(self, folder: ResolvedPath, line: str) -> tuple[str, ...]:
        """The words of a command line that are files outside the workspace or private files.

        They can look like files of the workspace: a symlink, a hard link, a pattern that matches
        one. So can files that `git checkout` overwrites look like branches. With too many words for
        a check, all of them are returned.
        """
        commands = simple_commands(line) or ()
        words: dict[str, str] = {}
        written: dict[str, str] = {}
        overwritten: list[str] = []
        read: list[tuple[str, str, str]] = []
        for command in commands:
            top = os.path.join(folder.root, command.folder_from(folder.shown) or folder.shown)
            words |= dict.fromkeys((*command.words[1:], *command.inputs), top)
            written |= dict.fromkeys(command.outputs, top)
            files = files_of_script(command.words) or ()
            read += [(command.words[2], file, top) for file in files]
            overwritten += (
                word
                for word in checkout_operands(command.words)
                if command.folder is None or _exists(os.path.join(top, word))
            )
        if len(words) > _MAX_WORDS:
            return (*words, *written)
        return (
            *(word for word, top in words.items() if self._leads_astray(folder, top, word)),
            *(word for word, file, top in read if self._leads_astray(folder, top, file)),
            *(word for word, top in written.items() if self._is_written_astray(folder, top, word)),
            *overwritten,
        )

    def _is_written_astray(self, folder: ResolvedPath, top: str, word: str) -> bool:
        """Whether `> word` writes outside the workspace or a protected file; it may not exist."""
        if not word.isprintable() or len(word) > 4_096:
            return True
        place = ResolvedPath(folder.root, real_path(os.path.join(top, word)), word)
        return not place.is_inside or bool(self.against_writing(place))

    def _is_listing_astray(self, folder: ResolvedPath, top: str, start: str) -> bool:
        """Whether a file below a folder is private, or has a name that is more than a name.

        A line that lists files and reads them follows links, and a name with a space can become
        several words.
        """
        count = 0
        for at, folders, files in os.walk(os.path.join(top, start)):
            if at.count("/") > _MAX_LEVELS:
                return True
            folders[:] = [name for name in folders if name != ".git"]
            for name in (*folders, *files):
                count += 1
                path = os.path.join(at, name)
                pieces = os.path.relpath(path, top).split()
                if count > _MAX_LISTED or (len(pieces) > 1 and any(map(_is_risky, pieces))):
                    return True
                if name.startswith("-") or why_private(path):
                    return True
                real = real_path(path) if os.path.islink(path) else path
                if real != path and not (_is_in(real, folder.root) or real.startswith(_SYSTEM)):
                    return True
                if real != path and why_private(real):
                    return True
        return False

    def _leads_astray(self, folder: ResolvedPath, top: str, word: str) -> bool:
        if SOME_FILE in word:
            return self._is_listing_astray(folder, top, word.partition(SOME_FILE)[0])
        path = os.path.join(top, word.rpartition("=")[2])
        found = glob.iglob(path) if set("*?[") & set(word) else (path,)
        for each in islice(found, _MAX_WORDS):
            if len(each) > 4_096 or "\0" in each or not os.path.lexists(each):
                continue
            place = ResolvedPath(folder.root, real_path(each), word)
            pieces = os.path.relpath(each, top).split()
            if len(pieces) > 1 and each != path and any(map(_is_risky, pieces)):
                return True
            if not place.is_inside or self.against_reading(place):
                return True
        return False

    def _is_own(self, path: str) -> bool:
        """Whether it is a file of Sapwood's own. Folders in them can be workspaces."""
        return path == self._keys or path in self._own or os.path.dirname(path) in self._own

    def _by_home(self, place: ResolvedPath) -> str:
        """Whether it is in a hidden folder at the top of the home folder, or is such a file."""
        if not any(self._is_hidden(path, place.root) for path in (place.real, _typed(place))):
            return ""
        return _sentence(
            place, "programs read their settings from hidden files in your home directory"
        )

    def _is_hidden(self, path: str, root: str) -> bool:
        if not _is_in(path, self._home):
            return False
        top = os.path.relpath(path, self._home).split("/")[0]
        return top.startswith(".") and top != "." and not _is_in(root, f"{self._home}/{top}")

    def _by_link(self, place: ResolvedPath) -> str:
        """Whether a protected link of the workspace leads here, or to a folder around it."""
        if not place.is_inside:
            return ""
        known = self._targets
        if known[1] != place.root or time.monotonic() - known[0] > _TARGETS_SECONDS:
            targets = self._link_targets(place.root)
            # A search can take longer than its answer holds, so that begins after it.
            known = self._targets = (time.monotonic(), place.root, targets)
        found = next((link for to, link in known[2].items() if _is_in(place.real, to)), "")
        return _sentence(place, f"the protected {found} is a link to it") if found else ""

    def _link_targets(self, root: str) -> dict[str, str]:
        """Where the protected links of a workspace lead to in it, each with its link."""
        targets: dict[str, str] = {}
        for path in _links_in(root):
            real = real_path(os.path.join(root, path))
            place = ResolvedPath(root, real, path)
            if place.is_inside and real != root and self.against_writing_name(place):
                targets.setdefault(real, path)
        return targets

    def _is_link_to_private(self, path: str) -> bool:
        """Whether the file has another name, which is that of a private file."""
        try:
            found = os.stat(path, follow_symlinks=False)
        except OSError:
            return False
        if found.st_nlink < 2 or not stat.S_ISREG(found.st_mode):
            return False
        known = self._private_inodes()
        return known is None or (found.st_dev, found.st_ino) in known

    def _private_inodes(self) -> frozenset[tuple[int, int]] | None:
        """The private files that exist and have several names; None if there are too many."""
        now = time.monotonic()
        if now - self._inodes[0] > _INODES_SECONDS:
            places = (os.path.join(self._home, each) for each in private_files_of_homes())
            self._inodes = (now, _linked_files((*places, *self._own, self._keys)))
        return self._inodes[1]


def _exists(path: str) -> bool:
    """Whether something has this path; also true of a text that cannot be looked for."""
    return len(path) > 4_096 or "\0" in path or os.path.lexists(path)


def _is_risky(piece: str) -> bool:
    """Whether a part of a name would be an option or another file, if it were a word by itself."""
    return piece.startswith(("-", "/", "~")) or ".." in piece.split("/") or bool(why_private(piece))


def _linked_files(places: Iterable[str]) -> frozenset[tuple[int, int]] | None:
    found: set[tuple[int, int]] = set()
    count = 0
    for place in places:
        for entry in _files_in(place, _MAX_DEPTH):
            count += 1
            if entry.st_nlink > 1:
                found.add((entry.st_dev, entry.st_ino))
            if count > _MAX_PRIVATE_FILES:
                return None
    return frozenset(found)


def _files_in(place: str, depth: int) -> Iterator[os.stat_result]:
    """The file, or the files in the folder and in the folders in it."""
    try:
        found = os.stat(place)
        if stat.S_ISREG(found.st_mode):
            yield found
        if not stat.S_ISDIR(found.st_mode) or not depth:
            return
        with os.scandir(place) as entries:
            below = [entry.path for entry in entries if not entry.is_symlink()]
    except OSError:
        return
    for path in below:
        yield from _files_in(path, depth - 1)


def _typed(place: ResolvedPath) -> str:
    """The path as it was given, absolute, with its links: one of them may be protected."""
    return os.path.normpath(os.path.join(place.root, os.path.expanduser(place.given)))


def _links_in(root: str) -> Iterator[str]:
    """The links of a workspace and among its hooks, those near the top first, but not all."""
    folders, count = deque(["", ".git/hooks"]), 0
    while folders and count < _MAX_LISTED:
        folder = folders.popleft()
        try:
            with os.scandir(os.path.join(root, folder)) as entries:
                found = [(each.name, each.is_symlink(), each.is_dir()) for each in entries]
        except OSError:
            continue
        count += len(found)
        for name, is_link, is_folder in found:
            path = os.path.join(folder, name)
            if is_link:
                yield path
            elif is_folder and name != ".git" and path.count("/") < _MAX_LEVELS:
                folders.append(path)


def _by_name(place: ResolvedPath) -> str:
    typed = os.path.relpath(_typed(place), place.root)
    why = why_runs_programs(place.shown) or why_runs_programs(typed)  # it may be a link
    if not why and place.is_inside:
        # The workspace itself may be in such a folder: a worktree in .claude is an ordinary one.
        above = place.root.casefold().split("/")
        why = next((why_runs_programs(name) for name in above if name in _ALWAYS), "")
    return _sentence(place, why) if why else ""


def _by_content(place: ResolvedPath) -> str:
    if not place.real.casefold().endswith(_PEM_SUFFIXES):
        return ""
    try:
        if not os.path.isfile(place.real):
            return ""
        with open(place.real, "rb") as file:
            head = file.read(4_096)
    except OSError:
        return ""
    return _sentence(place, "it holds a private key") if _PRIVATE_KEY.search(head) else ""


def _by_repository(place: ResolvedPath) -> str:
    """Whether the file is, or would become, part of a folder that git takes for a repository."""
    steps = place.steps
    if steps and steps[-1].casefold() == "head":
        return _sentence(place, "a file with this name makes git treat its folder as a repository")
    folder = place.top
    for step in steps:
        if step.casefold() in _IN_REPOSITORY and _has_head(folder):
            return _sentence(place, "git treats its folder as a repository and runs what it names")
        folder = os.path.join(folder, step)
    return ""


def _has_head(folder: str) -> bool:
    return any(os.path.lexists(os.path.join(folder, name)) for name in ("HEAD", "head"))


def _by_hooks_path(place: ResolvedPath) -> str:
    """Whether git runs the file as a hook, because the repository's settings name its folder."""
    if not place.is_inside:
        return ""
    try:
        with open(os.path.join(place.root, ".git", "config"), encoding="utf-8") as file:
            named = _HOOKS_PATH.findall(file.read(1_000_000))
    except (OSError, UnicodeDecodeError):
        return ""
    folders = (real_path(os.path.join(place.root, os.path.expanduser(n))) for n in named)
    if any(_is_in(place.real, folder) for folder in folders):
        return _sentence(place, "git runs the files in this folder as hooks")
    return ""


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _sentence(place: ResolvedPath, why: str) -> str:
    return f"{place.shown} is protected: {why}."
