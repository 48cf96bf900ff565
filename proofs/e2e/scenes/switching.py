"""The model is switched in mid-conversation, to every other vendor and back.

Thinking and tool calls of each are in the history. What one thought never reaches another; what a
model thought itself comes back to it, as its provider wants it.
"""

from proofs.e2e.house import House
from proofs.e2e.wires import WIRES
from scripted_model import ModelRequest, ReplyLike, Thinking, ToolCall, call, think

__all__ = ["play"]

SEALS = {
    "messages": "'signature':",
    "responses": "'encrypted_content':",
    "gemini": "'thoughtSignature':",
}
"""Where a format carries what a provider wants back with its thinking; chat has no such place."""


async def play(house: House) -> None:
    """Plays it."""
    seen: list[ModelRequest] = []

    def model(asked: ModelRequest) -> ReplyLike:
        seen.append(asked)
        if asked.results:
            return [think(f"{asked.model} sees it."), f"{asked.model} has read it."]
        return [think(f"{asked.model} wonders."), "I look.", call("read_file", path="notes.txt")]

    house.script(model)
    others = [wire for wire in WIRES if wire != house.wire]
    for other in others:
        seen.clear()
        await _there_and_back(house, other, seen)
    for other in others:
        await _in_the_middle_of_a_turn(house, other)


async def _there_and_back(house: House, other: str, seen: list[ModelRequest]) -> None:
    checks, own, foreign = house.checks, house.model, WIRES[other]
    agent = await house.start()
    for name in (own, foreign, own):
        await house.switch(agent, name)
        bare = name.partition(":")[2]
        said = await house.ask(agent, "Where does the heron nest?")
        checks.same(f"{name} answers", said, f"{bare} has read it.")
    checks.same(
        "each request went where it should",
        [asked.model for asked in seen],
        [name.partition(":")[2] for name in (own, own, foreign, foreign, own, own)],
    )
    for asked in seen:
        strangers = [word for word in _thoughts(asked) if asked.model not in word]
        checks.same(f"{asked.model} reads nobody else's thinking", strangers, [])
        leaked = [m.text for m in asked.messages if "wonders" in m.text or "sees it" in m.text]
        checks.same(f"{asked.model} is told no thinking as words", leaked, [])
    calls = [part for m in seen[-1].messages for part in m.parts if isinstance(part, ToolCall)]
    checks.many("every tool call is still there", calls, 3)
    sealed = str(seen[-1].body).count(SEALS[house.wire]) if house.wire in SEALS else 3
    checks.that("its own thinking comes back, sealed as it was", sealed >= 3, seen[-1].body)


async def _in_the_middle_of_a_turn(house: House, other: str) -> None:
    """One vendor's model calls a tool, another's gets the result."""
    checks, seen = house.checks, list[ModelRequest]()

    def model(asked: ModelRequest) -> ReplyLike:
        seen.append(asked)
        if asked.results:
            return [think("It has slept."), f"{asked.model} woke up."]
        return [think("Let it sleep."), call("shell", command="sleep 0.3")]

    house.script(model)
    agent = await house.start()
    await agent.submit("Sleep a little.")
    await house.until(agent, "tool.started")
    await house.switch(agent, WIRES[other])
    await house.idle(agent)
    names = [house.model.partition(":")[2], WIRES[other].partition(":")[2]]
    checks.same("the turn goes on with the other", [asked.model for asked in seen], names)
    said = await house.last_words(agent)
    checks.same("which answers", said, f"{names[1]} woke up.")


def _thoughts(asked: ModelRequest) -> list[str]:
    parts = (part for message in asked.messages for part in message.parts)
    return [part.text for part in parts if isinstance(part, Thinking) and part.text]
