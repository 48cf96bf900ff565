"""`search_files` finds lines, the same whether ripgrep is installed or not."""

import asyncio
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sapwood.workspace import workspace_toolbox
from sapwood.workspace.file_walk import ShouldStop
from sapwood.workspace.safe_paths import ResolvedPath, locate
from sapwood.workspace.tools import file_search
from sapwood.workspace.tools.file_search import SelectedFiles, select_files
from sapwood.workspace.tools.tool_arguments import SearchFiles
from tests.workspace.tool_calls import ToolWorkspace, is_running, until

WITHOUT = os.pathsep.join(
    folder for folder in os.environ["PATH"].split(os.pathsep) if not Path(folder, "rg").exists()
)


@pytest.fixture(params=["ripgrep", "python"])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> ToolWorkspace:
    """A workspace that is searched with each."""
    if request.param == "ripgrep" and shutil.which("rg") is None:
        pytest.skip("ripgrep is not installed; the search in Python is tested")
    path = os.environ["PATH"] if request.param == "ripgrep" else WITHOUT
    workspace = ToolWorkspace(tmp_path, path=path)
    workspace.put("src/a.py", "import os\n\ndef ring():\n    return 1\n")
    workspace.put("src/b.py", "def bark(): pass\r\n# grün\r\n")
    workspace.put("notes.md", "def in prose\n")
    return workspace


async def test_lines_are_found_with_their_place(db: ToolWorkspace) -> None:
    assert await db.done("search_files", pattern=r"^def \w+\(") == (
        "src/a.py:3:def ring():\nsrc/b.py:1:def bark(): pass"
    )


async def test_lines_around_are_shown(db: ToolWorkspace) -> None:
    assert await db.done("search_files", pattern="ring|prose", context=1) == (
        "notes.md:1:def in prose\n--\nsrc/a.py-2-\nsrc/a.py:3:def ring():\nsrc/a.py-4-    return 1"
    )


async def test_a_line_is_shown_once_however_close_the_finds(db: ToolWorkspace) -> None:
    db.put("c.txt", "x1\nx2\ny\ny\ny\nx3\n")
    assert await db.done("search_files", pattern="x", path="c.txt", context=1) == (
        "c.txt:1:x1\nc.txt:2:x2\nc.txt-3-y\n--\nc.txt-5-y\nc.txt:6:x3"
    )


async def test_path_glob_and_case_choose(db: ToolWorkspace) -> None:
    assert await db.done("search_files", pattern="DEF", glob="*.md", ignore_case=True) == (
        "notes.md:1:def in prose"
    )
    assert await db.done("search_files", pattern="def", path="src/b.py") == (
        "src/b.py:1:def bark(): pass"
    )
    assert await db.done("search_files", pattern="GRÜN", ignore_case=True) == "src/b.py:2:# grün"


async def test_the_end_of_a_line_is_before_that_of_windows(db: ToolWorkspace) -> None:
    assert await db.done("search_files", pattern="pass$") == "src/b.py:1:def bark(): pass"


async def test_no_match_tells_how_much_was_searched(db: ToolWorkspace) -> None:
    assert await db.done("search_files", pattern="zzz") == "[no match in 3 files]"
    assert await db.done("search_files", pattern="zzz", glob="*.md") == "[no match in 1 file]"


async def test_what_is_ignored_is_not_searched_unless_asked(db: ToolWorkspace) -> None:
    db.put(".gitignore", "*.gen.py\n")
    db.put("x.gen.py", "def made(): ...\n")
    assert "made" not in await db.done("search_files", pattern="def", glob="*.py")
    assert "made" in await db.done("search_files", pattern="def", glob="*.py", ignored=True)


async def test_a_wrong_expression_is_told(db: ToolWorkspace) -> None:
    told = await db.refused("search_files", pattern="a(b")
    assert "unclosed group" in told or "unterminated subpattern" in told


async def test_a_name_like_an_option_is_a_name(db: ToolWorkspace) -> None:
    db.put("--pre=cat", "def odd\n")
    assert "--pre=cat:1:def odd" in await db.done("search_files", pattern="odd")
    assert await db.done("search_files", pattern="--hidden") == "[no match in 4 files]"


async def test_a_file_that_may_not_be_read_is_not_searched(db: ToolWorkspace) -> None:
    path = WITHOUT
    strict = ToolWorkspace(db.folder, ["deny read_file(.env)", "allow *"], path=path)
    db.put(".env", "def SECRET=1\n")
    shown = await strict.done("search_files", pattern="def")
    assert "SECRET" not in shown
    assert shown.endswith("[1 files were not searched: a permission rule excludes them]")
    assert "deny read_file(.env)" in await strict.refused(
        "search_files", pattern="def", path=".env"
    )


async def test_a_symlink_is_not_searched_through(db: ToolWorkspace, tmp_path: Path) -> None:
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.mkdir()
    (outside / "c.py").write_text("def outside(): ...\n")
    (db.folder / "door").symlink_to(outside)
    (db.folder / "c.py").symlink_to(outside / "c.py")
    assert "outside" not in await db.done("search_files", pattern="def")


