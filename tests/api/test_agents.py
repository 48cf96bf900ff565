"""Agents: started, found, resumed, succeeded, archived, killed."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import sapwood
from sapwood import Agent, RefusedError, Sapwood, Settings
from tests.api.reading import kinds, said
from tests.store.memory_log import MemoryLog


async def test_an_agent_starts_with_what_it_is_given(db: Sapwood) -> None:
    agent = await db.start(
        "demo", model="gpt-5", system="Be brief.", cap=9, pins={"rule": "No jargon."}, folder="src"
    )
    state = await agent.state()
    assert (state.name, state.status, state.workspace.folder) == ("demo", "running", "src")
    assert (state.settings.model, state.settings.cap) == ("gpt-5", 9)
    blocks = (await agent.request()).system
    assert [(block.kind, block.text) for block in blocks] == [
        ("system", "Be brief."),
        ("pin", "No jargon."),
    ]


async def test_settings_take_the_place_of_single_options(db: Sapwood) -> None:
    agent = await db.start(model="ignored", settings=Settings(model="gpt-5", window=400_000))
    assert (await agent.state()).settings == Settings(model="gpt-5", window=400_000)


async def test_an_agent_is_found_by_id_by_the_start_of_it_and_by_name(
    db: Sapwood, agent: Agent
) -> None:
    found = [await db.find(typed) for typed in (agent.id, agent.id[:6], "demo")]
    assert [each.id for each in found] == [agent.id] * 3


async def test_an_unknown_agent_is_refused_with_what_to_do(db: Sapwood) -> None:
    with pytest.raises(RefusedError, match=r"no agent 'nobody'\. Type /agents for a list\."):
        await db.find("nobody")


async def test_a_name_that_two_running_agents_have_is_refused(db: Sapwood) -> None:
    await db.start("twin")
    await db.start("twin")
    with pytest.raises(RefusedError, match="Type more of the id"):
        await db.find("twin")


async def test_an_agent_goes_on_after_its_database_was_closed(tmp_path: Path) -> None:
    path = tmp_path / "conversations.db"
    async with sapwood.open(path) as db:
        first = await db.start("demo")
        await first.record("Remember the heron.", "I will.")
        await first.mark("HERON")
    async with sapwood.open(path) as db:
        again = await db.find("demo")
        await again.record("What was it?", "A heron.")
        assert await said(again) == ["Remember the heron.", "I will.", "What was it?", "A heron."]
        await again.rewind("HERON")
        assert await said(again) == ["Remember the heron.", "I will."]


async def test_an_id_of_ones_own_is_started_once_and_resumed_after(db: Sapwood) -> None:
    first = await db.start("first", id="chat-42", resume=True)
    await first.record("Hello!", "Hello to you.")
    second = await db.start("second", id="chat-42", resume=True)
    assert second.id == "chat-42"
    assert (await second.state()).name == "first"
    assert await said(second) == ["Hello!", "Hello to you."]


async def test_an_id_is_taken_up_only_when_that_is_asked_for(db: Sapwood) -> None:
    await db.start(id="chat-42")
    with pytest.raises(RefusedError, match="already exists"):
        await db.start(id="chat-42")
    with pytest.raises(RefusedError, match="the id of the agent"):
        await db.start("demo", resume=True)


@pytest.mark.parametrize("own", ["two words", "a:1", "-x", "é", "x" * 65])
async def test_an_id_that_could_not_be_typed_is_refused(db: Sapwood, own: str) -> None:
    with pytest.raises(RefusedError, match="'id' must be up to 64 letters"):
        await db.start(id=own)
    assert await db.agents() == []


async def test_a_fresh_start_keeps_settings_and_pins_and_takes_the_name(
    db: Sapwood, agent: Agent
) -> None:
    await agent.pin("rule", "No jargon.")
    await agent.record("Hello!", "Hello to you.")
    fresh = await agent.new()
    assert await said(fresh) == []
    assert [block.text for block in (await fresh.request()).system] == ["No jargon."]
    assert (await agent.state()).status == "archived"
    assert (await db.find("demo")).id == fresh.id


async def test_an_archived_agent_can_be_read_and_forked_but_not_written(agent: Agent) -> None:
    await agent.record("Hello!", "Hello to you.")
    assert (await agent.archive()).message == f"Archived {agent.id}."
    assert await said(agent) == ["Hello!", "Hello to you."]
    with pytest.raises(
        RefusedError,
        match=r"is archived\. You can still read its log\. To continue it, type /unarchive",
    ):
        await agent.record("More?", "No.")
    assert await said(await agent.fork()) == ["Hello!", "Hello to you."]


async def test_a_kill_ends_all_descendants_and_their_open_turns(db: Sapwood, agent: Agent) -> None:
    child = await agent.fork(goal="Look around.")
    grandchild = await child.fork()
    says = await agent.kill()
    assert all(each.id in says.agents for each in (agent, child, grandchild))
    assert {summary.status for summary in await db.agents()} == {"killed"}
    assert (await kinds(child))[-2:] == ["turn.interrupted", "agent.killed"]


async def test_agents_are_listed_in_pages_newest_first(db: Sapwood, agent: Agent) -> None:
    others = [await db.start(f"agent {number}") for number in range(3)]
    first = await db.agents(limit=2)
    rest = await db.agents(limit=2, after=first[-1])
    listed = [summary.agent for summary in (*first, *rest)]
    assert sorted(listed) == sorted([agent.id, *(other.id for other in others)])
    assert [summary.created for summary in (*first, *rest)] == sorted(
        (summary.created for summary in (*first, *rest)), reverse=True
    )


async def test_a_list_can_hold_the_children_of_one_agent(db: Sapwood, agent: Agent) -> None:
    child = await agent.fork(name="scout")
    await agent.archive()
    assert [summary.agent for summary in await db.agents(status="archived")] == [agent.id]
    assert [(summary.agent, summary.name) for summary in await db.agents(parent=agent.id)] == [
        (child.id, "scout")
    ]


async def test_spaces_know_nothing_of_each_other(tmp_path: Path) -> None:
    path = tmp_path / "conversations.db"
    async with sapwood.open(path, space="one") as one, sapwood.open(path, space="two") as two:
        await one.start(id="chat-42")
        assert await two.agents() == []
        other = await two.start(id="chat-42")
        await other.record("secret heron", "kept")
        assert await one.search("heron") == []


async def test_a_space_beside_another_shares_its_database(db: Sapwood) -> None:
    tenant = db.space("tenant-7")
    agent = await tenant.start(id="chat-42")
    await agent.record("secret heron", "kept")
    await tenant.close()
    assert await db.agents() == []
    assert await db.search("heron") == []
    assert len(await db.space("tenant-7").search("heron")) == 1


async def test_a_log_that_is_open_already_stays_open() -> None:
    log = MemoryLog()
    async with sapwood.open(log) as db:
        await db.start("demo")
    async with sapwood.open(log) as db:
        assert [summary.name for summary in await db.agents()] == ["demo"]
    await log.close()


async def test_an_address_of_no_store_is_an_error_that_names_the_ones_there_are() -> None:
    with pytest.raises(sapwood.LogError, match="There is no store for 'mysql://'"):
        async with sapwood.open("mysql://here"):
            pass


async def test_a_mapping_of_pins_that_raises_is_refused(db: Sapwood) -> None:
    class Broken(Mapping[str, str]):
        def __getitem__(self, key: str) -> str:
            raise RuntimeError("getitem")

        def __iter__(self) -> Iterator[str]:
            raise RuntimeError("iter")

        def __len__(self) -> int:
            return 1

    with pytest.raises(RefusedError, match="pins"):
        await db.start("demo", pins=Broken())
