"""The checks of the proof of a service find what they look for."""

import random

import pytest

import sapwood
from proofs.service import checks
from proofs.service.checks import Findings, check_log, try_other_tenants
from proofs.service.load import Conversation, percentile
from proofs.service.model import expected, uses_tool
from proofs.service.stages import Stages


async def conversation(db: sapwood.Sapwood, *tokens: str) -> Conversation:
    """A conversation in which each of these was asked and answered once."""
    agent = await db.start(model="den:qwen3")
    space = db.connection.space
    for token in tokens:
        async with agent.turn(token) as turn:
            await turn.reply(expected(token, space))
    return Conversation(space, agent, list(tokens))


async def found(*conversations: Conversation) -> Findings:
    findings = Findings(sentences=[])
    await check_log(list(conversations), findings)
    return findings


@pytest.fixture
def chance() -> random.Random:
    return random.Random(7)


async def test_a_lost_prompt_is_found() -> None:
    async with sapwood.open(":memory:", space="a") as db:
        given = await conversation(db, "a/0/1")
        given.tokens.append("a/1/5")
        assert (await found(given)).lost == 2  # the prompt and its answer


async def test_a_doubled_answer_is_found() -> None:
    async with sapwood.open(":memory:", space="a") as db:
        given = await conversation(db, "a/0/1", "a/1/5", "a/1/5")
        given.tokens.pop()
        assert (await found(given)).doubled == 2


async def test_a_conversation_that_is_seen_by_another_tenant_is_found(
    chance: random.Random, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "SILENCE", 0.2)
    async with sapwood.open(":memory:", space="a") as db:
        mine = await conversation(db, "a/0/deadbeef1")
        findings = Findings(sentences=[])
        disguised = Conversation("b", mine.agent, mine.tokens)
        theirs = await conversation(db.space("c"), "c/0/c0ffee1")
        await try_other_tenants(db, [theirs, mine], chance, findings)
        assert findings.seen == 0
        assert findings.attempts > 0
        await try_other_tenants(db, [disguised, mine], chance, findings)
        assert findings.seen > 0
        assert findings.lost > 0


async def test_a_search_that_finds_similar_words_of_its_own_tenant_is_no_finding(
    chance: random.Random,
) -> None:
    async with sapwood.open(":memory:", space="a") as db:
        mine = await conversation(db, "a/0/bead")
        theirs = await conversation(db.space("b"), "b/0/beaded")
        assert await db.search("beaded")  # it finds its own bead
        findings = Findings(sentences=[])
        await try_other_tenants(db, [mine, theirs], chance, findings)
        assert findings.seen == 0


def test_one_prompt_of_four_uses_the_tool_and_names_its_tenant() -> None:
    tokens = [f"tenant-03/0/{number:x}" for number in range(8)]
    assert sum(map(uses_tool, tokens)) == 2
    assert expected(tokens[4], "tenant-03").endswith("in tenant-03")


def test_a_percentile_is_one_of_the_values() -> None:
    assert percentile([3.0, 1.0, 2.0], 0.95) == 3.0
    assert percentile([float(number) for number in range(100)], 0.5) == 50.0


def test_a_prompt_that_waited_for_a_worker_when_one_was_killed_is_told_apart() -> None:
    stages = Stages(0.0, 0.0, 0.0, waits={"a/0/1": (10.0, 12.0)})
    assert stages.waited_at("a/0/1", [3.0, 11.0])
    assert not stages.waited_at("a/0/1", [3.0, 13.0])
    assert not stages.waited_at("a/0/2", [11.0])
