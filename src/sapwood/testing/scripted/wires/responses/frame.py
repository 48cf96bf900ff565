"""The response object of the Responses API, around its items. Pure."""

from collections.abc import Sequence

from sapwood.testing.scripted.jsontree import JsonObject, object_at
from sapwood.testing.scripted.usage import Spent
from sapwood.testing.scripted.wires.wire import Answer

__all__ = ["frame", "usage_of"]


def frame(answer: Answer, status: str, items: Sequence[JsonObject]) -> JsonObject:
    """The response. Unlike the real one it does not repeat the tools, which may be large."""
    body = answer.asked.body
    ended = status not in ("in_progress", "failed")
    return {
        "id": f"resp_{answer.name}",
        "object": "response",
        "created_at": answer.created,
        "status": status,
        "background": False,
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if status == "incomplete" else None,
        "instructions": body.get("instructions"),
        "max_output_tokens": body.get("max_output_tokens"),
        "metadata": object_at(body, "metadata"),
        "model": answer.asked.model,
        "output": [*items],
        "parallel_tool_calls": body.get("parallel_tool_calls") is not False,
        "previous_response_id": None,
        "prompt_cache_key": body.get("prompt_cache_key"),
        "reasoning": {"effort": None, "summary": None} | object_at(body, "reasoning"),
        "service_tier": "default",
        "store": body.get("store") is not False,
        "temperature": 1.0,
        "text": object_at(body, "text") or {"format": {"type": "text"}},
        "tool_choice": body.get("tool_choice") or "auto",
        "tools": [],
        "top_p": 1.0,
        "truncation": body.get("truncation") or "disabled",
        "usage": usage_of(answer.spent) if ended else None,
        "user": None,
    }


def usage_of(spent: Spent) -> JsonObject:
    """What the call cost."""
    return {
        "input_tokens": spent.input,
        "input_tokens_details": {"cached_tokens": spent.read, "cache_write_tokens": 0},
        "output_tokens": spent.output,
        "output_tokens_details": {"reasoning_tokens": spent.thought},
        "total_tokens": spent.input + spent.output,
    }
