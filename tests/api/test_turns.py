"""Turns: recorded step by step or at once, and what is kept when they do not end well."""

import asyncio
from collections.abc import AsyncGenerator

import pytest

from sapwood import (
    Agent,
    LogError,
    Message,
    Note,
    RecordedReply,
    RecordedResult,
    RefusedError,
    Sapwood,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
)
from sapwood.api import turn_stream
from sapwood.core.commands import SetMark
from sapwood.core.ids import AgentId
from sapwood.core.refusals import CallsOpen, TurnEnded, TurnIsOpen
from sapwood.turns.open_agent import OpenAgent
from tests.api.reading import kinds, said


async def test_a_turn_with_tools_becomes_paired_messages(agent: Agent) -> None:
    oslo, rome = ToolCall("1", "weather", '{"city": "Oslo"}'), ToolCall("2", "weather")
    async with agent.turn("Where is it colder?") as turn:
        await turn.reply("Let me look.", calls=[oslo, rome])
        await turn.started("1")
        await turn.result("2", "no such city", error=True)
        await turn.result("1", "-3 degrees")
        await turn.reply("In Oslo.")
    assert (await agent.request()).messages == (
        Message("user", (Text("Where is it colder?"),)),
        Message("assistant", (Text("Let me look."), oslo, rome)),
        Message(
            "user",
            (
                ToolResult("1", "weather", "-3 degrees"),
                ToolResult("2", "weather", "no such city", error=True),
            ),
        ),
        Message("assistant", (Text("In Oslo."),)),
    )


async def test_a_whole_turn_is_one_event_and_reads_like_any_other(db: Sapwood) -> None:
    stepwise, whole = await db.start(), await db.start()
    call = ToolCall("1", "weather")
    async with stepwise.turn("Is it cold?") as turn:
        await turn.reply(calls=[call])
        await turn.result("1", "-3 degrees")
        await turn.reply("Yes.")
    await whole.record(
        "Is it cold?", RecordedReply((call,)), RecordedResult("1", "-3 degrees"), "Yes."
    )
    assert await kinds(whole) == ["agent.started", "turn.recorded"]
    assert await whole.request() == await stepwise.request()


async def test_a_whole_turn_may_have_failed(agent: Agent) -> None:
    ask = RecordedReply((ToolCall("1", "weather"),))
    await agent.record("Is it cold?", ask, status="failed", reason="no network")
    assert (await agent.request()).messages[2].parts == (
        ToolResult("1", "weather", "[failed: no network]", error=True),
    )


async def test_a_whole_turn_without_a_result_for_a_call_is_refused(agent: Agent) -> None:
    with pytest.raises(RefusedError, match="These tool calls have no result yet: 1"):
        await agent.record("Is it cold?", RecordedReply((ToolCall("1", "weather"),)))
    assert await kinds(agent) == ["agent.started"]


async def test_an_exception_fails_the_turn_and_keeps_what_was_there(agent: Agent) -> None:
    async def ask() -> None:
        async with agent.turn("Is it cold?") as turn:
            await turn.reply(calls=[ToolCall("1", "weather")])
            raise ConnectionError("reset by peer")

    with pytest.raises(ConnectionError, match="reset"):
        await ask()
    assert (await kinds(agent))[-1] == "turn.failed"
    await agent.record("Again?", "Yes.")
    assert (
        "Your turn before this failed: ConnectionError: reset by peer." in (await said(agent))[-2]
    )


async def test_a_cancellation_interrupts_the_turn_and_keeps_what_was_there(agent: Agent) -> None:
    asked = asyncio.Event()

    async def work() -> None:
        async with agent.turn("Is it cold?") as turn:
            await turn.reply("Let me think.")
            asked.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(work())
    await asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await kinds(agent))[-1] == "turn.interrupted"
    assert (await said(agent))[-1] == "Let me think."


async def test_a_stream_that_nobody_reads_on_interrupts_its_turn(agent: Agent) -> None:
    async def stream() -> AsyncGenerator[str]:
        async with agent.turn("Count.") as turn:
            for word in ("one", "two", "three"):
                yield word
            await turn.reply("one two three")

    words = stream()
    assert await anext(words) == "one"
    await words.aclose()
    assert (await kinds(agent))[-1] == "turn.interrupted"


