"""The benchmark of law 7 notices a request that changes earlier bytes."""

import json

import pytest

from bench.prefix import Sent

BODY = {"model": "m", "system": "Be brief.", "messages": [{"role": "user", "content": "a"}]}
MORE = [{"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}]


def sent(body: object, **form: object) -> Sent:
    return Sent.of(json.dumps(body, **form).encode())  # pyright: ignore[reportArgumentType]  # of json.dumps


def test_a_request_that_goes_on_extends_the_one_before_it() -> None:
    assert sent({**BODY, "messages": [*BODY["messages"], *MORE]}).extends(sent(BODY))


@pytest.mark.parametrize(
    "later",
    [
        {**BODY, "messages": []},
        {**BODY, "messages": [{"role": "user", "content": "A"}, *MORE]},
        {**BODY, "messages": [{"content": "a", "role": "user"}, *MORE]},
        {**BODY, "system": "Be long."},
        {**BODY, "tools": []},
    ],
    ids=["shorter", "other words", "another order", "another system prompt", "another field"],
)
def test_one_that_changes_a_byte_of_the_past_does_not(later: object) -> None:
    assert not sent(later).extends(sent(BODY))


def test_a_space_is_a_byte() -> None:
    assert not sent(BODY, indent=1).extends(sent(BODY))
