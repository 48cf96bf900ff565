"""The server fails in every way in which providers fail."""

import json
import time
from http.client import HTTPConnection

import pytest

from http_client import (
    WIRE_NAMES,
    Got,
    ask,
    fetch,
    path_of,
    request_of,
    said,
    stream,
    streamed,
)
from scripted_model import Reply, ScriptedModel, call, fail

OVERLOADED = {"anthropic": 529, "responses": 503, "chat": 503, "gemini": 503}


def error_of(wire: str, got: Got) -> tuple[str | None, str]:
    """Returns the kind and the message of an error in the form of the provider."""
    error = got.json["error"]
    if wire == "anthropic":
        assert got.json["type"] == "error"
        assert got.json["request_id"].startswith("req_")
    kind = {"anthropic": "type", "gemini": "status"}.get(wire, "code")
    return error[kind], error["message"]


@pytest.mark.parametrize("wire", WIRE_NAMES)
def test_a_provider_is_overloaded_twice_and_then_answers(server: ScriptedModel, wire: str) -> None:
    prompt = "[[status: 529 x2]] [[say: at last]]"
    got = [ask(server, wire, prompt) for _ in range(3)]
    assert [each.status for each in got] == [OVERLOADED[wire], OVERLOADED[wire], 200]
    assert said(wire, got[2]) == "at last"
    assert got[0].headers["retry-after-ms"] == "10"
    assert server.rejections == []


def test_failures_are_counted_per_conversation(server: ScriptedModel) -> None:
    prompts = [f"{name} [[status: 500 x1]] [[say: ok]]" for name in "ab"]
    statuses = [[ask(server, "chat", prompt).status for prompt in prompts] for _ in range(2)]
    assert statuses == [[500, 500], [200, 200]]


@pytest.mark.parametrize(
    ("wire", "kind"),
    [
        ("anthropic", "rate_limit_error"),
        ("responses", "rate_limit_exceeded"),
        ("chat", "rate_limit_exceeded"),
        ("gemini", "RESOURCE_EXHAUSTED"),
    ],
)
def test_errors_have_a_retry_after(server: ScriptedModel, wire: str, kind: str) -> None:
    server.replies([fail(429, retry_after=7)])
    got = ask(server, wire, "hello")
    assert got.status == 429
    assert got.headers["retry-after"] == "7"
    assert error_of(wire, got)[0] == kind


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 500, 502, 504])
@pytest.mark.parametrize("wire", WIRE_NAMES)
def test_any_status_can_be_scripted(server: ScriptedModel, wire: str, status: int) -> None:
    got = stream(server, wire, f"[[status: {status}]]")
    assert got.status == status
    assert got.json["error"]["message"]


@pytest.mark.parametrize("wire", WIRE_NAMES)
@pytest.mark.parametrize("after", [1, 5, 16, 20])
def test_a_stream_is_cut_after_so_many_characters(
    server: ScriptedModel, wire: str, after: int
) -> None:
    text = "It is cold in Oslo today."
    got = stream(server, wire, f"[[cut: {after}]] [[say: {text}]]")
    assert got.broken
    assert streamed(wire, got) == text[:after]
    server.wait_for(1, answered=True)
    assert server.requests[0].outcome == "cut"


@pytest.mark.parametrize("wire", WIRE_NAMES)
@pytest.mark.parametrize(("after", "arrives"), [(0, ""), (1000, "It is cold.")])
def test_a_stream_is_cut_before_or_after_all_that_is_said(
    server: ScriptedModel, wire: str, after: int, arrives: str
) -> None:
    got = stream(server, wire, f"[[cut: {after}]] [[say: It is cold.]]")
    assert got.broken
    assert got.status == 200
    assert streamed(wire, got) == arrives
    ends = {"message_delta", "message_stop", "response.completed", "[DONE]"}
    assert not ends & set(got.names)


