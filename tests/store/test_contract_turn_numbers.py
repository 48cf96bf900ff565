"""Numbers of turns, in any history and both ways: 1, 2, 3 in the order in which turns started.

The same holds for logs of versions that did not record numbers.
"""

import random
from collections.abc import Sequence
from itertools import pairwise

import pytest
from msgspec import structs

from sapwood.core.commands import (
    AddPin,
    Clear,
    Fork,
    InterruptTurn,
    KeepLast,
    RecordTurn,
    Rewind,
    SetMark,
    Undo,
)
from sapwood.core.content import RecordedReply, Text
from sapwood.core.context import Context
from sapwood.core.events import Recorded, TurnRecorded, TurnStarted
from sapwood.core.ids import AgentId, EventRef, Space
from sapwood.core.turn_numbers import TURN_STARTS
from sapwood.turns.log import Log
from sapwood.turns.open_agent import open_agent, open_state, read_live
from sapwood.turns.turn_lookup import find_start, number_at, start_of, whole_turn
from tests.turns.commanding import AGENT, Desk


class LogOfEarlierVersion:
    """The same log, whose events have no numbers. It counts how often events are read."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self.reads = 0

    def __getattr__(self, name: str) -> object:
        return getattr(self._log, name)

    async def snapshot(self, *_: object) -> None:
        """None of the earlier version can be read."""

    async def read(self, *args: object, **options: object) -> list[Recorded]:
        self.reads += 1
        return [_without_number(each) for each in await self._log.read(*args, **options)]  # pyright: ignore[reportArgumentType]


def _without_number(recorded: Recorded) -> Recorded:
    event = recorded.event
    if not isinstance(event, TurnStarted | TurnRecorded):
        return recorded
    return structs.replace(recorded, event=structs.replace(event, number=0))


async def _happens(desk: Desk, agents: list[AgentId], dice: random.Random) -> None:
    """One thing that a person, a program or an importer does to one of the agents."""
    agent = dice.choice(agents)
    opened = await desk.dispatcher.open(agent)
    turns = opened.live.turns
    match dice.randrange(9):
        case 0 | 1 | 2:
            await desk.turn(f"ask {dice.random()}", agent=agent)
        case 3:
            reply = RecordedReply((Text("answer"),))
            await desk.do(RecordTurn(agent, (Text("asked elsewhere"),), (reply,)))
        case 4:
            await desk.prompt(agent=agent)
            await desk.do(AddPin(agent, f"pin{dice.randrange(3)}", "text"))
            await desk.do(InterruptTurn(agent))
        case 5 if turns:
            turn = dice.choice(turns)
            context = Context(turn.parent)
            await desk.do(Rewind(agent, before=turn.ref, context=context, place=str(turn.number)))
        case 6 if len(agents) < 4:
            agents.append(AgentId(f"{AGENT}{len(agents)}"))
            goal = dice.choice(("", "goal"))
            await desk.do(Fork(agent, agents[-1], goal=goal))
            if goal:
                await desk.do(InterruptTurn(agents[-1]))
        case 7:
            await desk.do(dice.choice((KeepLast(agent, 1), Clear(agent), SetMark(agent, "HERE"))))
        case _ if opened.state.undo:
            await desk.do(Undo(agent))
        case _:
            await desk.turn(agent=agent)


@pytest.mark.parametrize("seed", range(4))
async def test_every_turn_has_its_number_and_every_number_its_turn(
    log: Log, space: Space, seed: int
) -> None:
    desk, dice = Desk(log, space), random.Random(seed)
    agents = [await desk.start()]
    for _ in range(60):
        await _happens(desk, agents, dice)
    starts = {agent: await _starts(log, space, agent) for agent in agents}
    assert sum(map(len, starts.values())) > 10
    for known in (log, LogOfEarlierVersion(log)):
        for agent in agents:
            await _require_numbers(known, space, agent, starts)  # pyright: ignore[reportArgumentType]


async def _starts(log: Log, space: Space, agent: AgentId) -> list[int]:
    """The versions at which the turns of an agent start, counted in its whole log."""
    return [each.version for each in await log.read(space, agent) if each.kind in TURN_STARTS]


async def _require_numbers(
    log: Log, space: Space, agent: AgentId, starts: dict[AgentId, list[int]]
) -> None:
    state = await open_state(log, space, agent)
    assert state.turns == len(starts[agent])
    assert await start_of(log, space, state, 0) == 0
    assert await start_of(log, space, state, state.turns + 1) == 0
    for number, first in enumerate(starts[agent], 1):
        assert await start_of(log, space, state, number) == first
        assert await number_at(log, space, EventRef(agent, first)) == number
        assert (await whole_turn(log, space, agent, first)).number == number
        found = await find_start(log, space, state, f"{agent}/{number}")
        assert getattr(found, "ref", None) == EventRef(agent, first)
    for number, (first, following) in enumerate(pairwise([*starts[agent], 0]), 1):
        between = range(first, following or state.version + 1)
        numbers = {await number_at(log, space, EventRef(agent, version)) for version in between}
        assert numbers == {number}
    opened = await open_agent(log, space, agent)
    path = await read_live(log, space, state, context=Context(state.context.tip))
    for turn in (*opened.live.all_turns, *path.turns):  # inherited ones too
        assert starts[turn.agent].index(turn.first) + 1 == turn.number


@pytest.mark.parametrize("with_numbers", [True, False])
async def test_a_number_is_found_in_a_few_reads(log: Log, space: Space, with_numbers: bool) -> None:
    desk = Desk(log, space)
    await desk.start()
    for number in range(300):
        await desk.turn(f"ask {number}")
        if number == 150:
            for pin in range(300):
                await desk.do(AddPin(AGENT, "pin", str(pin)))
    starts = await _starts(log, space, AGENT)
    counted = LogOfEarlierVersion(log)
    if with_numbers:
        counted.read = _counting(counted, log)  # pyright: ignore[reportAttributeAccessIssue]
    state = await open_state(log, space, AGENT)
    max_reads = 0
    for number in (1, 2, 75, 150, 151, 152, 299, 300):
        counted.reads = 0
        assert await start_of(counted, space, state, number) == starts[number - 1]  # pyright: ignore[reportArgumentType]
        max_reads = max(max_reads, counted.reads)
    assert max_reads <= 3 * state.version.bit_length()


def _counting(counted: LogOfEarlierVersion, log: Log) -> object:
    async def read(*args: object, **options: object) -> Sequence[Recorded]:
        counted.reads += 1
        return await log.read(*args, **options)  # pyright: ignore[reportArgumentType]

    return read
