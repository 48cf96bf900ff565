"""The git repository of a workspace, and the private folder in it that checkpoints use.

The private folder is a git folder of its own that shares only the object store with the user's. So
the user's configuration and attributes do not change how files become objects and back, and no
filter runs.
"""

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from hashlib import sha256

from msgspec import Struct

from sapwood.core.checkpoint import Unsaved
from sapwood.core.ids import AgentId
from sapwood.workspace.checkpoints.git_command import Git, GitError

__all__ = [
    "REFS",
    "Repository",
    "delete_index",
    "find_repository",
    "locked",
    "ref_of",
    "reset_private_folder",
]

REFS = "refs/sapwood/checkpoints"

_REF_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")
_MAX_REF_NAME = 60
_ATTRIBUTES = b"* -text !eol !ident !filter !working-tree-encoding\n"
_NO_REPOSITORY = "{folder} is in no git repository. To have checkpoints, type git init there."
_IGNORED = (
    "{folder} is ignored by the git repository around it. To have checkpoints, type git init there."
)
_NOT_TRUSTED = (
    "Git does not trust {folder}, because it belongs to another user. To have checkpoints, type "
    "git config --global --add safe.directory {folder}."
)
_UNUSABLE = (
    "{folder} can have no checkpoints: its path contains a line break, or git is older than 2.31. "
    "Rename it, or install a newer git."
)


class Repository(Struct, frozen=True):
    """A repository: the `top` of the worktree, its git folder, and the one of all worktrees."""

    top: str
    folder: str
    common: str
    format: str
    excludes: str

    @property
    def private(self) -> str:
        """Sapwood's own folder in the git folder."""
        return os.path.join(self.folder, "sapwood")

    @property
    def index(self) -> str:
        """The user's index, which is only read."""
        return os.path.join(self.folder, "index")

    def files(self, index: str = "") -> Git:
        """Git on the files, with Sapwood's own index unless another one is given."""
        return Git(
            self.top,
            {
                "GIT_DIR": self.private,
                "GIT_WORK_TREE": self.top,
                "GIT_OBJECT_DIRECTORY": os.path.join(self.common, "objects"),
                "GIT_INDEX_FILE": index or os.path.join(self.private, "index"),
                **_NO_CONFIGURATION,
                **self._exclusion(),
            },
        )

    def _exclusion(self) -> dict[str, str]:
        if not self.excludes:
            return {}
        return {
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "core.excludesFile",
            "GIT_CONFIG_VALUE_0": self.excludes,
        }

    def refs(self) -> Git:
        """Git on the user's refs."""
        return Git(self.top, {"GIT_DIR": self.common, **_NO_CONFIGURATION})


_NO_CONFIGURATION = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
}


def ref_of(agent: AgentId) -> str:
    """The ref of an agent's checkpoints; characters that a ref cannot contain are encoded.

    >>> ref_of(AgentId("k3h7wq2mzp")), ref_of(AgentId("a.b"))
    ('refs/sapwood/checkpoints/k3h7wq2mzp', 'refs/sapwood/checkpoints/a=2Eb')
    """
    name = agent.encode("utf-8")
    if len(name) > _MAX_REF_NAME:
        return f"{REFS}/{sha256(name).hexdigest()}"
    letters = (chr(byte) if chr(byte) in _REF_CHARACTERS else f"={byte:02X}" for byte in name)
    return f"{REFS}/{''.join(letters)}"


def find_repository(folder: str) -> Repository | Unsaved:
    """The repository of a folder, or an `Unsaved` that says what to do to get one."""
    if not folder:
        return _no_checkpoints("This agent has no workspace, so there are no files to save.")
    folder = os.path.realpath(os.path.expanduser(folder))
    if not os.path.isdir(folder):
        return _no_checkpoints(
            f"The workspace {folder} is not on this machine. Revert where its files are."
        )
    git = Git(folder, {})
    try:
        found = git.run(
            *("rev-parse", "--path-format=absolute", "--is-inside-work-tree"),
            *("--show-object-format", "--show-toplevel", "--git-dir", "--git-common-dir"),
        )
        inside, form, top, own, common = os.fsdecode(found).removesuffix("\n").split("\n")
        if inside != "true":
            return _no_checkpoints(_NO_REPOSITORY.format(folder=folder))
        if folder != top and git.run("check-ignore", "--", folder, codes=(0, 1)):
            return _no_checkpoints(_IGNORED.format(folder=folder))
        excludes = git.run("config", "--type=path", "--get", "core.excludesFile", codes=(0, 1))
    except GitError as error:
        return _git_problem(folder, str(error))
    except ValueError:
        return _no_checkpoints(_UNUSABLE.format(folder=folder))
    return Repository(top, own, common, form, os.fsdecode(excludes).removesuffix("\n"))


def _no_checkpoints(reason: str) -> Unsaved:
    return Unsaved(reason, failed=False)


def _git_problem(folder: str, problem: str) -> Unsaved:
    if "not a git repository" in problem or "must be run in a work tree" in problem:
        return _no_checkpoints(_NO_REPOSITORY.format(folder=folder))
    if "not installed" in problem:
        return _no_checkpoints(
            "Checkpoints need git, which is not installed. Install it and try again."
        )
    if "dubious ownership" in problem:
        return _no_checkpoints(_NOT_TRUSTED.format(folder=folder))
    return Unsaved(f"Git cannot use {folder}: {problem}.")


@contextmanager
def locked(repository: Repository) -> Generator[None]:
    """Holds the lock of the private folder, which is created and updated first."""
    os.makedirs(repository.private, exist_ok=True)
    lock = os.open(os.path.join(repository.private, "lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _prepare(repository)
        yield
    finally:
        os.close(lock)


def reset_private_folder(repository: Repository) -> None:
    """Creates the private folder again after it was damaged. The caller must hold the lock."""
    delete_index(repository)
    for name in ("config", "HEAD"):
        with suppress(FileNotFoundError):
            os.unlink(os.path.join(repository.private, name))
    _prepare(repository)


def delete_index(repository: Repository) -> None:
    """Deletes Sapwood's own index, so that the next save reads every file."""
    with suppress(FileNotFoundError):
        os.unlink(os.path.join(repository.private, "index"))


def _prepare(repository: Repository) -> None:
    private = repository.private
    if not os.path.exists(os.path.join(private, "config")):
        form = () if repository.format == "sha1" else (f"--object-format={repository.format}",)
        variables = {"GIT_DIR": private, **_NO_CONFIGURATION}
        Git(repository.top, variables).run("init", "--quiet", "--template=", *form)
    os.makedirs(os.path.join(private, "info"), exist_ok=True)
    _write_if_changed(os.path.join(private, "info", "attributes"), _ATTRIBUTES)
    _write_if_changed(os.path.join(private, "info", "exclude"), _exclude_rules(repository))
    with suppress(FileNotFoundError):  # left by a process that was killed; the lock excludes others
        os.unlink(os.path.join(private, "index.lock"))


def _exclude_rules(repository: Repository) -> bytes:
    try:
        with open(os.path.join(repository.common, "info", "exclude"), "rb") as file:
            return file.read()
    except OSError:
        return b""


def _write_if_changed(path: str, content: bytes) -> None:
    with suppress(FileNotFoundError), open(path, "rb") as file:
        if file.read() == content:
            return
    with open(path, "wb") as file:
        file.write(content)
