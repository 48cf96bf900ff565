"""What leaves the window extends the summary in the background, if the agent's settings say so."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence

from sapwood.api.agent import Agent
from sapwood.core.commands import Configure
from sapwood.core.content import Text
from sapwood.core.events import ContextSummarized, ModelCalled, SummaryDropped
from sapwood.core.model_calls import Answer, Delta, Failure, ToolSpec
from sapwood.core.settings import SettingsChange
from sapwood.core.turn_params import TurnParams
from sapwood.core.view import Request
from sapwood.testing import FakeModel
from sapwood.testing.fake_model import Planned
from sapwood.turns.clock_and_ids import command_meta
from sapwood.turns.replay import replay
from sapwood.turns.summary_extension import EXTEND
from tests.turns.test_driver import LIMITED, House, SentModel, TwoTools, house, said

LONG = "timber " * 300


def plan(request: Request, heard: str) -> Planned:
    if EXTEND in heard:
        return "They asked about roof.py, beams.py and walls.py, and heard of timber."
    return LONG


async def clipped(at: House, *, extend: bool = True, params: TurnParams | None = None) -> Agent:
    """An agent whose window has moved at the end of its third turn."""
    agent = await at.db.start(model="planned")
    if params is not None:
        await agent.configure(params=params)
    change = SettingsChange(cap=700, low_water=0.6, extend_summary=extend, summary_score=0.3)
    await at.db.connection.dispatcher.dispatch(Configure(agent.id, change), command_meta())
    for file in ("roof.py", "beams.py", "walls.py"):
        await agent.run_command(f"What is in {file}?")
        await at.idle(agent)
    assert (await agent.state()).window_moved_at
    return agent


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    while not await condition():  # noqa: ASYNC110 (`house` bounds the time)
        await asyncio.sleep(0.01)


async def count(agent: Agent, kind: type) -> int:
    return sum(isinstance(each.event, kind) for each in await agent.events())


async def test_the_turns_that_left_are_in_the_summary_and_undo_brings_them_back() -> None:
    async with house(plan) as at:
        agent = await clipped(at)
        await until(lambda: has_summary(agent))
        assert "They asked about roof.py" in (await said(agent))[0]
        called = [e.version for e in await agent.events() if isinstance(e.event, ModelCalled)]
        log, space = at.db.connection.log, at.db.connection.space
        replayed = await replay(log, space, agent.id, called[-1])
        assert replayed is not None
        assert replayed.matches
        assert "User: What is in roof.py?" in replayed.called.instruction
        await agent.undo()
        assert (await said(agent))[0] == "What is in roof.py?"


async def test_it_is_asked_for_with_the_tools_and_the_thinking_of_the_turns() -> None:
    model = SentModel(plan)
    async with house(plan, tools=TwoTools(), model=model) as at:
        agent = await clipped(at, params=LIMITED)
        await until(lambda: has_summary(agent))
    assert model.sent[-1] == (
        ["slash", "look"],
        {"thinking": "low", "parallel_tool_calls": False},
    )


async def has_summary(agent: Agent) -> bool:
    return (await agent.state()).context.summary is not None


async def test_it_is_off_by_default() -> None:
    async with house(plan) as at:
        agent = await clipped(at, extend=False)
        await agent.run_command("And now?")
        await at.idle(agent)
        assert await count(agent, ContextSummarized) == 0
        assert await count(agent, ModelCalled) == 4


async def test_a_failure_changes_nothing() -> None:
    def fails(request: Request, heard: str) -> Planned:
        if EXTEND in heard:
            raise Failure("overloaded", "Too busy.")
        return LONG

    async with house(fails) as at:
        agent = await clipped(at)
        await until(lambda: called(agent, 4))
        before = await said(agent)
        await agent.run_command("And now?")
        await at.idle(agent)
        assert await count(agent, ContextSummarized) == 0
        assert before[-1] in await said(agent)


async def called(agent: Agent, times: int) -> bool:
    return await count(agent, ModelCalled) >= times


async def test_a_weak_summary_is_not_used_and_its_cost_is_recorded() -> None:
    async with house(lambda request, heard: "Nothing." if EXTEND in heard else LONG) as at:
        agent = await clipped(at)

        async def dropped() -> bool:
            return await count(agent, SummaryDropped) == 1

        await until(dropped)
        assert not await has_summary(agent)


class SlowModel(FakeModel):
    """A model whose summary and whose answer to 'And now?' come when they may."""

    def __init__(self) -> None:
        super().__init__(plan)
        self.summary, self.answer = asyncio.Event(), asyncio.Event()

    async def stream(
        self,
        request: Request,
        tools: Sequence[ToolSpec] = (),
        *,
        params: Mapping[str, object] | None = None,
    ) -> AsyncGenerator[Delta | Answer]:
        heard = " ".join(p.text for p in request.messages[-1].parts if isinstance(p, Text))
        if EXTEND in heard:
            await self.summary.wait()
        elif "And now?" in heard:
            await self.answer.wait()
        async for piece in super().stream(request, tools, params=params):
            yield piece


async def test_a_summary_that_comes_during_the_next_turn_waits_for_its_end() -> None:
    model = SlowModel()
    async with house(plan, model=model) as at:
        agent = await clipped(at)
        await until(lambda: called(agent, 4))
        await agent.run_command("And now?")
        await until(lambda: called(agent, 5))
        model.summary.set()
        assert not await has_summary(agent)
        model.answer.set()
        await until(lambda: has_summary(agent))
        kinds = [recorded.kind for recorded in await agent.events()]
        last = max(at for at, kind in enumerate(kinds) if kind == "turn.completed")
        assert kinds[last:].count("context.summarized") == 1
        await agent.undo()
        assert (await said(agent))[0] == "What is in roof.py?"
