"""Makes a generated history: agents whose every text has the marker of the agent.

A marker is unique. So a search for the markers of erased agents finds whatever was left of them.
"""

import random
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from sapwood import Agent, RecordedReply, RecordedResult, Sapwood, ToolCall
from sapwood.core.errors import RefusedError
from sapwood.core.ids import AgentId
from sapwood.turns.open_agent import open_state, snapshot_of

_LONG = 3_000
_ACTS = (
    *("turn", "turn", "long", "shared", "fork", "fork in turn"),
    *("mail", "mail", "mark", "load", "load"),
)


class MadeAgent(Struct):
    """An agent, its space, its parent, and its marker. `shared` are the shared texts it has."""

    space: str
    id: AgentId
    marker: str
    parent: AgentId | None = None
    shared: set[str] = set()


class SharedText(Struct, frozen=True):
    """A long text that several agents have, and its marker."""

    marker: str
    text: str


def marker(random_numbers: random.Random) -> str:
    """A word that occurs nowhere else; digits keep a stemmer from changing it."""
    return f"mk{random_numbers.getrandbits(96):024x}"


async def make_history(
    db: Sapwood,
    space: str,
    numbers: random.Random,
    shared: Sequence[SharedText],
    others: Sequence[MadeAgent],
    folder: Path | None,
) -> list[MadeAgent]:
    """Makes a conversation of one to four agents; it sends mail to agents of `others`."""
    word = marker(numbers)
    root = await db.start(
        f"name {word}",
        system=f"Be {word}.",
        pins={"style": f"pin {word}"},
        folder=str(folder or ""),
    )
    made = [MadeAgent(space, root.id, word)]
    for _ in range(numbers.randint(2, 6)):
        current = numbers.choice(made)
        await _act(db, current, made, numbers, shared, others)
    for each in made:
        if numbers.random() < 0.5:
            await _save_snapshot(db, each.id)
    return made


async def _act(
    db: Sapwood,
    made: MadeAgent,
    family: list[MadeAgent],
    numbers: random.Random,
    shared: Sequence[SharedText],
    others: Sequence[MadeAgent],
) -> None:
    agent = await db.get(made.id)
    act = numbers.choice(_ACTS)
    word = made.marker
    if act == "turn":
        await agent.record(f"prompt {word}", f"reply {word}")
    elif act == "long":
        call = RecordedReply((ToolCall("1", "look", f'{{"at": "{word}"}}'),))
        result = RecordedResult("1", f"{word} " + "long own text " * (_LONG // 14))
        await agent.record(f"prompt {word}", call, result, f"reply {word}")
    elif act == "shared":
        text = numbers.choice(shared)
        await agent.record(text.text, f"reply {word}")
        made.shared.add(text.marker)
    elif act == "fork" and len(family) < 4:
        await _fork(db, agent, made, family, numbers)
    elif act == "fork in turn" and len(family) < 4:  # the child copies the prompt, with its mail
        async with agent.turn(f"prompt {word}") as turn:
            await _fork(db, agent, made, family, numbers)
            await turn.reply(f"reply {word}")
    elif act == "mail":
        await _mail(db, agent, made, numbers, [*family, *others])
    elif act == "mark":
        await agent.mark(f"M{word}"[:40])
    elif act == "load" and others:
        source = numbers.choice([each for each in others if each.space == made.space] or [made])
        await _load(db, agent, source, numbers)


async def _fork(
    db: Sapwood,
    agent: Agent,
    made: MadeAgent,
    family: list[MadeAgent],
    numbers: random.Random,
) -> None:
    known = {each.id for each in family}
    await agent.run_command(f"/fork -- goal {made.marker}")
    for summary in await db.agents(parent=agent.id):
        if summary.agent not in known:
            child = MadeAgent(made.space, summary.agent, marker(numbers), agent.id)
            opened = await db.get(child.id)
            async with opened.turn() as turn:
                await turn.reply(f"reply {child.marker}")
            await opened.rename(f"name {child.marker}")
            family.append(child)


async def _mail(
    db: Sapwood,
    agent: Agent,
    made: MadeAgent,
    numbers: random.Random,
    others: Sequence[MadeAgent],
) -> None:
    near = [each for each in others if each.space == made.space and each.id != made.id]
    if not near:
        return
    receiver = numbers.choice(near)
    text = f"mail {made.marker}" + (" and much more" * 200 if numbers.random() < 0.3 else "")
    try:
        await agent.run_command(f"/send {receiver.id} {text}")
        if numbers.random() < 0.6:
            await _read_mail(await db.get(receiver.id), receiver, numbers)
    except RefusedError:
        return  # the receiver's mailbox is full


async def _read_mail(agent: Agent, made: MadeAgent, numbers: random.Random) -> None:
    if numbers.random() < 0.5:
        await agent.run_command("/check-mail")
        await agent.record(f"prompt {made.marker}", f"reply {made.marker}")
        return
    message = await agent.read_mail()
    call = RecordedReply((ToolCall("1", "slash", '{"command": "check-mail"}'),))
    await agent.record(f"prompt {made.marker}", call, RecordedResult("1", str(message)), "Read.")


async def _load(db: Sapwood, agent: Agent, source: MadeAgent, numbers: random.Random) -> None:
    events = await (await db.get(source.id)).events()
    turns = [each.version for each in events if each.kind in ("turn.started", "turn.recorded")]
    try:
        await agent.run_command(f"/bring {source.id}:{numbers.choice(turns or [2])}")
    except RefusedError:
        return  # there is no turn at this place


async def _save_snapshot(db: Sapwood, agent: AgentId) -> None:
    log, space = db.connection.log, db.connection.space
    await log.save_snapshot(space, snapshot_of(await open_state(log, space, agent)))
