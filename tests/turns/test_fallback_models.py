"""When a model fails, the turn goes on with the next one of the list, and the row says why."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing

import pytest

from sapwood.api import Agent, Sapwood
from sapwood.app.agent_runner import AgentRunner
from sapwood.app.connection import connect
from sapwood.core.content import Text
from sapwood.core.event_texts import event_texts
from sapwood.core.events import ReplyAdded, SettingsChanged, TurnFailed
from sapwood.core.model_calls import Answer, Delta, Failure, FailureKind, ToolSpec
from sapwood.core.view import Request
from sapwood.engine import LocalEngine
from sapwood.testing import FakeModel, NoTools
from sapwood.turns.clock_and_ids import now


async def _ended(kind: FailureKind, *fallback: str) -> tuple[str, list[str], list[str]]:
    """How a turn ends whose models fail but for `beech`: its end, the models asked, the rows."""

    def plan(request: Request, heard: str) -> str:
        if request.model != "beech":
            raise Failure(kind, f"{request.model} is away.")
        return "Here."

    connection, model = await connect(":memory:"), FakeModel(plan)
    runner = AgentRunner(connection, LocalEngine(), model, NoTools(), fallback=fallback)
    try:
        await runner.start()
        agent = await Sapwood(connection).start("demo", model="oak")
        await agent.run_command("Hello.")
        await runner.wake(agent.id)
        end = await asyncio.wait_for(_end_of(agent), 30)
        changes = [each.event for each in await agent.events()]
        rows = [event_texts(each).notice for each in changes if isinstance(each, SettingsChanged)]
        return end, [each.model for each in model.requests], rows
    finally:
        await runner.close()
        await connection.close()


async def test_a_limit_that_resets_is_in_the_log_with_its_time() -> None:
    def plan(request: Request, heard: str) -> str:
        raise Failure("overloaded", "Later.", again=True, after=120.0)

    connection, before = await connect(":memory:"), now()
    runner = AgentRunner(connection, LocalEngine(), FakeModel(plan), NoTools())
    try:
        await runner.start()
        agent = await Sapwood(connection).start("demo", model="oak")
        await agent.run_command("Hello.")
        await runner.wake(agent.id)
        await asyncio.wait_for(_end_of(agent), 30)
        [failed] = [each.event for each in await agent.events() if each.kind == "turn.failed"]
        assert isinstance(failed, TurnFailed)
        assert 0 <= failed.retry_at - before - 120_000_000 < 60_000_000
    finally:
        await runner.close()
        await connection.close()


@pytest.mark.parametrize("after", [1e15, 1e300, float("inf"), float("nan")])
async def test_a_limit_that_resets_at_no_moment_fails_the_turn_all_the_same(after: float) -> None:
    def plan(request: Request, heard: str) -> str:
        raise Failure("overloaded", "Later.", again=True, after=after)

    connection, model = await connect(":memory:"), FakeModel(plan)
    runner = AgentRunner(connection, LocalEngine(), model, NoTools())
    try:
        await runner.start()
        agent = await Sapwood(connection).start("demo", model="oak")
        await agent.run_command("Hello.")
        await asyncio.wait_for(_end_of(agent), 30)
        [failed] = [each.event for each in await agent.events() if each.kind == "turn.failed"]
        assert isinstance(failed, TurnFailed)
        assert (failed.error, failed.retry_at, len(model.requests)) == ("Later.", 0, 1)
    finally:
        await runner.close()
        await connection.close()


class _ModelThatBreaksOff(FakeModel):
    """`oak` says some words before it fails."""

    async def stream(
        self,
        request: Request,
        tools: Sequence[ToolSpec] = (),
        *,
        params: Mapping[str, object] | None = None,
    ) -> AsyncGenerator[Delta | Answer]:
        async with aclosing(super().stream(request, tools, params=params)) as items:
            if request.model == "oak":
                yield Delta("text", "The answer is forty-")
                raise Failure("overloaded", "Overloaded.", again=True)
            async for item in items:
                yield item


async def test_a_reply_of_which_words_were_shown_is_not_asked_for_again() -> None:
    connection = await connect(":memory:")
    model = _ModelThatBreaksOff(lambda request, heard: "A different answer.")
    runner = AgentRunner(connection, LocalEngine(), model, NoTools(), fallback=("beech",))
    try:
        await runner.start()
        agent = await Sapwood(connection).start("demo", model="oak")
        await agent.run_command("Hello.")
        assert await asyncio.wait_for(_end_of(agent), 30) == "turn.failed"
        replies = [each.event for each in await agent.events() if each.kind == "reply.added"]
        assert [each.parts for each in replies if isinstance(each, ReplyAdded)] == [
            (Text("The answer is forty-"),)
        ]
    finally:
        await runner.close()
        await connection.close()


async def _end_of(agent: Agent) -> str:
    async for recorded in agent.follow():
        if recorded.kind in ("turn.completed", "turn.failed"):
            return recorded.kind
    raise AssertionError


async def test_the_next_models_are_tried_in_order() -> None:
    end, asked, rows = await _ended("overloaded", "ash", "claude-code", "beech", "yew")
    assert end == "turn.completed"
    assert asked == ["oak", "ash", "beech"], "a program is no model to go on with"
    assert rows == [
        "model = ash, because oak failed: oak is away.",
        "model = beech, because ash failed: ash is away.",
    ]


@pytest.mark.parametrize(
    ("kind", "fallback"), [("overloaded", ()), ("overloaded", ("oak",)), ("refused", ("beech",))]
)
async def test_without_a_model_that_may_help_the_turn_fails(
    kind: FailureKind, fallback: tuple[str, ...]
) -> None:
    assert await _ended(kind, *fallback) == ("turn.failed", ["oak"], [])
