"""The store of a workspace's checkpoints: a git folder of its own, outside the workspace.

It is in Sapwood's data folder and readable by its owner alone. It has its own objects, refs and
index, and none of the user's configuration. So checkpoints outlive conversations, branches and the
repository's `.git`, nothing of the user's changes how files become objects and back, and no filter
runs. Of the user's repository only the ignore rules, the index and HEAD are read.

Deletes the checkpoints of an agent from every store of this machine.
"""

import os
import shutil
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256

from msgspec import Struct, structs

from sapwood.config.folders import checkpoints_folder
from sapwood.core.checkpoint import Unsaved
from sapwood.core.ids import AgentId, Space
from sapwood.private_files import lock_held, slug
from sapwood.workspace.checkpoints.file_replacement import remove_unfinished
from sapwood.workspace.checkpoints.git_command import Git, GitError, with_settings

_REFS = "refs/sapwood/checkpoints"
_REFS_OF_SPACES = "refs/sapwood/spaces"
_REF_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")
_MAX_REF_NAME = 60
_ATTRIBUTES = b"* -text !eol !ident !filter !working-tree-encoding\n"
_NO_REPOSITORY = "{folder} is not in a git repository. To enable checkpoints, type git init there."
_IGNORED = (
    "{folder} is ignored by the git repository around it. To enable checkpoints, type git "
    "init there."
)
_NOT_TRUSTED = (
    "Git does not trust {folder}, because it belongs to another user. To enable checkpoints, type "
    "git config --global --add safe.directory {folder}."
)
_UNUSABLE = (
    "{folder} cannot have checkpoints: its path contains a line break, or git is older than 2.31. "
    "Rename it, or install a newer git."
)
_NO_CONFIGURATION = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
}
_SETTINGS = {
    # Names such as git~1 are dangerous on other systems only; here they are ordinary files.
    "core.protectNTFS": "false",
    "core.protectHFS": "false",
    "core.looseCompression": "1",
    "gc.auto": "0",
}


class CheckpointStore(Struct, frozen=True):
    """The checkpoints of the folder `root`. Nothing outside `root` is saved or changed.

    `folder` is the store. `top` is the top of the git worktree around `root`, whose ignore rules
    apply, else `root` itself. `git` and `common` are the git folders of the user's repository, of
    this worktree and of all its worktrees; empty if there is no repository. `worktree` is where the
    paths of the user's index start: with core.worktree it can be above `top`. `excludes` is the
    user's file of global ignore rules.
    """

    root: str
    folder: str
    top: str
    git: str = ""
    common: str = ""
    worktree: str = ""
    format: str = ""
    excludes: str = ""

    @property
    def prefix(self) -> str:
        """The path of `root` below `top`, with a slash at the end; empty if they are the same."""
        return "" if self.root == self.top else os.path.relpath(self.root, self.top) + "/"

    @property
    def index(self) -> str:
        """The user's index, which is only read; empty if there is none."""
        path = os.path.join(self.git, "index") if self.git else ""
        return path if path and os.path.exists(path) else ""

    @property
    def branch(self) -> str:
        """The branch that the user's repository is on: 'HEAD' if it is on none, else its name."""
        if not self.git:
            return ""
        try:
            with open(os.path.join(self.git, "HEAD"), encoding="utf-8") as file:
                head = file.read(4096).strip()
        except (OSError, UnicodeDecodeError):
            return ""
        name = head.removeprefix("ref: ")
        return "HEAD" if name == head else name.removeprefix("refs/heads/")

    def files(self, *, objects: Sequence[str] = ()) -> Git:
        """Git on the files of `root`, with the store's index.

        `objects` are folders with further objects to read.
        """
        others = {"GIT_ALTERNATE_OBJECT_DIRECTORIES": ":".join(objects)} if objects else {}
        return self._git(self.top, os.path.join(self.folder, "index"), others)

    def tracked(self) -> list[bytes]:
        """The files below `root` that the user tracks."""
        if not self.index:
            return []
        found = self._git(self.worktree, self.index, {}).run("ls-files", "-z").split(b"\0")
        return [path for path in found if path]

    def _git(self, top: str, index: str, others: dict[str, str]) -> Git:
        variables = {"GIT_DIR": self.folder, "GIT_WORK_TREE": top, "GIT_INDEX_FILE": index}
        return Git(self.root, variables | _NO_CONFIGURATION | self._settings() | others)

    def _settings(self) -> dict[str, str]:
        settings = dict(_SETTINGS)
        if self.excludes:
            settings["core.excludesFile"] = self.excludes
        return with_settings(settings)

    def object_folders(self) -> list[str]:
        """The objects of all stores: a folder that was moved had another, as worktrees have."""
        base = os.path.dirname(self.folder)
        stores = [os.path.join(base, name, "objects") for name in sorted(os.listdir(base))]
        return [each for each in stores if ":" not in each and os.path.isdir(each)]


