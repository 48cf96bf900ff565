"""The API as it is described: valid, typed throughout, and strict about what is sent."""

import json
from collections.abc import Iterator
from typing import Any, cast

import pytest

from sapwood_server.access.rate_limit import OpenStreams
from sapwood_server.application import endpoints
from tests.server.answer_schemas import document
from tests.server.serving import Served, record

_NAMING = {"$ref", "type", "anyOf", "enum", "const"}
_SHAPED = {"object": {"properties", "additionalProperties"}, "array": {"items", "prefixItems"}}
DESCRIBED = [each for each in endpoints(OpenStreams(1)) if each.is_described]


def schemas(value: Any, place: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every schema in a document, with its place."""
    if isinstance(value, list):
        for number, each in enumerate(cast(list[Any], value)):
            yield from schemas(each, f"{place}/{number}")
    if not isinstance(value, dict):
        return
    for name, each in cast(dict[str, Any], value).items():
        here = f"{place}/{name}"
        if name in ("schema", "items", "additionalProperties") and isinstance(each, dict):
            yield here, each
        elif name in ("properties", "schemas", "x-messages"):
            yield from ((f"{here}/{key}", inner) for key, inner in each.items())
        elif name in ("anyOf", "prefixItems"):
            yield from ((f"{here}/{key}", inner) for key, inner in enumerate(each))
        yield from schemas(each, here)


def untyped(value: object) -> list[str]:
    """The places of schemas that allow anything."""
    found: list[str] = []
    for place, schema in schemas(value):
        wanted = _SHAPED.get(schema.get("type", ""), set(schema))
        if not _NAMING & set(schema) or not wanted & set(schema):
            found.append(place)
    return found


def test_no_field_is_untyped() -> None:
    whole = document()
    assert untyped(whole) == []
    print(f"{sum(1 for _ in schemas(whole))} schemas, 0 untyped")


@pytest.mark.parametrize(
    "schema", [{}, {"type": "object"}, {"type": "array"}, {"description": "anything"}]
)
def test_the_walker_finds_a_schema_that_allows_anything(schema: dict[str, object]) -> None:
    holder = {"components": {"schemas": {"A": {"type": "object", "properties": {"a": schema}}}}}
    assert untyped(holder) == ["/components/schemas/A/properties/a"]
    listed = {"schema": {"type": "array", "items": {"anyOf": [schema, {"type": "null"}]}}}
    assert untyped(listed) == ["/schema/items/anyOf/0"]


def test_every_route_of_the_api_is_described_and_no_other() -> None:
    described = {
        (method.upper(), path)
        for path, methods in document()["paths"].items()
        for method in methods
    }
    assert described == {(each.method, each.template) for each in DESCRIBED}
    internal = ("/v1/log/", "/v1/dispatch", "/v1/setup", "/v1/settings", "/v1/responses", "/page")
    assert not [path for _, path in described if path.startswith(internal)]
    operations = [
        operation["operationId"]
        for path in document()["paths"].values()
        for operation in path.values()
    ]
    assert len(set(operations)) == len(operations)


def test_a_command_says_its_arguments_and_its_own_answer() -> None:
    clear = document()["paths"]["/v1/agents/{agent}/commands/clear"]["post"]
    assert clear["summary"].startswith("Clear the context")
    assert "N | MARK" in clear["description"]
    assert "Idempotency-Key" in [each["name"] for each in clear["parameters"]]
    forked = document()["components"]["schemas"]["ForkDone"]
    assert "#/components/schemas/Forked" in json.dumps(forked["properties"]["answer"])
    assert forked["required"] == ["answer", "message", "events", "repeated"]
    follow = document()["paths"]["/v1/agents/{agent}/events"]["get"]
    assert "Last-Event-ID" in [each["name"] for each in follow["parameters"]]


async def test_every_route_refuses_a_field_that_it_does_not_know(served: Served) -> None:
    agent = await record(served.connection, ("Hello.", "Hi."))
    async with served.client() as client:
        for each in DESCRIBED:
            path = each.path.replace("{agent}", agent).replace("{version}", "1")
            if each.method == "POST" and each.request is not None:
                answer = await client.post(path, json={"nme": "x"})
                assert answer.status_code == 422, (path, answer.text)
                assert "nme" in answer.json()["detail"], path
            elif each.query is not None and each.method == "GET":
                answer = await client.get(path, params={"nme": "x"})
                assert answer.status_code == 400, (path, answer.text)
                assert "nme" in answer.json()["detail"], path


async def test_unknown_fields_of_inner_values_and_two_prompts_in_one_are_refused(
    served: Served,
) -> None:
    agent = await record(served.connection, ("Hello.", "Hi."))
    text = {"type": "text", "text": "y"}
    async with served.client("write") as client:
        for body, field in (
            ({"text": "x", "params": {"nope": 1}}, "params.nope"),
            ({"parts": [{**text, "nope": 1}]}, "nope"),
            ({"text": "x", "parts": [text]}, "parts"),
        ):
            answer = await client.post(f"/v1/agents/{agent}/turns", json=body)
            assert answer.status_code == 422, answer.text
            assert field in answer.json()["detail"]


async def test_lists_are_read_page_by_page_with_next(served: Served) -> None:
    agents = [await record(served.connection, ("Hello.", "Hi.")) for _ in range(3)]
    async with served.client("read") as client:
        first = (await client.get("/v1/agents", params={"limit": 2})).json()
        second = (await client.get("/v1/agents", params={"after": first["next"]})).json()
        wrong = await client.get("/v1/agents", params={"after": "zzz"})
        log = f"/v1/agents/{agents[0]}/log"
        events = (await client.get(log, params={"limit": 1})).json()
        rest = (await client.get(log, params={"after": events["next"]})).json()
        bad = await client.get(log, params={"after": "zzz"})
    found = [each["agent"] for each in (*first["agents"], *second["agents"])]
    assert sorted(found) == sorted(agents)
    assert second["next"] is None
    assert wrong.status_code == bad.status_code == 400
    versions = [each["version"] for each in (*events["events"], *rest["events"])]
    assert versions == list(range(1, len(versions) + 1))
    assert rest["next"] is None


@pytest.mark.night
def test_the_description_is_valid_openapi() -> None:
    from openapi_spec_validator import validate

    validate(document())
