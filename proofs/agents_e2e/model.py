"""The requests to the scripted model, in the format of either provider."""

import json
from collections.abc import Iterator
from typing import Any, cast

from scripted_model import ScriptedModel


class Sent:
    """One request."""

    def __init__(self, body: object) -> None:
        self._body = cast("dict[str, Any]", body)
        self.text = json.dumps(body, ensure_ascii=False)

    def asks(self, words: str) -> bool:
        """Whether the user asked this; a quotation does not count."""
        return any(text.startswith(words) for text in self._prompts())

    def contains(self, *words: str) -> bool:
        """Whether one text of it contains all these words."""
        texts = [text for part in self._parts() for text in _texts(part)]
        return any(all(word in text for word in words) for text in texts)

    def names_tool(self, *names: str) -> bool:
        """Whether one of these tools is offered."""
        tools = cast("list[dict[str, Any]]", self._body.get("tools") or [])
        offered = [each.get("name", "") for each in tools]
        return any(name in offered for name in names)

    def results(self) -> list[str]:
        """The tool results, in order."""
        return [json.dumps(part, ensure_ascii=False) for part in self._parts() if _is_result(part)]

    def _messages(self) -> list[dict[str, Any]]:
        return self._body.get("messages") or self._body.get("input") or []

    def _prompts(self) -> Iterator[str]:
        for message in self._messages():
            if message.get("role") == "user":
                content = message["content"]
                parts = [{"text": content}] if isinstance(content, str) else content
                yield from (part.get("text", "") for part in parts)

    def _parts(self) -> Iterator[dict[str, Any]]:
        for message in self._messages():
            yield message
            content = message.get("content")
            yield from content if isinstance(content, list) else []


def _texts(part: dict[str, Any]) -> list[str]:
    return [value for value in (part.get("text"), part.get("content")) if isinstance(value, str)]


def _is_result(part: dict[str, Any]) -> bool:
    return part.get("type") in ("tool_result", "function_call_output")


class Seen:
    """The requests of the scripted model."""

    def __init__(self, model: ScriptedModel) -> None:
        self._model = model
        self._mark = 0

    def mark(self) -> None:
        """Marks all requests so far as seen."""
        self._mark = len(self._model.requests)

    def since(self) -> list[Sent]:
        """The requests since the mark."""
        return [Sent(each.body) for each in self._model.requests[self._mark :]]

    def bodies(self) -> list[dict[str, Any]]:
        """The bodies of all requests."""
        return [cast("dict[str, Any]", each.body) for each in self._model.requests]

    def contains(self, *words: str) -> bool:
        """Whether a request since the mark contains all these words in one text."""
        return any(sent.contains(*words) for sent in self.since())

    def last(self, asking: str = "") -> Sent:
        """The last request since the mark in which the user asked this, or an empty one."""
        found = [sent for sent in self.since() if not asking or sent.asks(asking)]
        return (found or [Sent({})])[-1]