def ref_of(agent: AgentId, space: Space | None = None) -> str:
    """The ref of an agent's checkpoints; characters that a ref cannot contain are encoded.

    Without a space, that of earlier versions: agents of all spaces with the same id had one ref.

    >>> ref_of(AgentId("k3h7wq2mzp")), ref_of(AgentId("a.b"), Space("team"))
    ('refs/sapwood/checkpoints/k3h7wq2mzp', 'refs/sapwood/spaces/team/a=2Eb')
    """
    if space is None:
        return f"{_REFS}/{_encoded(agent)}"
    return f"{_REFS_OF_SPACES}/{_encoded(space)}/{_encoded(agent)}"


def _encoded(text: str) -> str:
    name = text.encode("utf-8")
    if len(name) > _MAX_REF_NAME:
        return sha256(name).hexdigest()
    return "".join(chr(byte) if chr(byte) in _REF_CHARACTERS else f"={byte:02X}" for byte in name)


def find_store(folder: str) -> CheckpointStore | Unsaved:
    """The store of a folder, or an `Unsaved` that says what to do to get one.

    A folder needs a git repository for its first checkpoint; later ones work without.
    """
    if not folder:
        return _no_checkpoints("This agent has no workspace, so there are no files to save.")
    root = os.path.realpath(os.path.expanduser(folder))
    if not os.path.isdir(root):
        return _no_checkpoints(
            f"The workspace {root} is not on this machine. Run the revert on the machine that "
            "has its files."
        )
    if "\n" in root:
        return _no_checkpoints(_UNUSABLE.format(folder=root))
    name = f"{slug(os.path.basename(root)) or 'root'}-{sha256(os.fsencode(root)).hexdigest()[:16]}"
    place = os.path.join(checkpoints_folder(), name)
    bare = CheckpointStore(root, place, root)
    found = _with_repository(bare)
    exists = os.path.exists(os.path.join(place, "config"))
    return bare if isinstance(found, Unsaved) and not found.failed and exists else found


def _with_repository(store: CheckpointStore) -> CheckpointStore | Unsaved:
    root = store.root
    git = Git(root, {})
    try:
        found = git.run(
            *("rev-parse", "--path-format=absolute", "--is-inside-work-tree"),
            *("--show-object-format", "--show-toplevel", "--git-dir", "--git-common-dir"),
        )
        inside, form, top, own, common = os.fsdecode(found).removesuffix("\n").split("\n")
        if inside != "true":
            return _no_checkpoints(_NO_REPOSITORY.format(folder=root))
        if root != top and git.run("check-ignore", "--", root, codes=(0, 1)):
            return _no_checkpoints(_IGNORED.format(folder=root))
        excludes = git.run("config", "--type=path", "--get", "core.excludesFile", codes=(0, 1))
    except GitError as error:
        return _git_problem(root, str(error))
    except ValueError:
        return _no_checkpoints(_UNUSABLE.format(folder=root))
    # With core.worktree, the top can be above a folder that has a repository of its own.
    is_below = os.path.commonpath([root, top]) == top and not _has_repository(root)
    return structs.replace(
        store,
        top=top if is_below else root,
        git=own,
        common=common,
        worktree=top,
        format=form,
        excludes=os.fsdecode(excludes).removesuffix("\n"),
    )


def _has_repository(folder: str) -> bool:
    return os.path.lexists(os.path.join(folder, ".git"))


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
def locked(store: CheckpointStore) -> Generator[None]:
    """Holds the lock of the store, which is created and updated first."""
    os.makedirs(store.folder, mode=0o700, exist_ok=True)
    os.chmod(os.path.dirname(store.folder), 0o700)
    with lock_held(os.path.join(store.folder, "lock")):
        _prepare(store)
        remove_unfinished(store.folder)
        yield


