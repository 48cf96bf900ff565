"""Submissions end to end: what a person sends at once, carried out in order."""

import pytest

from sapwood.conversation.answers import (
    AgentTree,
    Changed,
    ConversationStarted,
    HelpShown,
    MailShown,
    Prompted,
)
from sapwood.conversation.script import CommandStep, TextStep
from sapwood.conversation.service import Outcome
from sapwood.core.commands import Kill
from sapwood.core.ids import AgentId
from sapwood.core.refusals import (
    AmbiguousAgent,
    ModelTooSmall,
    Refusal,
    TurnIsOpen,
    UnknownAgent,
    UnknownMark,
)
from tests.conversation.spaces import service_of
from tests.store.memory_log import MemoryLog
from tests.turns.commanding import AGENT, SPACE, Desk


async def sends(desk: Desk, submission: str, agent: AgentId = AGENT) -> list[Outcome]:
    """What comes of a submission."""
    return await service_of(desk).submit(agent, submission)


def says(outcomes: list[Outcome]) -> list[str]:
    """The line said to each step."""
    return [outcome.message for outcome in outcomes if not isinstance(outcome.answer, Refusal)]


async def children(log: MemoryLog, agent: AgentId = AGENT) -> list[AgentId]:
    """The agent's children, oldest first."""
    return [summary.agent for summary in reversed(await log.agents(SPACE, parent=agent))]


async def test_text_is_a_prompt(desk: Desk) -> None:
    await desk.start()
    await sends(desk, "What is 6 x 7?\nPlease.")
    assert await desk.said() == ["What is 6 x 7?\nPlease."]
    assert (await desk.dispatcher.open(AGENT)).state.open is not None


async def test_commands_are_carried_out_in_order(desk: Desk) -> None:
    await desk.start()
    await desk.turn("ask 1")
    outcomes = await sends(desk, "/mark A\n/clear\n/undo\n/rewind A\n/pin rule Be brief.")
    assert says(outcomes) == [
        "Marked 'A'.",
        "Context cleared.",
        "Undone: /clear. 1 turn back in view.",
        "Nothing changed: this is 'A'.",
        "Pinned 'rule'.",
    ]


async def test_the_three_line_pattern_delegates(desk: Desk, log: MemoryLog) -> None:
    await desk.start()
    await desk.turn("ask 1", "answer 1")
    goal = "Investigate authentication approaches.\nReport findings via /send when complete."
    outcomes = await sends(desk, f"/mark RESEARCH\n{goal}\n/fork RESEARCH")
    (child,) = await children(log)
    assert says(outcomes) == [
        "Marked 'RESEARCH'.",
        f"Forked. Child: Investigate authentication approaches.… ({child}) from RESEARCH",
    ]
    assert await desk.said(child) == [goal]
    assert (await desk.dispatcher.open(child)).state.open is not None
    assert (await desk.dispatcher.open(AGENT)).state.open is None
    await desk.prompt("And now?")
    heard = (await desk.said())[-1]
    assert heard.startswith(f"[Delegated to agent {child}, which works on it. This text ends at ")
    assert f"]\n{goal}\n[end " in heard
    assert heard.endswith("]\n\nAnd now?")


async def test_parallel_research_gives_each_child_its_goal(desk: Desk, log: MemoryLog) -> None:
    await desk.start()
    await sends(
        desk,
        "/mark AUTH_RESEARCH\n"
        "Research OAuth2 implementation patterns. Report via /send.\n"
        "/fork AUTH_RESEARCH\n"
        "\n"
        "/mark SESSION_RESEARCH\n"
        "Research session-based auth patterns. Report via /send.\n"
        "/fork SESSION_RESEARCH\n"
        "\n"
        "Meanwhile, look at the tests.",
    )
    first, second = await children(log)
    assert await desk.said(first) == ["Research OAuth2 implementation patterns. Report via /send."]
    assert await desk.said(second) == ["Research session-based auth patterns. Report via /send."]
    (prompt,) = await desk.said()
    assert prompt.count("[Delegated to agent") == 2
    assert prompt.endswith("\n\nMeanwhile, look at the tests.")


async def test_typed_line_by_line_the_prompt_goes_to_both(desk: Desk, log: MemoryLog) -> None:
    await desk.start()
    await desk.turn("ask 1", "answer 1")
    for line in ("/mark TASK", "Research OAuth2.", "/fork TASK"):
        await sends(desk, line)
    (child,) = await children(log)
    assert await desk.said(child) == ["Research OAuth2."]
    assert (await desk.said())[-1] == "Research OAuth2."


async def test_a_typed_goal_is_the_childs_alone(desk: Desk, log: MemoryLog) -> None:
    await desk.start()
    await sends(desk, "/fork -- Find the leak.")
    (child,) = await children(log)
    assert await desk.said(child) == ["Find the leak."]
    assert (await desk.dispatcher.open(AGENT)).state.notes == ()


async def test_a_script_stops_at_the_first_refusal(desk: Desk) -> None:
    await desk.start()
    outcomes = await sends(desk, "/mark A\n/rewind B\n/mark C\nand text")
    assert [isinstance(outcome.answer, Refusal) for outcome in outcomes] == [False, True]
    assert outcomes[-1].answer == UnknownMark("B", (), ("A",))
    assert await desk.kinds() == ["agent.started", "mark.set"]


async def test_what_may_not_run_under_the_prompt_just_sent_is_refused(desk: Desk) -> None:
    await desk.start()
    outcomes = await sends(desk, "Explain.\n/clear\nAnd again.")
    assert outcomes[-1].answer == TurnIsOpen("/clear")
    assert await desk.said() == ["Explain."]


