"""Converts messages of Anthropic's API, which Claude Code writes, to turns and back."""

import json
from collections.abc import Mapping, Sequence
from typing import cast

from sapwood.core.content import RecordedReply, RecordedResult, ReplyPart, Text, Thinking, ToolCall
from sapwood.core.view import Message, ToolResult
from sapwood.models.wire.signatures import REDACTED
from sapwood_frameworks.conversation import Item, Prompt

Block = dict[str, object]

_PROVIDER = "anthropic"


def items_of_user(content: object) -> list[Item]:
    """The tool results and the texts in a message of the user."""
    items: list[Item] = []
    for block in _blocks(content):
        kind = block.get("type")
        if kind == "tool_result":
            text = _result_text(block.get("content"))
            error = bool(block.get("is_error"))
            items.append(RecordedResult(str(block.get("tool_use_id")), text, error))
        elif kind == "text" and str(block.get("text")).strip():
            items.append(Prompt((Text(str(block.get("text"))),)))
        elif kind != "text":
            items.append(Prompt((Text(f"[{kind}: not kept in the history]"),)))
    return items


def reply_of(message: Mapping[str, object]) -> RecordedReply:
    """A message of the model."""
    parts: list[ReplyPart] = []
    for block in _blocks(message.get("content")):
        match block.get("type"):
            case "text" if str(block.get("text")).strip():
                parts.append(Text(str(block.get("text"))))
            case "thinking":
                signature = str(block.get("signature") or "")
                parts.append(Thinking(str(block.get("thinking")), _PROVIDER, signature))
            case "redacted_thinking":
                parts.append(Thinking("", _PROVIDER, f"{REDACTED}{block.get('data')}"))
            case "tool_use":
                args = json.dumps(block.get("input") or {}, ensure_ascii=False)
                parts.append(ToolCall(str(block.get("id")), str(block.get("name")), args))
            case _:
                pass
    model = str(message.get("model") or "")
    return RecordedReply(tuple(parts), f"{_PROVIDER}:{model}" if model else "")


def _blocks(content: object) -> Sequence[Mapping[str, object]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return cast("list[Mapping[str, object]]", content) if isinstance(content, list) else []


def _result_text(content: object) -> str:
    texts = (str(block.get("text") or f"[{block.get('type')}]") for block in _blocks(content))
    return "\n\n".join(texts)


def blocks_of(message: Message) -> list[Block]:
    """The blocks of a message as the API takes them. Thinking of others is left out."""
    blocks: list[Block] = []
    for part in message.parts:
        match part:
            case Text():
                blocks.append({"type": "text", "text": part.text})
            case Thinking(provider="anthropic", signature=str(signature)) if signature:
                blocks.append(_thinking(part.text, signature))
            case ToolCall():
                blocks.append(
                    {"type": "tool_use", "id": part.id, "name": part.name, "input": _input(part)}
                )
            case ToolResult():
                result: Block = {
                    "type": "tool_result",
                    "tool_use_id": part.call,
                    "content": part.content,
                }
                blocks.append({**result, "is_error": True} if part.error else result)
            case _:
                pass
    return blocks


def _thinking(text: str, signature: str) -> Block:
    if signature.startswith(REDACTED):
        return {"type": "redacted_thinking", "data": signature.removeprefix(REDACTED)}
    return {"type": "thinking", "thinking": text, "signature": signature}


def _input(call: ToolCall) -> object:
    try:
        return json.loads(call.args)
    except (ValueError, RecursionError):
        return {"INVALID_JSON": call.args}
