"""Rules of the Gemini API for top-level fields, tools and their schemas. Pure."""

import re
from collections.abc import Callable, Iterator

from msgspec import structs

from scripted_model.json_schema import schema_problem
from scripted_model.json_values import (
    Json,
    JsonObject,
    is_object,
    items_at,
    object_at,
    objects_at,
    text_at,
)
from scripted_model.wires.gemini import fields
from scripted_model.wires.gemini.content_validation import (
    content_violations,
    order_violations,
    signature_violations,
)
from scripted_model.wires.gemini.fields import (
    camel_case,
    field_violations,
    snake_case,
    with_camel_case_names,
)
from scripted_model.wires.wire import Post, Violation

_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}")
_TYPES = frozenset("STRING NUMBER INTEGER BOOLEAN ARRAY OBJECT NULL TYPE_UNSPECIFIED".split())


def top_level_violations(post: Post) -> Iterator[Violation]:
    """Yields the broken rules for top-level fields."""
    body = post.body
    form = fields.TOP if post.action == "reply" else fields.TOP_COUNT
    yield from field_violations(body, form.with_fields(*post.allowed), "")
    if post.action == "reply" and not items_at(body, "contents"):
        yield Violation("* GenerateContentRequest.contents: contents is not specified")
    generation = body.get("generationConfig")
    if is_object(generation):
        yield from field_violations(generation, fields.GENERATION, "generationConfig")
        thinking = object_at(generation, "thinkingConfig")
        yield from field_violations(thinking, fields.THINKING, "generationConfig.thinkingConfig")
    instruction = body.get("systemInstruction")
    if instruction is not None and not is_object(instruction):
        yield Violation("Invalid value at 'system_instruction' (type.googleapis.com/Content)")


def tool_violations(post: Post) -> Iterator[Violation]:
    """Yields the broken rules for tools."""
    names: set[str] = set()
    for index, tool in enumerate(objects_at(post.body, "tools")):
        yield from field_violations(tool, fields.TOOL, f"tools[{index}]")
        for place, declaration in enumerate(objects_at(tool, "functionDeclarations")):
            path = f"tools[{index}].functionDeclarations[{place}]"
            yield from _declaration_violations(declaration, path)
            name = text_at(declaration, "name")
            if name in names:
                yield Violation(f"Duplicate function declaration found: {name}")
            names.add(name)
    yield from _config_violations(object_at(post.body, "toolConfig"), names)


def _declaration_violations(declaration: JsonObject, path: str) -> Iterator[Violation]:
    yield from field_violations(declaration, fields.DECLARATION, path)
    if not _NAME.fullmatch(text_at(declaration, "name")):
        yield Violation(
            f"* GenerateContentRequest.{snake_case(path)}.name: Invalid function name. Must start "
            "with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores "
            "(_), dots (.), colons (:), or dashes (-), with a maximum length of 64."
        )
    if "parameters" in declaration and "parametersJsonSchema" in declaration:
        yield Violation(
            f"{snake_case(path)}: parameters and parameters_json_schema cannot both be set."
        )
    if "parameters" in declaration:
        yield from _schema_violations(declaration["parameters"], f"{path}.parameters")
    problem = schema_problem(declaration.get("parametersJsonSchema", True))
    if problem is not None:
        yield Violation(
            f"* GenerateContentRequest.{snake_case(path)}.parameters_json_schema: invalid JSON "
            f"schema: {problem}"
        )


def _schema_violations(schema: Json, path: str) -> Iterator[Violation]:
    """Yields the broken rules for a schema in the older form, a part of JSON Schema."""
    if not is_object(schema):
        yield Violation(f"Invalid value at '{snake_case(path)}' (type.googleapis.com/Schema)")
        return
    plain = {camel_case(name): value for name, value in schema.items()}
    yield from field_violations(plain, fields.SCHEMA, path)
    kind = str(plain.get("type", "")).upper()
    if kind and kind not in _TYPES:
        yield Violation(f"Invalid value at '{snake_case(path)}.type' (TYPE_ENUM), \"{kind}\"")
    properties = object_at(plain, "properties")
    where = f"* GenerateContentRequest.{snake_case(path)}"
    if kind == "OBJECT" and not properties:
        yield Violation(f"{where}.properties: should be non-empty for OBJECT type")
    if kind == "ARRAY" and "items" not in plain:
        yield Violation(f"{where}.items: missing field.")
    for place, name in enumerate(items_at(plain, "required")):
        if properties and str(name) not in properties:
            yield Violation(f"{where}.required[{place}]: property is not defined")
    for name, value in properties.items():
        yield from _schema_violations(value, f"{path}.properties[{name}]")
    if "items" in plain:
        yield from _schema_violations(plain["items"], f"{path}.items")
    for place, value in enumerate(items_at(plain, "anyOf")):
        yield from _schema_violations(value, f"{path}.anyOf[{place}]")


def _config_violations(config: JsonObject, names: set[str]) -> Iterator[Violation]:
    yield from field_violations(config, fields.TOOL_CONFIG, "toolConfig")
    calling = object_at(config, "functionCallingConfig")
    path = "toolConfig.functionCallingConfig"
    yield from field_violations(calling, fields.FUNCTION_CALLING, path)
    mode = text_at(calling, "mode") or "AUTO"
    if mode not in fields.MODES:
        yield Violation(f"Invalid value at '{snake_case(path)}.mode' (TYPE_ENUM), \"{mode}\"")
    allowed = items_at(calling, "allowedFunctionNames")
    if allowed and mode not in ("ANY", "VALIDATED"):
        yield Violation(
            "Please set allowed_function_names only when function calling mode is ANY or VALIDATED."
        )
    for name in allowed:
        if str(name) not in names:
            yield Violation(
                f"allowed_function_names contains a function that is not declared: {name}"
            )


_RULES: tuple[Callable[[Post], Iterator[Violation]], ...] = (
    top_level_violations,
    content_violations,
    tool_violations,
    order_violations,
    signature_violations,
)


def first_violation(post: Post) -> Violation | None:
    """Returns the first rule that the request breaks. Later rules rely on the earlier ones."""
    plain = structs.replace(post, body=with_camel_case_names(post.body))
    return next((found for rule in _RULES for found in rule(plain)), None)
