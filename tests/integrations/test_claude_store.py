"""The session store of the Claude Agent SDK: rows go in, what is in view comes out."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sapwood_frameworks.claude_agent_sdk import SapwoodSessionStore

Row = dict[str, Any]  # rows are JSON

KEY = {"project_key": "project", "session_id": "0b5f9c3e-7a1d-4c52-9f0e-6a2b8d4e1c37"}
THOUGHT = {"type": "thinking", "thinking": "Look at both.", "signature": "c2ln"}
HIDDEN = {"type": "redacted_thinking", "data": "ZGF0YQ=="}
CALLS = [
    {"type": "tool_use", "id": f"toolu_{city}", "name": "weather", "input": {"city": city}}
    for city in ("Oslo", "Rome")
]
RESULTS = [
    {"type": "tool_result", "tool_use_id": "toolu_Oslo", "content": "-3 degrees"},
    {"type": "tool_result", "tool_use_id": "toolu_Rome", "content": "closed", "is_error": True},
]


def row(number: int, role: str, content: object, stop: str | None = None) -> Row:
    message: Row = {"role": role, "content": content}
    if role == "assistant":
        message |= {"model": "claude-opus-5-5", "stop_reason": stop}
    return {
        "type": role,
        "uuid": f"00000000-0000-4000-8000-{number:012}",
        "timestamp": "2026-11-01T12:00:00.000Z",
        "message": message,
    }


ROWS = [
    row(1, "user", "Is it cold?"),
    row(2, "assistant", [THOUGHT, HIDDEN]),
    row(3, "assistant", [CALLS[0]]),
    row(4, "assistant", [CALLS[1]], "tool_use"),
    row(5, "user", [RESULTS[0]]),
    row(6, "user", [RESULTS[1]]),
    row(7, "assistant", [{"type": "text", "text": "Only in Oslo."}], "end_turn"),
]


@pytest.fixture
async def store() -> AsyncIterator[SapwoodSessionStore]:
    store = SapwoodSessionStore()
    yield store
    await store.close()


async def contents(store: SapwoodSessionStore) -> list[Any]:
    return [each["message"]["content"] for each in await store.load(KEY) or []]


EXPECTED: list[Any] = [
    [{"type": "text", "text": "Is it cold?"}],
    [THOUGHT, HIDDEN, *CALLS],
    RESULTS,
    [{"type": "text", "text": "Only in Oslo."}],
]


async def test_one_batch_comes_back_as_messages(store: SapwoodSessionStore) -> None:
    assert await store.load(KEY) is None
    await store.append(KEY, [{"type": "mode", "mode": "plan"}, *ROWS])
    assert await contents(store) == EXPECTED


async def test_images_and_documents_come_back_as_they_went_in(store: SapwoodSessionStore) -> None:
    source = {"type": "base64", "media_type": "image/gif", "data": "R0lGODlhAgABAA=="}
    page = {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}
    image: Row = {"type": "image", "source": source}
    document: Row = {"type": "document", "source": page, "title": "map.pdf"}
    text = {"type": "text", "text": "What is this?"}
    result = {"type": "tool_result", "tool_use_id": "toolu_Oslo", "content": [text, image]}
    rows = [
        row(1, "user", [text, image, document]),
        row(2, "assistant", [CALLS[0]], "tool_use"),
        row(3, "user", [result]),
        row(4, "assistant", [{"type": "text", "text": "A pond."}], "end_turn"),
    ]
    await store.append(KEY, rows)
    assert await contents(store) == [each["message"]["content"] for each in rows]


async def test_batches_that_split_a_reply_are_one_turn(store: SapwoodSessionStore) -> None:
    for each in ROWS:
        await store.append(KEY, [each])
    opened = await (await store.agent(KEY["session_id"])).opened()
    assert [turn.status for turn in opened.live.turns] == ["completed"]
    assert await contents(store) == EXPECTED


async def test_a_session_can_be_resumed_in_its_first_turn(store: SapwoodSessionStore) -> None:
    await store.append(KEY, ROWS[:1])
    assert await contents(store) == EXPECTED[:1]


@pytest.mark.parametrize("cut", range(2, 8))
async def test_what_was_handed_over_outlives_the_process(cut: int, tmp_path: Path) -> None:
    for rows in (ROWS[:cut], ROWS[cut:]):  # the first process is killed
        store = SapwoodSessionStore(tmp_path / "log.db")
        for each in rows:
            await store.append(KEY, [each])
    assert await contents(store) == EXPECTED
    await store.close()


async def test_a_reply_that_no_process_finished_is_in_the_log(tmp_path: Path) -> None:
    half = row(2, "assistant", [{"type": "text", "text": "Let me"}])
    for rows in ([ROWS[0], half], [row(3, "user", "And now?")]):
        store = SapwoodSessionStore(tmp_path / "log.db")
        await store.append(KEY, rows)
    assert (await contents(store))[1:2] == [[{"type": "text", "text": "Let me"}]]
    await store.close()


async def test_a_row_that_comes_again_is_kept_once(store: SapwoodSessionStore) -> None:
    await store.append(KEY, ROWS)
    await store.append(KEY, ROWS)
    await store.append(KEY, await store.load(KEY) or [])
    assert await contents(store) == EXPECTED


async def test_rows_are_a_chain_with_the_model_that_thought(store: SapwoodSessionStore) -> None:
    await store.append(KEY, ROWS)
    rows = await store.load(KEY) or []
    assert [each["parentUuid"] for each in rows] == [None, *(each["uuid"] for each in rows[:-1])]
    models = {each["message"]["model"] for each in rows if each["type"] == "assistant"}
    assert models == {"claude-opus-5-5"}


async def test_a_cleared_session_can_still_be_resumed(store: SapwoodSessionStore) -> None:
    await store.append(KEY, ROWS)
    await (await store.agent(KEY["session_id"])).clear()
    [only] = await contents(store)
    assert only[0]["text"].startswith("[The earlier conversation")


async def test_a_subagent_is_a_conversation_of_its_own(store: SapwoodSessionStore) -> None:
    await store.append({**KEY, "subpath": "subagents/agent-1"}, ROWS)
    assert await store.load(KEY) is None


async def test_a_fork_has_the_rows_of_its_session(store: SapwoodSessionStore) -> None:
    await store.append(KEY, ROWS)
    fork = await store.fork(KEY["session_id"])
    assert len(await store.load({**KEY, "session_id": fork}) or []) == len(EXPECTED)