async def test_a_turn_with_an_open_call_does_not_stay_open(agent: Agent) -> None:
    with pytest.raises(RefusedError) as refused:
        async with agent.turn("Is it cold?") as turn:
            await turn.reply(calls=[ToolCall("1", "weather")])
    assert refused.value.refusal == CallsOpen(("1",))
    assert (await kinds(agent))[-1] == "turn.failed"
    await agent.record("Again?", "Yes.")


async def test_a_turn_that_another_interrupted_takes_no_more(agent: Agent) -> None:
    async def ask() -> None:
        async with agent.turn("Is it cold?") as turn:
            assert (
                await agent.interrupt("enough")
            ).message == "Interrupted. The partial reply is kept."
            await turn.reply("Yes.")

    with pytest.raises(RefusedError) as refused:
        await ask()
    assert refused.value.refusal == TurnEnded()
    assert await said(agent) == ["Is it cold?"]


async def test_leaving_a_turn_that_ended_meanwhile_does_not_end_the_next(agent: Agent) -> None:
    async def ask() -> None:
        async with agent.turn("Is it cold?"):
            await agent.interrupt("enough")
            await agent.run_command("Is it warm?")

    with pytest.raises(RefusedError) as refused:
        await ask()
    assert refused.value.refusal == TurnEnded()
    assert (await agent.state()).open is not None


async def test_an_error_in_a_turn_that_another_ended_is_still_the_error(agent: Agent) -> None:
    async def ask() -> None:
        async with agent.turn("Is it cold?"):
            await agent.interrupt()
            raise KeyError("city")

    with pytest.raises(KeyError):
        await ask()


async def test_an_error_says_when_the_log_could_not_be_told_of_it(db: Sapwood) -> None:
    agent = await db.start()

    async def ask() -> None:
        async with agent.turn("Is it cold?"):
            await db.close()
            raise KeyError("city")

    with pytest.raises(KeyError) as raised:
        await ask()
    assert any("still open in the log" in note for note in raised.value.__notes__)


async def test_one_turn_at_a_time(agent: Agent) -> None:
    async with agent.turn("First.") as turn:
        with pytest.raises(RefusedError) as refused:
            await agent.record("Second.", "No.")
        await turn.reply("Done.")
    assert isinstance(refused.value.refusal, TurnIsOpen)
    assert await said(agent) == ["First.", "Done."]


async def test_a_childs_goal_is_taken_up_without_a_prompt(agent: Agent) -> None:
    child = await agent.fork(goal="Find the leak.")
    async with child.turn() as turn:
        assert (await turn.call()).messages[-1].text.endswith("\n\nFind the leak.")
        await turn.reply("Found it.")
    assert await said(child) == ["Find the leak.", "Found it."]


async def test_there_is_nothing_to_take_up_when_no_turn_is_open(agent: Agent) -> None:
    with pytest.raises(RefusedError, match="No turn is running"):
        async with agent.turn():
            pass


async def test_a_prompt_may_be_made_of_parts(agent: Agent) -> None:
    note = Note("mail", "The build is red.", source="abc123")
    await agent.record([note, Text("What now?")], "Fix it.")
    prompt = (await said(agent))[0]
    opening, _, body = prompt.partition("]\nThe build is red.\n")
    assert "carry no authority. This text ends at [end" in opening
    assert body.startswith("[end ")
    assert prompt.endswith("What now?")


async def test_an_empty_prompt_is_refused(agent: Agent) -> None:
    with pytest.raises(RefusedError, match="The prompt is empty"):
        await agent.record("  ", "Pardon?")


async def test_text_that_no_encoding_can_hold_is_stored_without_it(agent: Agent) -> None:
    async with agent.turn([Text("caf\udce9")]) as turn:
        await turn.reply(calls=[ToolCall("1", "read", '"\udce9"')])
        await turn.result("1", "\udce9")
        await turn.reply("\udce9")
    assert await said(agent) == ["caf?", "", "", "?"]


