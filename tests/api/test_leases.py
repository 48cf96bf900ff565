"""Own loops: leases, failures and words that arrive."""

import asyncio
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import pytest

import sapwood
from sapwood import Agent, RefusedError, Request, Sapwood, Text
from sapwood.core.commands import AddReply, CompleteTurn
from sapwood.core.errors import LogError
from sapwood.core.events import ReplyAdded, TurnCompleted, TurnFailed, TurnLeased
from sapwood.core.refusals import TurnHeld
from sapwood.testing import FakeModel
from sapwood.turns.clock_and_ids import now
from tests.api.reading import kinds, said


async def test_a_second_process_cannot_take_up_a_turn_that_is_run(tmp_path: Path) -> None:
    """D13: both runs were lost."""
    async with sapwood.open(tmp_path / "log.db") as one, sapwood.open(tmp_path / "log.db") as two:
        first = await one.start(id="demo")
        async with first.turn("Hello?") as turn:
            second = await two.get("demo")
            with pytest.raises(RefusedError, match="Another process is running this turn"):
                async with second.turn():
                    pass
            with pytest.raises(RefusedError):
                await second.do(CompleteTurn(second.id))
            await turn.reply("Hello to you.")
        assert await said(second) == ["Hello?", "Hello to you."]
        assert isinstance((await second.events())[-1].event, TurnCompleted)


async def test_after_its_lease_another_process_goes_on_and_the_first_one_cannot(
    db: Sapwood, agent: Agent
) -> None:
    first = agent.turn("Hello?", lease=3000)
    await first.__aenter__()
    other = await db.get(agent.id)
    with pytest.raises(RefusedError, match="Another process"):
        async with other.turn():
            pass
    async with other.turn(take_over=True) as second:
        for late in (first.reply("Late."), first.fail("late"), first.result("1", "late")):
            with pytest.raises(RefusedError) as refused:
                await late
            assert isinstance(refused.value.refusal, TurnHeld)
        await first.__aexit__(RuntimeError, RuntimeError("late"), None)
        await second.reply("On time.")
    assert await said(agent) == ["Hello?", "On time."]


async def test_a_lease_that_has_ended_can_be_taken(agent: Agent) -> None:
    dead = agent.turn("Hello?", lease=0.001)
    dead._renew = lambda: asyncio.sleep(0)  # pyright: ignore[reportPrivateUsage] # it has died
    await dead.__aenter__()
    state = await agent.state()
    assert state.open
    assert state.open.lease
    await asyncio.sleep(max(0.0, (state.open.lease.until - now()) / 1_000_000) + 0.01)
    async with agent.turn() as turn:
        await turn.reply("I go on.")
    with pytest.raises(RefusedError):
        await dead.reply("Late.")
    assert await said(agent) == ["Hello?", "I go on."]


async def test_a_lease_is_renewed_while_the_program_works(agent: Agent) -> None:
    async with agent.turn("Hello?", lease=0.3) as turn:
        async for recorded in agent.follow():
            if isinstance(recorded.event, TurnLeased):
                break
        await turn.reply("Done.")
    ended = await kinds(agent)
    await asyncio.sleep(0.2)
    assert await kinds(agent) == ended


async def test_no_worker_drives_a_turn_that_a_program_runs() -> None:
    asked: list[str] = []

    def answer(request: Request, heard: str) -> str:
        asked.append(request.messages[0].text)
        return "By a worker."

    model = FakeModel(answer)
    async with sapwood.open(":memory:") as db, sapwood.runtime(db, models=model):
        agent, other = await db.start(model="planned"), await db.start(model="planned")
        async with agent.turn("Mine.") as turn:
            await other.send(agent, "This wakes the agent.")
            assert (await other.ask("Yours.")).text == "By a worker."
            await turn.reply("By a program.")
        assert asked == ["Yours."]
        assert await said(agent) == ["Mine.", "By a program."]


async def test_everybody_may_interrupt_a_turn(db: Sapwood, agent: Agent) -> None:
    async with agent.turn("Hello?") as turn:
        await (await db.get(agent.id)).interrupt("enough")
        with pytest.raises(RefusedError):
            await turn.reply("Late.")
        with pytest.raises(RefusedError):
            await turn.fail("late")
        turn._has_ended = True  # pyright: ignore[reportPrivateUsage] # the block ends quietly
    assert (await agent.state()).open is None


