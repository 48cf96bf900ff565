"""The conversation below a prompt: what stands in the scrollback, and how often."""

from pathlib import Path

import pytest

from sapwood.api import Sapwood
from sapwood.app.connection import connect
from sapwood.conversation.timeline_reader import LONG_CONVERSATION
from tests.tui.conversations import every_kind, long_talk, with_tools
from tests.tui.inline.inline_stage import SHELL, InlineStage, on_inline_stage
from tests.tui.stage import until


async def test_an_answer_is_printed_once_and_the_live_area_shrinks() -> None:
    async with on_inline_stage(delay=0.02) as below:
        below.server.replies(["word " * 200 + "THE-END"])
        await below.type("Where do herons nest?")
        await below.sees("word word")
        assert sum("word" in line for line in below.terminal.everything) <= 24 // 3
        await below.sees("tokens\n")  # which stands above what is printed
        await below.misses("working")
        assert below.text.count("THE-END") == 1
        assert below.text.count("┃ Where do herons nest?") == 1
        lines = below.terminal.everything
        assert lines[: len(SHELL)] == [*SHELL]
        assert not lines[-5].strip(), "\n" + below.text


async def test_no_frame_shows_anything_twice_or_lacks_the_composer() -> None:
    async with on_inline_stage(delay=0.01) as below:
        below.server.replies(["word " * 150 + "THE-END", "Once more. THE-FINISH"])
        await below.sees("Message, or / for commands")
        first = len(below.terminal.frames)
        await below.type("Go.")
        await below.type("And again.")
        await below.sees("THE-FINISH")
        await until(lambda: below.text.count("tokens\n") == 2)
        await below.misses("working")
        frames = below.terminal.frames[first:]
        assert len(frames) > 5
        for frame in frames:
            assert frame.count("╭") == 1, frame
            assert frame.count("THE-END") <= 1, frame
            assert frame.count("THE-FINISH") <= 1, frame


async def test_opening_prints_the_last_screenful_and_says_what_lies_before() -> None:
    connection = await connect(":memory:")
    agent = await long_talk(Sapwood(connection), 40)
    async with on_inline_stage(agent.id, connection=connection) as below:
        await below.sees("Paragraph 4 of answer 39.")
        printed = below.text
        assert "long talk · longtalk · no model" in printed
        assert "messages before: sapwood show longtalk" in printed
        asked = [line for line in below.terminal.everything if "Question" in line]
        count = next(line for line in below.terminal.everything if "messages before" in line)
        assert int(count.split()[1]) + len(asked) + printed.count("Paragraph 0") == 80
    await connection.close()


@pytest.mark.parametrize("size", [(50, 24), (120, 40), (80, 10), (80, 60)])
async def test_another_size_loses_nothing_and_doubles_nothing(size: tuple[int, int]) -> None:
    connection = await connect(":memory:")
    agent = await long_talk(Sapwood(connection), 12)
    async with on_inline_stage(agent.id, connection=connection) as below:
        await below.sees("Question 11?")
        await agent.record("One more?", "Yes, one more.")
        await below.sees("Yes, one more.")
        before = [line for line in below.terminal.everything if "Paragraph" in line]
        await below.resize(*size)
        await below.sees("Message, or / for commands")
        assert [line for line in below.terminal.everything if "Paragraph" in line] == before
        assert below.text.count("╭") == 1, "one composer"
        assert below.terminal.everything[: len(SHELL)] == [*SHELL]
    await connection.close()


async def test_a_page_opens_and_closes_without_a_trace() -> None:
    connection = await connect(":memory:")
    agent = await every_kind(Sapwood(connection))
    async with on_inline_stage(agent.id, connection=connection) as below:
        await below.sees("Message, or / for commands")
        before = below.terminal.everything
        await below.pilot.press("ctrl+t")
        await below.sees("tool results")
        await below.pilot.press("escape")
        await below.misses("tool results")
        await below.sees("Message, or / for commands")
        assert below.terminal.everything == before
    await connection.close()


@pytest.mark.parametrize("size", [(50, 24), (120, 40), (70, 12)])
async def test_another_size_after_a_page_doubles_nothing(size: tuple[int, int]) -> None:
    connection = await connect(":memory:")
    agent = await long_talk(Sapwood(connection), 12)
    async with on_inline_stage(agent.id, connection=connection) as below:
        await below.sees("Question 11?")
        before = [line for line in below.terminal.everything if "Paragraph" in line]
        await below.pilot.press("ctrl+t")
        await below.sees("LARGEST")
        await below.pilot.press("escape")
        await below.misses("LARGEST")
        await below.resize(*size)
        await below.sees("Message, or / for commands")
        assert [line for line in below.terminal.everything if "Paragraph" in line] == before
    await connection.close()


async def test_without_colour_nothing_is_coloured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    connection = await connect(":memory:")
    agent = await every_kind(Sapwood(connection))
    async with on_inline_stage(agent.id, connection=connection, delay=0.02) as below:
        below.server.replies(["word " * 40 + "THE-END"])
        await below.sees("Message, or / for commands")
        await below.type("/model claude-sonnet-5-5")
        await below.type("Go.")
        await below.sees("THE-END")
    await connection.close()


