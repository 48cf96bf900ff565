"""The attributes of spans, by OpenTelemetry's conventions for generative AI.

Names are those of version 1.41 of the conventions. Attributes that have no name there start with
`sapwood.`. The functions `request_content` and `answer_content` return what was said, as JSON
messages; they are used only if the configuration allows that to leave the log.
"""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from sapwood.core.content import (
    File,
    Text,
    Thinking,
    ToolCall,
    Usage,
)
from sapwood.core.model_calls import Answer
from sapwood.core.state import State
from sapwood.core.turn import Turn
from sapwood.core.view import Message, Request, ToolResult
from sapwood.core.view.request import MessagePart

Value = str | bool | int | float | Sequence[str]
Attributes = Mapping[str, Value]


class ModelIdentity(Struct, frozen=True):
    """A model, and its provider's name in the conventions; '' if that is unknown."""

    model: str
    provider: str = ""


_FINISH_REASONS = {"done": "stop", "length": "length", "refused": "content_filter"}


def agent_attributes(state: State, operation: str) -> dict[str, Value]:
    """The operation and its agent. An agent is one conversation, so both have its id."""
    found: dict[str, Value] = {
        "gen_ai.operation.name": operation,
        "gen_ai.conversation.id": state.agent,
        "gen_ai.agent.id": state.agent,
    }
    if state.name:
        found["gen_ai.agent.name"] = state.name
    return found


def turn_attributes(state: State, identity: ModelIdentity) -> Attributes:
    """Attributes of a turn when it starts."""
    found = agent_attributes(state, "invoke_agent")
    found["sapwood.turn"] = state.open.first if state.open else 0
    return {**found, **_model_attributes(identity)}


def call_attributes(state: State, identity: ModelIdentity) -> Attributes:
    """Attributes of a model call when it starts."""
    found = agent_attributes(state, "chat")
    return {**found, **_model_attributes(identity), "gen_ai.request.stream": True}


def tool_attributes(state: State, call: ToolCall) -> Attributes:
    """Attributes of a tool run when it starts."""
    return {
        **agent_attributes(state, "execute_tool"),
        "gen_ai.tool.name": call.name,
        "gen_ai.tool.call.id": call.id,
        "gen_ai.tool.type": "function",
    }


def answer_attributes(answer: Answer) -> Attributes:
    """Attributes of a model call when the answer is there."""
    found: dict[str, Value] = {"gen_ai.response.finish_reasons": [finish_reason(answer)]}
    if answer.model:
        found["gen_ai.response.model"] = answer.model.partition(":")[2] or answer.model
    return {**found, **usage_attributes(answer.usage)}


def ended_attributes(turn: Turn) -> Attributes:
    """Attributes of a turn when it has ended."""
    used = sum(turn.usages, Usage(0)) if turn.usages else None
    return {"sapwood.turn.status": turn.status, **usage_attributes(used)}


def usage_attributes(usage: Usage | None) -> Attributes:
    """Token usage and cost. Cached tokens are included in the input tokens."""
    if usage is None:
        return {}
    found: dict[str, Value] = {
        "gen_ai.usage.input_tokens": usage.input,
        "gen_ai.usage.output_tokens": usage.output,
        "gen_ai.usage.cache_read.input_tokens": usage.cache_read,
        "gen_ai.usage.cache_creation.input_tokens": usage.cache_write,
    }
    if usage.cost:
        found["sapwood.cost.usd"] = usage.cost / 1_000_000
    return found


def finish_reason(answer: Answer) -> str:
    """Why the model stopped, as the conventions name it."""
    if answer.ended == "done" and any(isinstance(part, ToolCall) for part in answer.parts):
        return "tool_call"
    return _FINISH_REASONS[answer.ended]


def _model_attributes(identity: ModelIdentity) -> Attributes:
    found = {"gen_ai.request.model": identity.model}
    return {**found, "gen_ai.provider.name": identity.provider} if identity.provider else found


def request_content(request: Request) -> Attributes:
    """All messages and instructions that are sent to a model."""
    found = {"gen_ai.input.messages": _json([_message(each) for each in request.messages])}
    if request.system:
        system = [{"type": "text", "content": block.text} for block in request.system]
        found["gen_ai.system_instructions"] = _json(system)
    return found


def answer_content(answer: Answer) -> Attributes:
    """All parts of an answer."""
    message = {
        "role": "assistant",
        "parts": [_part(part) for part in answer.parts],
        "finish_reason": finish_reason(answer),
    }
    return {"gen_ai.output.messages": _json([message])}


def _message(message: Message) -> dict[str, object]:
    return {"role": message.role, "parts": [_part(part) for part in message.parts]}


def _part(part: MessagePart) -> dict[str, object]:
    match part:
        case Text() | File():
            return {"type": "text", "content": part.text}
        case Thinking(text):
            return {"type": "reasoning", "content": text}
        case ToolCall(call, name, args):
            return {"type": "tool_call", "id": call, "name": name, "arguments": args}
        case ToolResult(call, _, content):
            return {"type": "tool_call_response", "id": call, "response": content}


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
