"""A compaction replaces turns and the summary before them, and loses neither."""

from collections.abc import Callable

from sapwood.api.agent import Agent
from sapwood.core.refusals import Refusal
from sapwood.core.view import Request
from sapwood.testing.fake_model import Planned
from tests.turns.test_driver import House, house, said

ANSWER = "word " * 2_000


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
