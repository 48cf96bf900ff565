"""The order of contents, and that every function call is answered by the next content."""

from collections.abc import Iterator
from itertools import zip_longest

from sapwood.testing.scripted.jsontree import JsonObject, object_at, objects_at, text_at
from sapwood.testing.scripted.wires.wire import Post, Violation

__all__ = ["turn_violations"]

_CALL = "Please ensure that function call turn comes immediately after"
_RESPONSE = "Please ensure that function response turn comes immediately after"
_NUMBER = "Please ensure that the number of function response parts is equal to the number of"


def turn_violations(post: Post) -> Iterator[Violation]:
    """What is wrong with the order of contents, or between calls and responses."""
    contents = objects_at(post.body, "contents")
    if not contents:
        return
    for before, content in zip([None, *contents], contents, strict=False):
        calls = _named(content, "functionCall")
        if calls and (before is None or _role(before) != "user"):
            yield Violation(f"{_CALL} a user turn or after a function response turn.")
        yield from _response_violations(content, before)
    yield from _open_violations(contents)
    if _role(contents[0]) != "user":
        yield Violation("Please ensure that multiturn requests alternate between user and model.")
    if _role(contents[-1]) != "user" and post.action == "reply":
        yield Violation(
            "Please ensure that multiturn requests end with a user role or a function response."
        )


def _response_violations(content: JsonObject, before: JsonObject | None) -> Iterator[Violation]:
    responses = _named(content, "functionResponse")
    if not responses:
        return
    calls = _named(before, "functionCall") if before else []
    if not calls:
        yield Violation(f"{_RESPONSE} a function call turn.")
    elif sorted(_names(calls)) != sorted(_names(responses)):
        yield Violation(f"{_NUMBER} function call parts of the function call turn.")
    known = {text_at(call, "id") for call in calls if "id" in call}
    for response in responses:
        if known and "id" in response and text_at(response, "id") not in known:
            yield Violation(
                f"Function response id '{text_at(response, 'id')}' matches no function call of "
                "the function call turn."
            )


def _open_violations(contents: list[JsonObject]) -> Iterator[Violation]:
    """Calls that no response follows."""
    for content, after in zip_longest(contents, contents[1:]):
        if _named(content, "functionCall") and not (after and _named(after, "functionResponse")):
            yield Violation(f"{_NUMBER} function call parts of the function call turn.")


def _role(content: JsonObject) -> str:
    return text_at(content, "role") or "user"


def _named(content: JsonObject, kind: str) -> list[JsonObject]:
    return [object_at(part, kind) for part in objects_at(content, "parts") if kind in part]


def _names(calls: list[JsonObject]) -> list[str]:
    return [text_at(call, "name") for call in calls]
