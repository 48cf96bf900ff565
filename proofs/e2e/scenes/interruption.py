"""Interrupt: works at any moment and keeps the partial answer."""

import asyncio

from proofs.e2e.system_under_test import TIMEOUT, SystemUnderTest
from sapwood.core.content import Text
from sapwood.core.model_calls import Delta
from scripted_model import ModelRequest, Reply, ReplyLike, ToolResult, call

WORDS = "The heron stands still for a very long time and then it strikes."


async def play(system: SystemUnderTest) -> None:
    """Runs the scene."""
    await _while_the_model_speaks(system)
    await _while_a_tool_runs(system)


async def _while_the_model_speaks(system: SystemUnderTest) -> None:
    checks, seen = system.checks, list[ModelRequest]()

    def model(asked: ModelRequest) -> ReplyLike:
        seen.append(asked)
        return Reply.of(WORDS, stall=TIMEOUT) if asked.prompt == "Tell me." else "I went on."

    system.script(model)
    agent = await system.start()
    pieces: list[str] = []
    await agent.run_command("Tell me.")
    async with asyncio.timeout(TIMEOUT):
        async for shown in system.running.watch(agent.id, 0):
            if isinstance(shown.what, Delta):
                pieces.append(shown.what.text)
                break
    await system.running.interrupt(agent.id, "by the user")
    heard = "".join(pieces)
    checks.that("a part was streamed", heard and WORDS.startswith(heard), heard)
    await system.hung_up(1)
    texts = [p.text for p in (await agent.request()).messages[-1].parts if isinstance(p, Text)]
    checks.that(
        "the partial answer is kept",
        len(texts) == 1 and texts[0].startswith(heard) and WORDS.startswith(texts[0]),
        texts,
    )
    checks.same("the conversation goes on", await system.ask(agent, "Go on."), "I went on.")
    checks.within("with the partial answer in it", heard.strip(), seen[-1].messages[1].text)
    checks.within("and a note", "was interrupted: by the user", seen[-1].messages[2].text)


async def _while_a_tool_runs(system: SystemUnderTest) -> None:
    checks, seen = system.checks, list[ModelRequest]()

    def model(asked: ModelRequest) -> ReplyLike:
        seen.append(asked)
        waits = asked.prompt == "Wait."
        return call("shell", command=f"sleep {TIMEOUT:.0f}") if waits else "I went on."

    system.script(model)
    agent = await system.start()
    await agent.run_command("Wait.")
    await system.until(agent, "tool.started")
    await system.running.interrupt(agent.id)
    checks.same("the conversation goes on", await system.ask(agent, "Go on."), "I went on.")
    results = [p for m in seen[-1].messages for p in m.parts if isinstance(p, ToolResult)]
    checks.many("the call has a result", results, 1)
    checks.within("which names the interruption", "interrupted", results[0].content)
