"""The error that a provider reported, the same for all wire formats."""

import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from time import time
from typing import cast

import msgspec

_MESSAGE_FIELDS = ("error", "message", "detail")
_CODE_FIELDS = ("code", "type", "status")
_MAX_DELAY = 366 * 24 * 3600.0
"""Seconds. What asks for more is no delay: some gateways send a moment."""
_DELAY = re.compile(r"(\d+(?:\.\d+)?)s")
_REFUSED_BY_OPENAI = """invalid_prompt data_residency_mismatch bio_policy
    misalignment_policy_violation invalid_image invalid_image_format invalid_base64_image
    invalid_image_url invalid_image_mode image_too_large image_too_small image_parse_error
    image_content_policy_violation image_file_too_large image_file_not_found empty_image_file
    unsupported_image_media_type failed_to_download_image""".split()
"""The codes of a response that failed because of its request."""
_STATUS: Mapping[str, int] = {
    # Anthropic
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
    # OpenAI and servers that speak its formats
    "context_length_exceeded": 400,
    "invalid_api_key": 401,
    "model_not_found": 404,
    "rate_limit_exceeded": 429,
    "too_many_requests": 429,
    "insufficient_quota": 429,
    "server_error": 500,
    "service_unavailable": 503,
    "server_is_overloaded": 503,
    "overloaded": 503,
    "vector_store_timeout": 504,
    **dict.fromkeys(_REFUSED_BY_OPENAI, 400),
}
"""The HTTP status that a provider uses for an error, for errors that come within a stream."""


class ProviderError(Exception):
    """A provider refused a call or ended it early.

    `status` is 0 if the error came within a stream and has no known code. `codes` are the
    provider's names for the error. `again` is False if the provider asks not to repeat the call.
    """

    def __init__(
        self,
        status: int,
        codes: frozenset[str],
        words: str,
        *,
        after: float | None = None,
        again: bool = True,
        in_stream: bool = False,
    ) -> None:
        super().__init__(words)
        self.status = status
        self.codes = codes
        self.words = words
        self.after = after
        self.again = again
        self.in_stream = in_stream


class UnreadableReply(Exception):
    """A provider sent an event that is not JSON, or not of the documented form."""


def error_of_response(status: int, headers: Mapping[str, str], body: bytes) -> ProviderError:
    """The error of a response that is not an event stream."""
    try:
        tree = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        tree = body.decode(errors="replace")
    return ProviderError(
        status,
        frozenset(_codes(tree)),
        _message(tree),
        after=_asked_delay(headers, tree),
        again=headers.get("x-should-retry") != "false",
    )


def error_in_stream(data: bytes) -> ProviderError:
    """The error that an event of a stream holds."""
    tree = msgspec.json.decode(data)
    codes = frozenset(_codes(tree))
    numbers = [int(code) for code in codes if re.fullmatch("[45][0-9]{2}", code)]
    known = [_STATUS[code] for code in codes if code in _STATUS]
    status = next(iter([*numbers, *known]), 0)
    return ProviderError(
        status, codes, _message(tree), after=_asked_delay({}, tree), in_stream=True
    )


def _fields(tree: object) -> dict[str, object]:
    if isinstance(tree, list):
        items = cast("list[object]", tree)
        return _fields(items[0]) if items else {}
    return cast("dict[str, object]", tree) if isinstance(tree, dict) else {}


def _message(tree: object) -> str:
    """The message in an error body, wherever the provider put it."""
    if isinstance(tree, str):
        return tree
    fields = _fields(tree)
    return next((_message(fields[key]) for key in _MESSAGE_FIELDS if fields.get(key)), "")


def _codes(tree: object) -> set[str]:
    """The provider's names for the error, and the reasons and quotas that Google adds."""
    fields = _fields(tree)
    error = _fields(fields.get("error")) or fields
    codes = {str(error[key]) for key in _CODE_FIELDS if isinstance(error.get(key), str | int)}
    details = _items(error, "details")
    reasons = (_fields(each).get("reason") for each in details)
    violations = (found for each in details for found in _items(_fields(each), "violations"))
    quotas = (_fields(each).get("quotaId") for each in violations)
    ours = _fields(error.get("details")).get("error_code")  # Anthropic
    return codes | {name for name in (*reasons, *quotas, ours) if isinstance(name, str)}


def _items(fields: dict[str, object], name: str) -> list[object]:
    items = fields.get(name)
    return cast("list[object]", items) if isinstance(items, list) else []


def _asked_delay(headers: Mapping[str, str], tree: object) -> float | None:
    """How many seconds the provider asks to wait; None if it asks for none that is sensible."""
    delay = _sent_delay(headers, tree)
    return delay if delay is not None and delay <= _MAX_DELAY else None


def _sent_delay(headers: Mapping[str, str], tree: object) -> float | None:
    error = _fields(_fields(tree).get("error"))
    delays = [_fields(each).get("retryDelay") for each in _items(error, "details")]
    for text, unit in (
        (headers.get("retry-after-ms", ""), 0.001),
        (headers.get("retry-after", ""), 1.0),
        *((delay[:-1], 1.0) for delay in delays if isinstance(delay, str) and _DELAY.match(delay)),
    ):
        if re.fullmatch(r"\d+(\.\d+)?", text.strip()):
            return float(text) * unit
    return _until(headers.get("retry-after", ""))


def _until(date: str) -> float | None:
    try:
        return max(0.0, parsedate_to_datetime(date).timestamp() - time())
    except (ValueError, TypeError, OverflowError):
        return None
