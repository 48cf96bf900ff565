"""Messages of LangChain, as dictionaries, come back as they went in."""

import importlib
import importlib.util
from typing import Any

import pytest

from sapwood_frameworks.conversation import Conversation, Database, FrameworkMissing, Item
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
