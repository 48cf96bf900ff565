"""The delay from a prompt to an agent until the first token.

It includes everything: commit the prompt, wake the agent, build, check, count, hash and record the
request, and make the call.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

from sapwood.api import Agent, Sapwood
from sapwood.app.agent_runner import AgentRunner
from sapwood.app.connection import connect
from sapwood.core.content import RecordedReply, RecordedResult, Text, Thinking, ToolCall
from sapwood.core.events import Recorded, ReplyAdded, TurnCompleted
from sapwood.core.model_calls import Delta
from sapwood.core.view import Message, ToolResult
from sapwood.engine.process_engine import ProcessEngine
from sapwood.models import Models
from sapwood.testing import NoTools


class RunningAgent:
    """An agent and the engine that runs it."""

    def __init__(self, running: AgentRunner, agent: Agent) -> None:
        self._running = running
        self._agent = agent

    async def remember(self, messages: Sequence[Message]) -> None:
        """Records a conversation in its log, without the last message, which has no answer."""
        turns: list[list[Message]] = []
        for message in messages[:-1]:
            if message.role == "user" and isinstance(message.parts[0], Text):
                turns.append([])
            turns[-1].append(message)
        for prompt, *rest in turns:
            await self._agent.record(prompt.text, *(item for each in rest for item in _items(each)))

    async def first_token(self, prompt: str) -> float:
        """Milliseconds from a prompt to the first token. Waits for the end of the turn."""
        after = (await self._agent.state()).version
        listening = asyncio.Event()

        async def listen() -> float:
            first = 0.0
            async with aclosing(self._running.watch(self._agent.id, after)) as shown:
                listening.set()
                async for each in shown:
                    # An answer of one word is shown when it is complete.
                    kind = each.what.kind if isinstance(each.what, Recorded) else ""
                    if isinstance(each.what, Delta) or kind == ReplyAdded.kind:
                        first = first or time.perf_counter()
                    elif kind == TurnCompleted.kind:
                        return first
            raise RuntimeError("the turn did not end")

        ear = asyncio.create_task(listen())
        await listening.wait()
        await asyncio.sleep(0.01)
        started = time.perf_counter()
        await self._agent.run_command(prompt)
        async with asyncio.timeout(60):
            return (await ear - started) * 1e3


@asynccontextmanager
async def running_agent(database: Path, models: Models, model: str) -> AsyncGenerator[RunningAgent]:
    """A new agent in its own database, run by this process, as the screen and `run` do it."""
    connection = await connect(database)
    running = AgentRunner(connection, ProcessEngine(database), models, NoTools())
    await running.start()
    try:
        agent = await Sapwood(connection).start(model=model, system="Be brief.", cap=0)
        yield RunningAgent(running, agent)
    finally:
        await running.close()
        await connection.close()


def _items(message: Message) -> list[RecordedReply | RecordedResult]:
    if message.role == "assistant":
        parts = [part for part in message.parts if isinstance(part, Text | Thinking | ToolCall)]
        return [RecordedReply(tuple(parts))]
    return [
        RecordedResult(part.call, part.content)
        for part in message.parts
        if isinstance(part, ToolResult)
    ]
