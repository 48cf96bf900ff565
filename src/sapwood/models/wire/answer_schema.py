"""JSON Schemas in the dialects of the providers: each accepts other keywords. Pure."""

from collections.abc import Callable
from typing import Any, cast

import msgspec

Schema = dict[str, Any]

_OF_PARTS = ("items", "additionalProperties", "not")
_OF_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_OF_NAMES = ("properties", "$defs", "definitions")
_ANTHROPIC = frozenset(
    """type properties required items enum const anyOf allOf $ref $defs definitions default
    description title format additionalProperties minItems""".split()
)
_FORMATS = frozenset("date-time time date duration email hostname uri ipv4 ipv6 uuid".split())
_NOT_STRICT = frozenset(
    """oneOf allOf not if then else prefixItems patternProperties dependentRequired
    dependentSchemas unevaluatedProperties propertyNames contains default""".split()
)


def schema_prompt(schema: Schema) -> str:
    """The instruction for a model whose API takes no schema of the answer."""
    text = msgspec.json.encode(schema).decode()
    return (
        f"Answer with one JSON object that matches this JSON Schema:\n\n{text}\n\n"
        "Write no other text and no Markdown fence around it."
    )


def anthropic_schema(schema: Schema) -> Schema:
    """The schema as Anthropic takes it: closed objects; other limits stand in the description."""

    def change(node: Schema) -> Schema:
        if "oneOf" in node:
            node["anyOf"] = node.pop("oneOf")
        limits = {name: value for name, value in node.items() if not _is_taken(name, value)}
        kept = {name: value for name, value in node.items() if name not in limits}
        if limits:
            words = ", ".join(f"{name}: {value}" for name, value in limits.items())
            kept["description"] = f"{node.get('description', '')} {{{words}}}".strip()
        return _closed(kept)

    return _walk(schema, change)


def _is_taken(name: str, value: object) -> bool:
    if name == "format":
        return value in _FORMATS
    return name in _ANTHROPIC and (name != "minItems" or value in (0, 1))


def strict_schema(schema: Schema) -> tuple[Schema, bool]:
    """The schema for OpenAI, and whether it can be enforced: if so, its objects are closed."""
    problems: list[Schema] = []

    def change(node: Schema) -> Schema:
        names = set(cast("Schema", node.get("properties", {})))
        is_open = node.get("additionalProperties", False) is not False
        if _NOT_STRICT & node.keys() or is_open or names - set(node.get("required", ())):
            problems.append(node)
        return _closed(node)

    closed = _walk(schema, change)
    return (schema, False) if problems else (closed, True)


def gemini_schema(schema: Schema) -> Schema:
    """The schema without keywords that Gemini refuses."""

    def change(node: Schema) -> Schema:
        if "const" in node:
            node["enum"] = [node.pop("const")]
        if node.get("type") == "string" and (form := node.pop("format", None)):
            node["description"] = f"{node.get('description', '')} (format: {form})".strip()
        for name in ("$schema", "title", "discriminator", "examples"):
            node.pop(name, None)
        for name in ("exclusiveMinimum", "exclusiveMaximum"):
            node.pop(name, None)
        return node

    return _walk(schema, change)


def _closed(node: Schema) -> Schema:
    is_object = node.get("type") == "object" or "properties" in node
    return {**node, "additionalProperties": False} if is_object else node


def _walk(node: object, change: Callable[[Schema], Schema]) -> Any:
    """A copy of the schema in which `change` was applied to each schema within it."""
    if not isinstance(node, dict):
        return node
    copy = dict(cast("Schema", node))
    for name in _OF_PARTS:
        if name in copy:
            copy[name] = _walk(copy[name], change)
    for name in _OF_LISTS:
        if isinstance(copy.get(name), list):
            copy[name] = [_walk(each, change) for each in copy[name]]
    for name in _OF_NAMES:
        if isinstance(copy.get(name), dict):
            copy[name] = {key: _walk(each, change) for key, each in copy[name].items()}
    return change(copy)
