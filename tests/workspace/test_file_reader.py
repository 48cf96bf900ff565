"""`read_file` shows the lines of a text file and names what it cannot show."""

import pytest

from sapwood.core.turn import MAX_SHOWN
from sapwood.workspace.tool_output import MAX_RESULT_BYTES
from tests.workspace.tool_calls import ToolWorkspace


async def test_lines_come_with_their_numbers(workspace: ToolWorkspace) -> None:
    workspace.put("a.txt", "one\n\ttwo\n\nfour")
    assert await workspace.done("read_file", path="a.txt") == (
        "     1\tone\n     2\t\ttwo\n     3\t\n     4\tfour"
    )


async def test_a_part_is_shown_with_where_to_go_on(workspace: ToolWorkspace) -> None:
    workspace.put("a.txt", "".join(f"{n}\n" for n in range(1, 101)))
    shown = await workspace.done("read_file", path="a.txt", offset=10, limit=2)
    assert shown == (
        "    10\t10\n    11\t11\n[the file continues; offset=12 shows more of about 100 lines]"
    )


async def test_the_last_part_is_shown_without(workspace: ToolWorkspace) -> None:
    workspace.put("a.txt", "a\nb\n")
    assert await workspace.done("read_file", path="a.txt", offset=2, limit=5) == "     2\tb"


async def test_an_offset_past_the_end_is_told(workspace: ToolWorkspace) -> None:
    workspace.put("a.txt", "a\nb\n")
    told = await workspace.refused("read_file", path="a.txt", offset=9)
    assert told == "a.txt has 2 lines; there is no line 9."


async def test_an_empty_file_is_told(workspace: ToolWorkspace) -> None:
    workspace.put("a.txt", "")
    assert await workspace.done("read_file", path="a.txt") == "[a.txt is empty]"


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0", "a.bin is a PNG image of 10 bytes, not text."),
        (b"SQLite format 3\0more", "a.bin is an SQLite database of 20 bytes, not text."),
        (b"abc\0def", "a.bin is a binary file of 7 bytes, not text."),
    ],
)
async def test_a_binary_file_is_told_and_not_shown(
    workspace: ToolWorkspace, data: bytes, told: str
) -> None:
    workspace.put("a.bin", data)
    assert await workspace.refused("read_file", path="a.bin") == told


async def test_line_ends_of_windows_are_told(workspace: ToolWorkspace) -> None:
    workspace.put("a.txt", "a\r\nb\r\n")
    assert (
        await workspace.done("read_file", path="a.txt")
        == "     1\ta\n     2\tb\n[lines end in CR LF]"
    )


async def test_bytes_that_are_no_text_are_told(workspace: ToolWorkspace) -> None:
    workspace.put("a.txt", "grün\n".encode("latin-1"))
    shown = await workspace.done("read_file", path="a.txt")
    assert shown == "     1\tgr\ufffdn\n[some bytes are not UTF-8 and are shown as \ufffd]"


async def test_a_mark_of_the_byte_order_is_not_shown(workspace: ToolWorkspace) -> None:
    workspace.put("a.txt", "\ufeffwood")
    assert await workspace.done("read_file", path="a.txt") == "     1\twood"


async def test_utf_16_is_shown_as_text(workspace: ToolWorkspace) -> None:
    workspace.put("a.txt", "æ\n木\n".encode("utf-16"))
    assert await workspace.done("read_file", path="a.txt") == "     1\tæ\n     2\t木"


async def test_separators_within_a_line_do_not_end_it(workspace: ToolWorkspace) -> None:
    workspace.put("a.txt", "a\u2028b\x0cc\n")
    assert await workspace.done("read_file", path="a.txt") == "     1\ta\u2028b\x0cc"


async def test_a_huge_file_ends_at_the_bound_and_says_where_to_go_on(
    workspace: ToolWorkspace,
) -> None:
    workspace.put("big.txt", "0123456789\n" * 1_000_000)
    shown = await workspace.done("read_file", path="big.txt")
    assert len(shown) < MAX_SHOWN
    number = (MAX_SHOWN - 500) // 19 + 1
    assert shown.endswith(
        f"[the file continues; offset={number} shows more of about 1,000,000 lines]"
    )
    assert f"{number}\t01" in await workspace.done(
        "read_file", path="big.txt", offset=number, limit=1
    )


async def test_a_line_longer_than_the_bound_is_cut_and_told(workspace: ToolWorkspace) -> None:
    workspace.put("long.txt", "x" * (MAX_RESULT_BYTES + 10))
    shown = await workspace.done("read_file", path="long.txt")
    assert shown.endswith(
        "x\n[line 1 continues: it is longer than 29,500 bytes; offset=2 shows what follows it]"
    )
