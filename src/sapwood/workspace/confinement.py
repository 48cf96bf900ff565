"""Confines the commands of workspaces: decides what each may reach, and looks at what it left.

What a command may reach is decided before the first command of its workspace, from facts that
commands cannot write, and holds for all later ones. The decision is kept in Sapwood's own folder,
which commands do not see. So a later process, and a conversation that is resumed after weeks, has
the same facts. Only a person can change them.
"""

import os
from collections.abc import Collection, Generator, Iterable, Sequence
from contextlib import ExitStack, contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct, structs

from sapwood.private_files import replace_file, slug
from sapwood.workspace.allowed_writes import content_identity
from sapwood.workspace.checkpoints.git_command import GitError
from sapwood.workspace.command_baseline import (
    Baseline,
    baseline_now,
    forget_baseline,
    joined,
    keep_baseline,
    kept_baseline,
)
from sapwood.workspace.command_cleanup import CommandCleanup
from sapwood.workspace.command_group import CommandGroup, command_group
from sapwood.workspace.git_folder import GitFolder, find_git_folder, git_change
from sapwood.workspace.git_folder_guards import linked_hooks, read_only_in, require_no_links
from sapwood.workspace.interrupted_commands import (
    take_notes,
    undo_interrupted,
    undone_after_a_crash,
)
from sapwood.workspace.mount_points import MountPoint, make_mount_points, remove_mount_points
from sapwood.workspace.nested_repositories import (
    TOO_MANY_FOLDERS,
    NestedRepositories,
    linked_repositories,
)
from sapwood.workspace.permissions.guarded_paths import PathGuards
from sapwood.workspace.protected_files import find_protected, links_below, protected_in
from sapwood.workspace.safe_paths import ResolvedPath, real_path
from sapwood.workspace.sandbox import Access, Sandbox, SandboxCommand
from sapwood.workspace.tool_output import ToolError


class WorkspaceFacts(Struct, frozen=True):
    """The workspace, its git folder, and its protected files and folders, as relative paths."""

    root: str
    git: GitFolder
    protected: tuple[str, ...] = ()


def known_facts(folder: Path, root: str, home: str) -> WorkspaceFacts:
    """The facts about a workspace that `folder` keeps; if it has none, those of this moment."""
    try:
        return msgspec.json.decode(_file(folder, root).read_bytes(), type=WorkspaceFacts)
    except FileNotFoundError:
        facts = WorkspaceFacts(root, find_git_folder(root, home))
        keep_facts(folder, facts)
        return facts


def keep_facts(folder: Path, facts: WorkspaceFacts) -> None:
    """Keeps facts in place of the earlier ones. Raises `OSError`."""
    replace_file(_file(folder, facts.root), msgspec.json.encode(facts))


def state_of(folder: Path, root: str) -> Path:
    """The stem of the files about a workspace."""
    name = slug(os.path.basename(root)) or "root"
    return folder / f"{name}-{sha256(os.fsencode(root)).hexdigest()[:16]}"


def _file(folder: Path, root: str) -> Path:
    stem = state_of(folder, root)
    return stem.with_name(f"{stem.name}.json")


Need = Literal["network", "protected", "outside"]
"""What a command can ask for: the network, writing protected files, or no sandbox at all."""


class Confined(Struct):
    """A command in the sandbox. `notes` are sentences about what it left, known when it ended."""

    command: SandboxCommand
    notes: list[str]


class _Repository(Struct, frozen=True):
    """A git folder, and whether it is that of a linked worktree within its repository's."""

    folder: str
    of_worktree: bool = False


