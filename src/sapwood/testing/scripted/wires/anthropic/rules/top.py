"""The request as a whole: fields, required ones, their types. `system` belongs here."""

from collections.abc import Iterator

from sapwood.testing.scripted.jsontree import Json, is_integer, is_object, object_at, text_at
from sapwood.testing.scripted.wires.anthropic.fields import NESTED, TOP, TOP_BETA, TOP_COUNT
from sapwood.testing.scripted.wires.wire import Post, Violation

__all__ = ["has_beta", "top_violations"]

_TYPES: dict[str, tuple[type, str]] = {
    "model": (str, "string"),
    "messages": (list, "list"),
    "tools": (list, "list"),
    "stop_sequences": (list, "list"),
    "stream": (bool, "boolean"),
    "metadata": (dict, "dictionary"),
    "thinking": (dict, "dictionary"),
    "tool_choice": (dict, "dictionary"),
}


def has_beta(post: Post) -> bool:
    """Did the client ask for features in beta?"""
    return bool(post.headers.get("anthropic-beta"))


def top_violations(post: Post) -> Iterator[Violation]:
    """What is wrong at the top level."""
    if not post.headers.get("anthropic-version"):
        yield Violation("anthropic-version: header is required")
    yield from _field_violations(post)
    for name, (kind, said) in _TYPES.items():
        value = post.body.get(name)
        if value is not None and not isinstance(value, kind):
            yield Violation(f"{name}: Input should be a valid {said}")
    for name, form in NESTED.items():
        if (unknown := form.unknown(object_at(post.body, name))) is not None:
            yield Violation(f"{name}.{unknown}: Extra inputs are not permitted")
    if post.action == "reply":
        yield from _limit_violations(post.body.get("max_tokens"))
    if not post.body.get("messages"):
        yield Violation("messages: at least one message is required")
    yield from _system_violations(post.body.get("system"))
    yield from _temperature_violations(post)


def _field_violations(post: Post) -> Iterator[Violation]:
    form = TOP if post.action == "reply" else TOP_COUNT
    beta = TOP_BETA if has_beta(post) else frozenset[str]()
    allowed = form.allowed | post.allowed | beta
    for name in form.required:
        if name not in post.body:
            yield Violation(f"{name}: Field required")
    for name in post.body:
        if name not in allowed:
            yield Violation(f"{name}: Extra inputs are not permitted")


def _limit_violations(limit: Json) -> Iterator[Violation]:
    if not is_integer(limit):
        yield Violation("max_tokens: Input should be a valid integer")
    elif limit < 0:
        yield Violation("max_tokens: Input should be greater than or equal to 0")


def _system_violations(system: Json) -> Iterator[Violation]:
    if system is None or isinstance(system, str):
        return
    if not isinstance(system, list):
        yield Violation("system: Input should be a valid list")
        return
    for index, block in enumerate(system):
        if not is_object(block) or block.get("type") != "text":
            yield Violation(f"system.{index}.type: Input should be 'text'")
        elif not text_at(block, "text"):
            yield Violation("system: text content blocks must be non-empty")


def _temperature_violations(post: Post) -> Iterator[Violation]:
    temperature = post.body.get("temperature")
    if temperature is None:
        return
    if not isinstance(temperature, (int, float)) or not 0 <= temperature <= 1:
        yield Violation("temperature: range: 0..1")
    elif temperature != 1 and object_at(post.body, "thinking").get("type") == "enabled":
        yield Violation("`temperature` may only be set to 1 when thinking is enabled.")
