"""Thought signatures come back as they were given, and from Gemini 3 on they must."""

from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator

from sapwood.testing.scripted.jsontree import JsonObject, object_at, objects_at, text_at
from sapwood.testing.scripted.signing import unseal
from sapwood.testing.scripted.wires.gemini.models import signs_calls
from sapwood.testing.scripted.wires.wire import Post, Violation

__all__ = ["signature_violations"]

# What Google lets a client send for calls that another model made.
_STAND_INS = frozenset({"skip_thought_signature_validator", "context_engineering_is_the_way_to_go"})


def signature_violations(post: Post) -> Iterator[Violation]:
    """What is wrong with signatures."""
    contents = objects_at(post.body, "contents")
    for content in contents:
        for part in objects_at(content, "parts"):
            signature = text_at(part, "thoughtSignature")
            if signature and not _is_valid(signature):
                yield Violation("Corrupted thought signature.")
    if signs_calls(post.model):
        yield from _missing_violations(contents)


def _is_valid(signature: str) -> bool:
    return (
        signature in _STAND_INS
        or unseal("google", signature) is not None
        or any(_is_encoded(signature, stand_in) for stand_in in _STAND_INS)
    )


def _is_encoded(signature: str, stand_in: str) -> bool:
    """Libraries that hold signatures as bytes send a stand-in in base 64."""
    data = stand_in.encode()
    return signature in (b64encode(data).decode(), urlsafe_b64encode(data).decode())


def _missing_violations(contents: list[JsonObject]) -> Iterator[Violation]:
    """The first call of each step since the user last spoke carries a signature."""
    for index in range(len(contents) - 1, -1, -1):
        parts = objects_at(contents[index], "parts")
        if text_at(contents[index], "role") != "model":
            if any("functionResponse" not in part for part in parts):
                return
            continue
        call = next((part for part in parts if "functionCall" in part), None)
        if call is not None and not text_at(call, "thoughtSignature"):
            name = text_at(object_at(call, "functionCall"), "name")
            yield Violation(
                "Function call is missing a thought_signature in functionCall parts. This is "
                "required for tools to work correctly, and missing thought_signature may lead to "
                f"degraded model performance. Additional data, function call `default_api:{name}` "
                f", position {index + 1}."
            )