class Confinement:
    """The sandbox with what it knows about workspaces. `guards` knows the protected files."""

    def __init__(self, sandbox: Sandbox, guards: PathGuards) -> None:
        self.sandbox = sandbox
        self._guards = guards
        self._facts: dict[str, WorkspaceFacts] = {}
        self._nested: dict[str, NestedRepositories] = {}

    def change(self, root: str) -> str:
        """How the git folder changed since the first command, in one sentence; empty if not.

        Raises `ToolError` if it is a symlink, or if what was decided cannot be read.
        """
        facts, now = self._known(root), self._git(root)
        if now.kind == "link":
            raise ToolError(
                f"No command was run: .git of {root} is a link, and the sandbox does not follow "
                "links. Tell the user to replace it with the folder that it points to."
            )
        return git_change(facts.git, now)

    def accept(self, root: str) -> None:
        """Decides again from what is there now, because a person agreed to the change."""
        self._facts.pop(root, None)
        self._keep(WorkspaceFacts(root, self._git(root)))
        self._nested.pop(root, None)

    def unsearched(self, root: str) -> str:
        """Why it is not known what a command made further down, in one sentence; else empty."""
        _, finder = self._searched(root)
        found = finder.last or finder.search()
        return "" if found.is_complete else TOO_MANY_FOLDERS

    def keep_written(self, place: ResolvedPath, data: bytes) -> None:
        """Keeps what a tool wrote in a protected place from counting as made by commands that run.

        `data` is the content. If that cannot be kept, it is undone like what commands make.
        """
        state = state_of(self.sandbox.state_folder, place.root)
        if not place.is_inside or not self._guards.against_writing(place):
            return
        with suppress(OSError, ToolError):
            if kept_baseline(state) is None:  # one that is written now has the file already
                return
            with command_group(state) as group, group.changing():
                if (baseline := kept_baseline(state)) is not None:
                    path = os.path.relpath(place.real, place.root)
                    written = {**baseline.written, path: content_identity(data)}
                    keep_baseline(state, structs.replace(baseline, written=written))

    def has_network(self, needs: Collection[Need] = ()) -> bool:
        """Whether a command with these needs may use the network."""
        return self.sandbox.network or "network" in needs

    @contextmanager
    def confined(
        self, arguments: Sequence[str], place: ResolvedPath, needs: Collection[Need] = ()
    ) -> Generator[Confined]:
        """A command that runs in a folder of a workspace. Raises `ToolError` if that cannot be."""
        root = place.root
        state = state_of(self.sandbox.state_folder, root)
        notes: list[str] = []
        with command_group(state) as group, ExitStack() as opened:
            with group.changing() as is_alone:
                if is_alone:
                    undo_interrupted(state, self._guards, is_alone)
                # Another command that ends meanwhile may replace them.
                facts, finder = self._searched(root)
                nested = _nested(facts, finder)
                repositories = _repositories_of(facts, nested)
                access: dict[str, Access] = {each.folder: "write" for each in repositories}
                if "protected" not in needs:
                    points = _read_only(root, facts.git, repositories)
                    require_no_links(points)
                    access |= dict.fromkeys(make_mount_points(state, points), "read")
                    access |= _with_worktrees(repositories)
                    protected, baseline = self._baseline(state, facts, finder, nested, is_alone)
                    access |= dict.fromkeys(protected, "read")
                    opened.enter_context(undone_after_a_crash(state))
                    opened.enter_context(self._undone(state, baseline, finder, group, notes))
                    group.join()
                notes += take_notes(state)
            sandbox = structs.replace(self.sandbox, network=self.has_network(needs))
            with _opened(sandbox, arguments, place, access) as command:
                yield Confined(command, notes)

    def _baseline(
        self,
        state: Path,
        facts: WorkspaceFacts,
        finder: NestedRepositories,
        nested: Sequence[str],
        is_alone: bool,
    ) -> tuple[list[str], Baseline]:
        """What is read-only, and what is compared afterwards, which is kept until then."""
        root, repositories = facts.root, _repositories_of(facts, nested)
        folders = sorted({"", *map(os.path.dirname, facts.protected)})
        protected = {*facts.protected, *protected_in(root, folders, self._guards)}
        links = [link for each in repositories for link in linked_hooks(each.folder)]
        links += links_below(root, sorted(protected))
        protected |= set(nested)
        git_folders = _with_worktree_of_index(facts, repositories)
        baseline = baseline_now(root, self._guards, folders, links, git_folders, finder, nested)
        before = None if is_alone else kept_baseline(state)
        if before is not None and before.is_of_this_folder():
            baseline = joined(before, baseline, facts.git.folders)
        keep_baseline(state, baseline)
        return _protected_paths(root, protected, links, git_folders), baseline

    @contextmanager
    def _undone(
        self,
        state: Path,
        baseline: Baseline,
        finder: NestedRepositories,
        group: CommandGroup,
        notes: list[str],
    ) -> Generator[None]:
        """Undoes what commands made in the block, and adds sentences about that to the notes."""
        try:
            yield
        finally:
            with group.changing() as is_alone:
                with suppress(OSError, ToolError):  # then it is compared without what tools wrote
                    if (kept := kept_baseline(state)) is not None:
                        baseline = structs.replace(baseline, written=kept.written)
                notes += CommandCleanup(baseline, self._guards, finder).undo()
                if is_alone:
                    forget_baseline(state)
                    remove_mount_points(state)

    def _known(self, root: str) -> WorkspaceFacts:
        facts = self._facts.get(root)
        if facts is None:
            sandbox = self.sandbox
            try:
                facts = known_facts(sandbox.state_folder, root, sandbox.home_folder)
            except msgspec.MsgspecError as error:
                raise ToolError(
                    f"No command was run: the sandbox's record of {root} cannot be read ({error}). "
                    f"Tell the user to delete the record in {sandbox.state_folder}."
                ) from error
            self._facts[root] = facts
        return facts

    def _searched(self, root: str) -> tuple[WorkspaceFacts, NestedRepositories]:
        """The facts with the protected files, which are searched once, and what finds `.git`."""
        facts, finder = self._known(root), self._nested.get(root)
        if finder is None:
            found = find_protected(root, self._guards)
            finder = self._nested[root] = NestedRepositories(root)
            facts = structs.replace(
                facts, protected=tuple(dict.fromkeys((*facts.protected, *found)))
            )
            self._keep(facts)
        return facts, finder

    def _keep(self, facts: WorkspaceFacts) -> None:
        if self._facts.get(facts.root) != facts:
            keep_facts(self.sandbox.state_folder, facts)
            self._facts[facts.root] = facts

    def _git(self, root: str) -> GitFolder:
        return find_git_folder(root, self.sandbox.home_folder)


