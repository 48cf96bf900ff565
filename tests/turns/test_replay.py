"""Replay: every request that was ever sent can be built again, byte for byte."""

from random import Random

import pytest
from msgspec import structs

from sapwood.core.commands import (
    AddPin,
    AddReply,
    Clear,
    Command,
    Compact,
    CompleteTurn,
    Configure,
    FailTurn,
    FinishTool,
    Fork,
    InterruptTurn,
    KeepLast,
    MaskResults,
    ReadMail,
    Redo,
    RemovePin,
    Rewind,
    Send,
    SetMark,
    StartTurn,
    Undo,
)
from sapwood.core.content import Text, ToolCall
from sapwood.core.ids import AgentId
from sapwood.core.settings import Settings, SettingsChange
from sapwood.core.view import view
from sapwood.turns.replay import last_call, numbered_calls, replay
from tests.store.memory_log import MemoryLog
from tests.turns.commanding import AGENT, SPACE, Desk


async def test_a_call_is_replayed_as_it_was_sent(desk: Desk, log: MemoryLog) -> None:
    await desk.start(settings=Settings("scripted", system="Be brief."))
    await desk.turn("ask 1", "answer 1")
    await desk.prompt("ask 2")
    opened = await desk.dispatcher.open(AGENT)
    sent = view(opened.state, opened.live)
    done = await desk.call()
    await desk.do(Configure(AGENT, SettingsChange(system="Be loud.")))
    await desk.do(AddPin(AGENT, "rule", "x"))
    await desk.do(AddReply(AGENT, (Text("answer 2"),)))
    await desk.do(CompleteTurn(AGENT))
    await desk.do(Clear(AGENT))
    seen = await replay(log, SPACE, AGENT, done.events[0].version)
    assert seen is not None
    assert (seen.request, seen.matches, seen.ref) == (sent, True, done.events[0])
    assert seen.called.model == "scripted"


async def test_calls_are_numbered_within_their_turns(desk: Desk, log: MemoryLog) -> None:
    await desk.start()
    for turn in (1, 2):
        await desk.prompt(f"ask {turn}")
        for _ in range(3):
            await desk.call()
        await desk.do(AddReply(AGENT, (Text("answer"),)))
        await desk.do(CompleteTurn(AGENT))
    calls = [f"turn {turn}, call {nth}" for turn in (2, 1) for nth in (3, 2, 1)]
    for limit in range(1, 8):
        found = await numbered_calls(log, SPACE, AGENT, limit)
        assert [each.place for each in found] == calls[:limit]


async def test_what_is_no_call_is_not_replayed(desk: Desk, log: MemoryLog) -> None:
    await desk.start()
    for version in (-1, 0, 1, 2, 99):
        assert await replay(log, SPACE, AGENT, version) is None
    assert await replay(log, SPACE, AgentId("nobody"), 1) is None


