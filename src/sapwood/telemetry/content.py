"""What was said, as the conventions want it on a span: messages of parts, as JSON.

Only used where somebody configured that it may leave the log.
"""

import msgspec

from sapwood.core.calling import Answer
from sapwood.core.content import Text, Thinking, ToolCall
from sapwood.core.view import Message, Request, ToolResult
from sapwood.core.view.request import MessagePart
from sapwood.telemetry.attributes import Attributes, finish_reason

__all__ = ["answer_content", "request_content"]


def request_content(request: Request) -> Attributes:
    """Everything that a model is sent."""
    told = {"gen_ai.input.messages": _json([_message(each) for each in request.messages])}
    if request.system:
        system = [{"type": "text", "content": block.text} for block in request.system]
        told["gen_ai.system_instructions"] = _json(system)
    return told


def answer_content(answer: Answer) -> Attributes:
    """Everything that it answered."""
    said = {
        "role": "assistant",
        "parts": [_part(part) for part in answer.parts],
        "finish_reason": finish_reason(answer),
    }
    return {"gen_ai.output.messages": _json([said])}


def _message(message: Message) -> dict[str, object]:
    return {"role": message.role, "parts": [_part(part) for part in message.parts]}


def _part(part: MessagePart) -> dict[str, object]:
    match part:
        case Text(text):
            return {"type": "text", "content": text}
        case Thinking(text):
            return {"type": "reasoning", "content": text}
        case ToolCall(call, name, args):
            return {"type": "tool_call", "id": call, "name": name, "arguments": args}
        case ToolResult(call, _, content):
            return {"type": "tool_call_response", "id": call, "response": content}


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
