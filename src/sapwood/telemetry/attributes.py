"""What spans carry: attributes by OpenTelemetry's conventions for generative AI.

Names are those of the conventions as of 1.41; what they have no name for is under `sapwood.`.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from sapwood.core.calling import Answer
from sapwood.core.content import ToolCall, Usage
from sapwood.core.state import State
from sapwood.core.turn import Turn

__all__ = [
    "Asked",
    "Attributes",
    "agent_attributes",
    "answer_attributes",
    "call_attributes",
    "ended_attributes",
    "finish_reason",
    "tool_attributes",
    "turn_attributes",
    "usage_attributes",
]

Value = str | bool | int | float | Sequence[str]
Attributes = Mapping[str, Value]


class Asked(Struct, frozen=True):
    """A model, and its provider as the conventions name it; empty where that is unknown."""

    model: str
    provider: str = ""


_FINISHED = {"done": "stop", "length": "length", "refused": "content_filter"}


def agent_attributes(state: State, operation: str) -> dict[str, Value]:
    """Whose work it is. An agent is one conversation, so both have its id."""
    told: dict[str, Value] = {
        "gen_ai.operation.name": operation,
        "gen_ai.conversation.id": state.agent,
        "gen_ai.agent.id": state.agent,
    }
    if state.name:
        told["gen_ai.agent.name"] = state.name
    return told


def turn_attributes(state: State, asked: Asked) -> Attributes:
    """Of a turn, when it is taken up."""
    told = agent_attributes(state, "invoke_agent")
    told["sapwood.turn"] = state.open.first if state.open else 0
    return {**told, **_model(asked)}


def call_attributes(state: State, asked: Asked) -> Attributes:
    """Of a model call, when it is made."""
    told = agent_attributes(state, "chat")
    return {**told, **_model(asked), "gen_ai.request.stream": True}


def tool_attributes(state: State, call: ToolCall) -> Attributes:
    """Of a tool, when it is run."""
    return {
        **agent_attributes(state, "execute_tool"),
        "gen_ai.tool.name": call.name,
        "gen_ai.tool.call.id": call.id,
        "gen_ai.tool.type": "function",
    }


def answer_attributes(answer: Answer) -> Attributes:
    """Of a model call, when it was answered."""
    told: dict[str, Value] = {"gen_ai.response.finish_reasons": [finish_reason(answer)]}
    if answer.model:
        told["gen_ai.response.model"] = answer.model.partition(":")[2] or answer.model
    return {**told, **usage_attributes(answer.usage)}


def ended_attributes(turn: Turn) -> Attributes:
    """Of a turn, when it ended."""
    used = sum(turn.usages, Usage(0)) if turn.usages else None
    return {"sapwood.turn.status": turn.status, **usage_attributes(used)}


def usage_attributes(usage: Usage | None) -> Attributes:
    """What was used. Both parts of the input that caches have to do with are parts of it."""
    if usage is None:
        return {}
    told: dict[str, Value] = {
        "gen_ai.usage.input_tokens": usage.input,
        "gen_ai.usage.output_tokens": usage.output,
        "gen_ai.usage.cache_read.input_tokens": usage.cache_read,
        "gen_ai.usage.cache_creation.input_tokens": usage.cache_write,
    }
    if usage.cost:
        told["sapwood.cost.usd"] = usage.cost / 1_000_000
    return told


def finish_reason(answer: Answer) -> str:
    """Why the model stopped, in the words of the conventions."""
    if answer.ended == "done" and any(isinstance(part, ToolCall) for part in answer.parts):
        return "tool_call"
    return _FINISHED[answer.ended]


def _model(asked: Asked) -> Attributes:
    told = {"gen_ai.request.model": asked.model}
    return {**told, "gen_ai.provider.name": asked.provider} if asked.provider else told
