"""A plain HTTP client, and the smallest valid request of each wire format."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPResponse, IncompleteRead
from typing import Any

from scripted_model import ScriptedModel
from scripted_model.wires import WIRES
from scripted_model.wires.wire import Action, Post, Violation

Tree = dict[str, Any]  # JSON as the tests write and read it

WIRE_NAMES = ("anthropic", "responses", "chat", "gemini")
MODELS = {
    "anthropic": "claude-opus-5-5",
    "responses": "gpt-5",
    "chat": "gpt-5",
    "gemini": "gemini-2.5-flash",
}
HEADERS = {"anthropic-version": "2023-06-01"}
SCHEMA: Tree = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
}


@dataclass
class Got:
    """A response. `broken` means that the connection was dropped before its end."""

    status: int
    headers: dict[str, str]
    text: str
    broken: bool = False

    @property
    def json(self) -> Tree:
        return json.loads(self.text)

    @property
    def events(self) -> list[tuple[str, Tree]]:
        """Name and data of each event of a stream."""
        return list(_events(self.text))

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.events]


def _events(text: str) -> Iterator[tuple[str, Tree]]:
    for block in text.replace("\r\n", "\n").split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line)
        if "data" in fields:
            data: Tree = {} if fields["data"] == "[DONE]" else json.loads(fields["data"])
            yield fields.get("event", "[DONE]" if not data else ""), data


def fetch(
    server: ScriptedModel,
    path: str,
    body: object = None,
    headers: dict[str, str] | None = None,
    method: str = "POST",
) -> Got:
    """Sends one request and reads the whole response."""
    connection = HTTPConnection("127.0.0.1", int(server.url.rpartition(":")[2]), timeout=30)
    try:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        sent = {**HEADERS, "content-type": "application/json", **(headers or {})}
        connection.request(method, path, None if body is None else data, sent)
        return _read(connection.getresponse())
    finally:
        connection.close()


def _read(response: HTTPResponse) -> Got:
    headers = {name.lower(): value for name, value in response.getheaders()}
    try:
        raw, broken = response.read(), False
    except IncompleteRead as error:
        raw, broken = error.partial, True
    return Got(response.status, headers, raw.decode(), broken)


def path_of(wire: str, *, stream: bool = False, model: str | None = None) -> str:
    """Returns the path of this wire format."""
    match wire:
        case "anthropic":
            return "/v1/messages"
        case "responses":
            return "/v1/responses"
        case "chat":
            return "/v1/chat/completions"
        case _:
            method = "streamGenerateContent?alt=sse" if stream else "generateContent"
            return f"/v1beta/models/{model or MODELS['gemini']}:{method}"


def request_of(wire: str, prompt: str, **more: object) -> Tree:
    """Returns the smallest valid request."""
    model = MODELS[wire]
    match wire:
        case "anthropic":
            messages: list[Tree] = [{"role": "user", "content": prompt}]
            return {"model": model, "max_tokens": 1000, "messages": messages, **more}
        case "responses":
            return {"model": model, "input": [{"role": "user", "content": prompt}], **more}
        case "chat":
            return {"model": model, "messages": [{"role": "user", "content": prompt}], **more}
        case _:
            return {"contents": [{"role": "user", "parts": [{"text": prompt}]}], **more}


def ask(server: ScriptedModel, wire: str, prompt: str, **more: object) -> Got:
    """Sends a prompt and reads the reply."""
    return fetch(server, path_of(wire), request_of(wire, prompt, **more))


def stream(server: ScriptedModel, wire: str, prompt: str, **more: object) -> Got:
    """Sends a prompt and reads the reply as a stream."""
    flag = {} if wire == "gemini" else {"stream": True}
    return fetch(server, path_of(wire, stream=True), request_of(wire, prompt, **flag, **more))


def said(wire: str, got: Got) -> str:
    """Returns the text of a reply."""
    match wire:
        case "anthropic":
            return "".join(block.get("text", "") for block in got.json["content"])
        case "responses":
            items = [item for item in got.json["output"] if item["type"] == "message"]
            return "".join(part["text"] for item in items for part in item["content"])
        case "chat":
            return got.json["choices"][0]["message"]["content"]
        case _:
            parts = got.json["candidates"][0]["content"]["parts"]
            return "".join(part.get("text", "") for part in parts)


def streamed(wire: str, got: Got) -> str:
    """Returns the text of a streamed reply, as far as it was sent."""
    return "".join(_DELTAS[wire](data) for _, data in got.events)


def _gemini_delta(data: Tree) -> str:
    candidates: list[Tree] = data.get("candidates", [])
    parts: list[Tree] = [part for each in candidates for part in each["content"]["parts"]]
    return "".join(part.get("text", "") for part in parts if not part.get("thought"))


def _responses_delta(data: Tree) -> str:
    return data["delta"] if data["type"] == "response.output_text.delta" else ""


def _chat_delta(data: Tree) -> str:
    return "".join(choice["delta"].get("content") or "" for choice in data.get("choices", []))


_DELTAS: dict[str, Callable[[Tree], str]] = {
    "anthropic": lambda data: data.get("delta", {}).get("text", ""),
    "responses": _responses_delta,
    "chat": _chat_delta,
    "gemini": _gemini_delta,
}


def violation(
    wire: str,
    body: Tree,
    *,
    headers: dict[str, str] | None = None,
    model: str = "",
    action: Action = "reply",
) -> Violation | None:
    """Returns the rule that a request breaks, without a server."""
    return WIRES[wire].first_violation(Post(action, body, {**HEADERS, **(headers or {})}, model))


def complaint(wire: str, body: Tree, **more: Any) -> str:
    """Returns the error message for a request, or an empty text."""
    found = violation(wire, body, **more)
    return "" if found is None else found.message