async def test_what_another_process_writes_is_printed(tmp_path: Path) -> None:
    own, other = await connect(tmp_path / "a.db"), await connect(tmp_path / "a.db")
    agent = await long_talk(Sapwood(own), 2)
    async with on_inline_stage(agent.id, connection=own) as below:
        await below.sees("Question 1?")
        elsewhere = await Sapwood(other).find(agent.id)
        await elsewhere.mark("FROM_ELSEWHERE")
        await below.sees("◆ FROM_ELSEWHERE")
        child = await elsewhere.fork(name="helper")
        await child.send(agent.id, "Done over here.")
        await below.sees("✉ From")
        await below.sees("Type /check-mail to read it")
    await other.close()
    await own.close()


async def test_switching_prints_a_title_and_the_last_rows() -> None:
    connection = await connect(":memory:")
    db = Sapwood(connection)
    agent, other = await long_talk(db, 2), await with_tools(db, 1)
    async with on_inline_stage(agent.id, connection=connection) as below:
        await below.sees("Question 1?")
        await below.type(f"/switch {other.id}")
        await below.sees("── tools · tools · ")
        await below.sees("Read 0.")
        lines = below.terminal.everything
        title = next(n for n, line in enumerate(lines) if "── tools ·" in line)
        assert title > next(n for n, line in enumerate(lines) if "Question 1?" in line)
    await connection.close()


async def test_keys_of_the_transcript_say_what_to_do_instead() -> None:
    connection = await connect(":memory:")
    agent = await long_talk(Sapwood(connection), 2)
    async with on_inline_stage(agent.id, connection=connection) as below:
        await below.sees("Question 1?")
        for key in ("pageup", "pagedown", "ctrl+home", "end"):
            await below.pilot.press(key)
        assert "Use the terminal" not in below.screen
        await below.pilot.press("ctrl+o")
        await below.sees("Use the terminal to scroll and search here")
        await below.pilot.press("f2")
        await below.sees("The terminal handles the mouse here")
        await below.pilot.press("ctrl+f")
        await below.sees("The full screen finds")
        await below.pilot.press("ctrl+b")
        await below.sees("Type /agents to list the agents")
    await connection.close()


async def test_what_is_found_is_printed() -> None:
    connection = await connect(":memory:")
    agent = await long_talk(Sapwood(connection), 30)
    async with on_inline_stage(agent.id, connection=connection) as below:
        await below.sees("Question 29?")
        assert "Question 3?" not in below.text
        version = next(
            each.version for each in await agent.events() if "Question 3?" in repr(each.event)
        )
        below.app.conversation.go_to(agent.id, version)
        await below.sees("┃ Question 3?")
        assert "── #4 " in below.text
    await connection.close()


async def test_completion_grows_below_the_composer() -> None:
    async with on_inline_stage() as below:
        await below.sees("Message, or / for commands")
        await below.pilot.press("/", "m", "a", "r")
        await below.sees("Bookmark this point")
        lines = below.terminal.everything
        composer = next(n for n, line in enumerate(lines) if "│ /mar" in line)
        assert next(n for n, line in enumerate(lines) if "Bookmark this point" in line) > composer
        await below.pilot.press("tab")
        await below.sees("│ /mark")


async def test_a_defect_leaves_what_was_printed_and_no_live_area() -> None:
    connection = await connect(":memory:")
    agent = await long_talk(Sapwood(connection), 3)
    below: InlineStage | None = None
    try:
        async with on_inline_stage(agent.id, connection=connection) as below:
            await below.sees("Paragraph 2 of answer 2.")
            below.app.set_timer(0.01, lambda: 1 // 0)
            await until(lambda: not below.app.is_running)
    except ZeroDivisionError:
        pass
    assert below is not None
    assert isinstance(below.app.failure, ZeroDivisionError)
    assert below.terminal.everything[-1].endswith("Paragraph 2 of answer 2.")
    await connection.close()


async def test_leaving_takes_the_live_area_away() -> None:
    connection = await connect(":memory:")
    agent = await long_talk(Sapwood(connection), 3)
    async with on_inline_stage(agent.id, connection=connection) as below:
        await below.pilot.press("ctrl+c")
        await below.sees("again to quit")
        await below.pilot.press("ctrl+c", "ctrl+c")
        await until(lambda: not below.app.is_running)
    assert below.terminal.everything[-1].endswith("Paragraph 2 of answer 2.")
    assert below.terminal.lines[below.terminal.y] == ""
    await connection.close()


async def test_a_long_conversation_is_opened_at_its_end_and_not_printed_as_it_is_read() -> None:
    connection = await connect(":memory:")
    agent = await long_talk(Sapwood(connection), LONG_CONVERSATION + 10)
    async with on_inline_stage(agent.id, connection=connection) as below:
        await below.sees(f"Question {LONG_CONVERSATION + 9}?")
        shown = next(line for line in below.terminal.everything if "┃ you" in line).split()[-1]
        assert f"╌╌╌ all before {shown}:" in below.text
        before = below.text
        await until(lambda: not below.app.conversation.is_reading)
        await below.pilot.pause(0.2)
        assert below.text.split("╭")[0] == before.split("╭")[0]
        await agent.clear(5)
        await below.sees(f"{2 * (LONG_CONVERSATION + 5):,} messages pruned · /clear 5")
    await connection.close()
