"""What the scripted model was sent, in the words of either provider."""

import json
from collections.abc import Iterator
from typing import Any, cast

from sapwood.testing.scripted import ScriptedModel

__all__ = ["Seen", "Sent"]


class Sent:
    """One request."""

    def __init__(self, body: object) -> None:
        self._body = cast("dict[str, Any]", body)
        self.text = json.dumps(body, ensure_ascii=False)

    def asks(self, words: str) -> bool:
        """Whether the user asked this, as against somebody quoting it."""
        return any(text.startswith(words) for text in self._prompts())

    def results(self) -> list[str]:
        """What tools gave back, in order."""
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


def _is_result(part: dict[str, Any]) -> bool:
    return part.get("type") in ("tool_result", "function_call_output")


class Seen:
    """The requests of the scripted model."""

    def __init__(self, model: ScriptedModel) -> None:
        self._model = model
        self._mark = 0

    def mark(self) -> None:
        """Everything up to here has been looked at."""
        self._mark = len(self._model.requests)

    def since(self) -> list[Sent]:
        """The requests since the mark."""
        return [Sent(each.body) for each in self._model.requests[self._mark :]]

    def holding(self, *words: str) -> bool:
        """Whether one request since the mark holds all these words."""
        return any(all(word in sent.text for word in words) for sent in self.since())

    def last(self) -> Sent:
        """The last request since the mark; an empty one if there was none."""
        return (self.since() or [Sent({})])[-1]
