"""Rewind and undo, by a user and by a model that leaves a note for itself."""

from proofs.e2e.system_under_test import SystemUnderTest
from proofs.e2e.wires import asked
from scripted_model import ModelRequest, ReplyLike, call, think

NOTE = "the first way fails: the pine is too tall"


async def play(system: SystemUnderTest) -> None:
    """Runs the scene."""
    await _by_a_person(system)
    await _by_a_model(system)


async def _by_a_person(system: SystemUnderTest) -> None:
    checks, seen = system.checks, list[ModelRequest]()

    def model(request: ModelRequest) -> ReplyLike:
        seen.append(request)
        if request.results:
            return f"Read, and {request.prompt}"
        return [think("Hm."), call("read_file", path="notes.txt")]

    system.script(model)
    agent = await system.start()
    await system.ask(agent, "look first.")
    await agent.run_command("/mark START")
    at_mark = await agent.request()
    await system.ask(agent, "try this.")
    tried = seen[-2]
    there = await agent.request()
    await agent.run_command("/clear START")
    checks.same("a rewind restores the identical request", await agent.request(), at_mark)
    await system.ask(agent, "try this.")
    checks.same("also as it is sent", asked(seen[-2].body), asked(tried.body))
    await agent.run_command("/undo")
    checks.same("undo restores it too", await agent.request(), there)
    await system.ask(agent, "and now?")
    length = len(there.messages)
    checks.many("the conversation goes on from there", seen[-2].messages, length + 1)
    await agent.run_command("/clear 1")
    await agent.run_command("/undo\n/undo\n/redo")
    checks.same("undo and redo go further", (await agent.state()).context.head, None)


async def _by_a_model(system: SystemUnderTest) -> None:
    checks, seen = system.checks, list[ModelRequest]()

    def model(request: ModelRequest) -> ReplyLike:
        seen.append(request)
        if NOTE in str(request.messages[0]):
            return "The second way works."
        match len(request.results) and request.results[-1].content[:6]:
            case 0:
                return call("slash", command="mark", args="TRY")
            case "Marked":
                return call("slash", command="clear", args=f"TRY {NOTE}")
            case _:
                return "I give up on this way."

    system.script(model)
    agent = await system.start()
    answer = await system.ask(agent, "Reach the nest.")
    checks.same("the model tries another way", answer, "The second way works.")
    last = seen[-1].messages
    checks.many("it sees nothing of the first", last, 1)
    heard = last[0].text
    checks.within("but its note to itself", NOTE, heard)
    checks.that("and what it was asked", heard.endswith("Reach the nest."), heard)
