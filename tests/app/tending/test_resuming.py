"""The thread is brought back after a compaction, on resume, on clear, and to subagents."""

import pytest

from sapwood.tokens.chars4 import Chars4Counter
from tests.app.tending.conftest import Tended


def context(answer: dict[str, dict[str, str]]) -> str:
    return answer["hookSpecificOutput"]["additionalContext"]


@pytest.mark.parametrize("source", ["compact", "resume", "fork"])
def test_the_model_gets_a_resumption_prompt(tended: Tended, source: str) -> None:
    talk = tended.transcript().ask("Fix the heron module.").say("Fixed.", used=5_000)
    answer = tended.call("session-start", talk, source=source)
    assert context(answer).startswith("## Session Resumption")
    assert "heron module" in context(answer)
    assert tended.acts()[-1].did == "resumed"


def test_a_new_session_gets_nothing(tended: Tended) -> None:
    talk = tended.transcript().ask("One?").say("Yes.")
    assert tended.call("session-start", talk, source="startup") is None
    assert tended.acts() == []


def test_the_prompt_says_where_the_archive_is(tended: Tended) -> None:
    talk = tended.transcript().ask("One?").say("Yes.")
    tended.call("pre-compact", talk)
    talk.compact("A summary.")
    path = tended.acts()[0].path
    assert context(tended.call("session-start", talk, source="compact")).endswith(path)


def test_after_a_clear_the_session_before_is_archived_and_brought_back(tended: Tended) -> None:
    old = tended.transcript("old").ask("Fix the heron module.").say("Half done.")
    tended.call("user-prompt-submit", old)
    new = tended.transcript("new")
    answer = tended.call("session-start", new, source="clear")
    assert "heron module" in context(answer)
    assert "Half done." in tended.archives()[0]


def test_a_clear_without_a_session_before_gets_nothing(tended: Tended) -> None:
    assert tended.call("session-start", tended.transcript(), source="clear") is None


def test_another_projects_session_is_not_brought_in(tended: Tended) -> None:
    old = tended.transcript("old").ask("Fix the heron module.").say("Half done.")
    tended.call("user-prompt-submit", old, cwd="/srv/other")
    assert tended.call("session-start", tended.transcript("new"), source="clear") is None


@pytest.mark.parametrize("budget", [100, 300, 2_000])
def test_the_prompt_keeps_to_the_budget(tended: Tended, budget: int) -> None:
    (tended.home / "config.toml").write_text(f"[tending]\nbudget = {budget}\n")
    talk = tended.transcript()
    for number in range(60):
        talk.ask(f"Change module {number}, please. " * 10)
        talk.call("Edit", {"file_path": f"/srv/wood/src/module_{number}.py"}, "ok").say("Done.")
    tended.call("pre-compact", talk)
    prompt = context(tended.call("session-start", talk, source="compact"))
    assert Chars4Counter().count(prompt).tokens <= budget


def test_a_budget_of_nothing_brings_nothing(tended: Tended) -> None:
    (tended.home / "config.toml").write_text("[tending]\nbudget = 0\n")
    talk = tended.transcript().ask("One?").say("Yes.")
    assert tended.call("session-start", talk, source="compact") is None


def test_a_subagent_hears_of_the_session_that_it_works_for(tended: Tended) -> None:
    talk = tended.transcript().ask("Fix the heron module.").say("On it.")
    answer = tended.call("subagent-start", talk, agent_id="a1", agent_type="Explore")
    assert answer is None  # nobody has said yet where the session's own transcript is
    tended.call("user-prompt-submit", talk)
    own = tended.transcript("agent-a1")
    answer = tended.call(
        "subagent-start", own, session_id="s1", agent_id="a1", agent_type="Explore"
    )
    assert "heron module" in context(answer)
