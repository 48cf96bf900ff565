"""A history that was sent before is sent again as the same bytes, and only then."""

import json

import pytest

from sapwood.core.content import Text
from sapwood.core.view import Message
from sapwood.models.history_cache import HistoryCache, SendPlan, splice_history
from sapwood.models.model_routes import Wire

U1, U2, U3 = (Message("user", (Text(text),)) for text in ("1", "3", "5"))
A1, A2 = (Message("assistant", (Text(text),)) for text in ("2", "4"))
SCOPE = b"claude"


def store(cache: HistoryCache, *messages: Message, items: bytes = b"cached") -> None:
    cache.store(cache.plan("messages", SCOPE, messages), items)


def test_the_first_call_converts_everything() -> None:
    plan = HistoryCache().plan("messages", SCOPE, [U1, A1, U2])
    assert (plan.start, plan.cached) == (0, b"")


def test_the_next_call_converts_from_the_users_last_message_on() -> None:
    cache = HistoryCache()
    store(cache, U1, A1, U2)
    plan = cache.plan("messages", SCOPE, [U1, A1, U2, A2, U3])
    assert (plan.start, plan.cached) == (2, b"cached")


@pytest.mark.parametrize(
    ("scope", "messages"),
    [
        (b"gpt", [U1, A1, U2, A2, U3]),
        (SCOPE, [U2, A1, U2, A2, U3]),
        (SCOPE, [U1, A2, U2, A2, U3]),
        (SCOPE, [U1]),
    ],
)
def test_another_past_is_not_mistaken_for_it(scope: bytes, messages: list[Message]) -> None:
    cache = HistoryCache()
    store(cache, U1, A1, U2)
    assert cache.plan("messages", scope, messages).start == 0


def test_a_forgotten_history_is_converted_anew() -> None:
    cache = HistoryCache(max_bytes=5)
    store(cache, U1, A1, U2, items=b"first")
    store(cache, U2, A1, U2, items=b"other")
    assert cache.plan("messages", SCOPE, [U1, A1, U2, A2, U3]).start == 0
    assert cache.plan("messages", SCOPE, [U2, A1, U2, A2, U3]).start == 2


def test_a_conversation_is_kept_once_however_long_it_gets() -> None:
    cache = HistoryCache(max_bytes=12)
    store(cache, U1, A1, U2, items=b"12345")
    store(cache, U1, A1, U2, A2, U3, items=b"123456789")
    assert cache.plan("messages", SCOPE, [U1, A1, U2, A2, U3, A1, U1]).start == 4


BODIES: dict[Wire, dict[str, object]] = {
    "messages": {
        "model": "m",
        "messages": [{"role": "user", "content": "new"}, {"role": "assistant", "content": "b"}],
        "system": "s",
    },
    "responses": {
        "input": [{"role": "user", "content": "new"}, {"type": "function_call", "name": "f"}],
        "stream": True,
    },
    "chat": {
        "messages": [
            {"role": "system", "content": "s"},
            {"role": "user", "content": "new"},
            {"role": "assistant", "content": "b"},
        ]
    },
    "gemini": {"contents": [{"role": "user"}, {"role": "model"}], "tools": []},
}
LAST: dict[Wire, dict[str, object]] = {
    "messages": {"role": "user", "content": "last"},
    "responses": {"type": "function_call_output", "output": "last"},
    "chat": {"role": "tool", "content": "last"},
    "gemini": {"role": "user", "parts": []},
}
FIELD = {"messages": "messages", "responses": "input", "chat": "messages", "gemini": "contents"}


@pytest.mark.parametrize("wire", BODIES)
def test_the_past_stands_before_the_new_messages_and_after_the_system_prompt(wire: Wire) -> None:
    body = json.loads(json.dumps(BODIES[wire]))
    body[FIELD[wire]].append(LAST[wire])
    whole, keep = splice_history(
        json.dumps(body).encode(), SendPlan(wire, cached=b'{"old":1},{"old":2}')
    )
    old = [{"old": 1}, {"old": 2}]
    lead = 1 if wire == "chat" else 0
    items = body[FIELD[wire]]
    assert json.loads(b"[" + keep + b"]") == [*old, *items[lead:-1]]
    body[FIELD[wire]] = [*items[:lead], *old, *items[lead:]]
    assert json.loads(whole) == body


def test_without_a_past_the_body_is_left_alone() -> None:
    body = json.dumps(BODIES["messages"]).encode()
    assert splice_history(body, SendPlan("messages"))[0] is body
