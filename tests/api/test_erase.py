"""Erasure from a Python program: what is erased is nowhere, and legal holds forbid it."""

from pathlib import Path

import pytest

import sapwood
from sapwood import Actor, Agent, AgentNotFound, RefusedError, Sapwood
from sapwood.core.erasure import ERASED
from sapwood.core.refusals import ErasureHeld
from sapwood.lifecycle.erasable_log import erasable
from sapwood.lifecycle.retention import add_hold, release_hold
from tests.api.reading import said


async def test_a_handle_of_an_erased_agent_has_nothing_left(db: Sapwood, agent: Agent) -> None:
    await agent.record("My number is 555.", "Noted.")
    assert await said(agent) == ["My number is 555.", "Noted."]
    record = await agent.erase(actor=Actor("human", "ada"))
    assert (record.by, record.agents, record.events) == ("human:ada", 1, 2)
    assert await agent.events() == []
    assert (await agent.state()).version == 0
    with pytest.raises(AgentNotFound):
        await db.get(agent.id)
    with pytest.raises(RefusedError):
        await agent.record("Are you there?", "No.")
    assert await db.erasures() == [record]


async def test_a_child_s_report_is_replaced_in_the_log_of_its_parent(
    db: Sapwood, agent: Agent
) -> None:
    await agent.run_command("/fork -- Find the heron.")
    [summary] = await db.agents(parent=agent.id)
    child = await db.get(summary.agent)
    await child.run_command("/send parent The heron is in the reeds.")
    assert [letter.text for letter in await agent.mail()] == ["The heron is in the reeds."]
    await child.erase()
    assert [letter.text for letter in await agent.mail()] == [ERASED]
    assert await db.search("reeds") == []


async def test_another_process_does_not_show_what_it_has_in_memory(tmp_path: Path) -> None:
    file = tmp_path / "log.db"
    async with sapwood.open(file) as db, sapwood.open(file) as other:
        agent = await db.start("demo")
        await agent.record("My number is 555.", "Noted.")
        elsewhere = await other.get(agent.id)
        assert (await elsewhere.state()).version == 2
        await agent.erase()
        assert (await elsewhere.state()).version == 0
        assert (await elsewhere.request()).messages == ()


async def test_several_agents_and_a_whole_space(db: Sapwood) -> None:
    first, second, third = [await db.start(name) for name in ("a", "b", "c")]
    assert (await db.erase([first.id, second.id])).agents == 2
    assert [summary.agent for summary in await db.agents()] == [third.id]
    assert (await db.erase_space()).scope == "space"
    assert await db.agents() == []


async def test_a_hold_forbids_erasure_until_it_is_released(db: Sapwood, agent: Agent) -> None:
    log, space = erasable(db.connection.log), db.connection.space
    await agent.run_command("/fork -- Help.")
    [child] = await db.agents(parent=agent.id)
    hold = await add_hold(log, space, "agent", child.agent, by="human:judge", reason="case 42")
    for erase in (agent.erase, db.erase_space):
        with pytest.raises(RefusedError, match="case 42") as refused:
            await erase()
        assert refused.value.refusal == ErasureHeld(hold.id, "case 42")
    assert (await agent.state()).version > 0
    await release_hold(log, space, hold.id, by="human:judge")
    assert (await agent.erase()).agents == 2


async def test_an_erasure_that_was_cut_off_is_finished_when_the_database_is_opened(
    tmp_path: Path,
) -> None:
    file = tmp_path / "log.db"
    async with sapwood.open(file) as db:
        agent = await db.start("demo")
        await agent.record("The secret heron.", "Noted.")
        record = sapwood.Erasure("e1", 1, "human", "conversation")
        await erasable(db.connection.log).begin_erasure(db.connection.space, record, [agent.id])
    async with sapwood.open(file) as db:
        assert await db.agents() == []
        [finished] = await db.erasures()
        assert finished.finished > 0
    assert b"heron" not in file.read_bytes()


async def test_everything_of_an_owner_goes_unless_it_is_held(db: Sapwood) -> None:
    for owner in ("user-42", "user-42", "user-7"):
        await db.start(owner=owner)
    log, space = erasable(db.connection.log), db.connection.space
    hold = await add_hold(log, space, "owner", "user-42", by="human:judge")
    with pytest.raises(RefusedError):
        await db.erase(owner="user-42")
    await release_hold(log, space, hold.id, by="human:judge")
    record = await db.erase(owner="user-42")
    assert (record.scope, record.agents) == ("owner", 2)
    assert [summary.tags and summary.tags.owner for summary in await db.agents()] == ["user-7"]
    assert await db.agents(where=sapwood.Where(owner="user-42")) == []
    with pytest.raises(RefusedError):
        await db.erase()
