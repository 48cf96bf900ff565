"""Confines the commands of workspaces: decides what each may reach, and looks at what it left.

What a command may reach is decided before the first command of its workspace, from facts that
commands cannot write (`workspace_facts`), and holds for all later ones.
"""

import os
from collections.abc import Collection, Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Literal

import msgspec
from msgspec import Struct, structs

from sapwood.workspace.git_folder import GitFolder, find_git_folder, git_change
from sapwood.workspace.git_guards import (
    hook_targets,
    read_only_in,
    remove_unusual,
    require_no_links,
    unusual_in,
)
from sapwood.workspace.mount_points import MountPoint, mount_points
from sapwood.workspace.open_path import make_accessible
from sapwood.workspace.permissions.guarded_paths import PathGuards
from sapwood.workspace.places import Place
from sapwood.workspace.protected_entries import find_protected, protected_in, set_aside
from sapwood.workspace.sandbox import Access, Sandbox, SandboxCommand
from sapwood.workspace.tool_output import ToolError
from sapwood.workspace.workspace_facts import WorkspaceFacts, keep_facts, known_facts, state_of

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
        self._repositories: dict[str, tuple[str, ...]] = {}

    def change(self, root: str) -> str:
        """How the git folder changed since the first command, in one sentence; empty if not.

        Raises `ToolError` if it is a symlink, or if what was decided cannot be read.
        """
        facts, now = self._known(root), self._git(root)
        if now.kind == "link":
            raise ToolError(
                f"No command was run: .git of {root} is a link, and the sandbox follows none. Tell "
                "the user to replace the link by the folder that it leads to."
            )
        return git_change(facts.git, now)

    def accept(self, root: str) -> None:
        """Decides again from what is there now, because a person agreed to the change."""
        self._facts.pop(root, None)
        self._keep(WorkspaceFacts(root, self._git(root)))
        self._repositories.pop(root, None)

    def has_network(self, needs: Collection[Need] = ()) -> bool:
        """Whether a command with these needs may use the network."""
        return self.sandbox.network or "network" in needs

    @contextmanager
    def confined(
        self, arguments: Sequence[str], place: Place, needs: Collection[Need] = ()
    ) -> Generator[Confined]:
        """A command that runs in a folder of a workspace. Raises `ToolError` if that cannot be."""
        root, facts = place.root, self._searched(place.root)
        repositories = self._repositories_of(facts)
        points = _read_only(root, facts.git, repositories) if "protected" not in needs else []
        require_no_links(points)
        sandbox = structs.replace(self.sandbox, network=self.has_network(needs))
        state = state_of(self.sandbox.state_folder, root)
        notes: list[str] = []
        with mount_points(state, points) as ready:
            access: dict[str, Access] = {each.folder: "write" for each in repositories}
            access |= dict.fromkeys(ready, "read")
            if "protected" in needs:
                with _opened(sandbox, arguments, place, access) as command:
                    yield Confined(command, notes)
                return
            access |= _with_worktrees(repositories)
            access |= dict.fromkeys(self._protected_paths(facts, repositories), "read")
            with (
                self._watched(facts, repositories, notes),
                _opened(sandbox, arguments, place, access) as command,
            ):
                yield Confined(command, notes)

    @contextmanager
    def _watched(
        self, facts: WorkspaceFacts, repositories: Sequence[_Repository], notes: list[str]
    ) -> Generator[None]:
        """Undoes what a command made in places that it could not be kept from writing to."""
        root = facts.root
        folders = {"", *map(os.path.dirname, facts.protected)}
        before = set(protected_in(root, folders, self._guards).values())
        unusual = {path for each in repositories for path in unusual_in(each.folder)}
        try:
            yield
        finally:
            for folder in folders:
                make_accessible(os.path.join(root, folder).rstrip("/"))
            for path, identity in protected_in(root, folders, self._guards).items():
                if identity not in before:
                    with suppress(OSError):
                        notes.append(_moved(path, set_aside(root, path)))
            left = {path for each in repositories for path in unusual_in(each.folder)}
            notes += [
                f"Removed {path}: git would follow it." for path in remove_unusual(left - unusual)
            ]

    def _known(self, root: str) -> WorkspaceFacts:
        if root not in self._facts:
            sandbox = self.sandbox
            try:
                self._facts[root] = known_facts(sandbox.state_folder, root, sandbox.home_folder)
            except msgspec.MsgspecError as error:
                raise ToolError(
                    f"No command was run: what was decided about {root} cannot be read ({error}). "
                    f"Tell the user to delete its file in {sandbox.state_folder}."
                ) from error
        return self._facts[root]

    def _searched(self, root: str) -> WorkspaceFacts:
        """The facts with the protected files of the workspace, which are searched once."""
        facts = self._known(root)
        if root not in self._repositories:
            found = find_protected(root, self._guards)
            self._repositories[root] = found.repositories
            facts = structs.replace(
                facts, protected=tuple(dict.fromkeys((*facts.protected, *found.protected)))
            )
            self._keep(facts)
        return facts

    def _keep(self, facts: WorkspaceFacts) -> None:
        if self._facts.get(facts.root) != facts:
            keep_facts(self.sandbox.state_folder, facts)
            self._facts[facts.root] = facts

    def _git(self, root: str) -> GitFolder:
        return find_git_folder(root, self.sandbox.home_folder)

    def _repositories_of(self, facts: WorkspaceFacts) -> list[_Repository]:
        """The git folders that commands may write: the workspace's, and those further down."""
        own = [_Repository(path, number > 0) for number, path in enumerate(facts.git.folders)]
        nested = [os.path.join(facts.root, path) for path in self._repositories[facts.root]]
        return own + [_Repository(path) for path in nested if _is_folder(path)]

    def _protected_paths(
        self, facts: WorkspaceFacts, repositories: Sequence[_Repository]
    ) -> list[str]:
        """What exists and is protected. Symlinks are left out: nothing can be mounted there."""
        root = facts.root
        names = {*facts.protected, *protected_in(root, [""], self._guards)}
        names |= set(self._repositories[root])
        targets = [path for each in repositories for path in hook_targets(each.folder, root)]
        writable = {each.folder for each in repositories}
        paths = [*(os.path.join(root, name) for name in names), *targets]
        return [each for each in paths if each not in writable and _is_plain(each)]


@contextmanager
def _opened(
    sandbox: Sandbox, arguments: Sequence[str], place: Place, access: dict[str, Access]
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


def _moved(path: str, new: str) -> str:
    return f"Renamed {path} to {new}: commands in the sandbox may not make protected files."


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def _is_plain(path: str) -> bool:
    """Whether the path exists and has no symlink in it."""
    return os.path.exists(path) and os.path.realpath(path) == path