def _protected_paths(
    root: str, protected: Iterable[str], links: Iterable[str], git_folders: Collection[str]
) -> list[str]:
    """What exists and is protected, with what links lead to where commands can write.

    Links themselves are left out: nothing can be mounted there.
    """
    paths = {os.path.join(root, name) for name in (*protected, *links)}
    targets = {real_path(path) for path in paths if os.path.islink(path)}
    places = [f"{each}/" for each in (root, *git_folders)]
    paths |= {each for each in targets if each.startswith(tuple(places))}
    return sorted(each for each in paths if each not in git_folders and _is_plain(each))


def _nested(facts: WorkspaceFacts, finder: NestedRepositories) -> list[str]:
    """The repositories further down; those of the index too, if there are too many folders."""
    found = finder.search()
    if found.is_complete:
        return list(found.paths)
    linked: list[str] = []
    own = _repositories_of(facts, found.paths)
    for git_folder, worktree in _with_worktree_of_index(facts, own).items():
        with suppress(GitError):  # git cannot enter what an index has that it cannot read
            linked += linked_repositories(facts.root, git_folder, worktree)
    return list(dict.fromkeys((*found.paths, *linked)))


def _with_worktree_of_index(
    facts: WorkspaceFacts, repositories: Iterable[_Repository]
) -> dict[str, str]:
    """The git folders, each with the folder where the paths of its index start."""
    own = facts.git.folders
    return {
        each.folder: facts.git.within if each.folder in own else os.path.dirname(each.folder)
        for each in repositories
    }


def _repositories_of(facts: WorkspaceFacts, nested: Iterable[str]) -> list[_Repository]:
    """The git folders that commands may write: the workspace's, and those further down."""
    own = [_Repository(path, number > 0) for number, path in enumerate(facts.git.folders)]
    paths = [os.path.join(facts.root, path) for path in sorted(nested)]
    return own + [_Repository(path) for path in paths if _is_folder(path)]


@contextmanager
def _opened(
    sandbox: Sandbox, arguments: Sequence[str], place: ResolvedPath, access: dict[str, Access]
) -> Generator[SandboxCommand]:
    with ExitStack() as opened:
        try:
            ready = sandbox.command(arguments, place.root, place.real, access)
            command = opened.enter_context(ready)
        except OSError as error:
            why = f"{place.root} changed just now ({error.strerror})"
            raise ToolError(f"No command was run: {why}. Try again.") from error
        yield command


def _read_only(root: str, git: GitFolder, repositories: Sequence[_Repository]) -> list[MountPoint]:
    points = [p for each in repositories for p in read_only_in(each.folder, each.of_worktree)]
    # Without it, a command could make a repository here whose settings name programs.
    return points if git.kind == "folder" else [*points, MountPoint(os.path.join(root, ".git"))]


def _with_worktrees(repositories: Sequence[_Repository]) -> dict[str, Access]:
    """A linked worktree needs its own folder, and neither index nor HEAD of the repository."""
    access: dict[str, Access] = {}
    for each in repositories:
        if each.of_worktree:
            access[each.folder] = "write"
            shared = os.path.dirname(os.path.dirname(each.folder))
            names = (os.path.join(shared, name) for name in ("HEAD", "index"))
            access |= {path: "read" for path in names if _is_plain(path)}
    return access


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def _is_plain(path: str) -> bool:
    """Whether the path exists and has no symlink in it."""
    return os.path.exists(path) and real_path(path) == path