@pytest.mark.parametrize("wire", ["anthropic", "responses", "chat"])
def test_a_stream_is_cut_inside_a_call(server: ScriptedModel, wire: str) -> None:
    server.replies([Reply.of("Look: ", call("weather", city="Oslo"), cut=10)])
    got = stream(server, wire, "hello")
    assert got.broken
    assert '{\\"ci' in got.text
    assert "Oslo" not in got.text


@pytest.mark.parametrize("wire", WIRE_NAMES)
def test_a_cut_may_happen_only_once(server: ScriptedModel, wire: str) -> None:
    prompt = "[[cut: 3 x1]] [[say: It is cold.]]"
    assert stream(server, wire, prompt).broken
    again = stream(server, wire, prompt)
    assert not again.broken
    assert streamed(wire, again) == "It is cold."


@pytest.mark.parametrize("wire", WIRE_NAMES)
def test_an_answer_in_one_piece_can_be_cut_too(server: ScriptedModel, wire: str) -> None:
    got = ask(server, wire, "[[cut: 9]] [[say: It is cold.]]")
    assert got.broken
    assert len(got.text) == 9


@pytest.mark.parametrize("wire", WIRE_NAMES)
def test_a_provider_fails_inside_a_stream(server: ScriptedModel, wire: str) -> None:
    got = stream(server, wire, "[[status: 529 at 5]] [[say: It is cold.]]")
    assert (got.status, got.broken) == (200, False)
    assert streamed(wire, got) == "It is"
    name, data = got.events[-1]
    match wire:
        case "anthropic":
            assert (name, data["error"]["type"]) == ("error", "overloaded_error")
        case "responses":
            assert got.names[-2:] == ["error", "response.failed"]
            numbers = [event["sequence_number"] for _, event in got.events]
            assert numbers == sorted(set(numbers))
            assert data["response"]["id"] == got.events[0][1]["response"]["id"]
        case "chat":
            assert data["error"]["code"] == "server_is_overloaded"
        case _:
            assert data["error"]["status"] == "UNAVAILABLE"


@pytest.mark.parametrize("directive", ["sleep", "stall"])
def test_an_answer_can_be_slow(server: ScriptedModel, directive: str) -> None:
    for send in (ask, stream):
        began = time.monotonic()
        assert send(server, "anthropic", f"[[{directive}: 0.05]] [[say: x]]").status == 200
        assert time.monotonic() - began >= 0.05


def test_the_pieces_of_a_stream_can_be_small_and_slow() -> None:
    with ScriptedModel(piece=2, delay=0.001) as server:
        got = stream(server, "anthropic", "[[say: abcdefg]]")
        texts = [data["delta"]["text"] for _, data in got.events if "text" in data.get("delta", {})]
        assert texts == ["ab", "cd", "ef", "g"]


TOO_LONG = {
    "anthropic": "prompt is too long: {} tokens > 500 maximum",
    "responses": "Your input exceeds the context window of this model.",
    "chat": "This model's maximum context length is 500 tokens. However, your messages resulted "
    "in {} tokens.",
    "gemini": "The input token count ({}) exceeds the maximum number of tokens allowed (500).",
}


@pytest.mark.parametrize("wire", WIRE_NAMES)
def test_a_request_may_be_too_long(wire: str) -> None:
    with ScriptedModel(context_limit=500) as server:
        assert ask(server, wire, "x" * 1000).status == 200
        got = ask(server, wire, "[[usage: 700]] hello")
        assert got.status == 400
        assert TOO_LONG[wire].format(700) in error_of(wire, got)[1]
        assert server.rejections == []


def test_the_responses_api_says_too_long_inside_the_stream() -> None:
    with ScriptedModel(context_limit=500) as server:
        got = stream(server, "responses", "x" * 4000)
        assert got.status == 200
        assert got.names == [
            "response.created",
            "response.in_progress",
            "error",
            "response.failed",
        ]
        assert got.events[2][1]["error"]["code"] == "context_length_exceeded"
        failed = got.events[3][1]["response"]
        assert (failed["status"], failed["error"]["code"]) == ("failed", "context_length_exceeded")


