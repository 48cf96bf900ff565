"""A conversation is held on the screen: asked, answered, interrupted, left."""

import asyncio
import threading

from sapwood.api import Sapwood
from sapwood.app.connection import connect
from sapwood.core.events import AgentArchived
from scripted_model import ModelRequest
from tests.tui.stage import MODEL, on_stage, until


async def test_a_first_message_is_answered() -> None:
    async with on_stage() as stage:
        stage.server.replies(["In **tall** trees."])
        await stage.type("Where do herons nest?")
        await stage.sees("In tall trees.")
        await until(lambda: "you" in stage.text(), shown=stage.text)


async def test_an_answer_is_shown_while_it_comes() -> None:
    async with on_stage(delay=0.05) as stage:
        stage.server.replies(["word " * 400 + "THE-END"])
        await stage.type("Go.")
        await stage.sees("word word")
        assert "THE-END" not in stage.text()
        assert "working" in stage.screen()
        await stage.sees("THE-END")


async def test_escape_interrupts_and_keeps_what_was_there() -> None:
    async with on_stage(delay=0.05) as stage:
        stage.server.replies(["word " * 3_000])  # more than anybody waits for
        await stage.type("Go.")
        await stage.sees("word word")
        await stage.pilot.press("escape")
        await stage.sees("interrupted")
        assert "word word" in stage.text()


async def test_a_question_on_the_side_that_was_stopped_leaves_nothing_behind() -> None:
    connection = await connect(":memory:")
    db = Sapwood(connection)
    agent = await db.start("demo", id="demoagent", model=MODEL)
    await agent.record("Where do herons nest?", "In tall trees.")
    async with on_stage(agent.id, connection=connection, delay=0.05) as stage:
        stage.server.replies(["word " * 3_000])
        await stage.sees("In tall trees.")
        before = stage.text().split()
        await stage.type("/btw And storks?")
        await until(lambda: len(stage.server.requests) == 1)
        await stage.pilot.press("escape")
        await stage.sees("Stopped.")
        child = next(each.agent for each in await db.agents() if each.parent)
        async with asyncio.timeout(60):
            async for recorded in (await db.get(child)).follow():
                if isinstance(recorded.event, AgentArchived):
                    break
        assert stage.text().split() == before


async def test_a_reader_who_scrolled_up_is_told_that_there_is_more() -> None:
    async with on_stage(size=(100, 20)) as stage:
        stage.server.replies(["word " * 600, "Another."])
        await stage.type("Go.")
        await stage.sees("word word")
        await stage.pilot.press("pageup")
        await stage.sees("▼ more below · ctrl+end follows")
        await stage.pilot.press("ctrl+end")
        await until(lambda: "more below" not in stage.screen())


async def test_ctrl_c_twice_leaves() -> None:
    async with on_stage() as stage:
        await stage.pilot.press("ctrl+c")
        assert stage.app.is_running
        await stage.sees("again to quit")
        await stage.pilot.press("ctrl+c", "ctrl+c")
        await until(lambda: not stage.app.is_running)


async def test_ctrl_c_before_and_after_a_command_does_not_leave() -> None:
    async with on_stage() as stage:
        stage.conversation.last_typed = lambda: 100.0  # no time passes
        await stage.pilot.press("ctrl+c")
        await stage.type("/agents")
        await stage.pilot.press("escape", "ctrl+c")
        await stage.sees("Press ctrl+c again to quit.")
        assert stage.app.is_running


async def test_ctrl_c_twice_during_a_turn_only_interrupts_it() -> None:
    async with on_stage(delay=0.05) as stage:
        stage.server.replies(["word " * 3_000])
        await stage.type("Go.")
        await stage.sees("word word")
        await stage.pilot.press("ctrl+c")
        await stage.sees("The turn was interrupted. What arrived is kept.")
        await stage.pilot.press("ctrl+c")
        await stage.sees("Press ctrl+c again to quit.")
        assert stage.app.is_running
        await stage.pilot.press("ctrl+c")
        await until(lambda: not stage.app.is_running)


async def test_what_is_typed_during_a_turn_waits_for_its_end() -> None:
    is_queued = threading.Event()

    def wait(_: ModelRequest) -> None:
        is_queued.wait(120)

    async with on_stage() as stage:
        stage.server.replies(["the first answer", "the second answer"])
        stage.server.script(wait)
        await stage.type("One.")
        await stage.sees("working")
        await stage.type("Two.")
        await stage.sees("queued: Two.")
        is_queued.set()
        await stage.sees("the second answer")
        await until(lambda: "queued" not in stage.screen(), shown=stage.screen)


async def test_a_mistyped_command_is_refused_in_place_and_kept() -> None:
    async with on_stage() as stage:
        await stage.type("/mrak HERE")
        await stage.sees("Did you mean /mark")
        assert stage.conversation.composer.text == "/mrak HERE"


async def test_a_long_queue_says_how_many_more_wait_and_how_to_send_it() -> None:
    async with on_stage(size=(80, 24)) as stage:
        await stage.type("Wait. [[sleep: 60]]")
        await stage.sees("working")
        for number in range(1, 7):
            await stage.type(f"Message {number}. " + "word " * 20)
        await stage.sees("» and 3 more")
        await stage.pilot.press("escape")
        await stage.sees("(enter sends these in this order; a new message goes last)")
        await stage.sees("(↑ takes the last one back, to change or delete it)")
        assert "» queued: Message 3." in stage.screen()


async def test_a_message_that_was_queued_alone_says_what_enter_sends() -> None:
    async with on_stage(size=(80, 24)) as stage:
        await stage.type("Wait. [[sleep: 60]]")
        await stage.sees("working")
        await stage.type("And storks?")
        await stage.sees("» queued: And storks?")
        await stage.pilot.press("escape")
        await stage.sees("(enter sends it; a new message goes after it)")
        await stage.sees("(↑ takes it back, to change or delete it)")


async def test_a_command_of_another_program_is_not_completed_to_one_of_here() -> None:
    async with on_stage() as stage:
        await stage.pilot.press(*"/plan", "enter")
        await stage.sees("Did you mean /permissions plan?")
        assert stage.conversation.composer.text == "/plan"
