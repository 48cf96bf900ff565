"""A path leads where it seems to lead, or the tool refuses it."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.core.settings import Workspace
from sapwood.workspace.safe_paths import ResolvedPath, locate, open_file, root_of
from sapwood.workspace.tool_output import ToolError
from sapwood.workspace.tools.file_changes import replace_file
from tests.workspace.tool_calls import ToolWorkspace

NEEDED: dict[str, dict[str, str]] = {
    "read_file": {},
    "write_file": {"content": "mine"},
    "edit_file": {"old_text": "not", "new_text": "all"},
}
every_tool = pytest.mark.parametrize(("tool", "rest"), NEEDED.items(), ids=NEEDED)


@every_tool
@pytest.mark.parametrize("path", ["../outside/secret.txt", "a/../../outside/secret.txt", ".."])
async def test_a_path_upwards_is_refused(
    workspace: ToolWorkspace, tool: str, rest: dict[str, str], path: str
) -> None:
    assert "contains '..'" in await workspace.refused(tool, path=path, **rest)


@every_tool
async def test_an_absolute_path_out_of_the_workspace_is_refused(
    workspace: ToolWorkspace, tool: str, rest: dict[str, str]
) -> None:
    file = workspace.folder.parent / "outside" / "secret.txt"
    told = await workspace.refused(tool, path=str(file), **rest)
    assert f"outside the workspace. Only the user can allow it, with --allow '{tool}(/" in told
    assert file.read_text() == "not yours\n"


async def test_an_absolute_path_into_the_workspace_is_one_like_any_other(
    workspace: ToolWorkspace,
) -> None:
    file = workspace.put("a.txt", "here")
    assert "here" in await workspace.done("read_file", path=str(file))


@every_tool
@pytest.mark.parametrize("target", ["../outside/secret.txt", "{outside}/secret.txt"])
async def test_a_symlink_out_of_the_workspace_is_judged_by_where_it_leads(
    workspace: ToolWorkspace, tool: str, rest: dict[str, str], target: str
) -> None:
    outside = workspace.folder.parent / "outside"
    (workspace.folder / "link").symlink_to(target.format(outside=outside))
    assert "outside the workspace" in await workspace.refused(tool, path="link", **rest)
    assert (outside / "secret.txt").read_text() == "not yours\n"


@every_tool
async def test_a_symlinked_folder_out_of_the_workspace_is_too(
    workspace: ToolWorkspace, tool: str, rest: dict[str, str]
) -> None:
    (workspace.folder / "door").symlink_to(workspace.folder.parent / "outside")
    assert "outside" in await workspace.refused(tool, path="door/secret.txt", **rest)


async def test_a_symlink_within_the_workspace_is_followed_and_stays(
    workspace: ToolWorkspace,
) -> None:
    file = workspace.put("a.txt", "one")
    (workspace.folder / "link").symlink_to("a.txt")
    await workspace.done("write_file", path="link", content="two")
    assert file.read_text() == "two"
    assert (workspace.folder / "link").is_symlink()


async def test_a_rule_may_allow_a_folder_outside(workspace: ToolWorkspace) -> None:
    outside = workspace.folder.parent / "outside"
    roomy = ToolWorkspace(workspace.folder, [f"allow read_file({outside}/**)"])
    assert "not yours" in await roomy.done("read_file", path=str(outside / "secret.txt"))
    assert "not yours" in await roomy.done("search_files", pattern="yours", path=str(outside))
    told = await roomy.refused("write_file", path=str(outside / "x"), content="")
    assert "outside the workspace" in told


def test_a_file_that_becomes_a_symlink_after_the_check_is_not_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("not yours")
    root = tmp_path / "wood"
    root.mkdir()
    (root / "a.txt").write_text("mine")
    place = locate(str(root), "a.txt")
    (root / "a.txt").unlink()
    (root / "a.txt").symlink_to(secret)
    with pytest.raises(ToolError, match="symlink"), open_file(place):
        pass


def test_a_folder_that_becomes_a_symlink_after_the_check_is_not_entered(tmp_path: Path) -> None:
    outside, root = tmp_path / "outside", tmp_path / "wood"
    outside.mkdir()
    (root / "src").mkdir(parents=True)
    place = locate(str(root), "src/a.txt")
    (root / "src").rmdir()
    (root / "src").symlink_to(outside)
    with pytest.raises(ToolError, match="not a folder"):
        replace_file(place, b"mine")
    assert list(outside.iterdir()) == []


def test_a_new_file_that_becomes_a_symlink_after_the_check_is_not_written_through(
    tmp_path: Path,
) -> None:
    outside, root = tmp_path / "target", tmp_path / "wood"
    outside.write_text("not yours")
    root.mkdir()
    place = locate(str(root), "a.txt")
    (root / "a.txt").symlink_to(outside)
    with pytest.raises(ToolError, match="just became a symlink"):
        replace_file(place, b"mine")
    assert outside.read_text() == "not yours"


async def test_a_circle_of_symlinks_is_told(workspace: ToolWorkspace) -> None:
    (workspace.folder / "a").symlink_to("b")
    (workspace.folder / "b").symlink_to("a")
    assert "symlink" in await workspace.refused("read_file", path="a")


@every_tool
async def test_a_pipe_is_refused_at_once(
    workspace: ToolWorkspace, tool: str, rest: dict[str, str]
) -> None:
    os.mkfifo(workspace.folder / "pipe")
    assert "pipe or socket" in await workspace.refused(tool, path="pipe", **rest)


@every_tool
async def test_a_folder_is_no_file(
    workspace: ToolWorkspace, tool: str, rest: dict[str, str]
) -> None:
    workspace.put("src/a.txt", "")
    assert "folder" in await workspace.refused(tool, path="src", **rest)
    assert "folder" in await workspace.refused(tool, path=".", **rest)


async def test_a_wrong_name_is_answered_with_near_ones(workspace: ToolWorkspace) -> None:
    workspace.put("src/window.py", "")
    told = await workspace.refused("read_file", path="src/windwo.py")
    assert told == "There is no src/windwo.py. Did you mean src/window.py?"


@pytest.mark.parametrize("path", ["a\0b", "\0"])
async def test_a_null_character_is_refused(workspace: ToolWorkspace, path: str) -> None:
    assert "null" in await workspace.refused("read_file", path=path)


async def test_an_agent_without_a_workspace_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="no workspace"):
        root_of(Workspace())
    assert "does not exist any more" in await ToolWorkspace(tmp_path / "gone").refused(
        "read_file", path="a"
    )


def test_the_worktree_comes_before_the_folder(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    assert root_of(Workspace(folder=str(tmp_path), worktree=str(tree))) == str(tree)


@given(st.text(st.sampled_from("ab./~ \\é\n-"), min_size=1, max_size=12))
def test_whatever_a_path_says_it_is_inside_or_seen_to_be_outside(path: str) -> None:
    try:
        place = locate("/nowhere/wood", path)
    except ToolError:
        return
    assert place.is_inside == (os.path.commonpath([place.real, "/nowhere/wood"]) == place.root)
    assert place.shown.startswith("/") == (not place.is_inside)


def test_a_neighbour_whose_name_begins_alike_is_outside() -> None:
    assert not ResolvedPath("/nowhere/wood", "/nowhere/woods/a", "a").is_inside
