"""Commands and paths with characters that a person cannot see are refused, with the reason."""

import pytest

from tests.workspace.tool_calls import ToolWorkspace, use_of

HIDDEN = {
    "\0": "a null character (U+0000)",
    "\x1b": "an escape character (U+001B)",
    "\x07": "a control character (U+0007)",
    "\r": "a control character (U+000D)",
    "\x7f": "a control character (U+007F)",
    "\x9b": "a control character (U+009B)",
    "\u202e": "the character RIGHT-TO-LEFT OVERRIDE (U+202E)",
    "\u2066": "the character LEFT-TO-RIGHT ISOLATE (U+2066)",
}


@pytest.mark.parametrize(("char", "told"), HIDDEN.items(), ids=ascii)
async def test_a_command_with_a_hidden_character_is_not_run(
    workspace: ToolWorkspace, char: str, told: str
) -> None:
    content = await workspace.refused("shell", command=f"true {char}\ntouch x")
    assert content.startswith(f"The command contains {told} at position 6")
    assert not (workspace.folder / "x").exists()


@pytest.mark.parametrize("char", [*HIDDEN, "\n", "\t"], ids=ascii)
@pytest.mark.parametrize("tool", ["read_file", "list_files", "search_files", "write_file", "shell"])
async def test_a_path_with_a_hidden_character_is_refused(
    workspace: ToolWorkspace, tool: str, char: str
) -> None:
    path = f"a{char}b"
    arguments = {
        "shell": {"command": "true", "cwd": path},
        "search_files": {"pattern": "x", "path": path},
        "write_file": {"content": "x", "path": path},
    }.get(tool, {"path": path})
    assert "The path contains" in await workspace.refused(tool, **arguments)


async def test_half_a_surrogate_pair_is_refused(workspace: ToolWorkspace) -> None:
    for arguments in ('{"command": "touch x\\ud800"}', '{"command": "touch x\ud800"}'):
        outcome = await workspace.box.run(use_of("shell", arguments, workspace.folder))
        assert outcome.error
        assert "did not run" in outcome.content
    assert not (workspace.folder / "x").exists()


async def test_new_lines_and_tabs_are_fine_in_a_command(workspace: ToolWorkspace) -> None:
    assert "two" in await workspace.done("shell", command="echo one\n\techo two")


async def test_patterns_and_globs_are_checked_too(workspace: ToolWorkspace) -> None:
    workspace.put("a.txt", "a")
    assert "The pattern contains" in await workspace.refused("search_files", pattern="a\0b")
    assert "The glob contains" in await workspace.refused("search_files", pattern="a", glob="\0")
    assert "The glob contains" in await workspace.refused("list_files", glob="\x1b")
