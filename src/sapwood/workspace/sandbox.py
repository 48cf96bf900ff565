"""The sandbox of `shell`: bubblewrap (`bwrap`), where the system has it.

A command sees the system read-only, an empty home folder, an empty `/tmp`, and the workspace, which
it can write. Sapwood's own files are invisible. The command has process ids of its own, so that
everything it started ends with it, also what left its session.
"""

import os
import shutil
import subprocess
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from msgspec import Struct

__all__ = ["Sandbox", "sandbox_problem"]

_PROBE_SECONDS = 10.0
_TOOLS = (
    *(".pyenv", ".cargo/bin", ".rustup", ".nvm", ".asdf", ".volta", ".bun", ".deno", ".rbenv"),
    *(".sdkman", ".nix-profile", ".local/bin", ".local/lib", ".local/share/uv"),
    *(".local/share/mise", ".local/pipx", "go"),
)
"""Folders of the home folder that contain programs and no secrets; they are visible, read-only."""
_PRIVATE = (
    *(".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".config/gcloud", ".config/gh"),
    *(".netrc", ".git-credentials", ".npmrc", ".pypirc", ".pgpass", ".password-store"),
    *(".cargo/credentials.toml", ".mozilla", ".bash_history", ".zsh_history"),
)
"""Files of the home folder that stay hidden even if the home folder is the workspace."""
_EMPTY = ("/tmp", "/var/tmp", "/run", "/home")
_NOT_INSTALLED = "bubblewrap is not installed (the program bwrap)"


class Sandbox(Struct, frozen=True):
    """How commands are confined.

    `network`: commands may use the network. `readable` are more files and folders of the home
    folder that commands may read. `hidden` are files and folders that they must not see, wherever
    they are.
    """

    network: bool = True
    readable: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    home: str = ""

    def command(self, arguments: Sequence[str], root: str, folder: str) -> list[str]:
        """The command line that runs `arguments` in `folder` of the workspace `root`."""
        home = os.path.realpath(self.home or os.path.expanduser("~"))
        options = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
        for empty in (*_EMPTY, home):
            if os.path.isdir(empty) and empty != "/":
                options += ["--tmpfs", empty]
        options += self._visible(home)
        for place in _repository_folders(root, home):
            options += ["--bind", place, place]
        options += ["--bind", root, root]
        for guarded in _guarded_git_files(root, home):
            options += ["--ro-bind", guarded, guarded]
        private = _PRIVATE if os.path.commonpath([home, root]) == root else ()
        for path in (*self.hidden, *(os.path.join(home, name) for name in private)):
            if os.path.commonpath([path, root]) != path:
                options += _hide(path)
        options += ["--unshare-pid", "--unshare-ipc", "--unshare-uts"]
        if not self.network:
            options += ["--unshare-net"]
        for name, value in (("TMPDIR", "/tmp"), *_git_identity()):
            options += ["--setenv", name, value]
        options += ["--cap-drop", "ALL", "--die-with-parent"]
        return ["bwrap", *options, "--chdir", folder, "--", *arguments]

    def _visible(self, home: str) -> list[str]:
        options: list[str] = []
        for name in (*_TOOLS, *self.readable):
            path = os.path.realpath(os.path.join(home, name.removeprefix("~/")))
            if os.path.exists(path) and path != home:
                options += ["--ro-bind", path, path]
        names = os.path.realpath("/etc/resolv.conf")  # is below /run on some systems
        if self.network and os.path.exists(names):
            options += ["--ro-bind", names, names]
        return options


@lru_cache(maxsize=1)
def sandbox_problem() -> str:
    """Why commands cannot be confined on this machine; empty if they can. It is found out once."""
    if shutil.which("bwrap") is None:
        return _NOT_INSTALLED
    command = Sandbox().command(["true"], "/usr", "/usr")
    try:
        done = subprocess.run(command, capture_output=True, timeout=_PROBE_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"bubblewrap cannot be run: {error}"
    if done.returncode == 0:
        return ""
    lines = done.stderr.decode(errors="replace").strip().splitlines() or ["it failed"]
    return f"bubblewrap does not work here: {lines[-1].removeprefix('bwrap: ')}"


@lru_cache(maxsize=1)
def _git_identity() -> tuple[tuple[str, str], ...]:
    """The user's name and address for commits: the file with them may contain secrets too."""
    found: list[tuple[str, str]] = []
    for setting, ending in (("user.name", "NAME"), ("user.email", "EMAIL")):
        command = ["git", "config", "--global", "--get", setting]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=False)
        except (OSError, subprocess.TimeoutExpired):
            return ()
        value = done.stdout.strip()
        names = (f"GIT_AUTHOR_{ending}", f"GIT_COMMITTER_{ending}")
        found += [(name, value) for name in names if value and name not in os.environ]
    return tuple(found)


def _hide(path: str) -> list[str]:
    """Puts an empty folder or an empty file over a path, if it exists."""
    if os.path.isdir(path):
        return ["--tmpfs", path]
    return ["--ro-bind", "/dev/null", path] if os.path.exists(path) else []


def _repository_folders(root: str, home: str) -> list[str]:
    """The git folders of the workspace that are not inside it: git needs them to commit."""
    places = _git_folders(root, home)
    return [place for place in places if os.path.commonpath([place, root]) != root]


def _guarded_git_files(root: str, home: str) -> list[str]:
    """Files of git that name programs. Git would run these outside the sandbox later."""
    found: list[str] = []
    for place in _git_folders(root, home):
        found += [os.path.join(place, "hooks"), os.path.join(place, "config")]
    return [path for path in found if os.path.exists(path) and not os.path.islink(path)]


def _git_folders(root: str, home: str) -> list[str]:
    """The git folder of the worktree around a folder, and the one of all its worktrees."""
    for folder in (root, *map(str, Path(root).parents)):
        if folder == home and folder != root:
            return []  # a repository of the whole home folder stays hidden
        entry = os.path.join(folder, ".git")
        if os.path.isdir(entry):
            return [os.path.realpath(entry)]
        if os.path.isfile(entry):
            return _linked_git_folders(entry)
    return []


def _linked_git_folders(entry: str) -> list[str]:
    """The git folders that the file `.git` of a linked worktree names."""
    own = _content(entry).removeprefix("gitdir: ")
    own = os.path.realpath(os.path.join(os.path.dirname(entry), own))
    # A command could write this file itself. Only the repository can name the worktree.
    if os.path.realpath(_content(os.path.join(own, "gitdir")) or "/") != os.path.realpath(entry):
        return []
    common = os.path.realpath(os.path.join(own, _content(os.path.join(own, "commondir"))))
    return [common] if os.path.isdir(common) and os.path.basename(common) == ".git" else []


def _content(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""
