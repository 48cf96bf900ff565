"""Preserved thinking and compaction on demand: what signatures bind to, what is dropped. Pure.

A thinking block of the newer models is valid only after the conversation that it was made in: the
system prompt, the tools and all messages before it. Its signature holds a hash of them. A summary
that the API wrote itself holds the hash of the messages that it stands for, so thinking after it
stays valid.
"""

import hashlib
import re
from collections.abc import Iterator

from msgspec import Struct

from scripted_model.json_values import (
    Json,
    JsonObject,
    encode,
    object_at,
    objects,
    objects_at,
    text_at,
)
from scripted_model.signatures import sign_text, signed_text
from scripted_model.wires.wire import Post

BINDING_BETA = "thinking-binding-controls-2026-08-01"
COMPACTION_BETA = "compact-2026-09-04"
_BINDS = re.compile(r"claude-(?:(?:fable|mythos)-5-[1-9]|(?:opus|sonnet|haiku)-5-5)")
_BORDER = "\x1f"
_THOUGHTS = ("thinking", "redacted_thinking")


class Mismatch(Struct, frozen=True):
    """A thinking block that fails a check: its place in the request, and which check."""

    path: str
    reason: str


def has(post: Post, beta: str) -> bool:
    """Whether the client asked for this beta feature."""
    return beta in post.headers.get("anthropic-beta", "").replace(" ", "").split(",")


def sign_thinking(body: JsonObject, text: str) -> str:
    """The signature of thinking in the reply to this request."""
    bound = _Chain(body).last if _BINDS.match(text_at(body, "model")) else ""
    return sign_text("anthropic", f"{text}{_BORDER}{bound}" if bound else text)


def signed_thinking(signature: str) -> tuple[str, str] | None:
    """The text of a signature and what it is bound to, or `None` if it is not from here."""
    signed = signed_text("anthropic", signature)
    if signed is None:
        return None
    text, _, bound = signed.partition(_BORDER)
    return text, bound


def sign_summary(body: JsonObject, text: str) -> str:
    """The signature of the summary of this conversation."""
    chain = _Chain(body)
    bound = f"{chain.front}{_BORDER}{chain.last}" if _BINDS.match(text_at(body, "model")) else ""
    return sign_text("anthropic", f"{text}{_BORDER}{bound}")


def signed_summary(signature: str) -> str | None:
    """The summary that a signature is of, or `None` if it is not from here."""
    signed = signed_text("anthropic", signature)
    return None if signed is None or _BORDER not in signed else signed.split(_BORDER)[0]


def mismatches(body: JsonObject) -> Iterator[Mismatch]:
    """Yields the thinking blocks that the model may not read here."""
    binds = bool(_BINDS.match(text_at(body, "model")))
    chain = _Chain(body)
    for index, message in enumerate(objects_at(body, "messages")):
        for place, block in enumerate(objects_at(message, "content")):
            if block.get("type") not in _THOUGHTS:
                continue
            read = signed_thinking(text_at(block, "signature") or text_at(block, "data"))
            bound = read[1] if read else ""
            path = f"messages.{index}.content.{place}"
            if bound and not binds:
                yield Mismatch(path, "model_binding_mismatch")
            elif bound and bound != chain.before[index]:
                yield Mismatch(path, "prefix_binding_mismatch")


def transformations(post: Post) -> JsonObject:
    """The field of the response that lists blocks which were dropped, or kept all the same."""
    if not has(post, BINDING_BETA):
        return {}
    binding = object_at(object_at(post.body, "thinking"), "block_binding")
    drops = binding.get("prefix_mismatch_behavior") == "drop_block"
    entries: list[Json] = [
        {
            "type": "thinking_dropped"
            if drops or each.reason == "model_binding_mismatch"
            else "thinking_mismatch_allowed",
            "path": each.path,
            "reason": each.reason,
        }
        for each in mismatches(post.body)
    ]
    return {"input_transformations": entries}


def blocks_of(content: Json) -> list[JsonObject]:
    """Returns the blocks of a content. A string is the short form of one text block."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return objects(content)


def without_cache_control(block: JsonObject) -> JsonObject:
    """Returns the block without breakpoints: moving one does not change the text."""
    bare = {name: value for name, value in block.items() if name != "cache_control"}
    if isinstance(bare.get("content"), list):
        bare["content"] = [without_cache_control(inner) for inner in objects(bare["content"])]
    return bare


class _Chain:
    """Hashes of a conversation: `before` each of its messages, and after the `last`.

    `front` is that of the system prompt and the tools.
    """

    def __init__(self, body: JsonObject) -> None:
        fixed: list[Json] = [
            *(without_cache_control(block) for block in blocks_of(body.get("system"))),
            *(without_cache_control(tool) for tool in objects_at(body, "tools")),
        ]
        self.front = self.last = _hash("", fixed)
        self.before: list[str] = []
        for index, message in enumerate(objects_at(body, "messages")):
            blocks = blocks_of(message.get("content"))
            if index == 0 and blocks and blocks[0].get("type") == "compaction":
                self.last = self._after_summary(blocks.pop(0))
            self.before.append(self.last)
            if blocks:
                said: list[Json] = [without_cache_control(block) for block in blocks]
                self.last = _hash(self.last, [message.get("role"), *said])

    def _after_summary(self, block: JsonObject) -> str:
        signed = signed_text("anthropic", text_at(block, "signature")) or ""
        parts = signed.split(_BORDER)
        if len(parts) == 3 and parts[1] == self.front:
            return parts[2]
        return _hash(self.front, [block.get("content")])


def _hash(before: str, said: list[Json]) -> str:
    return hashlib.blake2b(before.encode() + encode(said), digest_size=12).hexdigest()
