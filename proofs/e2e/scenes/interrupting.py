"""Interrupt: at any moment, and what was there is kept."""

import asyncio

from proofs.e2e.house import LONGEST, House
from sapwood.core.calling import Delta
from sapwood.core.content import Text
from scripted_model import ModelRequest, Reply, ReplyLike, ToolResult, call

__all__ = ["play"]

WORDS = "The heron stands still for a very long time and then it strikes."


async def play(house: House) -> None:
    """Plays it."""
    await _while_the_model_speaks(house)
    await _while_a_tool_runs(house)


async def _while_the_model_speaks(house: House) -> None:
    checks, seen = house.checks, list[ModelRequest]()

    def model(asked: ModelRequest) -> ReplyLike:
        seen.append(asked)
        return Reply.of(WORDS, stall=LONGEST) if asked.prompt == "Tell me." else "I went on."

    house.script(model)
    agent = await house.start()
    pieces: list[str] = []
    await agent.submit("Tell me.")
    async with asyncio.timeout(LONGEST):
        async for shown in house.running.watch(agent.id, 0):
            if isinstance(shown.what, Delta):
                pieces.append(shown.what.text)
                break
    await house.running.interrupt(agent.id, "by the user")
    heard = "".join(pieces)
    checks.that("something had been said", heard and WORDS.startswith(heard), heard)
    await house.hung_up(1)
    texts = [p.text for p in (await agent.request()).messages[-1].parts if isinstance(p, Text)]
    kept = [heard.strip(), "[interrupted: by the user]"]
    checks.same("what was said is kept, and that it was cut off", texts, kept)
    checks.same("the conversation goes on", await house.ask(agent, "Go on."), "I went on.")
    checks.within("with what was said in it", heard.strip(), seen[-1].messages[1].text)


async def _while_a_tool_runs(house: House) -> None:
    checks, seen = house.checks, list[ModelRequest]()

    def model(asked: ModelRequest) -> ReplyLike:
        seen.append(asked)
        waits = asked.prompt == "Wait."
        return call("shell", command=f"sleep {LONGEST:.0f}") if waits else "I went on."

    house.script(model)
    agent = await house.start()
    await agent.submit("Wait.")
    await house.until(agent, "tool.started")
    await house.running.interrupt(agent.id)
    checks.same("the conversation goes on", await house.ask(agent, "Go on."), "I went on.")
    results = [p for m in seen[-1].messages for p in m.parts if isinstance(p, ToolResult)]
    checks.many("the call has a result", results, 1)
    checks.within("which says what happened", "interrupted", results[0].content)
