"""The status line says what the program told, and nothing before it told anything."""

import pytest

from sapwood.context_actions.hook_memory import HookMemory
from tests.hooks.conftest import HookCaller


def draw(caller: HookCaller, used: object, window: object, **more: object) -> str:
    figures = {"total_input_tokens": used, "context_window_size": window, **more}
    return caller.call_raw("status-line", None, session_id="s1", context_window=figures).decode()


def test_it_says_how_full_the_window_is(caller: HookCaller) -> None:
    assert draw(caller, 47_000, 200_000) == "context 47k of 200k, 24%\n"


def test_a_full_window_is_coloured_and_says_what_would_be_lost(caller: HookCaller) -> None:
    prepared = '{"size": 1, "lost": "3 turns, 2 decisions"}'
    HookMemory(str(caller.data / "tending"), "s1").put("prepared", prepared)
    line = draw(caller, 150_000, 200_000)
    assert line == (
        "\x1b[33mcontext 150k of 200k, 75% · a compaction would lose 3 turns, 2 decisions"
        " · sapwood context prune\x1b[0m\n"
    )
    assert draw(caller, 190_000, 200_000).startswith("\x1b[31m")
    caller.environ["NO_COLOR"] = "1"
    assert draw(caller, 190_000, 200_000).startswith("context 190k of 200k, 95%")


def test_the_newest_usage_counts(caller: HookCaller) -> None:
    usage = {"input_tokens": 1_000, "cache_read_input_tokens": 60_000}
    assert draw(caller, 5, 1_000_000, current_usage=usage) == "context 61k of 1.0M, 6%\n"


def test_where_the_program_compacts_counts_as_full(caller: HookCaller) -> None:
    caller.environ["CLAUDE_CODE_AUTO_COMPACT_WINDOW"] = "100000"
    assert "of 67k, 60%" in draw(caller, 40_200, 100_000)


@pytest.mark.parametrize(
    ("used", "window"), [(None, 200_000), (0, 200_000), (5_000, None), ("x", "y")]
)
def test_what_is_not_known_is_not_said(caller: HookCaller, used: object, window: object) -> None:
    assert draw(caller, used, window) == ""


def test_nothing_is_journalled_for_it(caller: HookCaller) -> None:
    draw(caller, 190_000, 200_000)
    assert caller.entries() == []


def test_after_a_pause_it_says_what_coming_back_costs(caller: HookCaller) -> None:
    memory = HookMemory(str(caller.data / "tending"), "s1")
    memory.put("cold", f"{2**40}\n214k tokens are cold.")
    assert draw(caller, 47_000, 200_000) == "context 47k of 200k, 24%\n"
    memory.put("cold", "1\n214k tokens are cold.")
    assert draw(caller, 47_000, 200_000) == "context 47k of 200k, 24% · 214k tokens are cold.\n"
    talk = caller.transcript().ask("One?").say("Yes.")
    answer = caller.call("session-start", talk, source="resume")
    assert answer == {"systemMessage": "Sapwood: 214k tokens are cold."}


def test_a_prompt_makes_the_tokens_warm_again(caller: HookCaller) -> None:
    memory = HookMemory(str(caller.data / "tending"), "s1")
    memory.put("cold", "1\n214k tokens are cold.")
    talk = caller.transcript().ask("One?").say("Yes.")
    assert "cold" in caller.call("session-start", talk, source="resume")["systemMessage"]
    assert "cold" in draw(caller, 47_000, 200_000)
    caller.call("user-prompt-submit", talk, agent_id="a1")
    assert "cold" in draw(caller, 47_000, 200_000)
    caller.call("user-prompt-submit", talk)
    assert draw(caller, 47_000, 200_000) == "context 47k of 200k, 24%\n"
