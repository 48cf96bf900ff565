"""Any files, changed in any way, are restored exactly."""

import asyncio
import os
import shutil
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import Struct

from sapwood.core.checkpoint import Restored
from sapwood.core.settings import Workspace
from sapwood.workspace.checkpoints.git_checkpoints import GitCheckpoints
from tests.workspace.checkpoints.repositories import files_of, git, repository, saved, untouched

# Few names, so that files become folders, folders links, and links files.
NAMES = ["a", "b", "sp ace", "ümlaut", "-dash", "new\nline", "star*", "raw\udcff", ":(top)"]
paths = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map("/".join)
contents = st.binary(max_size=40) | st.sampled_from(
    [b"", b"x\r\ny\r\n", b"x\ny\r\n", b"$Id$\n", b"\0\xff" * 8, b"ref: refs/heads/main\n"]
)


class Write(Struct, frozen=True):
    """A file, perhaps one to run."""

    path: str
    content: bytes
    program: bool = False


class Link(Struct, frozen=True):
    """A symlink, wherever it leads."""

    path: str
    to: str


class Remove(Struct, frozen=True):
    """A file or a folder goes."""

    path: str


class Stage(Struct, frozen=True):
    """The user stages everything, or commits it."""

    commit: bool


Edit = Write | Link | Remove | Stage
edits = st.lists(
    st.builds(Write, paths, contents, st.booleans())
    | st.builds(Link, paths, paths | st.just("/etc/hostname"))
    | st.builds(Remove, paths)
    | st.builds(Stage, st.booleans()),
    max_size=8,
)


def clear_the_way(top: Path, path: Path) -> None:
    """Takes away what would be in the way of a file here."""
    for part in reversed([path, *path.relative_to(top).parents]):
        place = top / part
        if place.is_symlink() or (place.is_file() and place != path):
            place.unlink()
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.is_dir():
        shutil.rmtree(path)


def apply(top: Path, edit: Edit) -> None:
    match edit:
        case Write(name, content, program):
            path = top / name
            clear_the_way(top, path)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            path.chmod(0o755 if program else 0o644)
        case Link(name, to):
            path = top / name
            clear_the_way(top, path)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.symlink_to(to)
        case Remove(name):
            path = top / name
            if not any((top / parent).is_symlink() for parent in Path(name).parents):
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                elif os.path.lexists(path):
                    path.unlink()
        case Stage(commit):
            git(top, "add", "--all")
            if commit:
                git(top, "commit", "--quiet", "--allow-empty", "--message=Mine")


def hostile(top: Path) -> None:
    """Settings that would change bytes on their way, and files that nobody is to touch."""
    repository(top)
    git(top, "config", "core.autocrlf", "true")
    git(top, "config", "core.safecrlf", "false")
    git(top, "config", "filter.upper.clean", "tr a-z A-Z")
    git(top, "config", "filter.upper.smudge", "tr A-Z a-z")
    (top / ".gitattributes").write_text("* text=auto\na filter=upper\nb ident\n")
    (top / ".gitignore").write_text("*.ignored\n/kept/\n")
    (top / "kept").mkdir()
    (top / "kept" / "secret").write_text("mine")
    (top / "x.ignored").write_text("mine too")


async def put_back(top: Path, before: list[Edit], after: list[Edit]) -> None:
    hostile(top)
    for edit in before:
        apply(top, edit)
    then = files_of(top)
    checkpoint = await saved(top)
    for edit in after:
        apply(top, edit)
    (top / "kept" / "later").write_text("ignored from the start")
    now, mine = files_of(top), untouched(top)
    present = await saved(top)
    keeper, workspace = GitCheckpoints(), Workspace(str(top))
    restored = await keeper.restore(workspace, present, checkpoint)
    assert isinstance(restored, Restored)
    assert restored.left == ()
    assert files_of(top) == then | {"kept/later": now["kept/later"]}
    again = await saved(top)
    assert again.tree == checkpoint.tree
    await keeper.restore(workspace, again, present)
    assert files_of(top) == now
    assert untouched(top) == mine


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(before=edits, after=edits)
def test_files_come_back_and_nothing_else_is_touched(before: list[Edit], after: list[Edit]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(put_back(Path(folder), before, after))