async def test_a_second_text_waits_for_nobody(desk: Desk) -> None:
    await desk.start()
    outcomes = await sends(desk, "one\n/mark A\ntwo")
    assert [type(outcome.step) for outcome in outcomes] == [TextStep, CommandStep, TextStep]
    assert outcomes[-1].answer == TurnIsOpen("A new prompt")


async def test_agents_are_named_by_id_short_id_or_name(desk: Desk) -> None:
    await desk.start()
    for scout in ("abc123", "abd456"):
        await desk.start(AgentId(scout))
    outcomes = await sends(desk, "/send abc Look.\n/send abd456 Look.\n/kill abc123")
    assert says(outcomes) == ["Sent to abc123.", "Sent to abd456.", "Killed abc123."]
    (outcome,) = await sends(desk, "/send zzz Look.")
    assert outcome.answer == UnknownAgent("zzz")
    (outcome,) = await sends(desk, "/kill ab")
    assert isinstance(outcome.answer, AmbiguousAgent)


async def test_mail_is_read_into_the_next_prompt(desk: Desk) -> None:
    await desk.start()
    await desk.start(AgentId("scout"))
    await sends(desk, f"/send {AGENT} The build is red.", AgentId("scout"))
    (peeked,) = await sends(desk, "/check-mail --peek")
    assert isinstance(peeked.answer, MailShown)
    assert [letter.text for letter in peeked.answer.letters] == ["The build is red."]
    await sends(desk, "/check-mail\nWhat is new?")
    (prompt,) = await desk.said()
    assert prompt.startswith("[Mail from agent scout.")
    assert "The build is red.\n" in prompt
    assert prompt.endswith("\n\nWhat is new?")


async def test_new_starts_afresh(desk: Desk, log: MemoryLog) -> None:
    await desk.start()
    await desk.turn()
    (outcome,) = await sends(desk, "/new")
    assert isinstance(outcome.answer, ConversationStarted)
    successor = outcome.answer.agent
    assert outcome.message == f"Archived {AGENT}. New agent: {successor}"
    assert await desk.said(successor) == []
    summary = await log.summary(SPACE, AGENT)
    assert summary is not None
    assert summary.status == "archived"


async def test_what_follows_new_is_for_the_new_agent(desk: Desk, log: MemoryLog) -> None:
    await desk.start()
    await desk.turn()
    outcomes = await sends(desk, "/new\nStart over.")
    assert [type(outcome.answer) for outcome in outcomes] == [ConversationStarted, Prompted]
    (successor,) = [f.agent for f in await log.agents(SPACE, status="running")]
    assert await desk.said(successor) == ["Start over."]


async def test_what_is_only_shown_is_answered_too(desk: Desk) -> None:
    await desk.start()
    outcomes = await sends(desk, "/help\n/agents\n/mark A")
    assert [type(outcome.answer) for outcome in outcomes] == [HelpShown, AgentTree, Changed]


async def test_a_dead_agent_is_told_what_to_do(desk: Desk) -> None:
    await desk.start()
    await desk.do(Kill(AGENT))
    (outcome,) = await sends(desk, "hello")
    assert isinstance(outcome.answer, Refusal)
    assert "fork it" in outcome.answer.sentence


async def test_nothing_is_carried_out_for_nothing(desk: Desk) -> None:
    await desk.start()
    assert await sends(desk, " \n ") == []


async def test_two_forks_after_one_text_share_its_goal(desk: Desk, log: MemoryLog) -> None:
    await desk.start()
    await sends(desk, "Break the lock.\n/fork\n/fork\nHow is it going?")
    first, second = await children(log)
    assert await desk.said(first) == await desk.said(second) == ["Break the lock."]
    heard = (await desk.said())[0]
    assert heard.count("[Delegated to agent") == 2
    assert heard.endswith("How is it going?")


async def test_a_child_sends_mail_to_its_parent(desk: Desk, log: MemoryLog) -> None:
    await desk.start()
    await sends(desk, "/fork")
    (child,) = await children(log)
    assert says(await sends(desk, "/send parent Done.", child)) == [f"Sent to {AGENT}."]
    assert [letter.text for letter in (await desk.dispatcher.open(AGENT)).state.inbox] == ["Done."]


async def test_another_model_is_taken_if_it_can_be(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def window_of(model: str) -> int:
        return 1_000

    def fits(tokens: int, model: str) -> bool:
        return model != "tiny"

    monkeypatch.setattr("sapwood.conversation.configured_models.window_of", window_of)
    monkeypatch.setattr("sapwood.conversation.configured_models.fits", fits)
    await desk.start()
    await sends(desk, "/config model large\n/mark A")
    settings = (await desk.dispatcher.open(AGENT)).state.settings
    assert (settings.model, settings.window) == ("large", 1_000)
    [refused] = await sends(desk, "/model tiny\n/mark B")
    assert isinstance(refused.answer, ModelTooSmall)
    state = (await desk.dispatcher.open(AGENT)).state
    assert (state.settings.model, len(state.marks)) == ("large", 1)


async def test_commands_without_effect_are_noted_apart_without_their_arguments(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    await desk.start()
    before = await desk.kinds()
    with caplog.at_level("INFO", "sapwood.commands"):
        await sends(desk, "/clear")
        await sends(desk, "/rewind secret-place")
    assert await desk.kinds() == before
    noted = [record.getMessage() for record in caplog.records]
    assert noted == [
        f"/clear of a person on {AGENT} changed nothing",
        f"/rewind of a person on {AGENT} was refused: UnknownMark",
    ]
