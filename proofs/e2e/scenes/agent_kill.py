"""Kill: an agent and all its descendants end at once; a model may kill only its children."""

import asyncio
import threading

from proofs.e2e.system_under_test import TIMEOUT, SystemUnderTest
from sapwood.api.agent import Agent
from sapwood.core.errors import RefusedError
from scripted_model import ModelRequest, ReplyLike, call


async def play(system: SystemUnderTest) -> None:
    """Runs the scene."""
    await _by_a_person(system)
    await _by_a_model(system)


async def _by_a_person(system: SystemUnderTest) -> None:
    checks, over = system.checks, threading.Event()
    counting, going_on = threading.Event(), threading.Event()

    def model(asked: ModelRequest) -> ReplyLike:
        if asked.prompt.endswith("Have it counted.") and not asked.results:
            return call("slash", command="fork", args="-- Count for ever.")
        (going_on if asked.results else counting).set()
        over.wait(TIMEOUT)
        return "Too late."

    system.script(model)
    root = await system.start("root")
    await root.run_command("/fork -- Have it counted.")
    (child,) = await system.children(root)
    for at_work in (counting, going_on):
        await asyncio.to_thread(at_work.wait, TIMEOUT)
    (grandchild,) = await system.children(child)
    before = len(system.server.requests)
    answer = await _answer_to(root, f"/kill {child.id}")
    checks.same("kill names the family", answer, f"Killed {child.id}, {grandchild.id}.")
    for agent in (child, grandchild):
        state = await agent.state()
        checks.same("every descendant has ended", (state.status, state.open), ("killed", None))
        last = [recorded.kind for recorded in await agent.events()][-2:]
        checks.same("in the middle of the turn", last, ["turn.interrupted", "agent.killed"])
    await system.hung_up(2)
    over.set()
    checks.same("no agent calls the model any more", len(system.server.requests), before)
    refused = await _answer_to(root, f"/send {child.id} Are you there?")
    checks.within("mail to the dead is refused", "is killed", refused)
    checks.same("the root lives", (await root.state()).status, "running")


async def _by_a_model(system: SystemUnderTest) -> None:
    checks = system.checks
    root = await system.start("elder")
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
                return call("slash", command="kill", args=heard[0].split("(")[1].split(")")[0])
            case 2:
                return call("slash", command="kill", args=root.id)
            case _:
                return "Done."

    system.script(model)
    await system.ask(root, "Fork a child and end it.")
    checks.that("a model ends its own child", heard[1].startswith("Killed "), heard)
    checks.within("and not a root", "Only a person may kill it", heard[2])
    (child,) = await system.children(root)
    checks.same("the child has ended", (await child.state()).status, "killed")


async def _answer_to(agent: Agent, text: str) -> str:
    try:
        (outcome,) = await agent.run_command(text)
    except RefusedError as refused:
        return refused.refusal.sentence
    return outcome.message
