"""A small instance of a JSON schema, for a reply that must follow one. Pure."""

from sapwood.testing.scripted.jsontree import (
    Json,
    JsonObject,
    is_object,
    items_at,
    object_at,
    objects_at,
    text_at,
)

__all__ = ["sample"]

_DEEP = 12
_BY_TYPE: dict[str, Json] = {"boolean": False, "integer": 1, "number": 1, "null": None}


def sample(schema: JsonObject) -> Json:
    """Something that the schema allows, with every property that it names.

    >>> sample({"type": "object", "properties": {"title": {"type": "string"}}})
    {'title': 'text'}
    """
    return _sample(schema, schema, 0)


def _sample(schema: JsonObject, root: JsonObject, depth: int) -> Json:
    if depth > _DEEP:
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
