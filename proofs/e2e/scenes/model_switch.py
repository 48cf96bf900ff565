"""Switches the model within a conversation, to every other provider and back.

Thinking and tool calls of each model are in the history. The thinking of one model is never sent to
another. Its own thinking is sent back to it, in the form that its provider requires.
"""

from proofs.e2e.system_under_test import SystemUnderTest
from proofs.e2e.wires import WIRES
from scripted_model import ModelRequest, ReplyLike, Thinking, ToolCall, call, think

SEALS = {
    "messages": "'signature':",
    "responses": "'encrypted_content':",
    "gemini": "'thoughtSignature':",
}
"""The field with which each format returns thinking to its provider; chat has none."""


async def play(system: SystemUnderTest) -> None:
    """Runs the scene."""
    seen: list[ModelRequest] = []

    def model(asked: ModelRequest) -> ReplyLike:
        seen.append(asked)
        if asked.results:
            return [think(f"{asked.model} sees it."), f"{asked.model} has read it."]
        return [think(f"{asked.model} wonders."), "I look.", call("read_file", path="notes.txt")]

    system.script(model)
    others = [wire for wire in WIRES if wire != system.wire]
    for other in others:
        seen.clear()
        await _there_and_back(system, other, seen)
    for other in others:
        await _in_the_middle_of_a_turn(system, other)


async def _there_and_back(system: SystemUnderTest, other: str, seen: list[ModelRequest]) -> None:
    checks, own, foreign = system.checks, system.model, WIRES[other]
    agent = await system.start()
    for name in (own, foreign, own):
        await system.switch(agent, name)
        bare = name.partition(":")[2]
        answer = await system.ask(agent, "Where does the heron nest?")
        checks.same(f"{name} answers", answer, f"{bare} has read it.")
    checks.same(
        "each request went where it should",
        [asked.model for asked in seen],
        [name.partition(":")[2] for name in (own, own, foreign, foreign, own, own)],
    )
    for asked in seen:
        strangers = [word for word in _thoughts(asked) if asked.model not in word]
        checks.same(f"{asked.model} gets no thinking of other models", strangers, [])
        leaked = [m.text for m in asked.messages if "wonders" in m.text or "sees it" in m.text]
        checks.same(f"{asked.model} gets no thinking as text", leaked, [])
    calls = [part for m in seen[-1].messages for part in m.parts if isinstance(part, ToolCall)]
    checks.many("every tool call is still there", calls, 3)
    sealed = str(seen[-1].body).count(SEALS[system.wire]) if system.wire in SEALS else 3
    checks.that("its own thinking comes back, sealed as it was", sealed >= 3, seen[-1].body)


async def _in_the_middle_of_a_turn(system: SystemUnderTest, other: str) -> None:
    """One provider's model calls a tool, and another's gets the result."""
    checks, seen = system.checks, list[ModelRequest]()

    def model(asked: ModelRequest) -> ReplyLike:
        seen.append(asked)
        if asked.results:
            return [think("It has slept."), f"{asked.model} woke up."]
        return [think("Let it sleep."), call("shell", command="sleep 0.3")]

    system.script(model)
    agent = await system.start()
    await agent.run_command("Sleep a little.")
    await system.until(agent, "tool.started")
    await system.switch(agent, WIRES[other])
    await system.idle(agent)
    names = [system.model.partition(":")[2], WIRES[other].partition(":")[2]]
    checks.same("the turn goes on with the other", [asked.model for asked in seen], names)
    answer = await system.last_words(agent)
    checks.same("which answers", answer, f"{names[1]} woke up.")


def _thoughts(asked: ModelRequest) -> list[str]:
    parts = (part for message in asked.messages for part in message.parts)
    return [part.text for part in parts if isinstance(part, Thinking) and part.text]
