"""Messages of LangChain, as dictionaries, come back as they went in."""

import importlib
import importlib.util
from typing import Any

import pytest

from sapwood import File, Text
from sapwood_frameworks.conversation import (
    Conversation,
    Database,
    FrameworkMissing,
    Item,
    Prompt,
)
from sapwood_frameworks.langchain_messages import item_of, messages_of

REASONING: dict[str, Any] = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [],
    "encrypted_content": "gAAAA",
}
CALLS = [
    {"id": "1", "name": "weather", "args": {"city": "Oslo"}},
    {"id": "2", "name": "weather", "args": {"city": "Rome"}},
]
MESSAGES: list[tuple[str, dict[str, Any]]] = [
    ("human", {"content": "Is it cold?"}),
    (
        "ai",
        {"content": [REASONING, {"type": "text", "text": "Let me look."}], "tool_calls": CALLS},
    ),
    (
        "tool",
        {"content": "-3 degrees", "tool_call_id": "1", "name": "weather", "status": "success"},
    ),
    ("tool", {"content": "closed", "tool_call_id": "2", "name": "weather", "status": "error"}),
    ("ai", {"content": "Only in Oslo.", "tool_calls": []}),
]


async def test_messages_come_back_as_they_went_in() -> None:
    database = Database(":memory:")
    conversation = Conversation(database, "chat-42")
    items = [item_of(kind, fields) for kind, fields in MESSAGES]
    given: list[Item] = [item for item in items if item is not None]
    await conversation.add(given)
    assert messages_of(await conversation.request()) == MESSAGES
    await database.close()


IMAGE = {"type": "image", "base64": "R0lGODlhAgABAA==", "mime_type": "image/gif"}
PAGE = {"type": "file", "base64": "SGk=", "mime_type": "text/plain", "filename": "hi.txt"}


async def test_images_and_files_come_back_as_they_went_in() -> None:
    said: list[tuple[str, dict[str, Any]]] = [
        ("human", {"content": [{"type": "text", "text": "What is this?"}, IMAGE, PAGE]}),
        ("ai", {"content": "", "tool_calls": [{"id": "1", "name": "look", "args": {}}]}),
        (
            "tool",
            {"content": [IMAGE], "tool_call_id": "1", "name": "look", "status": "success"},
        ),
        ("ai", {"content": "A pond.", "tool_calls": []}),
    ]
    database = Database(":memory:")
    conversation = Conversation(database, "chat-43")
    await conversation.add([item for each in said if (item := item_of(*each)) is not None])
    assert messages_of(await conversation.request()) == said
    await database.close()


@pytest.mark.parametrize(
    "block",
    [
        {"type": "image_url", "image_url": {"url": "data:image/gif;base64,R0lGODlhAgABAA=="}},
        {"type": "image_url", "image_url": "data:image/gif;base64,R0lGODlhAgABAA=="},
        {"type": "image", "source_type": "base64", "data": IMAGE["base64"]},
        {
            "type": "image",
            "source": {"type": "base64", "media_type": "image/gif", "data": IMAGE["base64"]},
        },
    ],
)
def test_an_image_in_the_form_of_a_provider_is_kept(block: dict[str, Any]) -> None:
    item = item_of("human", {"content": [block]})
    assert item == Prompt((File.of(b"GIF89a\x02\x00\x01\x00"),))


def test_an_image_that_is_only_named_leaves_a_remark() -> None:
    block = {"type": "image_url", "image_url": {"url": "https://example.org/pond.png"}}
    item = item_of("human", {"content": [block]})
    assert item == Prompt((Text("[image_url: not kept in the history]"),))


def test_a_system_message_is_not_kept() -> None:
    assert item_of("system", {"content": "Be brief."}) is None


@pytest.mark.parametrize("name", ["google_adk", "langgraph"])
def test_a_missing_framework_says_how_to_install_it(name: str) -> None:
    module = {"google_adk": "google.adk", "langgraph": "langchain"}[name]
    try:
        installed = importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        installed = False
    if installed:
        importlib.import_module(f"sapwood_frameworks.{name}")
        return
    extra = name.replace("_", "-")
    with pytest.raises(FrameworkMissing, match=rf"pip install 'sapwood\[{extra}\]'"):
        importlib.import_module(f"sapwood_frameworks.{name}")
