"""A compaction replaces turns and the summary before them, and loses neither."""

import asyncio
import json
from collections.abc import Callable

from sapwood.api.agent import Agent
from sapwood.core.content import RecordedReply, RecordedResult, Text, ToolCall
from sapwood.core.events import ContextSummarized
from sapwood.core.refusals import Refusal, SummaryLacking, SummaryOutdated
from sapwood.core.view import Request
from sapwood.testing.fake_model import Planned
from tests.turns.test_driver import House, house, said

ANSWER = "word " * 2_000
CREATES = ToolCall("w1", "Write", json.dumps({"file_path": "/p/refresh.py", "content": "x\n"}))
CREATED = RecordedResult("w1", "File created successfully at: /p/refresh.py")


def writing(*summaries: str) -> Callable[[Request, str], Planned]:
    """A model that writes these summaries, one after the other."""
    left = list(summaries)
    return lambda request, heard: left.pop(0)


async def compacted(at: House, agent: Agent, keep: int = 0) -> str:
    done = await at.running.compact(agent.id, keep)
    assert not isinstance(done, Refusal), done
    return done.message


async def size(agent: Agent) -> int:
    return (await agent.budget()).total.tokens


async def test_a_shorter_summary_is_used_however_short_the_turns_since_are() -> None:
    long, short = (f"parameters of pagination, {'fact ' * count}" for count in (800, 300))
    async with house(writing(long, f"thanks, {short}")) as at:
        agent = await at.db.start(model="planned", cap=50_000)
        await agent.record("parameters of pagination", ANSWER)
        assert "Compacted 1 turn" in await compacted(at, agent)
        before = await size(agent)
        await agent.record("thanks", "ok")
        assert "Compacted 1 turn" in await compacted(at, agent)
        assert await size(agent) < before


async def test_a_summary_is_compared_with_the_turns_that_leave_and_not_with_those_that_stay() -> (
    None
):
    async with house(writing(f"a short question, {'fact ' * 900}")) as at:
        agent = await at.db.start(model="planned", cap=50_000)
        await agent.record("a short question", "a short answer")
        await agent.record("parameters of pagination", ANSWER)
        before = await said(agent)
        assert "not shorter" in await compacted(at, agent, 1)
        assert await said(agent) == before


async def worked(at: House) -> Agent:
    """A turn that decided something and created a file, replaced by a summary."""
    agent = await at.db.start(model="planned", cap=50_000)
    replies = (RecordedReply((CREATES,)), CREATED, RecordedReply((Text(ANSWER),)))
    await agent.record("Use sqlite instead of postgres.", *replies)
    await compacted(at, agent)
    await agent.record("Now explain pagination", ANSWER)
    return agent


async def last_summary(agent: Agent) -> ContextSummarized:
    events = [each.event for each in await agent.events()]
    return [event for event in events if isinstance(event, ContextSummarized)][-1]


FIRST = "Wrote refresh.py: sqlite instead of postgres."
FORGETS = "They asked to explain pagination."


async def test_a_second_summary_that_forgets_the_first_is_written_once_more() -> None:
    async with house(writing(FIRST, FORGETS, f"{FORGETS} {FIRST}")) as at:
        agent = await worked(at)
        assert "100 %" in await compacted(at, agent)
        repair = at.model.requests[-1].messages[-1].text
        assert "lacks the following, which mattered" in repair
        assert "refresh.py" in repair
        summary = await last_summary(agent)
        assert FIRST in summary.text
        assert "Files created: /p/refresh.py" in summary.ledger
        assert "sqlite instead of postgres" in summary.ledger


async def test_a_second_summary_that_forgets_the_first_twice_is_refused() -> None:
    async with house(writing(FIRST, FORGETS, FORGETS)) as at:
        agent = await worked(at)
        refused = await at.running.compact(agent.id)
        assert isinstance(refused, SummaryLacking)
        assert "refresh.py" in refused.missing


async def test_a_turn_that_left_view_without_a_summary_is_not_asked_for() -> None:
    async with house(writing(FIRST, FORGETS)) as at:
        agent = await worked(at)
        await agent.clear(1)  # the summary leaves too
        assert "100 %" in await compacted(at, agent)
        assert "refresh.py" not in (await last_summary(agent)).ledger


async def test_a_child_asks_for_what_the_summary_that_it_inherited_held() -> None:
    async with house(writing(FIRST, f"{FORGETS} {FIRST}")) as at:
        agent = await worked(at)
        [outcome] = await agent.run_command("/fork")
        child = await at.db.get(getattr(outcome.answer, "child", ""))
        assert "100 %" in await compacted(at, child)
        assert "Files created: /p/refresh.py" in (await last_summary(child)).ledger


async def test_turns_that_come_back_while_the_summary_is_written_stay_in_view() -> None:
    async with house(writing(f"They asked for {'more ' * 20}"), thinks_for=0.1) as at:
        agent = await at.db.start(model="planned", cap=50_000)
        await agent.record("parameters of pagination", ANSWER)
        await agent.record("more", ANSWER)
        await agent.clear(1)
        compacting = asyncio.ensure_future(at.running.compact(agent.id, anyway=True))
        await at.model.asked.wait()
        await agent.undo()
        before = await said(agent)
        assert isinstance(await compacting, SummaryOutdated)
        assert await said(agent) == before
        assert before[0] == "parameters of pagination"


async def test_a_turn_that_comes_between_the_summary_and_its_storage_stays_in_view() -> None:
    draft = f"They asked for {'more ' * 20}"
    async with house(writing(draft, draft)) as at:
        agent = await at.db.start(model="planned", cap=50_000)
        await agent.record("parameters of pagination", ANSWER)

        async def imports() -> None:
            await agent.record("more", ANSWER)

        done = await at.running.compact(agent.id, 0, True, before_storing=imports)
        assert isinstance(done, SummaryOutdated)
        assert (await said(agent))[::2] == ["parameters of pagination", "more"]
