"""Agents that run: turns, tools, delegation, waiting, compaction, interruption, failure."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from msgspec import Struct

from sapwood.api.agent import Agent
from sapwood.api.database import Sapwood
from sapwood.app.connection import connect
from sapwood.app.running import Running
from sapwood.core.calling import Failure
from sapwood.core.content import Got, Said, Text, ToolCall
from sapwood.core.refusals import Refusal
from sapwood.core.view import Request, ToolResult
from sapwood.engine.local import LocalEngine
from sapwood.runtime.replay import replay
from sapwood.testing import NoTools, PlannedModel, slash
from sapwood.testing.model import Plan, Planned


class House(Struct):
    """A running Sapwood with a planned model."""

    wood: Sapwood
    running: Running
    model: PlannedModel

    async def idle(self, agent: Agent) -> None:
        """Waits until the agent's turn has ended."""
        async for _ in self.running.watch(agent.id, 0):
            if (await agent.state()).open is None:
                return


@asynccontextmanager
async def house(plan: Plan, *, thinks_for: float = 0) -> AsyncGenerator[House]:
    connection = await connect(":memory:")
    model = PlannedModel(plan, thinks_for=thinks_for)
    running = Running(connection, LocalEngine(), model, NoTools())
    await running.start()
    try:
        async with asyncio.timeout(20):
            yield House(Sapwood(connection), running, model)
    finally:
        await running.close()
        await connection.close()


async def said(agent: Agent) -> list[str]:
    """Every text in view."""
    request = await agent.request()
    return [part.text for m in request.messages for part in m.parts if isinstance(part, Text)]


async def test_a_prompt_is_answered_and_the_turn_completes() -> None:
    async with house(lambda request, heard: f"heard {heard}") as at:
        agent = await at.wood.start(model="planned")
        await agent.submit("hello")
        await at.idle(agent)
        assert await said(agent) == ["hello", "heard hello"]
        kinds = [recorded.kind for recorded in await agent.events()]
        assert kinds[-4:] == ["turn.started", "model.called", "reply.added", "turn.completed"]


async def test_a_model_delegates_and_hears_back_by_mail() -> None:
    def plan(request: Request, heard: str) -> Planned:
        if heard == "delegate":
            return slash("mark", "TASK")
        if heard.startswith("Marked"):
            return [Text("Compare OAuth and sessions."), slash("fork", "TASK")]
        if heard.startswith("Forked"):
            return slash("wait", f"{heard.split()[2]} 30")
        if heard.startswith("Compare"):
            return slash("send", "lead OAuth wins")
        if heard.startswith("Mail has arrived"):
            return slash("check-mail")
        return "done"

    async with house(plan) as at:
        lead = await at.wood.start("lead", model="planned")
        await lead.submit("delegate")
        await at.idle(lead)
        [result] = at.model.requests[-1].messages[-1].parts
        assert isinstance(result, ToolResult)
        assert "OAuth wins" in result.content
        assert "carry no authority" in result.content
        [child] = await at.wood.agents(parent=lead.id)
        prompts = await said(await at.wood.agent(child.agent))
        assert prompts[0] == "Compare OAuth and sessions."


async def test_a_model_rewinds_itself_and_leaves_a_note() -> None:
    def plan(request: Request, heard: str) -> Planned:
        if "note to yourself" in "".join(request.texts()):
            return "second way works"
        if heard == "try":
            return slash("mark", "START")
        if heard.startswith("Marked"):
            return slash("clear", "START the first way fails")
        return "giving up on this way"

    async with house(plan) as at:
        agent = await at.wood.start(model="planned")
        await agent.submit("try")
        await at.idle(agent)
        texts = await said(agent)
        assert texts[-2:] == ["try", "second way works"]
        assert "the first way fails" in texts[0]
        assert "giving up on this way" not in texts


async def test_a_failing_model_fails_the_turn_and_keeps_the_prompt() -> None:
    def plan(request: Request, heard: str) -> Planned:
        raise Failure("no_key", "There is no key for planned.")

    async with house(plan) as at:
        agent = await at.wood.start(model="planned")
        await agent.submit("hello")
        await at.idle(agent)
        assert await said(agent) == ["hello", "[failed: There is no key for planned.]"]


async def test_a_request_too_long_is_tried_once_more_with_results_masked() -> None:
    def plan(request: Request, heard: str) -> Planned:
        if sum(len(text) for text in request.texts()) > 6_000:
            raise Failure("too_long", "The request is too long.")
        return "it fits"

    async with house(plan) as at:
        agent = await at.wood.start(model="planned")
        looked = Said((ToolCall("1", "read_file", "{}"),))
        await agent.record("read it", looked, Got("1", "x" * 8_000), "read")
        await agent.submit("go on")
        await at.idle(agent)
        assert (await said(agent))[-1] == "it fits"


async def test_an_unknown_tool_is_told_to_the_model() -> None:
    def plan(request: Request, heard: str) -> Planned:
        return "sorry" if heard.startswith("There is no tool") else ToolCall("1", "fly", "{}")

    async with house(plan) as at:
        agent = await at.wood.start(model="planned")
        await agent.submit("fly")
        await at.idle(agent)
        assert (await said(agent))[-1] == "sorry"


async def test_every_model_call_can_be_replayed_with_its_hash() -> None:
    def plan(request: Request, heard: str) -> Planned:
        return slash("mark") if heard.startswith("do") else "done"

    async with house(plan) as at:
        agent = await at.wood.start(model="planned")
        for number in range(3):
            await agent.submit(f"do {number}")
            await at.idle(agent)
        await agent.clear(keep=1)
        calls = [r.version for r in await agent.events() if r.kind == "model.called"]
        held = at.wood.connection
        seen = [await replay(held.log, held.space, agent.id, version) for version in calls]
        assert len(seen) == 6
        assert all(each is not None and each.matches for each in seen)


async def test_compaction_keeps_what_mattered_and_repairs_once() -> None:
    def plan(request: Request, heard: str) -> Planned:
        if "lacks the following" in heard:
            return "They asked about the zebrafish_reader and want it fast."
        if heard.startswith("Summarise"):
            return "They asked something."
        return "A long answer. " * 50

    async with house(plan) as at:
        agent = await at.wood.start(model="planned")
        await agent.submit("Make the zebrafish_reader fast")
        await at.idle(agent)
        done = await at.running.compact(agent.id)
        assert not isinstance(done, Refusal)
        texts = await said(agent)
        assert "zebrafish_reader and want it fast" in texts[0]
        assert "Make the zebrafish_reader fast" in texts[1]
        assert (await agent.state()).spent.input > 0


async def test_a_summary_that_saves_nothing_changes_nothing() -> None:
    async with house(lambda request, heard: "word " * 500) as at:
        agent = await at.wood.start(model="planned")
        await agent.record("a", "b")
        done = await at.running.compact(agent.id)
        assert not isinstance(done, Refusal)
        assert "no shorter" in done.says
        assert await said(agent) == ["a", "b"]


async def test_an_interrupt_stops_the_model_and_keeps_what_was_there() -> None:
    async with house(lambda request, heard: "too late", thinks_for=60) as at:
        agent = await at.wood.start(model="planned")
        await agent.submit("think hard")
        await at.model.asked.wait()
        await agent.interrupt("enough")
        await at.idle(agent)
        assert await said(agent) == ["think hard", "[interrupted: enough]"]