@pytest.mark.parametrize("swapped", ["file", "folder"])
async def test_a_file_that_becomes_a_link_after_it_was_selected_is_not_searched(
    db: ToolWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, swapped: str
) -> None:
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.mkdir()
    (outside / "c.py").write_text("def outside(): ...\n")
    db.put("sub/c.py", "def inside(): ...\n")
    db.put("sub/d.py", "def other(): ...\n")

    def select_then_swap(
        place: ResolvedPath, wanted: SearchFiles, may_read: Callable[[str], bool], stop: ShouldStop
    ) -> SelectedFiles:
        selected = select_files(place, wanted, may_read, stop)
        if swapped == "file":
            (db.folder / "sub" / "c.py").unlink()
            (db.folder / "sub" / "c.py").symlink_to(outside / "c.py")
        else:
            (db.folder / "sub").rename(db.folder / "old")
            (db.folder / "sub").symlink_to(outside)
        return selected

    monkeypatch.setattr(workspace_toolbox, "select_files", select_then_swap)
    shown = await db.done("search_files", pattern="def", path="sub")
    assert "outside" not in shown
    assert shown == (
        "sub/d.py:1:def other(): ..." if swapped == "file" else "[no match in 2 files]"
    )


async def test_lines_around_are_separated_between_batches(
    db: ToolWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_search, "_MAX_FILES", 1)
    assert await db.done("search_files", pattern="ring|prose", context=1) == (
        "notes.md:1:def in prose\n--\nsrc/a.py-2-\nsrc/a.py:3:def ring():\nsrc/a.py-4-    return 1"
    )


async def test_a_line_that_looks_like_a_place_is_shown_as_it_is(db: ToolWorkspace) -> None:
    db.put("odd.txt", "/dev/fd/3:1:oak\n")
    assert await db.done("search_files", pattern="oak") == "odd.txt:1:/dev/fd/3:1:oak"


async def test_a_huge_find_ends_at_the_bound(db: ToolWorkspace) -> None:
    db.put("big.txt", "tree\n" * 400_000)
    shown = await db.done("search_files", pattern="tree")
    assert len(shown) < 5_100_000
    assert "left out" in shown
    assert shown.endswith("[there is more; give a path, a glob or a narrower pattern]")


async def test_a_long_name_does_not_make_a_find_larger_than_the_bound(db: ToolWorkspace) -> None:
    name = f"{'long' * 50}/" * 10 + "big.txt"
    db.put(name, "tree\n" * 40_000)
    shown = await db.done("search_files", pattern="tree")
    assert len(shown) < 5_100_000
    assert shown.startswith(f"{name}:1:tree\n{name}:2:tree\n")
    assert shown.endswith("[there is more; give a path, a glob or a narrower pattern]")


async def test_what_is_not_text_is_not_searched(db: ToolWorkspace) -> None:
    db.put("a.bin", b"def\0def\n")
    assert await db.done("search_files", pattern="def", path="a.bin") == "[no match in 1 file]"


async def test_a_long_line_is_cut(db: ToolWorkspace) -> None:
    db.put("min.js", "tree " * 10_000)
    shown = await db.done("search_files", pattern="tree")
    assert len(shown) < 1_200
    assert shown.endswith("[... omitted end of long line]")


async def test_more_files_than_one_call_takes_are_all_searched(db: ToolWorkspace) -> None:
    for number in range(4_000):
        db.put(f"{'many' * 40}/{number:04}.txt", "leaf\n" if number % 1_000 == 0 else "")
    assert (await db.done("search_files", pattern="leaf")).count("leaf") == 4


async def test_an_expression_without_end_is_cancelled_with_the_call(tmp_path: Path) -> None:
    """In a thread it could not be, and everything else would wait for it."""
    workspace = ToolWorkspace(tmp_path, path=WITHOUT)
    workspace.put("a.txt", "a" * 40 + "!\n")
    task = asyncio.create_task(workspace.call("search_files", pattern="(a+)+$"))
    children = await until(scanners)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not any(is_running(pid) for pid in children)


def scanners() -> list[int]:
    """The programs of ours that search, of this test's own process."""
    found: list[int] = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
            parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
        except OSError:
            continue
        if b"sapwood.workspace.tools.python_search" in words and int(parent) == os.getpid():
            found.append(int(folder.name))
    return found


async def test_a_pipe_is_not_searched(workspace: ToolWorkspace) -> None:
    workspace.put("a.txt", "one\n")
    os.mkfifo(workspace.folder / "pipe")
    assert "a.txt:1:one" in await workspace.done("search_files", pattern="one")
    assert "pipe" in await workspace.refused("search_files", pattern="one", path="pipe")


_SEARCHES = """
import asyncio, os, resource, sys
from sapwood.workspace.safe_paths import locate
from sapwood.workspace.tools.file_search import search_files, select_files
from sapwood.workspace.tools.tool_arguments import SearchFiles

async def search():
    wanted, place = SearchFiles(pattern="needle"), locate(sys.argv[1], ".")
    selected = select_files(place, wanted, lambda path: True, lambda: False)
    return await search_files(place, wanted, selected, os.environ)

async def main():
    print(*await asyncio.gather(*(search() for _ in range(5))), sep="\\n")

resource.setrlimit(resource.RLIMIT_NOFILE, (100, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
asyncio.run(main())
"""


async def test_searches_at_once_find_more_files_than_a_process_may_open(
    workspace: ToolWorkspace,
) -> None:
    for number in range(300):
        workspace.put(f"{number}.txt", "needle\n" if number in (0, 299) else "hay\n")
    program = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _SEARCHES, str(workspace.folder), stdout=asyncio.subprocess.PIPE
    )
    out, _ = await program.communicate()
    assert out.decode().split() == ["0.txt:1:needle", "299.txt:1:needle"] * 5


async def test_files_outside_the_workspace_are_searched_under_their_whole_path(
    tmp_path: Path,
) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    (outside / "a.txt").write_text("needle\n")
    wanted, place = SearchFiles(pattern="needle"), locate(str(inside), str(outside))
    selected = select_files(place, wanted, lambda path: True, lambda: False)
    found = await file_search.search_files(place, wanted, selected, os.environ)
    assert found == f"{outside}/a.txt:1:needle"
