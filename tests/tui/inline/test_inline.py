"""The conversation below a prompt: what stands in the scrollback, and how often."""

import pytest

from sapwood.api import Sapwood
from sapwood.app.connection import connect
from tests.tui.conversations import every_kind, long_talk
from tests.tui.inline.staging import SHELL, below_prompt
from tests.tui.staging import until


async def test_an_answer_is_printed_once_and_the_live_area_shrinks() -> None:
    async with below_prompt(delay=0.02) as below:
        below.server.replies(["word " * 200 + "THE-END"])
        await below.type("Where do herons nest?")
        await below.sees("word word")
        assert sum("word" in line for line in below.terminal.everything) <= 24 // 3
        await below.sees("THE-END")
        await below.misses("working")
        assert below.text.count("THE-END") == 1
        assert below.text.count("┃ Where do herons nest?") == 1
        lines = below.terminal.everything
        assert lines[: len(SHELL)] == [*SHELL]
        assert lines[-5].strip() == "", "a blank line, three of the composer, one of the status"


async def test_opening_prints_the_last_screenful_and_says_what_lies_before() -> None:
    connection = await connect(":memory:")
    agent = await long_talk(Sapwood(connection), 40)
    async with below_prompt(agent.id, connection=connection) as below:
        await below.sees("Paragraph 4 of answer 39.")
        printed = below.text
        assert "long talk · no model · longtalk" in printed
        assert "messages before: sapwood show longtalk" in printed
        asked = [line for line in below.terminal.everything if "Question" in line]
        count = next(line for line in below.terminal.everything if "messages before" in line)
        assert int(count.split()[1]) + len(asked) + printed.count("Paragraph 0") == 80
    await connection.close()


@pytest.mark.parametrize("size", [(50, 24), (120, 40), (80, 10), (80, 60)])
async def test_another_size_loses_nothing_and_doubles_nothing(size: tuple[int, int]) -> None:
    connection = await connect(":memory:")
    agent = await long_talk(Sapwood(connection), 12)
    async with below_prompt(agent.id, connection=connection) as below:
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
    async with below_prompt(agent.id, connection=connection) as below:
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
    async with below_prompt(agent.id, connection=connection) as below:
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


async def test_leaving_takes_the_live_area_away() -> None:
    connection = await connect(":memory:")
    agent = await long_talk(Sapwood(connection), 3)
    async with below_prompt(agent.id, connection=connection) as below:
        await below.pilot.press("ctrl+c")
        await below.sees("once more to leave")
        await below.pilot.press("ctrl+c")
        await until(lambda: not below.app.is_running)
    assert below.terminal.everything[-1].endswith("Paragraph 2 of answer 2.")
    assert below.terminal.lines[below.terminal.y] == ""
    await connection.close()
