"""Every route of the server, from its router, and the requests with which an attacker tries it."""

import re
from collections.abc import Iterator
from typing import get_args
from urllib.parse import quote

import msgspec
from msgspec import Struct, structs
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import ASGIApp

from sapwood_server.access.rate_limit import OpenStreams
from sapwood_server.application import (
    PUBLIC_PATHS,
    AuthenticatedEndpoint,
    PublicEndpoint,
    SecurityHeaders,
    endpoints,
)
from sapwood_server.request_context import Endpoint

ROUTES: tuple[Endpoint, ...] = endpoints(OpenStreams(1))
"""The table of routes. `guarded_routes` finds out whether a router has others."""

_NAMES = (
    *("agent", "agents", "conversation", "thread", "thread_id", "threadId", "parent", "root", "id"),
    *(
        "after",
        "before",
        "around",
        "fold",
        "a",
        "b",
        "q",
        "line",
        "args",
        "text",
        "prompt",
        "input",
    ),
    *("name", "model", "command", "previous_response_id", "source", "target", "to", "sha256"),
)
"""Where a request may name an agent. What a route documents is tried too."""

_WANTED = ("agent", "name", "conversation", "parent", "folder", "command", "text", "prompt", "id")


class Attempt(Struct, frozen=True):
    """A request. `names_agent` says that its path names the agent of another space."""

    method: str
    path: str
    body: bytes
    names_agent: bool


def guarded_routes(app: ASGIApp) -> list[Endpoint]:
    """The endpoints of a router. Raises `AssertionError` if it has a route that nobody guards."""
    assert isinstance(app, SecurityHeaders), "no answer may lack the headers"
    inner = app.app
    assert isinstance(inner, Starlette)
    found: list[Endpoint] = []
    for route in inner.routes:
        assert isinstance(route, Route), f"{route} is no plain route: its parts are not checked"
        if isinstance(route.app, AuthenticatedEndpoint):
            found.append(route.app.endpoint)
        else:
            assert isinstance(route.app, PublicEndpoint), f"{route.path} has no guard"
            assert route.path in PUBLIC_PATHS, f"{route.path} is open to everybody"
    return found


def filled(path: str, agent: str, other: str = "1") -> str:
    """A path with an agent and something else in place of its parameters."""
    return re.sub(r"\{\w+(:\w+)?\}", other, path.replace("{agent}", agent))


def attempts(endpoint: Endpoint, agent: str, space: str, words: str) -> Iterator[Attempt]:
    """Requests that try to reach an agent, the space and the words of another tenant."""
    own = _own_names(endpoint)
    names_agent = "{agent}" in endpoint.path
    for other, value in (("1", ""), (agent, agent), ("1", words), ("1", f"{agent} {words}")):
        path = filled(endpoint.path, agent, other)
        every = dict.fromkeys((*_NAMES, *own), value) | {"space": space}
        # A route that refuses unknown names is also tried with its own alone.
        for given in (every, dict.fromkeys(own, value)):
            if endpoint.method == "GET":
                query = "&".join(f"{name}={quote(text)}" for name, text in given.items())
                yield Attempt("GET", f"{path}?{query}" if value else path, b"", names_agent)
            else:
                agents = {"agents": [value]} if given is every else {}
                body: dict[str, object] = {**given, **agents} if value else {}
                yield Attempt(endpoint.method, path, msgspec.json.encode(body), names_agent)
        if endpoint.method != "GET":
            yield Attempt(
                endpoint.method, f"{path}?agent={quote(value)}&space={space}", b"{}", names_agent
            )
    if endpoint.method != "GET":
        path = filled(endpoint.path, agent)
        for body in _bodies(agent, words):
            yield Attempt(endpoint.method, path, msgspec.json.encode(body), names_agent)


def _own_names(endpoint: Endpoint) -> list[str]:
    """The names of what a route takes as text."""
    kinds = [kind for kind in (endpoint.query, endpoint.request) if kind is not None]
    fields = [each for kind in kinds for each in structs.fields(kind)]
    return [each.name for each in fields if str in (each.type, *get_args(each.type)[:1])]


def _bodies(agent: str, words: str) -> Iterator[dict[str, object]]:
    """Bodies as the routes want them: with one name, and in the forms of known protocols."""
    for name in _WANTED:
        yield {name: agent}
    yield {"agents": [agent], "query": words}
    yield {"query": words}
    yield {"kind": "SetMark", "command": {"agent": agent, "name": "STOLEN"}}
    yield {"kind": "Send", "command": {"agent": agent, "to": agent, "text": "STOLEN"}}
    yield {"model": "gpt-5", "input": words, "conversation": agent}
    yield {"model": "gpt-5", "input": words, "previous_response_id": agent}
    yield {
        "threadId": agent,
        "runId": "1",
        "state": {},
        "tools": [],
        "context": [],
        "messages": [{"id": "1", "role": "user", "content": words}],
        "forwardedProps": {},
    }
    for arguments in ({"agent": agent}, {"conversation": agent}, {"query": words}):
        yield {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "context", "arguments": arguments},
        }
