"""Many commands at once, in one process and in several: each acts once, none is lost."""

import asyncio
from pathlib import Path

import pytest

from sapwood.app.connection import connect
from sapwood.core.commands import Fork, Kill, ReadMail, Send, SetMark, StartAgent, StartTurn
from sapwood.core.content import Text
from sapwood.core.ids import AgentId, EventRef, Space
from sapwood.core.log_values import Commit, Receipt
from sapwood.core.refusals import TurnIsOpen
from sapwood.turns.clock_and_ids import command_meta
from sapwood.turns.dispatch import Done
from sapwood.turns.open_agent import open_agent
from tests.store.memory_log import MemoryLog
from tests.turns.commanding import AGENT, MODEL, SPACE, Desk

TASKS = 200


async def assert_gapless(log: MemoryLog, agent: AgentId = AGENT) -> int:
    """The number of events, which are numbered from 1 without gaps."""
    versions = [recorded.version for recorded in await log.read(SPACE, agent)]
    assert versions == list(range(1, len(versions) + 1))
    return len(versions)


@pytest.mark.parametrize("processes", [1, 2, 8])
async def test_commands_on_one_agent_all_take_effect(log: MemoryLog, processes: int) -> None:
    desks = [Desk(log) for _ in range(processes)]
    await desks[0].start()
    await asyncio.gather(*(desks[n % processes].do(SetMark(AGENT, f"m{n}")) for n in range(TASKS)))
    assert await assert_gapless(log) == TASKS + 1
    opened = await open_agent(log, SPACE, AGENT)
    assert len(opened.state.marks) == TASKS
    for desk in desks:
        assert (await desk.dispatcher.open(AGENT)).state == opened.state


async def test_of_many_prompts_at_once_one_opens_a_turn(log: MemoryLog) -> None:
    desks = [Desk(log) for _ in range(4)]
    await desks[0].start()
    answers = await asyncio.gather(
        *(desks[n % 4].answer(StartTurn(AGENT, (Text(f"{n}"),))) for n in range(TASKS))
    )
    assert sum(isinstance(answer, Done) for answer in answers) == 1
    assert sum(isinstance(answer, TurnIsOpen) for answer in answers) == TASKS - 1
    assert await assert_gapless(log) == 2


async def test_hundreds_of_agents_work_side_by_side(log: MemoryLog) -> None:
    desk = Desk(log, kept_open=20)
    agents = [AgentId(f"a{n}") for n in range(TASKS)]
    await asyncio.gather(*(desk.start(agent) for agent in agents))
    for _ in range(3):
        await asyncio.gather(*(desk.turn("ask", "answer", agent) for agent in agents))
    for agent in agents:
        assert await assert_gapless(log, agent) == 10
        assert len(await desk.said(agent)) == 6


async def test_mail_in_a_circle_never_waits_for_itself(log: MemoryLog) -> None:
    desks = [Desk(log) for _ in range(2)]
    agents = [await desks[0].start(AgentId(f"a{n}")) for n in range(10)]
    await asyncio.gather(
        *(
            desks[n % 2].do(Send(agents[n % 10], f"m{n}", f"{n}", agents[(n * 7 + 1) % 10]))
            for n in range(TASKS)
        )
    )
    inboxes = [(await open_agent(log, SPACE, agent)).state.inbox for agent in agents]
    assert sum(map(len, inboxes)) == TASKS
    assert {letter.mail for inbox in inboxes for letter in inbox} == {f"m{n}" for n in range(TASKS)}


async def test_mail_that_arrives_while_it_is_read_is_read_once(log: MemoryLog) -> None:
    desks = [Desk(log) for _ in range(2)]
    await desks[0].start()
    sends = [desks[n % 2].do(Send(AGENT, f"m{n}", f"<{n}>")) for n in range(100)]
    reads = [desks[n % 2].do(ReadMail(AGENT)) for n in range(20)]
    answers = await asyncio.gather(*reads, *sends)
    last = await desks[0].do(ReadMail(AGENT))
    said = "".join(done.message for done in (*answers[:20], last))
    assert all(said.count(f"<{n}>") == 1 for n in range(100))


async def test_forks_during_a_kill_are_killed_or_refused(log: MemoryLog) -> None:
    desks = [Desk(log) for _ in range(2)]
    await desks[0].start()
    forks = [desks[n % 2].answer(Fork(AGENT, AgentId(f"c{n}")), actor=MODEL) for n in range(40)]
    await asyncio.gather(*forks[:20], desks[1].do(Kill(AGENT)), *forks[20:])
    for summary in await log.agents(SPACE, limit=100):
        assert summary.status == "killed"


async def test_an_agent_nobody_keeps_open_costs_no_lock(log: MemoryLog) -> None:
    desk = Desk(log)
    await desk.start()
    await asyncio.gather(*(desk.do(SetMark(AGENT)) for _ in range(20)))
    assert await assert_gapless(log) == 21


async def test_a_cancelled_command_lets_the_next_one_through(log: MemoryLog) -> None:
    desk = Desk(log)
    await desk.start()
    tasks = [asyncio.ensure_future(desk.do(SetMark(AGENT))) for _ in range(20)]
    await asyncio.sleep(0)
    for task in tasks[:10]:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await desk.do(SetMark(AGENT, "AFTER"))
    events = await assert_gapless(log)
    assert 12 <= events <= 22


@pytest.mark.parametrize("steps", range(1, 16))
async def test_what_is_stored_after_its_sender_stopped_waiting_is_heard(
    tmp_path: Path, steps: int
) -> None:
    connection = await connect(tmp_path / "wood.db")
    dispatcher, heard = connection.dispatcher, set[EventRef]()
    dispatcher.on_commit(
        lambda appends: heard.update(each.ref for append in appends for each in append.events)
    )
    await dispatcher.dispatch(StartAgent(AGENT), command_meta())
    sending = asyncio.create_task(dispatcher.dispatch(SetMark(AGENT, "first"), command_meta()))
    for _ in range(steps):
        await asyncio.sleep(0)
    sending.cancel()
    await asyncio.wait([sending])
    await dispatcher.dispatch(SetMark(AGENT, "second"), command_meta())
    await dispatcher.close()
    stored = await connection.log.read(connection.space, AGENT)
    assert {each.ref for each in stored} == heard
    assert (await dispatcher.open(AGENT)).state.version == len(stored)
    await connection.close()


async def test_a_command_that_is_cancelled_before_the_log_has_it_is_not_stored_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A log waits before its writer for a key, or while a space is moved."""
    connection = await connect(tmp_path / "wood.db")
    dispatcher, log = connection.dispatcher, connection.log
    await dispatcher.dispatch(StartAgent(AGENT), command_meta())
    commit, waits, opened = log.commit, asyncio.Event(), asyncio.Event()

    async def commit_later(space: Space, what: Commit) -> Receipt | None:
        waits.set()
        await opened.wait()
        return await commit(space, what)

    monkeypatch.setattr(log, "commit", commit_later)
    sending = asyncio.create_task(dispatcher.dispatch(SetMark(AGENT, "LATE"), command_meta()))
    await waits.wait()
    sending.cancel()
    await asyncio.wait([sending])
    opened.set()
    await dispatcher.close()
    await dispatcher.dispatch(SetMark(AGENT, "NEXT"), command_meta())
    assert [each.name for each in (await dispatcher.open(AGENT)).state.marks] == ["NEXT"]
    await connection.close()
