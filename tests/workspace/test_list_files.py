"""`list_files` shows what is in a folder, without what is ignored."""

import os

import pytest

from tests.workspace.tool_calls import ToolWorkspace


@pytest.fixture
def db(workspace: ToolWorkspace) -> ToolWorkspace:
    workspace.put(".gitignore", "*.log\nbuild/\n!keep.log\n")
    for path in ("src/a.py", "src/sub/b.py", "build/out.o", "x.log", "keep.log", ".github/ci.yml"):
        workspace.put(path, "")
    workspace.put(".git/config", "")
    return workspace


async def test_files_are_listed_in_order_without_what_is_ignored(db: ToolWorkspace) -> None:
    assert (await db.done("list_files")).split("\n") == [
        ".github/ci.yml",
        ".gitignore",
        "keep.log",
        "src/a.py",
        "src/sub/b.py",
    ]


async def test_ignored_files_are_listed_if_asked(db: ToolWorkspace) -> None:
    shown = (await db.done("list_files", ignored=True)).split("\n")
    assert "build/out.o" in shown
    assert ".git/config" not in shown


@pytest.mark.parametrize(
    ("glob", "found"),
    [
        ("*.py", ["src/a.py", "src/sub/b.py"]),
        ("src/*.py", ["src/a.py"]),
        ("src/**/*.py", ["src/a.py", "src/sub/b.py"]),
        ("b.?y", ["src/sub/b.py"]),
        ("[ab].py", ["src/a.py", "src/sub/b.py"]),
        ("/*.log", ["keep.log"]),
    ],
)
async def test_a_glob_chooses(db: ToolWorkspace, glob: str, found: list[str]) -> None:
    assert (await db.done("list_files", glob=glob)).split("\n") == found


async def test_a_depth_shows_folders_where_it_ends(db: ToolWorkspace) -> None:
    shown = (await db.done("list_files", depth=1)).split("\n")
    assert shown == [".github/", ".gitignore", "keep.log", "src/"]


async def test_the_ignore_files_above_a_folder_count_in_it(db: ToolWorkspace) -> None:
    db.put("src/deep/y.log", "")
    db.put("src/deep/z.py", "")
    assert await db.done("list_files", path="src/deep") == "src/deep/z.py"


async def test_a_symlink_is_shown_as_one_and_not_entered(db: ToolWorkspace) -> None:
    (db.folder / "src" / "door").symlink_to(db.folder.parent / "outside")
    assert (await db.done("list_files", path="src")).split("\n") == [
        "src/a.py",
        "src/door@",
        "src/sub/b.py",
    ]


async def test_nothing_found_is_told(db: ToolWorkspace) -> None:
    assert await db.done("list_files", glob="*.rs") == "[nothing found in .]"
    assert "There is no nope" in await db.refused("list_files", path="nope")
    assert "contains '..'" in await db.refused("list_files", glob="../*")


async def test_a_name_that_is_no_text_is_shown_all_the_same(workspace: ToolWorkspace) -> None:
    workspace.put(os.fsdecode(b"a\xff.txt"), "")
    shown = await workspace.done("list_files")
    assert shown == "a\ufffd.txt"
    assert shown.encode()


async def test_many_files_end_at_a_bound_that_is_told(workspace: ToolWorkspace) -> None:
    for folder in range(21):
        (workspace.folder / f"{folder:02}").mkdir()
        for name in range(1000):
            (workspace.folder / f"{folder:02}" / str(name)).touch()
    shown = (await workspace.done("list_files")).split("\n")
    assert len(shown) == 20_001
    assert shown[-1] == "[1,000 more were left out; give a path, a glob or a depth]"
