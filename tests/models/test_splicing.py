"""A history that was sent goes out again as the same bytes, and only then."""

import json

import pytest

from sapwood.core.content import Text
from sapwood.core.view import Message
from sapwood.models.names import Wire
from sapwood.models.splicing import Histories, Plan, spliced

U1, U2, U3 = (Message("user", (Text(text),)) for text in ("1", "3", "5"))
A1, A2 = (Message("assistant", (Text(text),)) for text in ("2", "4"))
SCOPE = b"claude"


def kept(histories: Histories, *messages: Message, items: bytes = b"past") -> None:
    histories.keep(histories.plan("messages", SCOPE, messages), items)


def test_the_first_call_converts_everything() -> None:
    plan = Histories().plan("messages", SCOPE, [U1, A1, U2])
    assert (plan.start, plan.past) == (0, b"")


def test_the_next_call_converts_from_the_users_last_message_on() -> None:
    histories = Histories()
    kept(histories, U1, A1, U2)
    plan = histories.plan("messages", SCOPE, [U1, A1, U2, A2, U3])
    assert (plan.start, plan.past) == (2, b"past")


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
    histories = Histories()
    kept(histories, U1, A1, U2)
    assert histories.plan("messages", scope, messages).start == 0


def test_a_forgotten_history_is_converted_anew() -> None:
    histories = Histories(most=5)
    kept(histories, U1, A1, U2, items=b"first")
    kept(histories, U2, A1, U2, items=b"other")
    assert histories.plan("messages", SCOPE, [U1, A1, U2, A2, U3]).start == 0
    assert histories.plan("messages", SCOPE, [U2, A1, U2, A2, U3]).start == 2


def test_a_conversation_is_kept_once_however_long_it_gets() -> None:
    histories = Histories(most=12)
    kept(histories, U1, A1, U2, items=b"12345")
    kept(histories, U1, A1, U2, A2, U3, items=b"123456789")
    assert histories.plan("messages", SCOPE, [U1, A1, U2, A2, U3, A1, U1]).start == 4


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
    whole, keep = spliced(json.dumps(body).encode(), Plan(wire, past=b'{"old":1},{"old":2}'))
    old = [{"old": 1}, {"old": 2}]
    lead = 1 if wire == "chat" else 0
    items = body[FIELD[wire]]
    assert json.loads(b"[" + keep + b"]") == [*old, *items[lead:-1]]
    body[FIELD[wire]] = [*items[:lead], *old, *items[lead:]]
    assert json.loads(whole) == body


def test_without_a_past_the_body_is_left_alone() -> None:
    body = json.dumps(BODIES["messages"]).encode()
    assert spliced(body, Plan("messages"))[0] is body
