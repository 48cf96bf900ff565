"""Checks the JSON schema of a tool, and makes a sample value for a schema. Pure.

Covers draft 2020-12 as far as tools use it.
"""

from collections.abc import Iterator

from scripted_model.json_values import (
    Json,
    JsonObject,
    is_integer,
    is_object,
    items_at,
    object_at,
    objects_at,
    text_at,
)

_TYPES = frozenset("array boolean integer null number object string".split())
_ONE = "additionalProperties contains else if items not propertyNames then".split()
_SEVERAL = "allOf anyOf oneOf prefixItems".split()
_NAMED = "$defs definitions dependentSchemas patternProperties properties".split()
_COUNTS = "maxItems maxLength maxProperties minItems minLength minProperties".split()
_NUMBERS = "exclusiveMaximum exclusiveMinimum maximum minimum multipleOf".split()
_TEXTS = "$id $ref $schema description format pattern title".split()
_MAX_DEPTH = 12
_BY_TYPE: dict[str, Json] = {"boolean": False, "integer": 1, "number": 1, "null": None}


def schema_problem(schema: Json) -> str | None:
    """Returns the first problem of a schema, or `None`.

    >>> schema_problem({"type": "object", "properties": {"city": {"type": "text"}}})
    "properties.city.type: 'text' is not a type"
    """
    return next(_problems(schema, "", schema), None)


def strict_schema_problem(schema: JsonObject, path: str = "()") -> str | None:
    """Returns why a schema does not fit the strict mode of OpenAI, in the words of OpenAI."""
    properties = object_at(schema, "properties")
    if schema.get("type") == "object" or properties:
        if schema.get("additionalProperties") is not False:
            needed = "'additionalProperties' is required to be supplied and to be false."
            return f"In context={path}, {needed}"
        required = schema.get("required")
        model_list = required if isinstance(required, list) else []
        for name in properties:
            if name not in model_list:
                return (
                    f"In context={path}, 'required' is required to be supplied and to be an array "
                    f"including every key in properties. Missing '{name}'."
                )
    for name, value in properties.items():
        if is_object(value) and (
            found := strict_schema_problem(value, f"('properties', '{name}')")
        ):
            return found
    return None


def _problems(schema: Json, path: str, root: Json) -> Iterator[str]:
    if isinstance(schema, bool):
        return
    if not is_object(schema):
        yield f"{path or 'schema'}: not an object"
        return
    prefix = f"{path}." if path else ""
    yield from _keywords(schema, prefix, root)
    for key in _ONE:
        if key in schema:
            yield from _problems(schema[key], f"{prefix}{key}", root)
    for key in _SEVERAL:
        if key in schema:
            yield from _each(schema[key], f"{prefix}{key}", root)
    for key in _NAMED:
        if key in schema:
            yield from _each_named(schema[key], f"{prefix}{key}", root)


def _keywords(schema: JsonObject, prefix: str, root: Json) -> Iterator[str]:
    yield from _type_problems(schema.get("type"), prefix)
    for key, value in schema.items():
        if key in _COUNTS and not (is_integer(value) and value >= 0):
            yield f"{prefix}{key}: not a count"
        elif key in _NUMBERS and (isinstance(value, bool) or not isinstance(value, (int, float))):
            yield f"{prefix}{key}: not a number"
        elif key in _TEXTS and not isinstance(value, str):
            yield f"{prefix}{key}: not a text"
    required = schema.get("required", [])
    if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
        yield f"{prefix}required: not a list of names"
    elif len(set(map(str, required))) < len(required):
        yield f"{prefix}required: a name twice"
    if "enum" in schema and not isinstance(schema["enum"], list):
        yield f"{prefix}enum: not a list"
    yield from _reference_problems(schema.get("$ref"), prefix, root)


def _type_problems(declared: Json, prefix: str) -> Iterator[str]:
    names = declared if isinstance(declared, list) else [declared]
    if declared is None:
        return
    if not names:
        yield f"{prefix}type: empty"
    for name in names:
        if not isinstance(name, str) or name not in _TYPES:
            yield f"{prefix}type: {name!r} is not a type"


def _reference_problems(reference: Json, prefix: str, root: Json) -> Iterator[str]:
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return
    found = root
    for step in reference.removeprefix("#/").split("/"):
        found = found.get(step) if is_object(found) else None
    if found is None:
        yield f"{prefix}$ref: {reference} leads nowhere"


def _each(value: Json, path: str, root: Json) -> Iterator[str]:
    if not isinstance(value, list) or not value:
        yield f"{path}: not a list of schemas"
        return
    for index, schema in enumerate(value):
        yield from _problems(schema, f"{path}.{index}", root)


def _each_named(value: Json, path: str, root: Json) -> Iterator[str]:
    if not is_object(value):
        yield f"{path}: not an object"
        return
    for name, schema in value.items():
        yield from _problems(schema, f"{path}.{name}", root)


def sample(schema: JsonObject) -> Json:
    """Returns a small value that follows the schema, with every property.

    >>> sample({"type": "object", "properties": {"title": {"type": "string"}}})
    {'title': 'text'}
    """
    return _sample(schema, schema, 0)


def _sample(schema: JsonObject, root: JsonObject, depth: int) -> Json:
    if depth > _MAX_DEPTH:
        return None
    if "const" in schema:
        return schema["const"]
    if choices := items_at(schema, "enum"):
        return choices[0]
    for key in ("anyOf", "oneOf", "allOf"):
        if options := objects_at(schema, key):
            return _sample(options[0], root, depth + 1)
    if reference := text_at(schema, "$ref"):
        return _sample(_resolve(reference, root), root, depth + 1)
    return _by_type(schema, root, depth)


def _by_type(schema: JsonObject, root: JsonObject, depth: int) -> Json:
    declared = schema.get("type")
    kind = declared[0] if isinstance(declared, list) and declared else declared
    name = kind.lower() if isinstance(kind, str) else ""
    if name == "object" or "properties" in schema:
        properties = object_at(schema, "properties")
        return {
            key: _sample(value, root, depth + 1)
            for key, value in properties.items()
            if is_object(value)
        }
    if name == "array":
        return (
            [_sample(object_at(schema, "items"), root, depth + 1)] if schema.get("minItems") else []
        )
    return _BY_TYPE.get(name, "text")


def _resolve(reference: str, root: JsonObject) -> JsonObject:
    found = root
    for step in reference.removeprefix("#/").split("/"):
        found = object_at(found, step)
    return found
