"""The status line says what the program told, and nothing before it told anything."""

import pytest

from sapwood.app.tending.memory import Memory
from tests.app.tending.conftest import Tended


def draw(tended: Tended, used: object, window: object, **more: object) -> str:
    figures = {"total_input_tokens": used, "context_window_size": window, **more}
    return tended.call_raw("status-line", None, session_id="s1", context_window=figures).decode()


def test_it_says_how_full_the_window_is(tended: Tended) -> None:
    assert draw(tended, 47_000, 200_000) == "context 47k of 200k, 24%\n"


def test_a_full_window_is_coloured_and_says_what_would_be_lost(tended: Tended) -> None:
    prepared = '{"size": 1, "lost": "3 turns, 2 decisions"}'
    Memory(str(tended.data / "tending"), "s1").put("prepared", prepared)
    line = draw(tended, 150_000, 200_000)
    assert line == (
        "\x1b[33mcontext 150k of 200k, 75% · a compaction would lose 3 turns, 2 decisions"
        " · context prune\x1b[0m\n"
    )
    assert draw(tended, 190_000, 200_000).startswith("\x1b[31m")
    tended.environ["NO_COLOR"] = "1"
    assert draw(tended, 190_000, 200_000).startswith("context 190k of 200k, 95%")


def test_the_newest_usage_counts(tended: Tended) -> None:
    usage = {"input_tokens": 1_000, "cache_read_input_tokens": 60_000}
    assert draw(tended, 5, 1_000_000, current_usage=usage) == "context 61k of 1.0M, 6%\n"


def test_where_the_program_compacts_counts_as_full(tended: Tended) -> None:
    tended.environ["CLAUDE_CODE_AUTO_COMPACT_WINDOW"] = "100000"
    assert "of 67k, 60%" in draw(tended, 40_200, 100_000)


@pytest.mark.parametrize(
    ("used", "window"), [(None, 200_000), (0, 200_000), (5_000, None), ("x", "y")]
)
def test_what_is_not_known_is_not_said(tended: Tended, used: object, window: object) -> None:
    assert draw(tended, used, window) == ""


def test_nothing_is_journalled_for_it(tended: Tended) -> None:
    draw(tended, 190_000, 200_000)
    assert tended.acts() == []
