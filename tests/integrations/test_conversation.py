"""A conversation of a framework becomes turns of one agent, whenever its messages arrive."""

import asyncio
import importlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import sapwood
from sapwood import Note, RecordedReply, RecordedResult, Text, Thinking, ToolCall
from sapwood_frameworks.conversation import Conversation, Database, Prompt, agent_id

ASK = Prompt((Text("Is it cold?"),))
CALLS = RecordedReply((Thinking("Hm."), ToolCall("1", "weather"), ToolCall("2", "weather")))
RESULTS = (RecordedResult("1", "-3 degrees"), RecordedResult("2", "-5 degrees"))
YES = RecordedReply((Text("Yes."),))
WHOLE = [ASK, CALLS, *RESULTS, YES]


@pytest.fixture
async def conversation() -> AsyncIterator[Conversation]:
    database = Database(":memory:")
    yield Conversation(database, "chat-42")
    await database.close()


async def parts(conversation: Conversation) -> list[object]:
    return [part for each in (await conversation.request()).messages for part in each.parts]


async def statuses(conversation: Conversation) -> list[str]:
    opened = await (await conversation.agent()).opened()
    return [turn.status for turn in opened.live.all_turns]


async def test_all_at_once_and_one_by_one_give_the_same_context(conversation: Conversation) -> None:
    await conversation.add(WHOLE)
    piecewise = Conversation(conversation.database, "chat-43")
    for item in WHOLE:
        await piecewise.add([item])
    assert await parts(piecewise) == await parts(conversation)
    assert await statuses(piecewise) == await statuses(conversation) == ["completed"]


async def test_a_whole_turn_is_one_event(conversation: Conversation) -> None:
    await conversation.add([*WHOLE, *WHOLE])
    events = await (await conversation.agent()).events()
    assert [type(each.event).__name__ for each in events] == [
        "AgentStarted",
        "TurnRecorded",
        "TurnRecorded",
    ]


async def test_a_turn_stays_open_until_a_reply_answers(conversation: Conversation) -> None:
    await conversation.add([ASK, CALLS, RESULTS[0]])
    assert await statuses(conversation) == ["open"]
    await conversation.add([RESULTS[1]])
    assert await statuses(conversation) == ["open"]
    await conversation.add([YES])
    assert await statuses(conversation) == ["completed"]


async def test_a_reply_that_only_thinks_does_not_answer(conversation: Conversation) -> None:
    thought = RecordedReply((Thinking("Hm."),))
    await conversation.add([ASK, thought])
    assert await statuses(conversation) == ["open"]
    await conversation.add([YES])
    assert await statuses(conversation) == ["completed"]
    assert await parts(conversation) == [Text("Is it cold?"), Thinking("Hm."), Text("Yes.")]


async def test_no_worker_takes_up_a_turn_of_the_framework(conversation: Conversation) -> None:
    await conversation.add([ASK])
    agent = await conversation.agent()
    opened = (await agent.state()).open
    assert opened is not None
    assert opened.lease is not None
    assert opened.lease.refuses("", opened.lease.until - 1)


async def test_a_prompt_ends_a_turn_whose_calls_have_no_results(
    conversation: Conversation,
) -> None:
    await conversation.add([ASK, CALLS])
    await conversation.add([Prompt((Text("Never mind."),)), YES])
    assert await statuses(conversation) == ["interrupted", "completed"]


async def test_an_answer_without_a_prompt_gets_a_turn_of_its_own(
    conversation: Conversation,
) -> None:
    await conversation.add([YES])
    await conversation.add([YES])
    turns = (await (await conversation.agent()).opened()).live.turns
    assert [isinstance(turn.prompt[0], Note) for turn in turns] == [True, True]


async def test_prompts_in_a_row_are_one_prompt(conversation: Conversation) -> None:
    await conversation.add([ASK, Prompt((Text("In Oslo."),)), YES])
    assert await parts(conversation) == [Text("Is it cold?"), Text("In Oslo."), Text("Yes.")]


async def test_pop_takes_one_part_after_the_other(conversation: Conversation) -> None:
    await conversation.add([ASK, YES, *WHOLE])
    before = await parts(conversation)
    kept: list[int] = []
    while await conversation.pop():
        kept.append(len(await parts(conversation)))
    # A call without its result shows a placeholder in the request, so taking a result back does
    # not make the request shorter, and taking the call back removes two parts.
    # Thinking alone is not sent.
    assert kept == [8, 8, 8, 6, 3, 2, 1, 0]
    agent = await conversation.agent()
    assert len(await agent.events()) > 3
    assert len(before) == 9


async def test_what_was_popped_can_be_written_again(conversation: Conversation) -> None:
    await conversation.add(WHOLE)
    before = await parts(conversation)
    await conversation.pop()
    await conversation.add([YES])
    assert await parts(conversation) == before


async def test_clear_can_be_undone(conversation: Conversation) -> None:
    await conversation.add(WHOLE)
    before = await parts(conversation)
    await conversation.clear()
    assert await parts(conversation) == []
    await (await conversation.agent()).undo()
    assert await parts(conversation) == before


async def test_a_fork_goes_on_alone(conversation: Conversation) -> None:
    await conversation.add(WHOLE)
    before = await parts(conversation)
    fork = await conversation.fork("chat/43")
    await fork.add([Prompt((Text("And in Rome?"),)), YES])
    assert await parts(conversation) == before
    assert await parts(fork) == [*before, Text("And in Rome?"), Text("Yes.")]


async def test_another_process_goes_on_in_the_open_turn(tmp_path: Path) -> None:
    address = tmp_path / "history.db"
    for items in ([ASK, CALLS], list(RESULTS), [YES]):
        database = Database(address)
        await Conversation(database, "chat-42").add(items)
        await database.close()
    async with sapwood.open(address) as db:
        conversation = Conversation(Database(db), "chat-42")
        assert await statuses(conversation) == ["completed"]
        assert len(await parts(conversation)) == 7


def test_an_event_loop_after_another_opens_the_database_again(tmp_path: Path) -> None:
    conversation = Conversation(Database(tmp_path / "history.db"), "chat-42")

    async def once() -> int:
        await conversation.add([ASK, YES])
        found = len(await parts(conversation))
        await conversation.database.close()
        return found

    assert [asyncio.run(once()) for _ in range(2)] == [2, 4]


def test_session_ids_that_cannot_be_agent_ids_stay_apart() -> None:
    names = ["user/42", "user 42", "", "x" * 65, "数据", "chat-42"]
    assert len({agent_id(name) for name in names}) == len(names)


def test_the_old_name_of_a_module_is_the_same_module() -> None:
    import sapwood_frameworks.openai_agents as present

    former = importlib.import_module("sapwood.integrations.openai_agents")
    assert former is present
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("sapwood.integrations.no_such_framework")


def test_a_history_in_memory_is_not_empty_in_the_next_event_loop_without_a_word(
    tmp_path: Path,
) -> None:
    async def add(conversation: Conversation) -> int:
        await conversation.add(WHOLE)
        return len((await conversation.request()).messages)

    kept = Conversation(Database(tmp_path / "log.db"), "chat-42")
    assert [asyncio.run(add(kept)) for _ in range(2)] == [4, 8]
    in_memory = Conversation(Database(":memory:"), "chat-42")
    assert asyncio.run(add(in_memory)) == 4
    with pytest.raises(sapwood.SapwoodError, match="Give the path of a file"):
        asyncio.run(add(in_memory))
