"""The items of a reply. Pure."""

from sapwood.core.content import ReplyPart, Text, Thinking, ToolCall
from sapwood.testing.scripted.jsontree import JsonObject, items_at, object_at
from sapwood.testing.scripted.signing import item_id, seal
from sapwood.testing.scripted.wires.free import free_text
from sapwood.testing.scripted.wires.wire import Answer

__all__ = ["items_of"]


def items_of(answer: Answer) -> list[JsonObject]:
    """One item for each part."""
    items: list[JsonObject] = []
    thought = False
    for index, part in enumerate(answer.parts):
        thinks = isinstance(part, Thinking)
        name = item_id("", answer.name, index, thought=thought and not thinks)
        items.append(_item(answer, part, name))
        thought = thought or (thinks and index == 0)
    return items


def _item(answer: Answer, part: ReplyPart, name: str) -> JsonObject:
    match part:
        case Text(text=text) if answer.asked.compacts:
            return {"id": f"cmp{name}", "type": "compaction", "encrypted_content": _sealed(text)}
        case Text(text=text):
            return _message(text, f"msg{name}")
        case Thinking(text=text):
            return _reasoning(answer, text, f"rs{name}")
        case ToolCall():
            return _call(answer, part, name)


def _message(text: str, name: str) -> JsonObject:
    said: JsonObject = {"type": "output_text", "annotations": [], "logprobs": [], "text": text}
    return {
        "id": name,
        "type": "message",
        "status": "completed",
        "role": "assistant",
        "content": [said],
    }


def _reasoning(answer: Answer, text: str, name: str) -> JsonObject:
    """A client sees a summary if it asked for one, and the whole only sealed."""
    body = answer.asked.body
    asked = object_at(body, "reasoning")
    shown = asked.get("summary") or asked.get("generate_summary")
    item: JsonObject = {"id": name, "type": "reasoning", "summary": []}
    if shown:
        item["summary"] = [{"type": "summary_text", "text": text}]
    if "reasoning.encrypted_content" in items_at(body, "include"):
        item["encrypted_content"] = _sealed(text)
    return item


def _call(answer: Answer, call: ToolCall, name: str) -> JsonObject:
    tool = answer.asked.tool(call.name)
    item: JsonObject = {"status": "completed", "call_id": call.id, "name": call.name}
    if tool is not None and tool.namespace:
        item["namespace"] = tool.namespace
    if tool is not None and tool.free:
        return {
            "id": f"ctc{name}",
            "type": "custom_tool_call",
            "input": free_text(call.args),
        } | item
    return {"id": f"fc{name}", "type": "function_call", "arguments": call.args} | item


def _sealed(text: str) -> str:
    return seal("openai", text)
