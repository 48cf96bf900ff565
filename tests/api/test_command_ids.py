"""An id of a caller belongs to one conversation and one request, whichever method was called."""

import inspect
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from sapwood import Agent, RefusedError, Sapwood
from sapwood.core.commands import SetMark
from sapwood.core.ids import AgentId
from sapwood.core.refusals import CommandIdUsed

ARGUMENTS: dict[str, object] = {
    "prompt": "A prompt.",
    "to": "third",
    "summary": "A summary.",
    "owner": "ada",
    "text": "A text.",
    "name": "HERE",
    "mark": "HERE",
    "keep": 1,
    "topic": "logs",
    "over": 10,
    "system": "Be brief.",
    "turn": 9,
}
"""A value for each parameter, whichever method has it."""
OTHER_ARGUMENTS: dict[str, object] = {
    "prompt": "Another.",
    "text": "Another.",
    "name": "OTHER",
    "summary": "Another.",
    "topic": "tests",
    "system": "Be long.",
    "owner": "eve",
    "goal": "Another.",
    "reason": "x",
}
BEFORE = {
    "interrupt": ["prompt"],
    "undo": ["clear"],
    "redo": ["clear", "undo"],
    "unarchive": ["archive"],
    "checkpoint": ["prompt"],
    "revert": ["prompt", "checkpoint", "interrupt"],
}
"""What has to happen first, so that a method can change something."""
WITHOUT_EFFECT = {"mask", "read_mail"}
"""The methods that find nothing to change here, so their id stays unused."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder whose files can be saved."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    return tmp_path


def methods() -> list[str]:
    """The methods of an agent that take the id of a command and answer at once."""
    return [
        name
        for name, each in inspect.getmembers(Agent, inspect.iscoroutinefunction)
        if not name.startswith("_") and "command_id" in inspect.signature(each).parameters
    ]


def _parameters(agent: Agent, name: str) -> set[str]:
    return set(inspect.signature(getattr(agent, name)).parameters)


def call(agent: Agent, name: str, /, **more: object) -> Awaitable[object]:
    """Calls a method with values for all its parameters."""
    known = _parameters(agent, name)
    given = {each: value for each, value in ARGUMENTS.items() if each in known}
    if "command" in known:
        given["command"] = SetMark(AgentId(agent.id), "THERE")
    method: Callable[..., Awaitable[object]] = getattr(agent, name)
    return method(**{**given, "command_id": "key-1", **more})


async def prepared(wood: Sapwood, id: str, folder: Path) -> Agent:
    """A conversation on which most methods change something."""
    agent = await wood.start(id=id, folder=str(folder))
    await wood.start(id="third", resume=True)
    for number in range(3):
        await agent.record(f"Question {number}.", f"Answer {number}.")
    await agent.mark("HERE")
    await agent.pin("HERE", "A pin.")
    await agent.focus("logs")
    await agent.record("Question 4.", "Answer 4.")
    return agent


async def all_versions(wood: Sapwood) -> dict[str, int]:
    return {each.agent: each.version for each in await wood.agents()}


@pytest.mark.parametrize("name", methods())
async def test_an_id_repeats_its_own_answer_and_is_refused_for_anything_else(
    wood: Sapwood, name: str, folder: Path
) -> None:
    one, two = await prepared(wood, "one", folder), await prepared(wood, "two", folder)
    for agent in (one, two):
        for before in BEFORE.get(name, ()):
            await call(agent, before, command_id=None)
    start = await all_versions(wood)
    first = await call(one, name)
    end = await all_versions(wood)
    assert (end == start) == (name in WITHOUT_EFFECT)
    again = await call(one, name)
    assert _shown(again) == _shown(first)
    assert await all_versions(wood) == end
    if name not in WITHOUT_EFFECT:
        await _require_refused(wood, call(two, name))
        await _require_refused(wood, one.mark("OTHER", command_id="key-1"))
        if others := OTHER_ARGUMENTS.keys() & _parameters(one, name):
            other = min(others)
            await _require_refused(wood, call(one, name, **{other: OTHER_ARGUMENTS[other]}))


async def _require_refused(wood: Sapwood, called: Awaitable[object]) -> None:
    before = await all_versions(wood)
    with pytest.raises(RefusedError) as refused:
        await called
    assert isinstance(refused.value.refusal, CommandIdUsed)
    assert await all_versions(wood) == before


def _shown(answer: object) -> str:
    """What was answered, without whether it is a repetition and what the view was before."""
    return getattr(answer, "message", None) or str(getattr(answer, "id", ""))


def test_all_methods_with_an_id_are_tried() -> None:
    assert set(methods()) >= set(BEFORE) | WITHOUT_EFFECT
