"""Checks and samples of JSON schemas."""

import pytest

from scripted_model.json_schema import sample, schema_problem, strict_schema_problem
from scripted_model.json_values import JsonObject


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {"type": ["string", "null"], "description": "x"},
        {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 1},
        {"$ref": "#/$defs/A", "$defs": {"A": {"enum": ["a", 1, None]}}},
        {"anyOf": [{"type": "string"}, {"const": 1}]},
        {"type": "object", "properties": {"a": True}, "additionalProperties": False},
    ],
)
def test_a_schema_passes(schema: JsonObject) -> None:
    assert schema_problem(schema) is None


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ({"type": "text"}, "type: 'text' is not a type"),
        ({"type": []}, "type: empty"),
        ({"properties": []}, "properties: not an object"),
        ({"properties": {"a": "string"}}, "properties.a: not an object"),
        ({"required": "a"}, "required: not a list of names"),
        ({"required": ["a", "a"]}, "required: a name twice"),
        ({"enum": "a"}, "enum: not a list"),
        ({"anyOf": []}, "anyOf: not a list of schemas"),
        ({"items": {"type": 1}}, "items.type: 1 is not a type"),
        ({"minLength": -1}, "minLength: not a count"),
        ({"minimum": "0"}, "minimum: not a number"),
        ({"description": 1}, "description: not a text"),
        ({"$ref": "#/$defs/B", "$defs": {}}, "$ref: #/$defs/B leads nowhere"),
    ],
)
def test_the_problem_of_a_schema_is_named(schema: JsonObject, problem: str) -> None:
    assert schema_problem(schema) == problem


def test_a_strict_schema_closes_every_object() -> None:
    closed: JsonObject = {"type": "object", "properties": {}, "additionalProperties": False}
    assert strict_schema_problem(closed) is None
    assert "additionalProperties" in str(strict_schema_problem({"type": "object"}))


def test_a_strict_schema_requires_every_property() -> None:
    schema: JsonObject = {
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "additionalProperties": False,
    }
    assert "Missing 'a'" in str(strict_schema_problem(schema))
    assert strict_schema_problem({**schema, "required": ["a"]}) is None


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string"}, "text"),
        ({"enum": ["b", "a"]}, "b"),
        ({"const": 7}, 7),
        ({"type": ["null", "string"]}, None),
        ({"anyOf": [{"type": "boolean"}]}, False),
        ({"type": "array", "items": {"type": "number"}, "minItems": 1}, [1]),
        ({"type": "array", "items": {"type": "number"}}, []),
        ({"$ref": "#/$defs/A", "$defs": {"A": {"type": "integer"}}}, 1),
        ({"type": "OBJECT", "properties": {"a": {"type": "STRING"}}}, {"a": "text"}),
    ],
)
def test_a_sample_follows_its_schema(schema: JsonObject, expected: object) -> None:
    assert sample(schema) == expected


def test_a_recursive_schema_has_a_sample() -> None:
    schema: JsonObject = {"type": "object", "properties": {"next": {"$ref": "#"}}}
    assert isinstance(sample(schema), dict)
