"""Repositories to save and restore, and what must not change in them."""

import os
import stat
import subprocess
from pathlib import Path

from msgspec import Struct

from sapwood.core.checkpoint import Saved
from sapwood.core.ids import AgentId
from sapwood.core.settings import Workspace
from sapwood.workspace.checkpoints.checkpoint_save import CheckpointLimits
from sapwood.workspace.checkpoints.checkpoint_store import CheckpointStore, find_store
from sapwood.workspace.checkpoints.git_checkpoints import GitCheckpoints

AGENT = AgentId("k3h7wq2mzp")
_QUIET = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.com",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.com",
}


def git(folder: Path, *arguments: str) -> str:
    """What git prints."""
    done = subprocess.run(
        ["git", *arguments],
        cwd=folder,
        env=os.environ | _QUIET,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


def repository(folder: Path) -> Path:
    """A fresh repository without a commit."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    return folder


async def saved(folder: Path, bounds: CheckpointLimits | None = None) -> Saved:
    """A checkpoint of a folder that can have one."""
    found = await GitCheckpoints(bounds).save(Workspace(str(folder)), AGENT)
    assert isinstance(found, Saved), found
    return found


def store_of(folder: Path) -> CheckpointStore:
    """The store of a folder that can have checkpoints."""
    found = find_store(str(folder))
    assert isinstance(found, CheckpointStore), found
    return found


def in_store(folder: Path, name: str) -> Path:
    """A file of the store."""
    return Path(store_of(folder).folder, name)


def held(folder: Path, files: Saved) -> list[str]:
    """The paths in a checkpoint."""
    listed = (
        store_of(folder)
        .files()
        .run("ls-tree", "-r", "-z", "--name-only", "--full-tree", files.commit)
    )
    return os.fsdecode(listed).split("\0")[:-1]


def modes_of(folder: Path) -> dict[str, int]:
    """The permissions of every file and folder below a folder, but for git's own."""
    found: dict[str, int] = {}
    for path in folder.rglob("*"):
        if ".git" not in path.relative_to(folder).parts and not path.is_symlink():
            found[str(path.relative_to(folder))] = stat.S_IMODE(path.lstat().st_mode)
    return found


def files_of(folder: Path) -> dict[str, tuple[str, bytes]]:
    """Every file below a folder with its kind and content, but for git's own."""
    found: dict[str, tuple[str, bytes]] = {}
    for base, folders, names in os.walk(os.fsencode(folder)):
        folders[:] = [name for name in folders if name != b".git"]
        links = [name for name in folders if os.path.islink(os.path.join(base, name))]
        for name in (*names, *links):
            path = os.path.join(base, name)
            shown = os.fsdecode(os.path.relpath(path, os.fsencode(folder)))
            if os.path.islink(path):
                found[shown] = ("link", os.readlink(path))
            else:
                kind = "program" if os.stat(path).st_mode & 0o100 else "file"
                found[shown] = (kind, Path(os.fsdecode(path)).read_bytes())
    return found


class Untouched(Struct, frozen=True):
    """What is the user's: index, HEAD, every ref but ours, stash, reflogs, configuration."""

    parts: dict[str, bytes]


def untouched(folder: Path) -> Untouched:
    """The user's part of a repository, byte for byte."""
    place = Path(git(folder, "rev-parse", "--absolute-git-dir").strip())
    common = Path(git(folder, "rev-parse", "--path-format=absolute", "--git-common-dir").strip())
    parts: dict[str, bytes] = {}
    for name in ("index", "HEAD", "ORIG_HEAD", "config", "packed-refs", "info/exclude"):
        for base in {place, common}:
            if (base / name).exists():
                parts[f"{base}/{name}"] = (base / name).read_bytes()
    for base in {place / "logs", common / "logs"}:
        for path in base.rglob("*"):
            if path.is_file():
                parts[str(path)] = path.read_bytes()
    refs = git(folder, "for-each-ref").splitlines()
    parts["refs"] = "\n".join(line for line in refs if "refs/sapwood/" not in line).encode()
    return Untouched(parts)
