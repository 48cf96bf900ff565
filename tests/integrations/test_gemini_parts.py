"""Contents of Google's API come back as they were, and values of a framework are kept."""

from typing import Any

from sapwood import RecordedReply, RecordedResult, Text, Thinking, ToolCall
from sapwood_frameworks.conversation import Conversation, Database, Prompt, StoredValues
from sapwood_frameworks.gemini_parts import items_of_user, parts_of, reply_of

CALLS: list[dict[str, Any]] = [
    {"text": "Look at both.", "thought": True},
    {
        "function_call": {"id": "1", "name": "weather", "args": {"city": "Oslo"}},
        "thought_signature": b"signed",
    },
    {"function_call": {"id": "2", "name": "weather", "args": {"city": "Rome"}}},
]
RESULTS: list[dict[str, Any]] = [
    {"function_response": {"id": "1", "name": "weather", "response": {"result": "-3 degrees"}}},
    {"function_response": {"id": "2", "name": "weather", "response": {"error": "closed"}}},
]
ANSWER: list[dict[str, Any]] = [{"text": "Only in Oslo."}]


def test_a_signature_is_kept_with_the_thought_before_it() -> None:
    reply = reply_of(CALLS, "gemini-3-pro")
    assert reply == RecordedReply(
        (
            Thinking("Look at both.", "google", "c2lnbmVk"),
            ToolCall("1", "weather", '{"city": "Oslo"}'),
            ToolCall("2", "weather", '{"city": "Rome"}'),
        ),
        "google:gemini-3-pro",
    )


async def test_parts_come_back_as_they_went_in() -> None:
    database = Database(":memory:")
    conversation = Conversation(database, "chats/ada/chat-42")
    await conversation.add([Prompt((Text("Is it cold?"),)), reply_of(CALLS, "")])
    await conversation.add(items_of_user(RESULTS))
    await conversation.add([reply_of(ANSWER, "")])
    messages = (await conversation.request()).messages
    assert [parts_of(each) for each in messages[1:]] == [CALLS, RESULTS, ANSWER]
    await database.close()


async def test_images_come_back_as_they_went_in() -> None:
    pond: dict[str, Any] = {"mime_type": "image/gif", "data": b"GIF89a\x02\x00\x01\x00"}
    asked: list[dict[str, Any]] = [{"text": "What is this?"}, {"inline_data": pond}]
    shown: list[dict[str, Any]] = [
        RESULTS[0],
        {"inline_data": {**pond, "display_name": "pond.gif"}},
        RESULTS[1],
    ]
    database = Database(":memory:")
    conversation = Conversation(database, "chats/ada/chat-43")
    await conversation.add([*items_of_user(asked), reply_of(CALLS, "")])
    await conversation.add([*items_of_user(shown), reply_of(ANSWER, "")])
    messages = (await conversation.request()).messages
    assert [parts_of(each) for each in messages] == [asked, CALLS, shown, ANSWER]
    await database.close()


def test_a_result_with_several_values_is_json() -> None:
    response = {"id": "1", "response": {"low": -3, "high": 2}}
    [result] = items_of_user([{"function_response": response}])
    assert result == RecordedResult("1", '{"low": -3, "high": 2}')


async def test_values_are_kept_by_name_and_changed_one_by_one() -> None:
    database = Database(":memory:")
    values = StoredValues(database, "chats/ada")
    assert await values.read() == {}
    await values.update({"city": "Oslo", "cold": True})
    await values.update({"city": "Rome"})
    assert await values.read() == {"city": "Rome", "cold": True}
    assert await StoredValues(database, "chats/bob").read() == {}
    await database.close()
