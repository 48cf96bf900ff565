"""The text field of the screen: completions that share a word, and drafts that are kept."""

import asyncio
import threading

import pytest
from textual import events

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


PASTED = "\n".join(f"line {number}" for number in range(14))
CHIP = "[paste 1: 14 lines · tab opens]"


@pytest.mark.parametrize(
    ("keys", "text", "message"),
    [
        (["ctrl+w"], "Look: ", "Look: "),
        (["left", "left", "x"], f"Look: {CHIP}x", f"Look: {PASTED}x"),
        (["left", "enter"], f"Look: {CHIP}", f"Look: {PASTED}"),
        (["left", "ctrl+j", "y"], f"Look: {CHIP}\ny", f"Look: {PASTED}\ny"),
        (["left", "backspace"], "Look: ", "Look: "),
        (["home", *["right"] * 6, "delete"], "Look: ", "Look: "),
        (["shift+left", "x"], "Look: x", "Look: x"),
        (["home", *["shift+right"] * 8, "delete"], "", ""),
        (["left", "ctrl+u"], "", ""),
        (["ctrl+w", "ctrl+underscore"], f"Look: {CHIP}", f"Look: {PASTED}"),
    ],
    ids=["word", "letter", "send", "line", "back", "delete", "over", "range", "to start", "undo"],
)
async def test_no_edit_breaks_the_chip_of_a_paste(
    keys: list[str], text: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str] = []
    async with on_stage() as stage:
        monkeypatch.setattr(stage.conversation, "submit", sent.append)
        composer = stage.conversation.composer
        await stage.pilot.press(*"Look: ")
        stage.app.post_message(events.Paste(PASTED))
        await until(lambda: composer.text == f"Look: {CHIP}", shown=lambda: composer.text)
        await stage.pilot.press(*keys)
        assert composer.text == text
        assert composer.message == message
        assert all(each == message for each in sent)


async def test_a_text_that_replaces_a_draft_leaves_the_draft_in_the_history() -> None:
    async with on_stage() as stage:
        composer = stage.conversation.composer
        await stage.pilot.press(*"a long draft")
        composer.put("/mark ")
        await stage.pilot.press("up")
        assert composer.text == "a long draft"
        await stage.pilot.press("down")
        assert composer.text == "/mark "


async def test_a_draft_survives_what_is_sent_and_changed_from_the_history() -> None:
    async with on_stage() as stage:
        composer = stage.conversation.composer
        composer.sent.begin(["the first", "the second"])
        await stage.pilot.press(*"draft", "up", *" changed", "up")
        assert composer.text == "the first"
        composer.sent.add("sent by a command")
        known = composer.sent.matching("")
        assert {"draft", "the second changed", "sent by a command"} <= set(known)


async def test_a_message_of_the_history_page_leaves_the_draft_in_the_history() -> None:
    async with on_stage() as stage:
        composer = stage.conversation.composer
        composer.sent.begin(["the first"])
        await stage.pilot.press(*"draft", "ctrl+r")
        await stage.sees("Sent messages")
        await stage.pilot.press("enter")
        await until(lambda: composer.text == "the first", shown=lambda: composer.text)
        await stage.pilot.press("up")
        assert composer.text == "draft"


async def test_a_command_that_was_stopped_is_in_the_history() -> None:
    is_seen = threading.Event()

    def wait(_: ModelRequest) -> None:
        is_seen.wait(120)

    async with on_stage() as stage:
        stage.server.replies(["In tall trees."])
        await stage.type("Where do herons nest?")
        await stage.sees("In tall trees.")
        stage.server.script(wait)
        stage.conversation.composer.put("/btw When do herons fish?")
        stage.app.post_message(stage.key("enter"))
        await until(lambda: len(stage.server.requests) == 2)
        stage.app.post_message(stage.key("escape"))
        await stage.sees("Stopped.")
        await stage.pilot.press("up")
        assert stage.conversation.composer.text == "/btw When do herons fish?"
        is_seen.set()


async def test_a_refused_command_is_in_the_history_if_something_else_was_typed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    refuse = asyncio.Event()

    async def refused(text: str) -> bool:
        await refuse.wait()
        return False

    async with on_stage() as stage:
        monkeypatch.setattr(stage.app.controller, "submit", refused)
        composer = stage.conversation.composer
        composer.put("/compact keep the decisions")
        stage.app.post_message(stage.key("enter"))
        await until(lambda: composer.text == "")
        stage.app.post_message(stage.key("n"))
        await until(lambda: composer.text == "n")
        refuse.set()
        await until(lambda: composer.sent.matching("compact") == ["/compact keep the decisions"])
        assert composer.text == "n"