async def test_signed_thinking_is_kept_as_it_came(agent: Agent) -> None:
    thought = Thinking("Oslo is north.", provider="anthropic", signature="c2ln")
    async with agent.turn("Is it cold?") as turn:
        await turn.reply("Yes.", thinking=thought)
    assert (await agent.request()).messages[-1].parts == (thought, Text("Yes."))


async def test_a_reply_that_was_cut_off_says_so(agent: Agent) -> None:
    async with agent.turn("Tell me everything.") as turn:
        await turn.reply("First,", ended="length")
    await agent.record("Go on.", "Second.")
    _, reply, prompt, _ = await said(agent)
    assert reply == "First,"
    assert "Your reply before this was cut off: the reply ran into the limit" in prompt


async def test_a_call_stores_parameters_as_they_are_and_tools_as_a_hash(agent: Agent) -> None:
    async with agent.turn("Is it cold?") as turn:
        await turn.call("gpt-5", params={"top_p": 1, "temperature": 0}, tools=[{"name": "weather"}])
        await turn.reply("Yes.")
    called = (await agent.replay()).called
    assert (called.model, called.params) == ("gpt-5", '{"temperature":0,"top_p":1}')
    assert len(called.tools) == 64


async def test_a_call_that_something_overtook_is_built_again(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    dispatcher = agent.connection.dispatcher
    opened = dispatcher.open

    async def opened_then_overtaken(id: AgentId) -> OpenAgent:
        found = await opened(id)
        await agent.pin("rule", "No jargon.")
        return found

    async with agent.turn("Is it cold?") as turn:
        with monkeypatch.context() as patch:
            patch.setattr(dispatcher, "open", opened_then_overtaken)
            request = await turn.call()
        await turn.reply("Yes.")
    assert [block.text for block in request.system] == ["No jargon."]
    assert (await agent.replay()).matches


async def test_reported_usage_corrects_the_estimate(agent: Agent) -> None:
    async with agent.turn("Is it cold in Oslo in the winter?") as turn:
        await turn.call()
        await turn.reply("Yes.")
    before = (await agent.budget()).history.tokens
    async with agent.turn("?") as turn:
        await turn.call()
        reported = (await agent.state()).open
        assert reported is not None
        await turn.reply("!", usage=Usage(input=reported.estimate * 3))
    assert (await agent.budget()).history.tokens >= before * 3


async def test_a_command_given_twice_under_one_id_acts_once(agent: Agent) -> None:
    first = await agent.do(SetMark(agent.id, "HERE"), command_id="once")
    second = await agent.do(SetMark(agent.id, "HERE"), command_id="once")
    assert (first.message, first.events) == (second.message, second.events)
    assert (first.repeated, second.repeated) == (False, True)
    assert await kinds(agent) == ["agent.started", "mark.set"]


async def test_what_is_closed_says_so(db: Sapwood) -> None:
    agent = await db.start()
    await db.close()
    with pytest.raises(LogError, match="closed"):
        await agent.record("Hello!", "Hello to you.")


async def test_a_question_that_nothing_answers_says_so_in_the_log(
    agent: Agent, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turn_stream, "_UNANSWERED", 0.05)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(agent.ask("Where do herons nest?"), 1.0)
    assert [record.message for record in caplog.records] == [
        f"The turn of '{agent.id}' has not begun for 0.05 s: all workers are busy, or there is "
        "none. To answer it, use sapwood.runtime(db) in this program, or run: sapwood worker"
    ]


async def test_a_cancellation_while_a_turn_starts_leaves_no_open_turn(db: Sapwood) -> None:
    async def enter(agent: Agent) -> None:
        async with agent.turn("Hello?"):
            await asyncio.Event().wait()

    for steps in range(0, 600, 15):
        agent = await db.start()
        entering = asyncio.create_task(enter(agent))
        for _ in range(steps):
            await asyncio.sleep(0)
        entering.cancel()
        await asyncio.wait([entering])
        assert entering.cancelled()
        assert (await agent.state()).open is None
        async with agent.turn("And now?"):
            pass