def reset_store(store: CheckpointStore) -> None:
    """Creates the files of the store again that a crash damaged. The caller must hold the lock."""
    delete_index(store)
    for name in ("config", "HEAD"):
        with suppress(FileNotFoundError):
            os.unlink(os.path.join(store.folder, name))
    _prepare(store)


def delete_index(store: CheckpointStore) -> None:
    """Deletes the store's index, so that the next save reads every file."""
    with suppress(FileNotFoundError):
        os.unlink(os.path.join(store.folder, "index"))


def _prepare(store: CheckpointStore) -> None:
    folder = store.folder
    if not os.path.exists(os.path.join(folder, "config")):
        form = () if store.format in ("", "sha1") else (f"--object-format={store.format}",)
        variables = {"GIT_DIR": folder, **_NO_CONFIGURATION}
        Git(store.root, variables).run("init", "--quiet", "--template=", *form)
    os.makedirs(os.path.join(folder, "info"), mode=0o700, exist_ok=True)
    _write_if_changed(os.path.join(folder, "info", "attributes"), _ATTRIBUTES)
    _write_if_changed(os.path.join(folder, "info", "exclude"), _exclude_rules(store))
    if _write_if_changed(os.path.join(folder, "top"), os.fsencode(store.top)):
        delete_index(store)  # its paths start at the top
    _write_if_changed(os.path.join(folder, "workspace"), os.fsencode(store.root))
    with suppress(FileNotFoundError):  # left by a process that was killed; the lock excludes others
        os.unlink(os.path.join(folder, "index.lock"))


def _exclude_rules(store: CheckpointStore) -> bytes:
    if not store.common:
        return b""
    try:
        with open(os.path.join(store.common, "info", "exclude"), "rb") as file:
            return file.read()
    except OSError:
        return b""


def _write_if_changed(path: str, content: bytes) -> bool:
    """Writes a file unless it has this content; returns whether it was written."""
    with suppress(FileNotFoundError), open(path, "rb") as file:
        if file.read() == content:
            return False
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(content)
    return True


def erase_checkpoints(ref: str) -> None:
    """Deletes the checkpoints of this ref, and the files that no other agent has saved.

    Raises `OSError`.
    """
    for store in _stores():
        with locked(store):
            if _found_refs(store.files(), ref):
                _erase_from_store(store, ref)


def stored_refs(*refs: str) -> set[str]:
    """Those of these refs of which this machine has checkpoints."""
    return {ref for store in _stores() for ref in _found_refs(store.files(), *refs)}


def _stores() -> list[CheckpointStore]:
    base = str(checkpoints_folder())
    if not os.path.isdir(base) or not shutil.which("git"):
        return []
    stores: list[CheckpointStore] = []
    for name in sorted(os.listdir(base)):
        place = os.path.join(base, name)
        if os.path.exists(os.path.join(place, "config")):
            # The workspace may be gone: the store itself takes its place.
            stores.append(CheckpointStore(_line(place, "workspace"), place, _line(place, "top")))
    return stores


def _line(place: str, name: str) -> str:
    """A folder that the store has written down; the store if that folder is gone."""
    try:
        with open(os.path.join(place, name), "rb") as file:
            folder = os.fsdecode(file.read())
    except OSError:
        return place
    return folder if os.path.isdir(folder) else place


def _found_refs(git: Git, *refs: str) -> set[str]:
    try:
        return {*os.fsdecode(git.run("for-each-ref", "--format=%(refname)", *refs)).split()}
    except GitError:
        return set()


def _erase_from_store(store: CheckpointStore, ref: str) -> None:
    git = store.files()
    try:
        git.run("update-ref", "-d", ref)
        delete_index(store)  # it refers to files of the newest checkpoint
        git.run("reflog", "expire", "--expire=now", "--all")
        git.run("repack", "-a", "-d", "--quiet")
        git.run("prune", "--expire=now")
    except GitError as error:
        raise OSError(f"Could not delete the checkpoints in {store.folder}: {error}.") from error