async def test_a_repeated_turn_is_started_once(agent: Agent) -> None:
    async with agent.turn("Hello?", command_id="once", actor=sapwood.Actor("human", "ada")) as turn:
        await turn.reply("Hello to you.", command_id="reply")
        await turn.reply("Hello to you.", command_id="reply")
        [started] = await agent.events(turn.version, turn.version)
        assert str(started.actor) == "human:ada"
    with pytest.raises(RefusedError):
        async with agent.turn("Hello?", command_id="once"):
            pass
    assert await said(agent) == ["Hello?", "Hello to you."]


async def test_a_reply_has_the_order_in_which_its_words_arrived(agent: Agent) -> None:
    """A watcher that resumes counts the words before it in the stream."""
    thinking, text, call = "Which? Now.", "I look at Oslo.", sapwood.ToolCall("1", "weather")
    signed = sapwood.Thinking(thinking, signature="c2ln")
    for thought, words in ((thinking, text), (thinking, f"{text} Wait."), (signed, text)):
        async with agent.turn("Is it cold?") as turn:
            await turn.call()
            await turn.delta("Which? ", kind="thinking")
            await turn.delta("I look ")
            await turn.delta("at Oslo.")
            await turn.delta("Now.", kind="thinking")
            await turn.reply(words, thinking=thought, calls=[call])
            await turn.result("1", "-3 degrees")
            await turn.reply("Yes.")
    replies = [each.event for each in await agent.events() if isinstance(each.event, ReplyAdded)]
    assert [each.parts for each in replies[::2]] == [
        (sapwood.Thinking("Which? "), Text(text), sapwood.Thinking("Now."), call),
        (sapwood.Thinking(thinking), Text(f"{text} Wait."), call),
        (signed, Text(text), call),
    ]


async def test_a_repeated_reply_is_recorded_once_although_the_model_was_called_again(
    tmp_path: Path,
) -> None:
    """As after a crash, of which the next process does not know how far the first one came."""
    for calls in (1, 0, 2):
        async with sapwood.open(tmp_path / "log.db") as db:
            agent = await db.start(id="chat-42", resume=True)
            turn = agent.turn("What is it?", command_id="turn", take_over=True)
            await turn.__aenter__()
            for _ in range(calls):
                await turn.call()
            await turn.reply("42", command_id="reply")
            await turn.reply("42", command_id="reply")
            with pytest.raises(RefusedError, match="already used"):
                await turn.reply("43", command_id="reply")
    async with sapwood.open(tmp_path / "log.db") as db:
        agent = await db.get("chat-42")
        async with agent.turn(take_over=True):
            pass
        assert await said(agent) == ["What is it?", "42"]


async def stream_of_reply(turn: sapwood.TurnRecorder) -> None:
    """The words of a reply that thinks after its first sentence."""
    await turn.delta("It is 4. ")
    await turn.delta("Wait, check.", kind="thinking")
    await turn.delta("It is.")


async def test_a_repeated_reply_whose_words_arrived_in_another_order_is_recorded_once(
    tmp_path: Path,
) -> None:
    """Also in a process that has not seen the words arrive."""
    for streams in (True, False):
        async with sapwood.open(tmp_path / "log.db") as db:
            agent = await db.start(id="chat-42", resume=True)
            turn = agent.turn("What is it?", command_id="turn", take_over=True)
            await turn.__aenter__()
            if streams:
                await stream_of_reply(turn)
            for _ in range(2):
                await turn.reply("It is 4. It is.", thinking="Wait, check.", command_id="reply")
            with pytest.raises(RefusedError, match="already used"):
                await turn.reply("It is 5.", thinking="Wait, check.", command_id="reply")
    async with sapwood.open(tmp_path / "log.db") as db:
        agent = await db.get("chat-42")
        async with agent.turn(take_over=True):
            pass
        assert await said(agent) == ["What is it?", "It is 4. \n\nIt is."]


async def test_the_id_of_a_reply_is_refused_in_another_conversation(db: Sapwood) -> None:
    one, two = await db.start("one"), await db.start("two")
    async with one.turn("Hello?") as turn, two.turn("Hello?") as other:
        await turn.reply("Hello.", command_id="reply")
        with pytest.raises(RefusedError, match="already used"):
            await other.reply("Hello.", command_id="reply")
        await other.reply("Hello.")


