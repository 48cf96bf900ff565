"""The text field of the screen: completions that share a word, and drafts that are kept."""

import threading

import pytest

from sapwood.api import Sapwood
from sapwood.app.connection import connect
from scripted_model import ModelRequest
from tests.tui.stage import MODEL, on_stage, until


@pytest.mark.parametrize("typed", ["/switch ", "/send he", "/kill he", "see @he"])
async def test_names_that_are_equal_are_offered_next_to_each_other(typed: str) -> None:
    connection = await connect(":memory:")
    db = Sapwood(connection)
    past = await db.start("hello", id="pastagent", model=MODEL)
    await past.archive()
    first = await db.start("hello", id="firstagent", model=MODEL)
    await db.start("hello", id="secondagent", model=MODEL)
    await first.mark("hello")
    async with on_stage(first.id, connection=connection) as stage:
        await stage.sees("hello")
        await stage.pilot.press(*typed)
        await stage.sees("secondagent")
        await stage.pilot.press("down", "tab")
        completed = stage.conversation.composer.text.removeprefix(typed.rpartition(" ")[0]).strip()
        assert completed.removeprefix("@") in ("firstagent", "secondagent")
    await connection.close()


async def test_a_mark_and_an_agent_of_the_same_name_are_both_offered() -> None:
    connection = await connect(":memory:")
    agent = await Sapwood(connection).start("hello", id="helloagent", model=MODEL)
    await agent.mark("hello")
    async with on_stage(agent.id, connection=connection) as stage:
        await stage.sees("hello")
        await stage.pilot.press(*"see @he")
        await stage.sees("agent helloagent")
        await stage.pilot.press("tab")
        assert stage.conversation.composer.text == "see @hello "
    await connection.close()


async def test_up_with_a_draft_keeps_the_draft_while_a_text_is_queued() -> None:
    is_seen = threading.Event()

    def wait(_: ModelRequest) -> None:
        is_seen.wait(120)

    async with on_stage() as stage:
        stage.server.replies(["the first answer", "the second answer"])
        stage.server.script(wait)
        composer = stage.conversation.composer
        await stage.type("One.")
        await stage.sees("working")
        await stage.type("Two.")
        await stage.sees("queued: Two.")
        await stage.pilot.press(*"draft", "up")
        await until(lambda: composer.text != "draft", shown=lambda: composer.text)
        await stage.pilot.press(*["down"] * 2)
        assert composer.text == "draft"
        assert "queued: Two." in stage.screen()
        composer.text = ""
        await stage.pilot.press("up")
        await until(lambda: composer.text == "Two.", shown=lambda: composer.text)
        is_seen.set()
