"""The thread is brought back after a compaction, on resume, on clear, and to subagents."""

import pytest

from sapwood.tokens.estimators import Chars4Counter
from tests.hooks.conftest import HookCaller


def context(answer: dict[str, dict[str, str]]) -> str:
    return answer["hookSpecificOutput"]["additionalContext"]


@pytest.mark.parametrize("source", ["compact", "resume", "fork"])
def test_the_model_gets_a_resumption_prompt(caller: HookCaller, source: str) -> None:
    talk = caller.transcript().ask("Fix the heron module.").say("Fixed.", used=5_000)
    answer = caller.call("session-start", talk, source=source)
    assert context(answer).startswith("## Session Resumption")
    assert "heron module" in context(answer)
    assert caller.entries()[-1].kind == "resumed"


def test_a_new_session_gets_nothing(caller: HookCaller) -> None:
    talk = caller.transcript().ask("One?").say("Yes.")
    assert caller.call("session-start", talk, source="startup") is None
    assert caller.entries() == []


def test_the_prompt_says_where_the_archive_is(caller: HookCaller) -> None:
    talk = caller.transcript().ask("One?").say("Yes.")
    caller.call("pre-compact", talk)
    talk.compact("A summary.")
    path = caller.entries()[0].path
    assert context(caller.call("session-start", talk, source="compact")).endswith(path)


def test_after_a_clear_the_session_before_is_archived_and_brought_back(caller: HookCaller) -> None:
    old = caller.transcript("old").ask("Fix the heron module.").say("Half done.")
    caller.call("user-prompt-submit", old)
    new = caller.transcript("new")
    answer = caller.call("session-start", new, source="clear")
    assert "heron module" in context(answer)
    assert "Half done." in caller.archives()[0]


def test_a_clear_without_a_session_before_gets_nothing(caller: HookCaller) -> None:
    assert caller.call("session-start", caller.transcript(), source="clear") is None


def test_another_projects_session_is_not_brought_in(caller: HookCaller) -> None:
    old = caller.transcript("old").ask("Fix the heron module.").say("Half done.")
    caller.call("user-prompt-submit", old, cwd="/srv/other")
    assert caller.call("session-start", caller.transcript("new"), source="clear") is None


@pytest.mark.parametrize("budget", [100, 300, 2_000])
def test_the_prompt_keeps_to_the_budget(caller: HookCaller, budget: int) -> None:
    (caller.home / "config.toml").write_text(f"[tending]\nbudget = {budget}\n")
    talk = caller.transcript()
    for number in range(60):
        talk.ask(f"Change module {number}, please. " * 10)
        talk.call("Edit", {"file_path": f"/srv/wood/src/module_{number}.py"}, "ok").say("Done.")
    caller.call("pre-compact", talk)
    prompt = context(caller.call("session-start", talk, source="compact"))
    assert Chars4Counter().count(prompt).tokens <= budget


def test_a_budget_of_nothing_brings_nothing(caller: HookCaller) -> None:
    (caller.home / "config.toml").write_text("[tending]\nbudget = 0\n")
    talk = caller.transcript().ask("One?").say("Yes.")
    assert caller.call("session-start", talk, source="compact") is None


def test_a_subagent_hears_of_the_session_that_it_works_for(caller: HookCaller) -> None:
    talk = caller.transcript().ask("Fix the heron module.").say("On it.")
    answer = caller.call("subagent-start", talk, agent_id="a1", agent_type="Explore")
    assert answer is None  # nobody has said yet where the session's own transcript is
    caller.call("user-prompt-submit", talk)
    own = caller.transcript("agent-a1")
    answer = caller.call(
        "subagent-start", own, session_id="s1", agent_id="a1", agent_type="Explore"
    )
    assert "heron module" in context(answer)
