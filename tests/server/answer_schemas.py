"""Checks answers of the server against the description of its API."""

import re
from functools import cache
from typing import Any, Protocol, cast

import httpx2
import jsonschema
import msgspec

from sapwood_server.access.rate_limit import OpenStreams
from sapwood_server.application import endpoints
from sapwood_server.problems import PROBLEM_TYPE
from sapwood_server.request_context import Endpoint
from sapwood_server.routes.openapi import openapi_document

checked: set[tuple[str, str]] = set()
"""The routes of which an answer was checked, by operation id and status."""


@cache
def document() -> dict[str, Any]:
    """The description of the API, as clients get it."""
    return msgspec.json.decode(msgspec.json.encode(openapi_document(endpoints(OpenStreams(1)))))


async def check_answer(answer: httpx2.Response) -> None:
    """Raises `ValidationError` unless an answer of a described route is as its schema says."""
    kind = answer.headers.get("content-type", "").partition(";")[0]
    operation = _operation(answer.request.method, answer.request.url.path)
    if operation is None or kind not in ("application/json", PROBLEM_TYPE):
        return
    status = str(answer.status_code)
    if status not in operation["responses"]:
        assert answer.is_error, f"{status} of {answer.request.url} is not described"
        status = f"{status[0]}XX"
    value = msgspec.json.decode(await answer.aread())
    _validator(operation["operationId"], status).validate(value)
    checked.add((operation["operationId"], status))


@cache
def _described() -> list[tuple[re.Pattern[str], Endpoint]]:
    return [
        (re.compile(re.sub(r"\{\w+(:path)?\}", _part, each.path)), each)
        for each in endpoints(OpenStreams(1))
        if each.is_described
    ]


def _part(parameter: re.Match[str]) -> str:
    return ".+" if parameter[1] else "[^/]+"


def _operation(method: str, path: str) -> dict[str, Any] | None:
    for pattern, each in _described():
        if each.method == method and pattern.fullmatch(path):
            return document()["paths"][each.template][method.lower()]
    return None


class _Validator(Protocol):
    def validate(self, instance: object) -> None: ...


@cache
def _validator(operation: str, status: str) -> _Validator:
    """The check of an answer of an operation with a status."""
    whole = document()
    [found] = [
        each
        for methods in whole["paths"].values()
        for each in methods.values()
        if each["operationId"] == operation
    ]
    response = found["responses"][status]
    if reference := response.get("$ref"):
        response = whole["components"]["responses"][reference.rpartition("/")[2]]
    [content] = response["content"].values()
    schema = {**content["schema"], "components": whole["components"]}
    return cast(_Validator, jsonschema.Draft202012Validator(schema))
