"""What fills the window is told item by item, and sums up to the meter."""

import pytest

from sapwood.api import open
from sapwood.conversation.answers import ContextShown
from sapwood.conversation.completion import KnownNames, choices
from sapwood.conversation.context_breakdown import categories, largest
from sapwood.conversation.script import CommandStep
from sapwood.core.budget import budget_of
from sapwood.core.command_table import TABLE
from sapwood.core.content import RecordedReply, RecordedResult, ToolCall, Usage
from sapwood.core.token_count import Count
from sapwood.tui.screens.context_pages import facts_of, grid


async def test_categories_sum_up_to_the_meter() -> None:
    async with open(":memory:") as db:
        agent = await db.start("demo", model="gpt-5", system="Be brief.", pins={"a": "Pinned."})
        async with agent.turn("Hello!") as turn:
            await turn.call(tools=[{"name": "read", "description": "Reads a file."}])
            await turn.reply("Hello to you.")
        await agent.record(
            "Look.",
            RecordedReply((ToolCall("1", "read"),)),
            RecordedResult("1", "line\n" * 50),
            "Ok.",
        )
        opened = await db.connection.dispatcher.open(agent.id)
        counter = db.connection.counter_for("gpt-5")
        found = dict(categories(opened.state, opened.live, counter))
        budget = budget_of(opened.state, opened.live, counter)
        assert sum(count.tokens for count in found.values()) == budget.total.tokens
        assert not found["tools"].exact
        assert found["tool results"].tokens > found["messages"].tokens


async def test_a_result_that_is_cut_for_the_model_counts_as_it_is_sent() -> None:
    async with open(":memory:") as db:
        agent = await db.start("demo", model="gpt-5")
        call = RecordedReply((ToolCall("1", "read"),))
        await agent.record("Look.", call, RecordedResult("1", "a line of a log\n" * 20_000), "Ok.")
        opened = await db.connection.dispatcher.open(agent.id)
        counter = db.connection.counter_for("gpt-5")
        found = dict(categories(opened.state, opened.live, counter))
        budget = budget_of(opened.state, opened.live, counter)
        assert sum(count.tokens for count in found.values()) == budget.total.tokens
        assert found["tool results"].tokens < counter.count("a line of a log\n" * 20_000).tokens


BIG, SMALL = "a line of a log\n" * 300, "one line of a log\n" * 60
CALLS = RecordedReply((ToolCall("1", "read"), ToolCall("2", "read")))


@pytest.mark.parametrize(
    ("question", "command"),
    [
        ("Long answer?", "/drop 1"),
        ("One result?", "/drop 2.1"),
        ("Two results?", "/drop --results 3"),
        ("Last?", "/clear"),
    ],
)
async def test_the_command_beside_an_item_is_the_smallest_and_frees_what_it_says(
    question: str, command: str
) -> None:
    async with open(":memory:") as db:
        agent = await db.start("demo", model="gpt-5")
        await agent.record("Long answer?", "Answer. " * 300)
        await agent.record("One result?", CALLS, *_results(BIG, SMALL), "Ok.")
        await agent.record("Two results?", CALLS, *_results(SMALL, SMALL), "Ok. " * 50)
        await agent.record("Last?", "Yes.")
        opened = await db.connection.dispatcher.open(agent.id)
        counter = db.connection.counter_for("gpt-5")
        before = budget_of(opened.state, opened.live, counter).history.tokens
        found = largest(opened.state, opened.live, counter, {})
        (item,) = [each for each in found if question in each.name]
        assert item.command == command
        await agent.run_command(item.command)
        opened = await db.connection.dispatcher.open(agent.id)
        after = budget_of(opened.state, opened.live, counter).history.tokens
        assert item.frees is not None
        assert before - after == pytest.approx(item.frees.tokens, abs=1)


def _results(*texts: str) -> list[RecordedResult]:
    return [RecordedResult(str(number), text) for number, text in enumerate(texts, 1)]


async def test_a_quoted_turn_leaves_by_a_clear_that_keeps_every_turn() -> None:
    async with open(":memory:") as db:
        agent = await db.start("demo", model="gpt-5")
        await agent.record("First?", "Answer. " * 300)
        await agent.run_command("/clear")
        await agent.record("Second?", "Yes.")
        await agent.run_command("/bring 1")
        counter = db.connection.counter_for("gpt-5")
        opened = await db.connection.dispatcher.open(agent.id)
        before = budget_of(opened.state, opened.live, counter).total.tokens
        (item,) = [
            each
            for each in largest(opened.state, opened.live, counter, {})
            if each.what == "loaded"
        ]
        assert item.command == "/clear 1"
        await agent.run_command(item.command)
        opened = await db.connection.dispatcher.open(agent.id)
        after = budget_of(opened.state, opened.live, counter).total.tokens
        assert [turn.number for turn in opened.live.turns] == [2]
        assert item.frees is not None
        assert before - after == pytest.approx(item.frees.tokens, abs=8)


def test_a_grid_has_a_cell_for_whatever_is_there() -> None:
    rows = grid([("system", Count(1, exact=True)), ("messages", Count(500, exact=True))], 1_000)
    text = "".join(row.plain for row in rows)
    assert text.count("■") == 1 + 100
    assert text.count("■") + text.count("·") == 200


def test_arguments_are_completed_by_what_the_registry_asks_for() -> None:
    known = KnownNames(
        marks=(("START", "#3"),),
        agents=(("helper", "abc"),),
        models=(("gpt-5", ""),),
        pins=(("p", ""),),
    )
    assert [each.word for each in choices("/rewind ", known)] == ["START"]
    assert [each.word for each in choices("/send hel", known)] == ["helper"]
    assert [each.word for each in choices("/model g", known)] == ["gpt-5"]
    assert [each.word for each in choices("/unpin ", known)] == ["p"]
    assert [each.word for each in choices("/config low", known)] == ["low_water"]
    assert choices("/mark ", known) == []
    assert choices("just text", known) == []


async def test_the_facts_of_the_page_are_not_broken_in_the_middle() -> None:
    async with open(":memory:") as db:
        agent = await db.start("demo", model="gpt-5")
        async with agent.turn("Hello!") as turn:
            await turn.call()
            await turn.reply("Hello.", usage=Usage(1_000, 10, cache_read=800, cost=34_100))
        service = agent.service
        shown = await service.answer(agent.id, CommandStep(TABLE["context"]))
    assert isinstance(shown, ContextShown)
    assert facts_of(shown.breakdown, 36_800).splitlines() == [
        "gpt-5 · cap 100,000 (0 % of 100k)",
        "$0.0341 so far, $0.0368 with forks and side questions · 80 % of the input came from the "
        "cache",
    ]