class Life:
    """A long life of many agents, generated from a seed."""

    def __init__(self, desk: Desk, seed: int) -> None:
        self.desk = desk
        self.random = Random(seed)
        self.agents = [AGENT]
        self.calls: list[tuple[AgentId, int]] = []

    async def live(self, days: int) -> None:
        """Lets so many things happen."""
        await self.desk.start(settings=Settings("scripted", "Be brief.", 600, 0.5, 80))
        for day in range(days):
            agent = self.random.choice(self.agents)
            await self.turn(agent, day)
            await self.desk.answer(self.something(agent, day))

    async def turn(self, agent: AgentId, day: int) -> None:
        """A turn with model calls, tools, and now and then an early end."""
        desk, chance = self.desk, self.random.random
        if (await desk.dispatcher.open(agent)).state.open is None:
            await desk.prompt(f"ask {day} " * self.random.randrange(1, 9), agent)
        for number in range(self.random.randrange(3)):
            await self.call(agent)
            call = f"{day}-{number}"
            await desk.do(AddReply(agent, (Text("Let me look."), ToolCall(call, "read"))))
            content = "found " * self.random.randrange(60)
            await desk.do(FinishTool(agent, call, content))
            if chance() < 0.2:
                await desk.answer(MaskResults(agent, 50))
            if chance() < 0.2:
                await desk.answer(self.something(agent, day))
        await self.call(agent)
        if chance() < 0.1:
            await desk.do(InterruptTurn(agent, "esc"))
        elif chance() < 0.1:
            await desk.do(FailTurn(agent, "no network"))
        else:
            await desk.do(AddReply(agent, (Text(f"answer {day}"),)))
            await desk.do(CompleteTurn(agent))

    async def call(self, agent: AgentId) -> None:
        """A model call."""
        done = await self.desk.call(agent)
        self.calls.append((agent, done.events[0].version))

    def something(self, agent: AgentId, day: int) -> Command:
        """Anything that changes what a model sees."""
        child = AgentId(f"child{day}-{self.random.randrange(10**6)}")
        mark = self.random.choice(["A", "B"])
        command = self.random.choice(
            [
                SetMark(agent, mark),
                SetMark(agent),
                Rewind(agent, None, "Why."),
                Rewind(agent, None, "Why."),
                KeepLast(agent, self.random.randrange(1, 5)),
                Clear(agent),
                Compact(agent, f"Summary {day}.", keep=self.random.randrange(3)),
                Undo(agent),
                Undo(agent),
                Redo(agent),
                AddPin(agent, mark, f"pin {day}"),
                RemovePin(agent, mark),
                Configure(agent, SettingsChange(cap=self.random.choice([300, 600, 2_000]))),
                Send(agent, f"m{day}", f"mail {day}"),
                ReadMail(agent),
                Fork(agent, child, goal=f"goal {day}"),
                Fork(agent, child, mark),
                StartTurn(agent),
            ]
        )
        if isinstance(command, Fork) and len(self.agents) < 6 and command.mark is None:
            self.agents.append(child)
        return command


@pytest.mark.parametrize("seed", range(4))
async def test_every_call_of_a_long_life_replays_to_its_hash(log: MemoryLog, seed: int) -> None:
    life = Life(Desk(log), seed)
    await life.live(days=200)
    await life.desk.dispatcher.close()
    assert len(life.calls) > 200
    assert len({agent for agent, _ in life.calls}) > 3
    kinds = {kind for agent in life.agents for kind in await life.desk.kinds(agent)}
    assert {"context.trimmed", "context.rewound", "context.undone", "results.masked"} <= kinds
    for agent, version in life.calls:
        seen = await replay(log, SPACE, agent, version)
        assert seen is not None
        assert seen.matches


async def test_a_call_whose_log_was_tampered_with_does_not_match(log: MemoryLog) -> None:
    desk = Desk(log)
    await desk.start()
    await desk.prompt("ask")
    done = await desk.call()
    stream = log._data_of(SPACE).streams[AGENT]  # pyright: ignore[reportPrivateUsage]
    stream[1] = structs.replace(
        stream[1], event=structs.replace(stream[1].event, prompt=(Text("forged"),))
    )
    seen = await replay(log, SPACE, AGENT, done.events[0].version)
    assert seen is not None
    assert not seen.matches


# The newest call


async def test_without_a_call_there_is_no_last_one(desk: Desk, log: MemoryLog) -> None:
    assert await last_call(log, SPACE, AGENT) is None
    await desk.start()
    await desk.turn()
    assert await last_call(log, SPACE, AGENT) is None


@pytest.mark.parametrize("later", [0, 1, 254, 255, 256, 257, 600])
async def test_the_last_call_is_found_however_long_ago_it_was(
    desk: Desk, log: MemoryLog, later: int
) -> None:
    await desk.start()
    await desk.prompt()
    await desk.call()
    done = await desk.call()
    for _ in range(later):
        await desk.do(SetMark(AGENT))
    assert await last_call(log, SPACE, AGENT) == done.events[0].version
