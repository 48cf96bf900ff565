"""`write_file` and `edit_file` change what was meant, whole or not at all."""

import os
import stat
from pathlib import Path

import pytest

from sapwood.redaction import mask_secrets
from sapwood.workspace.safe_paths import locate, open_file
from sapwood.workspace.tool_output import ToolError
from sapwood.workspace.tools.file_changes import file_state, replace_file
from tests.workspace.tool_calls import ToolWorkspace


async def test_a_file_is_made_with_its_folders(workspace: ToolWorkspace) -> None:
    told = await workspace.done("write_file", path="a/b/c.txt", content="grün\n")
    assert told == "Created a/b/c.txt: 1 line, 6 bytes."
    assert (workspace.folder / "a/b/c.txt").read_bytes() == "grün\n".encode()


async def test_a_file_is_replaced_and_keeps_its_mode(workspace: ToolWorkspace) -> None:
    file = workspace.put("run.sh", "old")
    file.chmod(0o750)
    assert "Replaced run.sh: 2 lines" in await workspace.done(
        "write_file", path="run.sh", content="a\nb"
    )
    assert stat.S_IMODE(file.stat().st_mode) == 0o750
    assert file.read_text() == "a\nb"


async def test_content_is_written_as_it_is(workspace: ToolWorkspace) -> None:
    await workspace.done("write_file", path="a.txt", content="a\r\nb\n\tc ")
    assert (workspace.folder / "a.txt").read_bytes() == b"a\r\nb\n\tc "


async def test_nothing_but_the_file_is_left(workspace: ToolWorkspace) -> None:
    await workspace.done("write_file", path="a.txt", content="a")
    await workspace.refused("write_file", path="a.txt/b", content="a")
    await workspace.refused("write_file", path="a.txt", content="\ud800")
    assert os.listdir(workspace.folder) == ["a.txt"]


async def test_a_text_that_stands_once_is_replaced(workspace: ToolWorkspace) -> None:
    file = workspace.put("a.py", "def f():\n    return 1\n")
    told = await workspace.done("edit_file", path="a.py", old_text="return 1", new_text="return 2")
    assert told == "Edited a.py at line 2."
    assert file.read_text() == "def f():\n    return 2\n"


async def test_a_text_that_stands_twice_is_not_guessed(workspace: ToolWorkspace) -> None:
    file = workspace.put("a.py", "x = 1\ny = 2\nx = 1\n")
    told = await workspace.refused("edit_file", path="a.py", old_text="x = 1", new_text="x = 3")
    assert "2 times, at lines 1, 3. Add lines around" in told
    assert file.read_text() == "x = 1\ny = 2\nx = 1\n"


async def test_all_places_are_replaced_if_asked(workspace: ToolWorkspace) -> None:
    file = workspace.put("a.py", "x = 1\ny = 2\nx = 1\n")
    told = await workspace.done("edit_file", path="a.py", old_text="x", new_text="z", all=True)
    assert told == "Edited a.py at lines 1, 3."
    assert file.read_text() == "z = 1\ny = 2\nz = 1\n"


async def test_a_text_with_other_white_space_is_shown_as_it_stands(
    workspace: ToolWorkspace,
) -> None:
    workspace.put("a.py", "if a:\n\treturn  1\n")
    told = await workspace.refused("edit_file", path="a.py", old_text="    return 1", new_text="x")
    assert told == (
        "old_text is not in a.py. It occurs with different whitespace:\n     2\t\treturn  1"
    )


async def test_a_text_that_is_not_there_is_answered_with_the_nearest_lines(
    workspace: ToolWorkspace,
) -> None:
    workspace.put("a.py", "import os\n\ndef window(head, tip):\n    return tip - head\n")
    told = await workspace.refused(
        "edit_file", path="a.py", old_text="def window(head, tail):", new_text="x"
    )
    assert "The most similar lines are:\n     1\timport os" in told
    assert "     3\tdef window(head, tip):" in told


async def test_a_text_like_nothing_in_the_file_is_told(workspace: ToolWorkspace) -> None:
    workspace.put("a.py", "import os\n")
    told = await workspace.refused("edit_file", path="a.py", old_text="zzz qqq", new_text="x")
    assert "No line in it is similar" in told


async def test_an_edit_that_changes_nothing_is_told(workspace: ToolWorkspace) -> None:
    workspace.put("a.py", "a")
    assert "the same" in await workspace.refused(
        "edit_file", path="a.py", old_text="a", new_text="a"
    )


async def test_line_ends_of_windows_stay(workspace: ToolWorkspace) -> None:
    file = workspace.put("a.txt", "one\r\ntwo\r\nthree\r\n")
    await workspace.done("edit_file", path="a.txt", old_text="one\ntwo", new_text="1\n2\n2b")
    assert file.read_bytes() == b"1\r\n2\r\n2b\r\nthree\r\n"


async def test_what_is_no_text_is_not_edited(workspace: ToolWorkspace) -> None:
    workspace.put("a.bin", b"a\0b")
    workspace.put("b.txt", "grün".encode("latin-1"))
    assert "not text" in await workspace.refused(
        "edit_file", path="a.bin", old_text="a", new_text="b"
    )
    assert "not UTF-8" in await workspace.refused(
        "edit_file", path="b.txt", old_text="g", new_text="b"
    )


def test_a_file_that_changed_since_it_was_read_is_not_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("one")
    place = locate(str(tmp_path), "a.txt")
    with open_file(place) as opened:
        seen = file_state(opened.fileno())
    file.write_text("somebody else's")
    with pytest.raises(ToolError, match="changed while it was edited"):
        replace_file(place, b"two", seen)
    assert file.read_text() == "somebody else's"


async def test_the_mask_of_a_secret_does_not_take_its_place(workspace: ToolWorkspace) -> None:
    content = "NAME=wood\nDB_PASSWORD=hunter2024\n"
    file = workspace.put(".env", content)
    masked = mask_secrets(content)
    told = await workspace.refused("write_file", path=".env", content=masked + "MORE=1\n")
    assert "[secret: password] stands for a secret in .env" in told
    told = await workspace.refused(
        "edit_file", path=".env", old_text="DB_PASSWORD=[secret: password]", new_text="X=1"
    )
    assert "must not overwrite" in told
    assert file.read_text() == content
    await workspace.done("edit_file", path=".env", old_text="NAME=wood", new_text="NAME=oak")


async def test_a_mask_in_a_text_about_masks_may_be_written(workspace: ToolWorkspace) -> None:
    await workspace.done("write_file", path="guide.md", content="It shows [secret: password].")


async def test_git_s_own_files_are_not_written_by_a_rule_that_does_not_name_them(
    workspace: ToolWorkspace,
) -> None:
    for path in (".git/hooks/pre-commit", "sub/.GIT/config", ".sapwood/rules"):
        told = await workspace.refused("write_file", path=path, content="")
        assert "it needs approval and nobody can approve it" in told
    named = ToolWorkspace(workspace.folder, ["allow write_file(.git/description)"])
    await named.done("write_file", path=".git/description", content="wood")