async def test_a_reply_that_an_earlier_version_stored_is_recorded_once(agent: Agent) -> None:
    """Its receipt has the digest of the command, not that of what was asked for."""
    async with agent.turn("What is it?") as turn:
        command = AddReply(agent.id, (Text("42"),), turn=turn.version)
        holder = turn._holder  # pyright: ignore[reportPrivateUsage]
        await agent.do(command, sapwood.Actor("model", ""), command_id="reply", holder=holder)
        await turn.reply("42", command_id="reply")
        with pytest.raises(RefusedError, match="already used"):
            await turn.reply("43", command_id="reply")
    assert await said(agent) == ["What is it?", "42"]


async def test_a_reply_that_could_not_be_stored_keeps_its_order_when_it_is_repeated(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with agent.turn("What is it?") as turn:
        await stream_of_reply(turn)
        with monkeypatch.context() as down:
            down.setattr(agent.connection.log, "commit", AsyncMock(side_effect=LogError("Down.")))
            with pytest.raises(LogError):
                await turn.reply("It is 4. It is.", thinking="Wait, check.", command_id="reply")
        await turn.reply("It is 4. It is.", thinking="Wait, check.", command_id="reply")
    [reply] = [each.event for each in await agent.events() if isinstance(each.event, ReplyAdded)]
    assert reply.parts == (Text("It is 4. "), sapwood.Thinking("Wait, check."), Text("It is."))


class _Broken(Exception):
    def __str__(self) -> str:
        return "could not connect to postgresql://svc:hunter2024@db.example/prod"


async def test_an_error_is_stored_masked_and_never_becomes_words_of_the_model(
    agent: Agent,
) -> None:
    """D11: the password went into the log and into the model's mouth."""
    with pytest.raises(_Broken):
        async with agent.turn("Hello?"):
            raise _Broken
    [failed] = [each.event for each in await agent.events() if isinstance(each.event, TurnFailed)]
    assert failed.error.startswith("_Broken: could not connect to ")
    assert "hunter2024" not in repr(await agent.events())
    await agent.prompt("And now?")
    request = await agent.request()
    assert all("_Broken" not in each.text for each in request.messages if each.role == "assistant")
    assert "hunter2024" not in repr(request)
    assert "Your turn before this failed: _Broken" in request.messages[-1].text


@pytest.mark.parametrize("reason", ["No key.", _Broken()])
async def test_a_turn_fails_with_a_reason(agent: Agent, reason: str | Exception) -> None:
    async with agent.turn("Hello?") as turn:
        await turn.reply("I look.")
        await turn.fail(reason)
        with pytest.raises(RefusedError):
            await turn.reply("Late.")
    last = (await agent.events())[-1].event
    assert isinstance(last, TurnFailed)
    assert last.error.startswith("No key." if isinstance(reason, str) else "_Broken: ")
    assert (await agent.state()).open is None


async def test_words_are_stored_while_they_arrive_and_survive_a_failure(agent: Agent) -> None:
    async def tell() -> None:
        async with agent.turn("A tale?") as turn:
            await turn.call()
            await turn.delta("Hm. ", kind="thinking")
            await turn.delta("Once upon ")
            async for item in agent.watch():
                if isinstance(item, sapwood.Delta):
                    break
            await turn.delta("a time")
            raise _Broken

    with pytest.raises(_Broken):
        await tell()
    assert await said(agent) == ["A tale?", "Once upon a time"]


@pytest.mark.parametrize("kind", ["thought", None, b"text", object()])
async def test_words_of_an_unknown_kind_are_refused(agent: Agent, kind: Any) -> None:
    async with agent.turn("A tale?") as turn:
        await turn.call()
        with pytest.raises(RefusedError, match="must be text or thinking"):
            await turn.delta("Hm.", kind=kind)
        await turn.reply("Once upon a time.")


async def test_words_that_arrived_are_replaced_by_the_reply(agent: Agent) -> None:
    async with agent.turn("A tale?") as turn:
        await turn.call()
        await turn.delta("Once upon ")
        await turn.delta("a time")
        await turn.reply("Once upon a time.")
    assert await said(agent) == ["A tale?", "Once upon a time."]
