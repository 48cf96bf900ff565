"""The description of the API in OpenAPI 3.1, generated from the table of routes."""

import re
from collections.abc import Iterable
from importlib.metadata import version

from sapwood_server.problems import PROBLEM_TYPE
from sapwood_server.request_context import Endpoint

_PROBLEM = {
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What happened and what to do next."},
        "refusal": {
            "type": "string",
            "description": "The kind of refusal, if the request was refused.",
        },
    },
}


def openapi_document(endpoints: Iterable[Endpoint]) -> dict[str, object]:
    """The document of these routes."""
    paths: dict[str, dict[str, object]] = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Sapwood",
            "version": version("sapwood"),
            "description": "Agent conversations: everything is kept, and you decide what the "
            "model sees. Each slash command is one route.",
        },
        "paths": paths,
        "components": {
            "schemas": {"Problem": _PROBLEM},
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"bearer": []}],
    }


def _operation(endpoint: Endpoint) -> dict[str, object]:
    path = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in re.findall(r"\{(\w+)\}", endpoint.path)
    ]
    query = [
        {"name": name, "in": "query", "description": about, "schema": {"type": "string"}}
        for name, about in endpoint.query.items()
    ]
    if endpoint.answers == "text/event-stream":
        query.append(
            {
                "name": "Last-Event-ID",
                "in": "header",
                "description": "the last id received",
                "schema": {"type": "string"},
            }
        )
    operation: dict[str, object] = {
        "summary": endpoint.summary,
        "operationId": _operation_id(endpoint),
        "description": f"Needs the scope '{endpoint.scope}'.",
        "x-scope": endpoint.scope,
        "parameters": [*path, *query],
        "responses": {
            "2XX": {"description": "The answer.", "content": {endpoint.answers: {}}},
            "4XX": {
                "description": "Refused: nothing was changed.",
                "content": {PROBLEM_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
            },
        },
    }
    if endpoint.method == "POST":
        properties = {
            name: {"type": "string", "description": about} for name, about in endpoint.body.items()
        }
        schema: dict[str, object] = {"type": "object", "properties": properties}
        content = {"schema": schema} if endpoint.takes == "application/json" else {}
        operation["requestBody"] = {"content": {endpoint.takes: content}}
    return operation


def _operation_id(endpoint: Endpoint) -> str:
    words = re.findall(r"[a-z0-9]+", endpoint.path.lower())
    return "_".join([endpoint.method.lower(), *words])
