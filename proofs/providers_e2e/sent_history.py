"""The history in a request, in one short form for both programs and for our own view.

A word per part: `TURN3` for a prompt, `call result-3`, `result-3`, `ANSWER3`. What a program adds
to every request itself, such as a description of the environment, is left out. Everything else is
kept as its first characters, so that a comparison fails if there is more than the live path.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any  # requests are JSON

_WORD = re.compile(r"TURN\d+[a-z]*|PROBE\d+|ANSWER\d+[a-z]*|result-\d+[a-z]*")
_OWN = (
    "<system-reminder>",
    "<environment_context>",
    "# AGENTS.md",
    "[You are a child agent.",
)
"""The beginnings of texts that are no turn: what a program adds itself, and our note to a child."""


def history_in(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The parts of a request of either program that are history, without marks for a cache."""
    messages = body["messages"] if "messages" in body else body["input"]
    return [part for message in messages for part in _parts(message)]


def _parts(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    role = message.get("role", "")
    if role in ("system", "developer"):
        return
    content = message.get("content")
    if content is None:  # an item of Codex that is no message
        yield {name: value for name, value in message.items() if name != "id"}
        return
    for part in [{"type": "text", "text": content}] if isinstance(content, str) else content:
        if not part.get("text", "").lstrip().startswith(_OWN):
            kept = {name: value for name, value in part.items() if name != "cache_control"}
            yield {"role": role, **kept}


def words(history: list[dict[str, Any]]) -> list[str]:
    """The short form of a history. Thinking is left out."""
    return [word for part in history for word in _word(part)]


def _word(part: dict[str, Any]) -> Iterator[str]:
    match part["type"]:
        case "thinking" | "redacted_thinking" | "reasoning":
            return
        case "tool_use" | "function_call" | "call":
            yield f"call {_first(json.dumps(part))}"
        case "tool_result" | "function_call_output" | "result":
            yield _first(
                json.dumps(part.get("content", part.get("output", "")), ensure_ascii=False)
            )
        case _:
            yield _first(str(part.get("text", "")))


def _first(text: str) -> str:
    found = _WORD.search(text)
    return found[0] if found else text.strip()[:60]


def view_of(shown: Mapping[str, Any]) -> list[str]:
    """The short form of our own view, as `sapwood show --json` prints it."""
    parts = [part for message in shown["messages"] for part in message["parts"]]
    return words([part for part in parts if not part.get("text", "").startswith(_OWN)])
