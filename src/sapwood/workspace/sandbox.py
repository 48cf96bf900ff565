"""The sandbox of `shell`: bubblewrap (`bwrap`), where the system has it.

A command sees the system read-only, an empty home folder, an empty `/tmp`, and the workspace, which
it can write. Sapwood's own files are invisible. The command has process ids of its own, so that
everything it started ends with it, also what left its session. Folders are opened first and mounted
by their descriptors: a path could lead elsewhere by then.

The sandbox of `shell` in the folder of a space: a command sees the system and that folder.

`sandbox.py` confines the commands of the person at the machine, who may see most of it. Here only
what is named below is visible: no home folder, no folder of another space, no settings of services.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from msgspec import Struct

from sapwood.config.folders import sandbox_folder
from sapwood.workspace import abstract_sockets
from sapwood.workspace.permissions.guarded_files import private_files_of_homes
from sapwood.workspace.safe_paths import open_path

_PROBE_SECONDS = 10.0
_TOOLS = (
    *(
        ".pyenv",
        ".cargo/bin",
        ".cargo/registry",
        ".cargo/git",
        ".rustup",
        ".nvm",
        ".asdf",
        ".volta",
        ".bun",
        ".deno",
        ".rbenv",
    ),
    *(".sdkman", ".nix-profile", ".local/bin", ".local/lib", ".local/share/uv"),
    *(".local/share/mise", ".local/pipx", "go"),
    # The browsers that tests start.
    *(".cache/ms-playwright", ".cache/puppeteer", ".cache/Cypress"),
)
"""Folders of the home folder that contain programs and no secrets; they are visible, read-only."""
_EMPTY = ("/tmp", "/var/tmp", "/run", "/home", "/root")
_NOT_INSTALLED = "bubblewrap is not installed (the program bwrap)"


Access = Literal["write", "read", "hide"]
_NONE: Mapping[str, Access] = MappingProxyType({})


class SandboxCommand(Struct, frozen=True):
    """A command line of bubblewrap, and the descriptors that it needs."""

    arguments: list[str]
    handles: tuple[int, ...]


class Sandbox(Struct, frozen=True):
    """How commands are confined.

    `network`: commands may use the network. `readable` are more files and folders of the home
    folder that commands may read. `hidden` are files and folders that they must not see, wherever
    they are. `state` is the folder that keeps what was decided about each workspace.
    """

    network: bool = False
    readable: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    home: str = ""
    state: str = ""

    @property
    def home_folder(self) -> str:
        """The home folder, without symlinks."""
        return os.path.realpath(self.home or os.path.expanduser("~"))

    @property
    def state_folder(self) -> Path:
        """The folder that keeps what was decided about each workspace."""
        return Path(self.state) if self.state else sandbox_folder()

    @contextmanager
    def command(
        self, arguments: Sequence[str], root: str, folder: str, access: Mapping[str, Access] = _NONE
    ) -> Generator[SandboxCommand]:
        """The command that runs `arguments` in `folder` of the workspace `root`.

        `access` are files and folders with another access than what is around them. They must
        exist, and no part of their paths may be a symlink: otherwise this raises `OSError`.
        """
        home = self.home_folder
        options = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
        # For root, bubblewrap leaves it writable.
        options += ["--ro-bind", "/proc/sys", "/proc/sys"]
        for empty in (*_EMPTY, home):
            if os.path.isdir(empty) and empty != "/":
                options += ["--tmpfs", empty]
        visible = self._visible(home)
        for path in visible:
            options += ["--ro-bind", path, path]
        inside: dict[str, Access] = {path: "read" for path in visible if _is_in(path, root)}
        places: dict[str, Access] = {
            root: "write",
            **inside,
            **access,
            **self._hidden_in(root, home),
        }
        with ExitStack() as opened:
            handles: list[int] = []
            for path in sorted(places, key=_depth):  # what is around a place is mounted before it
                options += _mount(path, places[path], opened, handles)
            options += self._namespaces()
            line = ["bwrap", *options, "--chdir", folder, "--", *arguments]
            # Without a network of its own, a command would reach the abstract sockets of all.
            close = [sys.executable, "-I", "-S", abstract_sockets.__file__] if self.network else []
            yield SandboxCommand([*close, *line], tuple(handles))

    def _namespaces(self) -> list[str]:
        options = ["--unshare-pid", "--unshare-ipc", "--unshare-uts"]
        if not self.network:
            options += ["--unshare-net"]
        for name, value in (("TMPDIR", "/tmp"), *_git_identity()):
            options += ["--setenv", name, value]
        return [*options, "--cap-drop", "ALL", "--die-with-parent"]

    def _visible(self, home: str) -> list[str]:
        names = [os.path.join(home, name.removeprefix("~/")) for name in (*_TOOLS, *self.readable)]
        if self.network:
            names.append("/etc/resolv.conf")  # is below /run on some systems
        paths = dict.fromkeys(map(os.path.realpath, names))
        return [path for path in paths if os.path.exists(path) and path != home]

    def _hidden_in(self, root: str, home: str) -> dict[str, Access]:
        """What is hidden although it is in the workspace or elsewhere outside the home folder.

        The folders around a hidden one are mounted too, so that a command cannot rename them and
        look into what it finds there in its next call.
        """
        private = private_files_of_homes() if _is_in(home, root) else ()
        found: dict[str, Access] = {}
        for path in (*self.hidden, *(os.path.join(home, name) for name in private)):
            path = os.path.realpath(path)
            if _is_in(root, path) or not os.path.exists(path):
                continue
            around = [str(each) for each in Path(path).parents if _is_in(str(each), root)]
            found |= {each: "write" for each in around if found.get(each) != "hide"}
            found[path] = "hide"
        return found


def _mount(path: str, access: Access, opened: ExitStack, handles: list[int]) -> list[str]:
    if access == "hide":
        # Puts an empty folder or an empty file over the path.
        is_folder = os.path.isdir(path)
        return ["--tmpfs", path] if is_folder else ["--ro-bind", "/dev/null", path]
    handle = open_path(path)
    opened.callback(os.close, handle)
    handles.append(handle)
    return ["--bind-fd" if access == "write" else "--ro-bind-fd", str(handle), path]


def _depth(path: str) -> int:
    return path.rstrip("/").count("/")


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


@lru_cache(maxsize=1)
def sandbox_problem() -> str:
    """Why commands cannot be confined on this machine; empty if they can. It is found out once."""
    if shutil.which("bwrap") is None:
        return _NOT_INSTALLED
    try:
        with Sandbox().command(["true"], "/usr", "/usr") as command:
            done = subprocess.run(
                command.arguments,
                pass_fds=command.handles,
                capture_output=True,
                timeout=_PROBE_SECONDS,
                check=False,
            )
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


_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store")
_SETTINGS = (
    *("alternatives", "ca-certificates", "group", "hosts", "ld.so.cache", "ld.so.conf"),
    *("ld.so.conf.d", "localtime", "mime.types", "nsswitch.conf", "passwd", "pki", "protocols"),
    *("services", "ssl/certs", "ssl/openssl.cnf"),
)
"""Files of `/etc` that programs need and that contain no secrets."""


class TenantSandbox(Struct, frozen=True):
    """How commands in one folder are confined. Without `network`, they have none."""

    folder: str
    network: bool = False

    def command(self, arguments: Sequence[str], root: str, folder: str) -> list[str]:
        """The command line that runs `arguments` in `folder`; `root` is inside this sandbox too.

        The whole folder of the space is shown, so that a symlink which is put in place of `folder`
        at the last moment leads nowhere else.
        """
        options: list[str] = []
        for path in _SYSTEM:
            options += _shown(path)
        for name in _SETTINGS:
            options += _shown(f"/etc/{name}")
        names = os.path.realpath("/etc/resolv.conf")
        if self.network and os.path.exists(names):
            options += ["--ro-bind", names, "/etc/resolv.conf"]
        options += ["--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]
        options += ["--bind", self.folder, self.folder]
        options += ["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts"]
        options += ["--unshare-cgroup-try", *([] if self.network else ["--unshare-net"])]
        for name, value in (("HOME", self.folder), ("TMPDIR", "/tmp")):
            options += ["--setenv", name, value]
        options += ["--cap-drop", "ALL", "--new-session", "--die-with-parent"]
        return ["bwrap", *options, "--chdir", folder, "--", *arguments]


def _shown(path: str) -> list[str]:
    if os.path.islink(path):
        return ["--symlink", os.readlink(path), path]
    return ["--ro-bind", path, path] if os.path.exists(path) else []
