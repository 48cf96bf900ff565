"""Validation and parsing raise no exception for any JSON."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from http_client import HEADERS, SCHEMA, WIRE_NAMES, Tree, request_of
from scripted_model.json_values import Json
from scripted_model.wires import WIRES
from scripted_model.wires.wire import Post

JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["", "x", "user", "tool_use"]),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner, max_size=2)
    ),
    max_leaves=4,
)
CALL: Tree = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
RICH: dict[str, Tree] = {
    "anthropic": request_of(
        "anthropic",
        "hello",
        system=[{"type": "text", "text": "rules", "cache_control": {"type": "ephemeral"}}],
        tools=[{"name": "f", "input_schema": SCHEMA}],
        thinking={"type": "adaptive"},
        tool_choice={"type": "auto"},
    ),
    "responses": request_of(
        "responses",
        "hello",
        instructions="rules",
        tools=[{"type": "function", "name": "f", "parameters": SCHEMA}],
        text={"format": {"type": "text"}},
    ),
    "chat": request_of(
        "chat",
        "hello",
        tools=[{"type": "function", "function": {"name": "f", "parameters": SCHEMA}}],
        stream=True,
        stream_options={"include_usage": True},
    ),
    "gemini": request_of(
        "gemini",
        "hello",
        systemInstruction={"parts": [{"text": "rules"}]},
        tools=[{"functionDeclarations": [{"name": "f", "parameters": SCHEMA}]}],
        generationConfig={"temperature": 1},
    ),
}
RICH["anthropic"]["messages"] += [
    {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "f", "input": {}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "r"}]},
]
RICH["responses"]["input"] += [
    {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c1", "output": "r"},
]
RICH["chat"]["messages"] += [
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "r"},
]
RICH["gemini"]["contents"] += [
    {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]},
    {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"a": 1}}}]},
]


def places(tree: Json, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Yields the path of every value in a tree."""
    found = [path] if path else []
    if isinstance(tree, dict):
        for key, value in tree.items():
            found += places(value, (*path, key))
    elif isinstance(tree, list):
        for index, value in enumerate(tree):
            found += places(value, (*path, index))
    return found


def with_junk(tree: Tree, path: tuple[str | int, ...], junk: object) -> Tree:
    changed = copy.deepcopy(tree)
    inner: Any = changed
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = junk
    return changed


@pytest.mark.parametrize("wire", WIRE_NAMES)
def test_the_request_itself_is_valid(wire: str) -> None:
    post = Post("reply", RICH[wire], HEADERS, "gemini-2.5-flash")
    assert WIRES[wire].first_violation(post) is None


@pytest.mark.parametrize("wire", WIRE_NAMES)
@given(data=st.data())
def test_junk_at_any_position_raises_nothing(wire: str, data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(places(RICH[wire])))
    body = with_junk(RICH[wire], path, data.draw(JUNK))
    post = Post("reply", body, HEADERS, "gemini-3-pro")
    WIRES[wire].first_violation(post)
    WIRES[wire].parse_request(post)
    WIRES[wire].cache_segments(post)
