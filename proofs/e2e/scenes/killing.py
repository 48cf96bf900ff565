"""Kill: a family ends at once, whoever is at work; a model may end its own children only."""

import asyncio
import threading

from proofs.e2e.house import LONGEST, House
from sapwood.api.agent import Agent
from sapwood.core.errors import RefusedError
from sapwood.core.refusals import Refusal
from scripted_model import ModelRequest, ReplyLike, call

__all__ = ["play"]


async def play(house: House) -> None:
    """Plays it."""
    await _by_a_person(house)
    await _by_a_model(house)


async def _by_a_person(house: House) -> None:
    checks, over = house.checks, threading.Event()
    counting, going_on = threading.Event(), threading.Event()

    def model(asked: ModelRequest) -> ReplyLike:
        if asked.prompt == "Have it counted." and not asked.results:
            return call("slash", command="fork", args="-- Count for ever.")
        (going_on if asked.results else counting).set()
        over.wait(LONGEST)
        return "Too late."

    house.script(model)
    root = await house.start("root")
    await root.submit("/fork -- Have it counted.")
    (child,) = await house.children(root)
    for at_work in (counting, going_on):
        await asyncio.to_thread(at_work.wait, LONGEST)
    (grandchild,) = await house.children(child)
    before = len(house.server.requests)
    says = await _said(root, f"/kill {child.id}")
    checks.same("kill names the family", says, f"Killed {child.id}, {grandchild.id}.")
    for agent in (child, grandchild):
        state = await agent.state()
        checks.same("everybody below has ended", (state.status, state.open), ("killed", None))
        last = [recorded.kind for recorded in await agent.events()][-2:]
        checks.same("in the middle of the turn", last, ["turn.interrupted", "agent.killed"])
    await house.hung_up(2)
    over.set()
    checks.same("nobody asks the model any more", len(house.server.requests), before)
    refused = await _said(root, f"/send {child.id} Are you there?")
    checks.within("mail to the dead is refused", "is killed", refused)
    checks.same("the root lives", (await root.state()).status, "running")


async def _by_a_model(house: House) -> None:
    checks = house.checks
    root = await house.start("elder")
    heard: list[str] = []

    def model(asked: ModelRequest) -> ReplyLike:
        if asked.prompt.endswith("Rest."):
            return "Resting."
        if asked.results:
            heard.append(asked.results[-1].content)
        match len(heard):
            case 0:
                return call("slash", command="fork", args="-- Rest.")
            case 1:
                return call("slash", command="kill", args=heard[0].split()[2])
            case 2:
                return call("slash", command="kill", args=root.id)
            case _:
                return "Done."

    house.script(model)
    await house.ask(root, "Fork a child and end it.")
    checks.that("a model ends its own child", heard[1].startswith("Killed "), heard)
    checks.within("and not a root", "Only a person may kill it", heard[2])
    (child,) = await house.children(root)
    checks.same("the child has ended", (await child.state()).status, "killed")


async def _said(agent: Agent, text: str) -> str:
    try:
        (outcome,) = await agent.submit(text)
    except RefusedError as refused:
        return refused.refusal.sentence
    assert outcome.done is not None
    return outcome.done.sentence if isinstance(outcome.done, Refusal) else outcome.done.says
