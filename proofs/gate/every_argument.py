"""Gives every argument of every public method each odd value, while the others stay sensible.

The arguments are those of the signatures, so that no new one is left out. A required argument that
has no sensible value here fails the proof.
"""

import asyncio
import contextlib
import tempfile
import traceback
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import aclosing
from inspect import Parameter, getmembers, isawaitable, isfunction, signature
from typing import Any, cast

import sapwood
from sapwood import Agent, Sapwood, SapwoodError
from sapwood.api.turn_recorder import TurnRecorder
from sapwood.api.turn_stream import TurnStream
from sapwood.core.commands import SetMark
from sapwood.core.ids import EventRef

_SECONDS = 20.0
_LEFT_OUT = {"close", "erase_space"}
"""They end what the other calls need."""


async def give(values: Sequence[Callable[[], object]]) -> tuple[int, list[str]]:
    """The number of calls, and those that raised anything else than an error of Sapwood."""
    calls, problems = 0, list[str]()
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        async with sapwood.open(":memory:") as db:
            for kind in (Sapwood, Agent, TurnRecorder):
                for name, varied in _arguments(kind):
                    for make in values:
                        value = make()
                        calls += 1
                        try:
                            await asyncio.wait_for(_call(db, kind, name, varied, value), _SECONDS)
                        except SapwoodError:
                            pass
                        except Exception as error:  # whatever else it is, it is a defect
                            trace = "".join(traceback.format_exception(error)[-6:])
                            problems.append(
                                f"{kind.__name__}.{name}({varied.name}={type(value).__name__}): "
                                f"{type(error).__name__}\n{trace}"
                            )
    return calls, problems


def _arguments(kind: type) -> Iterator[tuple[str, Parameter]]:
    for name, method in getmembers(kind, isfunction):
        if name.startswith("_") or name in _LEFT_OUT:
            continue
        for each in list(signature(method).parameters.values())[1:]:
            yield name, each


async def _call(db: Sapwood, kind: type, name: str, varied: Parameter, value: object) -> None:
    agent = await db.start("sweep", cap=0)
    if kind is not TurnRecorder:
        await agent.record("Is it cold?", "Yes.")
        await agent.mark("A")
        await _make(db if kind is Sapwood else agent, name, varied, value, agent)
        return
    async with agent.turn("Is it cold?") as turn:
        await turn.call("gpt-5")
        await _make(turn, name, varied, value, agent)


async def _make(on: object, name: str, varied: Parameter, value: object, agent: Agent) -> None:
    method = getattr(on, name)
    given: list[Any] = []
    named: dict[str, Any] = {}
    for each in signature(method).parameters.values():
        if each.name == varied.name:
            sent = value
        elif each.default is Parameter.empty and each.kind is not Parameter.VAR_POSITIONAL:
            sent = _sensible(each.name, agent)
        else:
            continue
        if each.default is Parameter.empty:
            given.append(sent)
        else:  # by its name, because optional ones before it are left out
            named[each.name] = sent
    result = method(*given, **named)
    if isinstance(result, TurnStream):  # nobody runs this turn
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(cast("TurnStream[Any]", result), 0.02)
    elif isawaitable(result):
        await result
    elif hasattr(result, "__anext__"):
        async with aclosing(result) as events:
            with contextlib.suppress(TimeoutError, StopAsyncIteration):
                await asyncio.wait_for(anext(cast("AsyncIterator[object]", events)), 0.02)
    elif isinstance(result, TurnRecorder):
        async with result:
            pass


def _sensible(name: str, agent: Agent) -> object:
    """A value for a required argument. Raises `KeyError` if there is none for this name."""
    return {
        "agent": agent.id,
        "call": "0",
        "command": SetMark(agent.id, "B"),
        "content": "-3",
        "id": agent.id,
        "left": "A",
        "name": "A",
        "over": 100,
        "place": "kept.json",
        "prompt": "Is it cold?",
        "query": "cold",
        "reason": "No key.",
        "ref": EventRef(agent.id, 1),
        "summary": "It is cold.",
        "text": "cold",
        "to": agent.id,
        "topic": "cold",
    }[name]
