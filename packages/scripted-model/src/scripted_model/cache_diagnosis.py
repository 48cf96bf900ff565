"""Says why the cache could not serve a request: compares it with an earlier one, by its id."""

import hashlib
from collections.abc import Sequence
from itertools import islice, zip_longest

from msgspec import Struct

from scripted_model.json_values import Json, JsonObject, encode, object_at, objects_at, text_at
from scripted_model.usage import tokens
from scripted_model.wires.anthropic.preserved_thinking import blocks_of, without_cache_control
from scripted_model.wires.wire import Post

_MAX_KEPT = 10_000
_NAME = 22  # hexadecimal digits of a reply's name that its id has in every wire format


class _Fingerprint(Struct, frozen=True):
    """The settings of a request with the reason that a change of each is, then its messages."""

    settings: Sequence[tuple[str, bytes]]
    items: Sequence[tuple[int, bytes]]
    item_reason: str

    @property
    def size(self) -> int:
        return sum(size for size, _ in self.items)


class CacheDiagnosis:
    """Remembers requests. The number of requests is limited."""

    def __init__(self) -> None:
        self._known: dict[str, _Fingerprint] = {}

    def clear(self) -> None:
        """Forgets all requests."""
        self._known.clear()

    def report(self, wire: str, post: Post, name: str) -> JsonObject:
        """The field of the response, if the request asks for it. `name` is that of the reply."""
        made = _FINGERPRINTS.get(wire)
        if made is None or (wire == "anthropic" and "diagnostics" not in post.body):
            return {}
        new = made(post.body)
        if len(self._known) >= _MAX_KEPT:
            for old in list(islice(self._known, _MAX_KEPT // 2)):
                del self._known[old]
        self._known[name[:_NAME]] = new
        if wire == "anthropic":
            return {"diagnostics": self._of_anthropic(post.body, new)}
        asked = object_at(post.body, "prompt_cache_options")
        if asked.get("comparison_response_id") is None:
            return {}
        return {"prompt_cache_diagnostics": self._of_openai(asked, new)}

    def _of_anthropic(self, body: JsonObject, new: _Fingerprint) -> Json:
        asked = text_at(object_at(body, "diagnostics"), "previous_message_id")
        if not asked:
            return None
        old = self._known.get(asked.removeprefix("msg_01"))
        if old is None:
            return {"cache_miss_reason": {"type": "previous_message_not_found"}}
        reason, missed = _difference(old, new)
        if not reason:
            return None
        size: JsonObject = {} if reason == "unavailable" else {"cache_missed_input_tokens": missed}
        return {"cache_miss_reason": {"type": reason, **size}}

    def _of_openai(self, asked: JsonObject, new: _Fingerprint) -> JsonObject:
        name = text_at(asked, "comparison_response_id").removeprefix("resp_")
        old = self._known.get(name[:_NAME])
        if old is None:
            return {"type": "comparison_response_not_found"}
        reason, missed = _difference(old, new)
        if not reason:
            return {"type": "cache_hit"}
        return {
            "type": "cache_miss",
            "reason": reason,
            "cache_missed_tokens": missed,
            "comparison_reusable_tokens": old.size,
        }


def _difference(old: _Fingerprint, new: _Fingerprint) -> tuple[str, int]:
    """The first difference and the tokens after it; an empty reason if there is none."""
    for (reason, before), (_, now) in zip(old.settings, new.settings, strict=True):
        if before != now:
            return reason, old.size
    left = old.size
    for before, now in zip_longest(old.items, new.items):
        if before is None:
            break
        if before != now:
            return old.item_reason, left
        left -= before[0]
    return "", 0


def _of_messages(body: JsonObject) -> _Fingerprint:
    system: list[Json] = [without_cache_control(each) for each in blocks_of(body.get("system"))]
    tools: list[Json] = [without_cache_control(each) for each in objects_at(body, "tools")]
    settings: tuple[tuple[str, Json], ...] = (
        ("model_changed", [body.get("model"), body.get("speed")]),
        ("system_changed", system),
        ("tools_changed", tools),
        ("unavailable", [body.get("thinking"), body.get("tool_choice")]),
    )
    said: list[Json] = [
        [message.get("role"), *map(without_cache_control, blocks_of(message.get("content")))]
        for message in objects_at(body, "messages")
    ]
    return _fingerprint(settings, said, "messages_changed")


def _of_responses(body: JsonObject) -> _Fingerprint:
    text = object_at(body, "text")
    settings: tuple[tuple[str, Json], ...] = (
        ("model_changed", body.get("model")),
        ("prompt_cache_key_changed", body.get("prompt_cache_key")),
        ("service_tier_changed", body.get("service_tier")),
        ("tools_changed", body.get("tools")),
        ("text_format_changed", text.get("format")),
        ("reasoning_effort_changed", object_at(body, "reasoning").get("effort")),
        ("verbosity_changed", text.get("verbosity")),
        ("input_changed", body.get("instructions")),
    )
    given = body.get("input")
    said = [given] if isinstance(given, str) else objects_at(body, "input")
    return _fingerprint(settings, said, "input_changed")


_FINGERPRINTS = {"anthropic": _of_messages, "responses": _of_responses}


def _fingerprint(
    settings: Sequence[tuple[str, Json]], items: Sequence[Json], reason: str
) -> _Fingerprint:
    said = [encode(item) for item in items]
    return _Fingerprint(
        [(name, _hash(encode(value))) for name, value in settings],
        [(tokens(len(data)), _hash(data)) for data in said],
        reason,
    )


def _hash(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=12).digest()
