"""The session of the OpenAI Agents SDK: items go in, the items of the context come out."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from sapwood_frameworks.openai_agents import SapwoodSession

Items = list[dict[str, Any]]  # items are JSON

USER: dict[str, Any] = {"role": "user", "content": "Is it cold in Oslo and Rome?"}
REPLY: Items = [
    {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [
            {"type": "summary_text", "text": "First."},
            {"type": "summary_text", "text": "Second."},
        ],
        "encrypted_content": "gAAAA",
    },
    {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "Let me look.", "annotations": []}],
    },
    {
        "type": "function_call",
        "call_id": "c1",
        "name": "weather",
        "arguments": '{"city": "Oslo"}',
        "id": "fc_1",
    },
    {
        "type": "function_call",
        "call_id": "c2",
        "name": "weather",
        "arguments": '{"city":  "Rome"}',
        "id": "fc_2",
    },
]
OUTPUTS: Items = [
    {"type": "function_call_output", "call_id": "c1", "output": "-3 degrees"},
    {"type": "function_call_output", "call_id": "c2", "output": "9 degrees"},
]
SEARCH: dict[str, Any] = {
    "type": "web_search_call",
    "id": "ws_1",
    "status": "completed",
    "action": {"type": "search", "query": "weather"},
}
ANSWER: dict[str, Any] = {"role": "assistant", "content": "Only in Oslo."}


@pytest.fixture
async def session() -> AsyncIterator[SapwoodSession]:
    session = SapwoodSession("chat-42")
    yield session
    await session.close()


async def test_items_come_back_as_they_went_in(session: SapwoodSession) -> None:
    given = [USER, *REPLY, *OUTPUTS, SEARCH, ANSWER]
    await session.add_items([USER])
    await session.add_items([*REPLY, *OUTPUTS])
    await session.add_items([SEARCH, ANSWER])
    assert await session.get_items() == given
    assert await session.get_items(2) == given[-2:]
    assert await session.get_items(0) == []


async def test_pop_item_returns_what_it_takes_away(session: SapwoodSession) -> None:
    await session.add_items([USER, ANSWER])
    assert await session.pop_item() == ANSWER
    assert await session.get_items() == [USER]
    assert await session.pop_item() == USER
    assert await session.pop_item() is None


async def test_a_pin_is_in_front_of_the_items(session: SapwoodSession) -> None:
    await session.add_items([USER, ANSWER])
    await (await session.agent()).pin("style", "Be brief.")
    items = await session.get_items()
    assert items[0] == {"role": "system", "content": "Be brief."}


async def test_a_message_of_the_program_is_no_request_of_the_user(session: SapwoodSession) -> None:
    await session.add_items([{"role": "developer", "content": "The user is in Oslo."}])
    [turn] = (await (await session.agent()).opened()).live.all_turns
    assert not turn.is_request


async def test_an_output_of_several_parts_keeps_its_texts(session: SapwoodSession) -> None:
    output = [{"type": "input_text", "text": "cold"}, {"type": "input_image", "image_url": "data:"}]
    await session.add_items([USER, *REPLY, {**OUTPUTS[0], "output": output}, OUTPUTS[1], ANSWER])
    [shown] = [
        each["output"]
        for each in await session.get_items()
        if each.get("call_id") == "c1" and "output" in each
    ]
    assert shown == "cold\n\n[input_image: not kept in the history]"


async def test_images_and_files_come_back_as_they_went_in(session: SapwoodSession) -> None:
    image = {"type": "input_image", "image_url": "data:image/gif;base64,R0lGODlh", "detail": "auto"}
    table = {"type": "input_file", "file_data": "data:text/csv;base64,YSxi", "filename": "a.csv"}
    text = {"type": "input_text", "text": "What is this?"}
    given = [
        {"role": "user", "content": [image, text, table]},
        *REPLY,
        {**OUTPUTS[0], "output": [text, image]},
        {**OUTPUTS[1], "output": [image]},
        ANSWER,
        {"role": "user", "content": [image]},
    ]
    await session.add_items(given)
    assert await session.get_items() == given


async def test_a_false_id_of_the_framework_is_left_out(session: SapwoodSession) -> None:
    thought: dict[str, Any] = {"type": "reasoning", "id": "__fake_id__", "summary": []}
    message = {"type": "message", "id": "__fake_id__", "role": "assistant", "content": "Yes."}
    await session.add_items([USER, thought, message])
    assert "__fake_id__" not in json.dumps(await session.get_items())


async def test_a_fork_has_the_items_of_its_session(session: SapwoodSession) -> None:
    await session.add_items([USER, ANSWER])
    fork = await session.fork("chat-43")
    await fork.add_items([USER, ANSWER])
    assert (len(await session.get_items()), len(await fork.get_items())) == (2, 4)


SHELL: Items = [
    {
        "type": "shell_call",
        "id": "sh_1",
        "call_id": "c3",
        "status": "completed",
        "action": {"commands": ["date"], "timeout_ms": 1000},
    },
    {
        "type": "shell_call_output",
        "call_id": "c3",
        "output": [{"stdout": "Monday", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}],
    },
]
CUSTOM: Items = [
    {"type": "custom_tool_call", "id": "ct_1", "call_id": "c4", "name": "sql", "input": "select 1"},
    {"type": "custom_tool_call_output", "call_id": "c4", "output": "1"},
]
PATCH: Items = [
    {
        "type": "apply_patch_call",
        "id": "ap_1",
        "call_id": "c5",
        "status": "completed",
        "operation": {"type": "delete_file", "path": "a.py"},
    },
    {"type": "apply_patch_call_output", "call_id": "c5", "status": "completed", "output": "Done"},
]
COMPUTER: Items = [
    {
        "type": "computer_call",
        "id": "cu_1",
        "call_id": "c6",
        "status": "completed",
        "action": {"type": "screenshot"},
        "pending_safety_checks": [],
    },
    {
        "type": "computer_call_output",
        "call_id": "c6",
        "output": {"type": "computer_screenshot", "image_url": "data:image/gif;base64,R0lGODlh"},
    },
]


@pytest.mark.parametrize("tool", [SHELL, CUSTOM, PATCH, COMPUTER])
@pytest.mark.parametrize("first", [[], [{"role": "assistant", "content": "Let me look."}]])
@pytest.mark.parametrize("at_once", [False, True])
async def test_calls_of_other_tools_come_back_as_they_went_in(
    session: SapwoodSession, tool: Items, first: Items, at_once: bool
) -> None:
    batches = [[USER], [*first, *tool], [*first, *tool], [ANSWER], [USER], [ANSWER]]
    given = [item for batch in batches for item in batch]
    for batch in [given] if at_once else batches:
        await session.add_items(batch)
    assert await session.get_items() == given
    turns = (await (await session.agent()).opened()).live.all_turns
    assert [turn.status for turn in turns] == ["completed", "completed"]
