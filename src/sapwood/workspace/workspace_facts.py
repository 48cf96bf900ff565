"""What commands of a workspace may reach, decided before the first one ran.

The decision is kept in Sapwood's own folder, which commands do not see. So a later process, and a
conversation that is resumed after weeks, has the same facts. Only a person can change them.
"""

import os
from hashlib import sha256
from pathlib import Path

import msgspec
from msgspec import Struct

from sapwood.private_files import replace_file, slug
from sapwood.workspace.git_folder import GitFolder, find_git_folder


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
