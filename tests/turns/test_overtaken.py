"""Two drivers at one agent, as when one stood still and another took over: nothing is doubled."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence

import pytest

from sapwood.api.agent import Agent
from sapwood.app.connection import Connection
from sapwood.conversation.call import Services
from sapwood.conversation.model_tool import ModelCommandTool
from sapwood.conversation.service import ConversationService
from sapwood.core.commands import AddReply, Command, CommandMeta, StartAgent, StartTool
from sapwood.core.content import Text, ToolCall
from sapwood.core.errors import LogError
from sapwood.core.events import Recorded
from sapwood.core.ids import AgentId, Space
from sapwood.core.model_calls import Answer, Delta, Effect, Failure, ToolOutcome, ToolSpec, ToolUse
from sapwood.core.refusals import Refusal
from sapwood.core.settings import Settings
from sapwood.core.view import Request
from sapwood.testing import FakeModel, NoTools
from sapwood.turns.dispatch import Dispatcher, Done
from sapwood.turns.driver import Driver
from sapwood.turns.log import Log
from sapwood.turns.model_access import ModelAccess
from sapwood.turns.tool_calls import Toolbox
from tests.store.memory_log import MemoryLog

SPACE = Space("team")
ADA = AgentId("ada")


class SlowModel:
    """Answers, or fails, when it is allowed to."""

    def __init__(self, *answers: str | Failure) -> None:
        self._answers = list(answers)
        self.asked = asyncio.Event()
        self.may_answer = asyncio.Event()

    async def stream(
        self,
        request: Request,
        tools: Sequence[ToolSpec] = (),
        *,
        params: Mapping[str, object] | None = None,
    ) -> AsyncGenerator[Delta | Answer]:
        answer = self._answers.pop(0)
        self.asked.set()
        await self.may_answer.wait()
        if isinstance(answer, Failure):
            raise answer
        yield Answer((Text(answer),), request.model)

    def window_of(self, model: str) -> int | None:
        return 100_000


class Counted(NoTools):
    """One tool with effects, and how often it ran."""

    def __init__(self) -> None:
        self.runs = 0

    def effect(self, use: ToolUse) -> Effect:
        return "some"

    async def run(self, use: ToolUse) -> ToolOutcome:
        self.runs += 1
        await asyncio.sleep(0)
        return ToolOutcome("felled")


class Hesitant(Dispatcher):
    """Waits for the others before it starts a tool."""

    together: asyncio.Barrier

    async def dispatch(self, command: Command, meta: CommandMeta) -> Done | Refusal:
        if isinstance(command, StartTool):
            await self.together.wait()
        return await super().dispatch(command, meta)


def driver(log: Log, model: ModelAccess, toolbox: Toolbox, dispatcher: Dispatcher | None) -> Driver:
    held = Connection(log, SPACE)
    at = dispatcher or held.dispatcher
    commands = ModelCommandTool(ConversationService(Services(held)))
    return Driver(at, model, toolbox, commands)


async def working(log: Log, prompt: str) -> Agent:
    """An agent with a prompt to answer."""
    agent = Agent(Connection(log, SPACE), ADA)
    await agent.do(StartAgent(ADA, "ada", Settings(model="planned")))
    await agent.run_command(prompt)
    return agent


async def kinds(agent: Agent) -> list[str]:
    return [recorded.kind for recorded in await agent.events()]


@pytest.mark.parametrize("late", ["too late", Failure("cut", "The answer was cut off.")])
async def test_an_answer_that_comes_too_late_touches_neither_its_turn_nor_the_next(
    late: str | Failure,
) -> None:
    log, slow = MemoryLog(), SlowModel(late)
    agent = await working(log, "first")
    overtaken = asyncio.create_task(driver(log, slow, NoTools(), None).drive(ADA))
    await slow.asked.wait()
    await driver(log, FakeModel(lambda request, heard: "in time"), NoTools(), None).drive(ADA)
    await agent.run_command("second")
    before = await kinds(agent)
    slow.may_answer.set()
    await overtaken
    assert await kinds(agent) == before
    assert before[-2:] == ["turn.completed", "turn.started"]


async def test_of_two_that_ask_at_once_only_the_last_is_heard_and_the_other_goes_home() -> None:
    log, first, second = MemoryLog(), SlowModel("first"), SlowModel("second")
    agent = await working(log, "who?")
    one = asyncio.create_task(driver(log, first, NoTools(), None).drive(ADA))
    await first.asked.wait()
    other = asyncio.create_task(driver(log, second, NoTools(), None).drive(ADA))
    await second.asked.wait()
    first.may_answer.set()
    await one
    second.may_answer.set()
    await other
    texts = [m.text for m in (await agent.request()).messages]
    assert texts == ["who?", "second"]
    assert (await kinds(agent)).count("model.called") == 2


async def test_of_two_that_start_a_tool_at_once_one_runs_it() -> None:
    log, tools, together = MemoryLog(), Counted(), asyncio.Barrier(2)
    agent = await working(log, "Fell it.")
    await agent.do(AddReply(ADA, (ToolCall("1", "fell", "{}"),)))
    drivers: list[Driver] = []
    for _ in range(2):
        hesitant = Hesitant(log, SPACE, agent.connection.counter_for)
        hesitant.together = together
        drivers.append(driver(log, FakeModel(lambda request, heard: "Done."), tools, hesitant))
    await asyncio.gather(*(each.drive(ADA) for each in drivers))
    assert tools.runs == 1
    assert (await kinds(agent)).count("turn.completed") == 1


class Away(MemoryLog):
    """A log that cannot be followed at first."""

    times = 1

    async def follow(
        self, space: Space, agent: AgentId, after: int = 0
    ) -> AsyncGenerator[Recorded]:
        if self.times:
            self.times -= 1
            raise LogError("The server is away.")
        async for recorded in super().follow(space, agent, after):
            yield recorded


async def test_a_log_that_is_away_does_not_stop_the_work_that_needs_it_only_later() -> None:
    log, slow = Away(), SlowModel("Here I am.")
    agent = await working(log, "Still there?")
    driving = asyncio.create_task(driver(log, slow, NoTools(), None).drive(ADA))
    await slow.asked.wait()
    slow.may_answer.set()
    await driving
    assert (await kinds(agent))[-1] == "turn.completed"
    assert not log.times