def test_windows_can_differ_by_model() -> None:
    with ScriptedModel(context_limit={"gpt-5": 500}) as server:
        assert ask(server, "chat", "x" * 4000).status == 400
        assert ask(server, "anthropic", "x" * 4000).status == 200


@pytest.mark.parametrize(
    ("wire", "header", "status", "kind"),
    [
        ("anthropic", "x-api-key", 401, "authentication_error"),
        ("responses", "authorization", 401, "invalid_api_key"),
        ("chat", "authorization", 401, "invalid_api_key"),
        ("gemini", "x-goog-api-key", 400, "INVALID_ARGUMENT"),
    ],
)
def test_a_wrong_key_is_refused(wire: str, header: str, status: int, kind: str) -> None:
    with ScriptedModel(key="right") as server:
        prefix = "Bearer " if header == "authorization" else ""
        for key, expected in (("wrong", status), ("right", 200)):
            headers = {header: f"{prefix}{key}"}
            got = fetch(server, path_of(wire), request_of(wire, "hello"), headers)
            assert got.status == expected
            if key == "wrong":
                assert error_of(wire, got)[0] == kind
        assert ask(server, wire, "hello").status == status


@pytest.mark.parametrize(
    ("wire", "kind"),
    [
        ("anthropic", "not_found_error"),
        ("responses", "model_not_found"),
        ("chat", "model_not_found"),
        ("gemini", "NOT_FOUND"),
    ],
)
def test_an_unknown_model_is_not_found(wire: str, kind: str) -> None:
    with ScriptedModel(models=["known"]) as server:
        got = ask(server, wire, "hello")
        assert got.status == 404
        assert error_of(wire, got)[0] == kind
        assert ask(server, "chat", "hello", model="known").status == 200


ENDS_OF_TOKENS = {
    "anthropic": '"stop_reason":"max_tokens"',
    "responses": "response.incomplete",
    "chat": '"finish_reason":"length"',
    "gemini": '"finishReason":"MAX_TOKENS"',
}


@pytest.mark.parametrize("wire", WIRE_NAMES)
def test_a_reply_may_run_out_of_tokens(server: ScriptedModel, wire: str) -> None:
    server.replies([Reply.of("It is cold.", limit=5)])
    got = stream(server, wire, "hello")
    assert not got.broken
    assert streamed(wire, got) == "It is"
    assert ENDS_OF_TOKENS[wire] in got.text


@pytest.mark.parametrize("wire", WIRE_NAMES)
def test_a_call_that_runs_out_of_tokens_ends_in_the_middle_or_is_not_made(
    server: ScriptedModel, wire: str
) -> None:
    server.replies([Reply.of("Look: ", call("weather", city="Oslo"), limit=10)])
    got = stream(server, wire, "hello")
    assert ENDS_OF_TOKENS[wire] in got.text
    assert "Oslo" not in got.text
    assert ("weather" in got.text) == (wire != "gemini")


@pytest.mark.parametrize(
    "slow",
    [Reply.of("It is cold.", sleep=30), Reply.of("It is cold.", stall=30)],
    ids=["", "piece"],
)
def test_a_client_that_disconnects_is_noticed_at_once(server: ScriptedModel, slow: Reply) -> None:
    server.replies([slow])
    body = json.dumps(request_of("chat", "hello", stream=True)).encode()
    connection = HTTPConnection("127.0.0.1", int(server.url.rpartition(":")[2]), timeout=30)
    connection.request("POST", path_of("chat"), body, {"content-type": "application/json"})
    server.wait_for(1)
    connection.close()
    server.wait_for(1, answered=True)
    assert server.requests[0].outcome == "abandoned"
