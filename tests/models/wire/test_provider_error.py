"""Errors of providers, in a response and within a stream."""

import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from sapwood.core.model_calls import Failure
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
    "words",
    [
        "prompt is too long: 300 tokens > 200 maximum",
        "Input is too long for requested model.",
        "Request too large for gpt-5 in organization org-1",
        "The request you sent is too large.",
        "Your input exceeds the context window of this model.",
        "This model's maximum context length is 8192 tokens. However, you requested 9000.",
        "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        "Input tokens exceed the configured limit of 272000 tokens.",
        "Prompt contains 300 tokens and 0 draft tokens, too large for model with 200 maximum "
        "context length",
        "the request exceeds the available context size, try increasing it",
        "exceed_context_size_error",
        "request_too_large",
        "max_tokens is too large: 1000. This model's maximum context length is 4096 tokens and "
        "your request has 3950 input tokens.",
        "'max_tokens' or 'max_completion_tokens' is too large: 1000. This model's maximum context "
        "length is 4096 tokens and your request has 3950 input tokens.",
    ],
)
def test_a_context_that_is_too_long_is_told_by_its_words(words: str) -> None:
    assert kind(400, {"error": {"message": words}}) == "too_long"


@pytest.mark.parametrize(
    "words",
    [
        "max_tokens is too large: 200000. This model supports at most 16384 completion tokens, "
        "whereas you provided 200000.",
        "max_completion_tokens: 200000 exceeds the 64000 output tokens of this model",
        "`max_output_tokens` is too large: 200000 tokens exceeds 64000.",
        "Invalid 'tools[0].function.name': string too long. Expected a string with maximum length "
        "64, but got a string with length 80 instead.",
        "Invalid 'input[3].id': string too long. Expected a string with maximum length 64.",
        "The image is too large: it may have 20 MB.",
        "Input image is too large.",
        "messages.1.content.0.image: the file is too large",
    ],
)
def test_another_limit_is_no_context_that_is_too_long(words: str) -> None:
    assert kind(400, {"error": {"message": words}}) == "refused"


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
    "code",
    [
        "invalid_prompt",
        "bio_policy",
        "misalignment_policy_violation",
        "image_too_large",
        "failed_to_download_image",
    ],
)
def test_a_response_that_failed_for_its_request_is_refused_with_the_reason(code: str) -> None:
    raw = json.dumps({"code": code, "message": "The image is too large for this model."}).encode()
    failure = failure_of(error_in_stream(raw), ROUTE, ())
    assert (failure.kind, failure.again) == ("refused", False)
    assert "The image is too large" in str(failure)


def test_one_request_that_exceeds_a_limit_by_itself_is_too_long() -> None:
    words = (
        "Request too large for gpt-5 in organization org-1 on tokens per min (TPM): Limit 30000, "
        "Requested 60000. The input or output tokens must be reduced in order to run successfully."
    )
    body = {"error": {"type": "tokens", "code": "rate_limit_exceeded", "message": words}}
    raw = json.dumps(body).encode()
    for error in (error_of_response(429, {"retry-after": "1"}, raw), error_in_stream(raw)):
        failure = failure_of(error, ROUTE, ())
        assert (failure.kind, failure.again) == ("too_long", False)


QUOTA = "You exceeded your current quota, please check your plan. For more see https://ai.dev. "


def quota(*ids: str, words: str = QUOTA) -> Failure:
    violations = [{"quotaMetric": "requests", "quotaId": id} for id in ids]
    details = [
        {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": violations},
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "17s"},
    ]
    error = {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": words, "details": details}
    raw = json.dumps({"error": error}).encode()
    return failure_of(error_of_response(429, {}, raw), resolve("gemini-3.8-flash"), ())


def test_a_quota_of_a_day_is_not_tried_again() -> None:
    minute = "GenerateContentInputTokensPerModelPerMinute-FreeTier"
    day = quota(minute, "GenerateRequestsPerDayPerProjectPerModel-FreeTier")
    assert (day.kind, day.again, day.after) == ("overloaded", False, None)
    assert "You exceeded your current quota" in str(day)
    soon = quota(minute)
    assert (soon.kind, soon.again, soon.after) == ("overloaded", True, 17.0)


def test_a_model_that_is_not_in_the_plan_is_not_tried_again() -> None:
    none = quota(words=f"{QUOTA * 4}\n* Quota exceeded for metric: requests, limit: 0, model: pro")
    assert (none.kind, none.again, none.after) == ("overloaded", False, None)
    some = quota(words=f"{QUOTA}\n* Quota exceeded for metric: requests, limit: 0.5, model: pro")
    assert some.again


def test_a_rate_limit_says_what_the_provider_said() -> None:
    body = json.dumps({"error": {"message": "Rate limit reached: Limit 3, Used 3."}}).encode()
    failure = failure_of(error_of_response(429, {"retry-after": "7"}, body), ROUTE, ())
    assert str(failure) == (
        "OpenAI is rate limiting requests: Rate limit reached: Limit 3, Used 3. Try again in 7 s."
    )
    assert str(failure_of(error_of_response(429, {}, b""), ROUTE, ())) == (
        "OpenAI is rate limiting requests. Try again later."
    )


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "2"}, 1.5),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "1763600000000"}, None),
        ({"retry-after": "9" * 400}, None),
        ({"retry-after-ms": "9" * 400}, None),
        ({"retry-after": "Fri, 31 Dec 9999 23:59:59 -1200"}, None),
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


@pytest.mark.parametrize("code", ["\u00b2\u00b2\u00b2", "4" * 5_000, "1e3"])
def test_an_odd_code_in_a_stream_is_no_status(code: str) -> None:
    body = json.dumps({"error": {"code": code, "message": "Hm."}}).encode()
    assert error_in_stream(body).status == 0
