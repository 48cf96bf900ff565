"""Every tool call ends in a result, whatever was passed and whatever the tool does."""

import logging
from collections.abc import Sequence

import pytest

from proofs.fuzz_tools.fuzz_run import fuzz
from sapwood.core.content import ToolCall
from sapwood.core.events import ToolFinished
from sapwood.core.model_calls import Effect, ToolOutcome, ToolSpec, ToolUse
from sapwood.core.view import Request
from sapwood.testing import NoTools
from sapwood.testing.fake_model import Planned
from tests.turns.test_driver import House, house


class Raising(NoTools):
    """A toolbox with a defect, at one of its three ends."""

    def __init__(self, *, effect: bool = False) -> None:
        self._effect = effect

    async def specs(self) -> Sequence[ToolSpec]:
        return (ToolSpec("saw", "Saws.", "{}"),)

    def effect(self, use: ToolUse) -> Effect:
        if self._effect:
            raise ValueError("no effect")
        return "none"

    async def run(self, use: ToolUse) -> ToolOutcome:
        raise KeyError("no run")


async def results(at: House) -> list[ToolFinished]:
    agent = await at.db.start(model="planned")
    await agent.run_command("go")
    await at.idle(agent)
    assert (await agent.state()).open is None
    events = [recorded.event for recorded in await agent.events()]
    return [event for event in events if isinstance(event, ToolFinished)]


@pytest.mark.parametrize("effect", [False, True])
async def test_a_tool_that_raises_has_a_result_and_is_logged(
    effect: bool, caplog: pytest.LogCaptureFixture
) -> None:
    def plan(request: Request, heard: str) -> Planned:
        return ToolCall("1", "saw", "{}") if heard == "go" else "done"

    with caplog.at_level(logging.ERROR, "sapwood.tools"):
        async with house(plan, tools=Raising(effect=effect)) as at:
            (result,) = await results(at)
    assert result.error
    assert "saw failed because of a defect" in result.content
    assert "KeyError" in result.content
    assert any(record.exc_info for record in caplog.records)


HOSTILE = [
    '{"command": "recall", "args": "SELF:99999999999999999999"}',
    '{"command": "recall", "args": "SELF:1:99999999999999999999"}',
    '{"command": "wait", "args": "²"}',
    '{"command": "compact", "args": "--keep ' + "9" * 5_000 + '"}',
    '{"command": "mark", "args": null}',
    '{"command": "mark", "args": 7}',
    '{"command": null}',
    "[" * 100_000,
    "\ud800",
    "",
]


@pytest.mark.parametrize("args", HOSTILE, ids=range(len(HOSTILE)))
async def test_a_slash_command_with_hostile_words_has_a_result(
    args: str, caplog: pytest.LogCaptureFixture
) -> None:
    def plan(request: Request, heard: str) -> Planned:
        if heard != "go":
            return "done"
        return ToolCall("1", "slash", args)

    with caplog.at_level(logging.ERROR, "sapwood.tools"):
        async with house(plan) as at:
            (result,) = await results(at)
    assert result.content
    assert not caplog.records


async def test_an_argument_that_is_null_is_an_argument_left_out() -> None:
    def plan(request: Request, heard: str) -> Planned:
        return ToolCall("1", "slash", HOSTILE[4]) if heard == "go" else "done"

    async with house(plan) as at:
        (result,) = await results(at)
    assert not result.error


async def test_a_few_hundred_generated_calls_all_have_results() -> None:
    counts = await fuzz(200, seed=7, seconds=100)
    assert counts.is_good, counts
    assert counts.results == counts.calls == 200
