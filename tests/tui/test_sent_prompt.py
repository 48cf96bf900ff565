"""A prompt is stored and shown when it is sent, and stays in the composer until then."""

import asyncio

import pytest
from textual import events

from sapwood.app.engines import LazyEngine
from sapwood.core.errors import SapwoodError
from sapwood.core.events import TurnStarted
from sapwood.core.ids import Space
from sapwood.core.log_values import Commit, Receipt
from sapwood.turns.scheduler import Drive
from tests.tui.stage import Stage, on_stage, until


async def prompts(stage: Stage) -> int:
    """How many prompts of the shown conversation are in the log."""
    controller = stage.app.controller
    if controller.agent is None:
        return 0
    connection = controller.connection
    events = await connection.log.read(connection.space, controller.agent)
    return sum(isinstance(recorded.event, TurnStarted) for recorded in events)


async def test_a_prompt_is_stored_and_shown_before_the_engine_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def never(self: LazyEngine, drive: Drive) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(LazyEngine, "launch", never)
    async with on_stage() as stage:
        await stage.type("Is it cold in Oslo?")
        assert stage.conversation.composer.text == ""
        assert await prompts(stage) == 1
        await stage.sees("Is it cold in Oslo?")
        starting = stage.app.controller.agents._starting  # pyright: ignore[reportPrivateUsage]
        assert starting is not None
        starting.cancel()


async def test_an_engine_that_cannot_start_is_reported_and_the_prompt_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def fails(self: LazyEngine, drive: Drive) -> None:
        raise SapwoodError("The disk is full.")

    monkeypatch.setattr(LazyEngine, "launch", fails)
    async with on_stage() as stage:
        await stage.type("Hello")
        await until(lambda: "The prompt is stored" in stage.screen())
        assert "The disk is full." in stage.screen()
        assert await prompts(stage) == 1


async def test_a_prompt_stays_in_the_composer_until_it_is_stored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with on_stage() as stage:
        log, go_on = stage.app.controller.connection.log, asyncio.Event()
        commit = log.commit

        async def slow(space: Space, what: Commit) -> Receipt | None:
            await go_on.wait()
            return await commit(space, what)

        monkeypatch.setattr(log, "commit", slow)
        composer = stage.conversation.composer
        composer.put("Hello")
        stage.app.post_message(stage.key("enter"))
        await until(lambda: bool(stage.app.workers))
        assert composer.text == "Hello"
        stage.app.post_message(stage.key("x"))
        await until(lambda: composer.text == "Hellox")
        go_on.set()
        await until(lambda: composer.text == "x")
        assert await prompts(stage) == 1


async def test_a_refused_prompt_stays_in_the_composer() -> None:
    async with on_stage() as stage:
        stage.app.controller.configure(stage.app.controller.config, {})
        await stage.type("Hello")
        await until(lambda: "key" in stage.screen())
        assert stage.conversation.composer.text == "Hello"
        assert await prompts(stage) == 0


async def test_what_a_prompt_needs_is_imported_once_while_it_is_typed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    warmed: list[LazyEngine] = []

    async def warm_up(self: LazyEngine) -> None:
        warmed.append(self)

    monkeypatch.setattr(LazyEngine, "warm_up", warm_up)
    async with on_stage() as stage:
        assert not warmed
        await stage.pilot.press("H", "e", "l", "l", "o")
        await until(lambda: bool(warmed))
        await stage.pilot.press("!")
        assert len(warmed) == 1
        assert not stage.server.requests


@pytest.mark.parametrize(
    "prompt",
    [
        "/etc/hosts is wrong",
        "Why does this end my agent?\n```\n/kill demo\n```",
        "/mark before\nFind the leak.",
    ],
)
async def test_a_text_that_holds_a_prompt_stays_in_the_composer_until_it_is_stored(
    prompt: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with on_stage() as stage:
        log, go_on = stage.app.controller.connection.log, asyncio.Event()
        commit = log.commit

        async def slow(space: Space, what: Commit) -> Receipt | None:
            await go_on.wait()
            return await commit(space, what)

        monkeypatch.setattr(log, "commit", slow)
        composer = stage.conversation.composer
        composer.put(prompt)
        stage.app.post_message(stage.key("enter"))
        await until(lambda: bool(stage.app.workers))
        assert composer.text == prompt
        go_on.set()
        await until(lambda: composer.text == "")
        assert await prompts(stage) == 1


async def test_a_command_in_a_fenced_block_is_sent_without_a_question() -> None:
    async with on_stage() as stage:
        await stage.type("What does this do?\n```\n/kill demo\n```")
        await until(lambda: bool(stage.server.requests))
        assert "Press enter again" not in stage.screen()
        assert await prompts(stage) == 1


async def test_a_command_after_a_prompt_is_confirmed_before_the_prompt_is_sent() -> None:
    async with on_stage() as stage:
        await stage.type("Find the leak.\n/kill demo")
        await stage.sees("Press enter again")
        assert await prompts(stage) == 0


async def test_a_long_paste_is_a_chip_that_opens_and_is_sent_whole() -> None:
    pasted = "\n".join(f"line {number}" for number in range(30))
    async with on_stage() as stage:
        composer = stage.conversation.composer
        await stage.pilot.press(*"See ")
        stage.app.post_message(events.Paste(pasted.replace("\n", "\r")))
        chip = "[paste 1: 30 lines · tab opens]"
        await until(lambda: composer.text == f"See {chip}")
        await stage.pilot.press("tab")
        assert composer.text == composer.message == f"See {pasted}"
        composer.put(composer.message)
        assert composer.text == f"See {chip}"
        await stage.pilot.press("backspace")
        assert composer.text == "See "
        stage.app.post_message(events.Paste("two\nlines"))
        await until(lambda: composer.text == "See two\nlines")
        composer.put(f"See {pasted}")
        stage.server.replies(["Seen."])
        await stage.pilot.press("enter")
        await stage.sees("Seen.")
        assert "line 29" in str(stage.server.requests[-1].body)
        assert "paste 1" not in str(stage.server.requests[-1].body)
        assert not composer.text
        await stage.pilot.press("up")
        assert composer.text == f"See {chip}"
