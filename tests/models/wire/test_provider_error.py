"""Errors of providers, in a response and within a stream."""

import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from sapwood.models.calls import failure_of
from sapwood.models.model_routes import resolve
from sapwood.models.wire.provider_error import error_in_stream, error_of_response

ROUTE = resolve("gpt-5")


def kind(status: int, body: object = None, **headers: str) -> str:
    raw = json.dumps(body).encode() if body is not None else b""
    return failure_of(error_of_response(status, headers, raw), ROUTE, ()).kind


@pytest.mark.parametrize(
    ("status", "wanted"),
    [
        (302, "refused"),
        (400, "refused"),
        (401, "bad_key"),
        (402, "refused"),
        (403, "bad_key"),
        (404, "no_model"),
        (408, "overloaded"),
        (413, "too_long"),
        (422, "refused"),
        (429, "overloaded"),
        (500, "overloaded"),
        (502, "overloaded"),
        (503, "overloaded"),
        (529, "overloaded"),
    ],
)
def test_a_status_alone_says_what_is_wrong(status: int, wanted: str) -> None:
    assert kind(status) == wanted


@pytest.mark.parametrize(
    ("status", "error", "wanted"),
    [
        (429, {"code": "insufficient_quota", "message": "No credit."}, "refused"),
        (400, {"code": "context_length_exceeded", "message": "Hm."}, "too_long"),
        (400, {"message": "prompt is too long: 300 tokens > 200 maximum"}, "too_long"),
        (400, {"code": "model_not_found", "message": "Hm."}, "no_model"),
        (
            400,
            {"status": "INVALID_ARGUMENT", "details": [{"reason": "API_KEY_INVALID"}]},
            "bad_key",
        ),
        (500, {"type": "overloaded_error", "message": "Overloaded"}, "overloaded"),
    ],
)
def test_the_provider_s_own_code_says_more(status: int, error: object, wanted: str) -> None:
    assert kind(status, {"error": error}) == wanted
    assert kind(status, [{"error": error}]) == wanted


@pytest.mark.parametrize(
    ("error", "wanted", "again"),
    [
        ({"type": "overloaded_error", "message": "Overloaded"}, "overloaded", True),
        ({"type": "rate_limit_error", "message": "Slow down"}, "overloaded", True),
        ({"code": 503, "message": "Unavailable", "status": "UNAVAILABLE"}, "overloaded", True),
        ({"code": "server_error", "message": "Sorry"}, "overloaded", True),
        ({"code": "context_length_exceeded", "message": "Hm."}, "too_long", False),
        ({"type": "something_new", "message": "Hm."}, "cut", True),
    ],
)
def test_an_error_within_a_stream_is_told_apart(error: object, wanted: str, again: bool) -> None:
    raw = json.dumps({"type": "error", "error": error}).encode()
    failure = failure_of(error_in_stream(raw), ROUTE, ())
    assert (failure.kind, failure.again) == (wanted, again)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "2"}, 1.5),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({}, None),
    ],
)
def test_the_delay_that_a_provider_asks_for(headers: dict[str, str], seconds: float | None) -> None:
    assert error_of_response(429, headers, b"").after == seconds


def test_the_delay_may_be_a_date() -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    after = error_of_response(429, {"retry-after": later}, b"").after
    assert after is not None
    assert 50 < after <= 60


def test_google_asks_for_a_delay_in_the_body() -> None:
    body = {"error": {"code": 429, "details": [{"@type": "RetryInfo", "retryDelay": "12s"}]}}
    assert error_of_response(429, {}, json.dumps(body).encode()).after == 12.0


def test_a_provider_may_ask_not_to_repeat() -> None:
    failure = failure_of(error_of_response(500, {"x-should-retry": "false"}, b""), ROUTE, ())
    assert not failure.again


@pytest.mark.parametrize("body", [b"", b"<html>", b"\xff\xfe", b"[]", b"3", b'{"error": null}'])
def test_a_body_of_any_form_is_an_error_with_words(body: bytes) -> None:
    failure = failure_of(error_of_response(400, {}, body), ROUTE, ())
    assert failure.kind == "refused"
    assert str(failure).startswith("OpenAI refused the request: ")


def test_deep_json_is_no_trouble() -> None:
    assert error_of_response(400, {}, b"[" * 100_000).status == 400
