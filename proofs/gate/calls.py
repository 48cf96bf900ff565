"""Generates calls of the Python API: each argument is, at random, sensible, odd or hostile."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing, suppress
from random import Random
from types import NoneType, UnionType
from typing import Any, Literal, NewType, Union, cast, get_args, get_origin, get_type_hints

from msgspec import UNSET, Struct, UnsetType

from proofs.gate.values import hostile, odd_text
from sapwood import Agent, AgentSummary, Cursor, EventRef, RefusedError, Sapwood, Where
from sapwood.core.commands import Command, Kill
from sapwood.core.content import (
    File,
    RecordedReply,
    RecordedResult,
    Text,
    Thinking,
    ToolCall,
    Usage,
)
from sapwood.core.events import HUMAN, SYSTEM, Actor
from sapwood.core.ids import AgentId
from sapwood.core.settings import Settings

_KINDS: tuple[type[Struct], ...] = get_args(Command)
_MARKS = ("A", "B", "_c")
_MAX_AGENTS = 12
_RENEWED = 40
_SECONDS = 20.0

Call = Callable[[], Awaitable[object]]


class Caller:
    """Makes calls on the agents of one space."""

    def __init__(self, db: Sapwood, random: Random, folder: str) -> None:
        self.db = db
        self.agents: list[Agent] = []
        self._random = random
        self._folder = folder
        self._made = 0

    async def begin(self) -> None:
        """Starts the first agents."""
        for number in range(3):
            self.agents.append(await self.db.start(f"agent {number}", folder=self._folder))

    async def call(self) -> str:
        """Makes one call and returns the name of its method. Raises what the call raises."""
        self._made += 1
        if self._made % _RENEWED == 0:  # many end, one way or another
            self.agents.pop(self._random.randrange(len(self.agents)))
            self.agents.append(await self.db.start("fresh", folder=self._folder))
        name, make = self._random.choice(_CALLS)
        await asyncio.wait_for(make(self), _SECONDS)
        return name

    # Arguments

    def any(self, *sensible: Any) -> Any:
        """One of the sensible values, or sometimes anything else."""
        return self._random.choice(sensible) if self._is_sensible() else hostile(self._random)

    def text(self, *sensible: str) -> Any:
        """A text, sometimes an odd one; or anything else."""
        roll = self._random.random()
        if roll < 0.6:
            return self._random.choice(sensible or ("Is it cold in Oslo?", "Yes, -3 degrees."))
        return odd_text(self._random) if roll < 0.88 else hostile(self._random)

    def agent(self) -> Agent:
        """One of the agents."""
        return self._random.choice(self.agents)

    def _is_sensible(self) -> bool:
        return self._random.random() < 0.8

    def is_rare(self) -> bool:
        """True in one of five calls, at random."""
        return self._random.random() < 0.2

    def number(self) -> Any:
        """A small number, or anything else."""
        return self.any(0, 1, 2, 5, 10)

    def parts(self) -> Any:
        """Parts of a message, or anything else."""
        return self.any((Text(self.text()),), [self.text(), self.text()], (hostile(self._random),))

    def tool_call(self) -> Any:
        """A tool call, or anything else."""
        number = str(self._random.randrange(3))
        return self.any(ToolCall(number, "weather", self.any('{"city": "Oslo"}', "{}")))

    def usage(self) -> Any:
        """The usage that a provider reported, or anything else."""
        return self.any(None, Usage(100, 5), Usage(self.number(), self.number()))

    # The space

    async def start(self) -> None:
        agent = await self.db.start(
            self.text("demo"),
            id=self.any("", f"own-{self._random.randrange(50)}"),
            resume=self.any(False, True),
            model=self.text("gpt-5", ""),
            system=self.text("Be brief."),
            cap=self.any(100_000, 200, 0),
            pins=self.any(None, {"style": "Be brief."}, {self.hashable(): self.text()}),
            folder=self.text(self._folder, ""),
            settings=self.any(None, None, Settings()),
            owner=self.text("", "ada"),
            labels=self.any((), ["vip"], [self.text("vip")]),
            metadata=self.any(None, {"plan": "gold"}, {self.hashable(): self.text()}),
        )
        if len(self.agents) < _MAX_AGENTS:
            self.agents.append(agent)

    def hashable(self) -> Any:
        """A key for a mapping."""
        return self._random.choice(("name", "", "\ud800", "\0", 5, None, b"x", 2.5))

    async def find(self) -> object:
        return await self.db.find(self.text("demo", self.agent().id, self.agent().id[:3]))

    async def list(self) -> object:
        return await self.db.agents(
            after=self.any(None, AgentSummary(AgentId("x"), 1, created=self.number())),
            limit=self.any(1, 10),
            parent=self.any(None, self.agent().id),
            status=self.any(None, "running", "archived", "no such"),
            where=self.any(None, Where(self.text("ada"), self.text("", "vip"))),
            order=self.any("created", "updated"),
        )

    async def search(self) -> object:
        return await self.db.search(
            self.text("oslo", '"cold in"'),
            agents=self.any(None, [self.agent().id], self.agent().id, []),
            limit=self.number(),
            offset=self.number(),
        )

    async def event(self) -> object:
        return await self.db.event(self.any(EventRef(self.any(self.agent().id), self.number())))

    async def beside(self) -> object:
        return await self.db.space(self.text("tenant-7")).agents(limit=1)

    async def tail(self) -> object:
        after = self.any(None, Cursor(), Cursor(self.number(), self.number()))
        return await _first(self.db.tail(after))

    # Turns

    async def free(self) -> Agent:
        """An agent without an open turn, most of the time."""
        agent = self.agent()
        if self._is_sensible():
            with suppress(RefusedError):
                await agent.interrupt()
        return agent

    async def prompt(self) -> object:
        agent = await self.free()
        return await agent.prompt(
            self.any("/kill me", self.parts()),
            command_id=self.any(None, "", "once"),
            actor=self.any(None, Actor("human", "ada")),
        )

    async def turn(self) -> None:
        agent = await self.free()
        async with agent.turn(self.any("Go on.", self.parts(), None)) as turn:
            for _ in range(self._random.randrange(4)):
                match self._random.randrange(9):
                    case 0 | 5:
                        await turn.call(
                            self.any(None, "gpt-5"),
                            params=self.any(None, {"temperature": 0}),
                            tools=self.any((), [{"name": "weather"}]),
                        )
                    case 1 | 2:
                        await turn.reply(
                            self.text(),
                            calls=self.any((), (), [self.tool_call()], (self.tool_call(),)),
                            thinking=self.any("", "Hm.", Thinking(self.text())),
                            model=self.text("gpt-5"),
                            usage=self.usage(),
                            ended=self.any("done", "length", "refused"),
                        )
                    case 6:
                        thought, said = Thinking(self.text()), Text(self.text())
                        image = File(self.text("image/png"), self.text("aGVyb24="), self.text())
                        await turn.reply(parts=self.any([thought, said, thought, image]))
                    case 7:
                        await turn.delta(self.text(), kind=self.any("text", "thinking"))
                    case 8 if self._random.random() < 0.2:
                        await turn.fail(self.any("No key.", RuntimeError("x")))
                    case 3:
                        await turn.started(self.any("0", "1", "2"))
                    case _:
                        call = self.any("0", "1", "2", 1)
                        await turn.result(call, self.text(), error=self.any(False, True))

    async def record(self) -> object:
        items = self.any(
            (self.text(),),
            (RecordedReply((Text(self.text()),)),),
            (
                RecordedReply((self.tool_call(),)),
                RecordedResult(self.any("0", "1", "2"), self.text()),
                self.text(),
            ),
            (hostile(self._random),),
        )
        given = cast("tuple[Any, ...]", items if type(items) is tuple else (items,))
        return await (await self.free()).record(
            self.any("Hello", self.parts()),
            *given,
            status=self.any("completed", "interrupted", "failed"),
            reason=self.text(""),
        )

    # Commands that no method gives

    async def do(self) -> object:
        command = self.command(self._random.choice(_KINDS))
        if isinstance(command, Kill) and self._random.random() < 0.9:
            return None
        return await self.agent().do(
            self.any(command, command, command),
            self.any(HUMAN, SYSTEM, SYSTEM, Actor("model", "gpt-5"), Actor("boss")),  # pyright: ignore[reportArgumentType]
            call=self.any(None, None, "0"),
            command_id=self.any(None, None, f"command-{self._random.randrange(200)}"),
        )

    def command(self, kind: type[Struct]) -> Any:
        """A struct of this class with sensible and other values in its fields."""
        hints = get_type_hints(kind)
        fields = {name: self.value(hints[name]) for name in kind.__struct_fields__}
        if "agent" in fields and self._random.random() < 0.9:
            fields["agent"] = self.agent().id
        return kind(**fields)

    def value(self, hint: Any) -> Any:
        """A value of this type, or anything else."""
        if self._random.random() < 0.08:
            return hostile(self._random)
        origin = get_origin(hint)
        if isinstance(hint, NewType):
            return self._random.choice((self.agent().id, f"new-{self._random.randrange(99)}"))
        if hint is str:
            return self.text("A", "weather", "oslo", "")
        if hint is int or hint is float:
            return self.number()
        if hint is bool:
            return self.any(True, False)
        if origin is Literal:
            return self._random.choice(get_args(hint))
        if origin is tuple:
            return tuple(self.value(get_args(hint)[0]) for _ in range(self._random.randrange(3)))
        if origin is UnionType or origin is Union:
            return self.value(self._random.choice(get_args(hint)))
        if hint is NoneType:
            return None
        if hint is UnsetType:
            return UNSET
        return self.command(hint)


async def _first(events: AsyncIterator[object]) -> object:
    """The first event, if there is one."""
    async with aclosing(cast("Any", events)):
        try:
            return await asyncio.wait_for(anext(events), 0.05)
        except (TimeoutError, StopAsyncIteration):
            return None


async def _seldom(caller: Caller, end: Callable[[Agent], Awaitable[object]]) -> None:
    """Sometimes ends an agent, and starts another one in its place."""
    if caller.is_rare() and len(caller.agents) > 2:
        agent = caller.agents.pop()
        caller.agents.append(await caller.db.start("replacement"))
        await end(agent)


_CALLS: Sequence[tuple[str, Callable[[Caller], Awaitable[object]]]] = (
    ("start", Caller.start),
    ("get", lambda it: it.db.get(it.text(it.agent().id, "nobody"))),
    ("find", Caller.find),
    ("agents", Caller.list),
    ("search", Caller.search),
    ("event", Caller.event),
    ("space", Caller.beside),
    ("tail", Caller.tail),
    *[("turn", Caller.turn)] * 6,
    *[("record", Caller.record)] * 4,
    *[("do", Caller.do)] * 12,
    ("interrupt", lambda it: it.agent().interrupt(it.text(""))),
    ("prompt", Caller.prompt),
    (
        "run_command",
        lambda it: it.agent().run_command(it.text("Find the leak.", "/mark A", "/undo")),
    ),
    ("mark", lambda it: it.agent().mark(it.any("", *_MARKS))),
    ("clear", lambda it: it.agent().clear(it.any(None, 1, 2))),
    ("rewind", lambda it: it.agent().rewind(it.any(None, *_MARKS), note=it.text(""))),
    ("undo", lambda it: it.agent().undo()),
    ("redo", lambda it: it.agent().redo()),
    (
        "compact",
        lambda it: it.agent().compact(
            it.text(), keep=it.number(), ledger=it.text(""), score=it.any(None, 0.5)
        ),
    ),
    ("mask", lambda it: it.agent().mask(it.any(10, 1000))),
    ("pin", lambda it: it.agent().pin(it.text("style"), it.text())),
    ("unpin", lambda it: it.agent().unpin(it.text("style"))),
    ("focus", lambda it: it.agent().focus(it.text("OAuth"), it.number())),
    ("unfocus", lambda it: it.agent().unfocus(it.text("OAuth"))),
    (
        "configure",
        lambda it: it.agent().configure(
            model=it.any(None, "gpt-5"),
            system=it.any(None, "Be brief."),
            cap=it.any(None, 300, 0),
            low_water=it.any(None, 0.5),
            mask_over=it.any(None, 100),
            window=it.any(None, 1000),
            levels=it.any(None, (0.1, 0.2, 0.3)),
        ),
    ),
    ("revert", lambda it: it.agent().revert(it.any(1, 2))),
    (
        "fork",
        lambda it: it.agent().fork(it.any(None, *_MARKS), goal=it.text(""), name=it.text("child")),
    ),
    ("send", lambda it: it.agent().send(it.any(it.agent(), it.agent().id), it.text())),
    ("mail", lambda it: it.agent().mail()),
    ("read_mail", lambda it: it.agent().read_mail(it.any("prompt", "tool"))),
    ("kill", lambda it: _seldom(it, Agent.kill)),
    ("archive", lambda it: _seldom(it, Agent.archive)),
    ("new", lambda it: _seldom(it, Agent.new)),
    (
        "label",
        lambda it: it.agent().label(
            it.text("vip"),
            remove=it.any((), ["vip"]),
            owner=it.any(None, "", "ada"),
            metadata=it.any(None, {"plan": it.text("gold")}),
        ),
    ),
    ("state", lambda it: it.agent().state()),
    ("request", lambda it: it.agent().request(it.any(None, "gpt-5"))),
    ("budget", lambda it: it.agent().budget()),
    (
        "events",
        lambda it: it.agent().events(
            it.number(),
            it.any(None, 5),
            limit=it.any(None, 3),
            backward=it.any(True, False),
        ),
    ),
    ("follow", lambda it: _first(it.agent().follow(it.number()))),
    ("watch", lambda it: _first(it.agent().watch(it.number()))),
    ("replay", lambda it: it.agent().replay(it.any(None, 1, 3))),
    ("diff", lambda it: it.agent().diff(it.any(*_MARKS), it.any(None, *_MARKS))),
)
