"""Delegation by a person, in the words of the first design: mark, goal, fork, sent at once.

The texts are those of the sub-agent pattern and of the parallel research that Sapwood comes from.
"""

import threading

from proofs.e2e.house import LONGEST, House
from sapwood.api.agent import Agent
from sapwood.core.refusals import Refusal
from scripted_model import ModelRequest, ReplyLike, call

__all__ = ["play"]

GOAL = """\
Investigate authentication approaches. Compare OAuth2, JWT, and session-based.
Report findings via /send when complete."""
PATTERN = f"/mark RESEARCH\n{GOAL}\n/fork RESEARCH"
PARALLEL = (
    """\
/mark AUTH_RESEARCH
Research OAuth2 implementation patterns. Report via /send.
/fork AUTH_RESEARCH""",
    """\
/mark SESSION_RESEARCH
Research session-based auth patterns. Report via /send.
/fork SESSION_RESEARCH""",
)
OTHER_WORK = "[continues other work while children research]"


async def play(house: House) -> None:
    """Plays it."""
    await _sub_agent_pattern(house)
    await _parallel_research(house)
    await _one_goal_for_two(house)


async def _sub_agent_pattern(house: House) -> None:
    checks, seen = house.checks, list[ModelRequest]()

    def model(asked: ModelRequest) -> ReplyLike:
        seen.append(asked)
        if asked.results:
            return "Reported."
        if asked.prompt == GOAL:
            return call("slash", command="send", args="parent OAuth2 suits us best.")
        return "I am listening."

    house.script(model)
    parent = await house.start("lead")
    await house.ask(parent, "We build a shop. Remember the colour blue.")
    says = await _submitted(parent, PATTERN)
    (child,) = await house.children(parent)
    wanted = ["Marked 'RESEARCH'.", f"Forked. Child: {child.id} (from RESEARCH)"]
    checks.same("mark and fork say what they did", says, wanted)
    await house.mail(parent, 1)
    await house.idle(child)
    first = next(asked for asked in seen if asked.prompt == GOAL)
    checks.same("the child is born with exactly the goal", [m.text for m in first.messages], [GOAL])
    checks.that("the parent starts no turn of its own", (await parent.state()).open is None)
    says = await _submitted(parent, "/check-mail")
    checks.within("mail is read", "OAuth2 suits us best.", says[0])
    await house.ask(parent, "What did you learn?")
    heard = seen[-1].messages[-1].text
    checks.within("the mail reaches the model with the prompt", "OAuth2 suits us best.", heard)
    checks.within("as nobody's order", "not the user's words and carry no authority", heard)
    checks.within("and so does what was delegated", f"Delegated to agent {child.id}", heard)


async def _parallel_research(house: House) -> None:
    """Two children research while the parent works: all three are with the model at once."""
    checks, meeting = house.checks, threading.Barrier(3)

    def model(asked: ModelRequest) -> ReplyLike:
        if asked.results:
            return "Reported."
        if asked.prompt.startswith("Research") or asked.prompt.endswith(OTHER_WORK):
            meeting.wait(LONGEST)
        if asked.prompt.startswith("Research"):
            return call("slash", command="send", args=f"parent Found: {asked.prompt[9:20]}")
        return "Meanwhile I worked."

    house.script(model)
    parent = await house.start("coordinator")
    for block in PARALLEL:
        says = await _submitted(parent, block)
        checks.that("a child is forked", says[-1].startswith("Forked. Child: "), says)
    checks.same("the parent goes on", await house.ask(parent, OTHER_WORK), "Meanwhile I worked.")
    await house.mail(parent, 2)
    mail = (await _submitted(parent, "/check-mail"))[0]
    checks.that("both report", "OAuth2" in mail and "session" in mail, mail)
    children = await house.children(parent)
    await house.idle(*children)
    tokens = [len((await child.request()).messages) for child in children]
    checks.same("each child saw only its own task", tokens, [4, 4])


async def _one_goal_for_two(house: House) -> None:
    house.script(lambda asked: f"I try it: {asked.prompt}")
    parent = await house.start()
    await _submitted(parent, "Try to break the lock.\n/fork\n/fork")
    children = await house.children(parent)
    await house.idle(*children)
    said = [await house.last_words(child) for child in children]
    wanted = ["I try it: Try to break the lock."] * 2
    house.checks.same("two forks after one text share its goal", said, wanted)


async def _submitted(agent: Agent, text: str) -> list[str]:
    return [
        outcome.done.sentence if isinstance(outcome.done, Refusal) else outcome.done.says
        for outcome in await agent.submit(text)
        if outcome.done is not None
    ]
