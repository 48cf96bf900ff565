"""Rules of the Responses API: fields, items, tool calls and their results, reasoning. Pure."""

from collections.abc import Callable, Iterator
from itertools import zip_longest

from scripted_model.json_values import Json, JsonObject, is_object, items_at, objects_at, text_at
from scripted_model.signatures import item_id, read_item_id, signed_text
from scripted_model.wires.openai import (
    cache_violations,
    function_violations,
    length_violations,
    missing_field,
    part_violations,
    quoted,
    shape_violations,
    wrong_type,
    wrong_value,
)
from scripted_model.wires.responses import fields
from scripted_model.wires.wire import Post, Shape, Violation

_FORMS = {"reply": fields.TOP, "compact": fields.TOP_COMPACT, "count": fields.TOP_COUNT}
_MAX_ID = 64
_CALL_OF = {output: (call, words) for call, (output, words) in fields.RESULTS.items()}


def top_level_violations(post: Post) -> Iterator[Violation]:
    """Yields the broken rules for top-level fields."""
    body = post.body
    yield from shape_violations(body, _FORMS[post.action].with_fields(*post.allowed), "")
    if body.get("previous_response_id") is not None:
        # The server stores no responses, like an account with zero data retention.
        yield Violation(
            f"Previous response with id '{text_at(body, 'previous_response_id')}' not found.",
            "previous_response_id",
            "previous_response_not_found",
        )
    given = body.get("input")
    if given is None and body.get("prompt") is None:
        yield missing_field("input")
    elif given is not None and not isinstance(given, (str, list)):
        yield wrong_type("input", "one of an array of objects or string")
    for name, form in (("reasoning", fields.REASONING), ("text", fields.TEXT)):
        value = body.get(name)
        if is_object(value):
            yield from shape_violations(value, form, name)
    yield from cache_violations(body, fields.CACHE_OPTIONS, ("30m", "12h"))
    limit = body.get("max_output_tokens")
    if isinstance(limit, int) and limit < 16:
        yield Violation(
            "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but "
            f"got {limit} instead.",
            "max_output_tokens",
            "integer_below_min_value",
        )


def tool_violations(post: Post) -> Iterator[Violation]:
    """Yields the broken rules for tools."""
    for index, tool in enumerate(items_at(post.body, "tools")):
        yield from _tool_violations(tool, f"tools[{index}]", fields.TOOLS)
        if is_object(tool) and tool.get("type") == "namespace":
            for place, inner in enumerate(items_at(tool, "tools")):
                path = f"tools[{index}].tools[{place}]"
                yield from _tool_violations(inner, path, fields.NAMESPACE_TOOLS)
    choice = post.body.get("tool_choice")
    names = {text_at(tool, "name") for tool in items_at(post.body, "tools") if is_object(tool)}
    if is_object(choice) and choice.get("type") in ("function", "custom"):
        name = text_at(choice, "name")
        if name not in names:
            yield Violation(f"Tool choice '{name}' not found in 'tools' parameter.", "tool_choice")


def _tool_violations(tool: Json, path: str, known: dict[str, Shape]) -> Iterator[Violation]:
    kind = text_at(tool, "type") if is_object(tool) else ""
    if not is_object(tool) or kind not in known:
        yield wrong_value(kind, quoted(known), f"{path}.type")
        return
    yield from shape_violations(tool, known[kind], path)
    if kind in ("function", "custom"):
        yield from function_violations(tool, path)


def item_violations(post: Post) -> Iterator[Violation]:
    """Yields the broken rules for single items, and for duplicate ids."""
    seen: set[str] = set()
    for index, item in enumerate(items_at(post.body, "input")):
        path = f"input[{index}]"
        if not is_object(item):
            yield wrong_type(path, "an object")
            continue
        yield from _item_violations(item, path)
        name = text_at(item, "id")
        if name and name in seen:
            yield Violation(
                f"Duplicate item found with id {name}. Remove duplicate items from your input and "
                "try again.",
                "input",
            )
        seen.add(name)


def _item_violations(item: JsonObject, path: str) -> Iterator[Violation]:
    kind = fields.kind_of(item)
    form = fields.ITEMS.get(kind)
    if form is None:
        yield wrong_value(kind, quoted(fields.ITEMS), path)
        return
    yield from shape_violations(item, form, path)
    yield from _id_violations(item, kind, path)
    match kind:
        case "message":
            yield from _message_violations(item, path)
        case "function_call":
            if not isinstance(item.get("arguments"), str):
                where = f"{path}.arguments"
                yield Violation(f"Invalid type for '{where}': expected a string.", where)
        case _ if kind in fields.OUTPUTS:
            if not isinstance(item.get("output"), (str, list)):
                where = f"{path}.output"
                yield Violation(f"Invalid type for '{where}': expected a string.", where)
        case _:
            pass


def _id_violations(item: JsonObject, kind: str, path: str) -> Iterator[Violation]:
    name = item.get("id")
    if name is not None:
        yield from length_violations(name, _MAX_ID, f"{path}.id")
        prefix = fields.ID_PREFIXES.get(kind, "")
        if not str(name).startswith(prefix):
            yield Violation(
                f"Invalid '{path}.id': '{name}'. Expected an ID that begins with '{prefix}'.",
                f"{path}.id",
                "invalid_value",
            )
    if kind in fields.RESULTS:
        yield from length_violations(item.get("call_id"), _MAX_ID, f"{path}.call_id")


def _message_violations(item: JsonObject, path: str) -> Iterator[Violation]:
    role, content = text_at(item, "role"), item.get("content")
    if role not in fields.PARTS_OF:
        yield wrong_value(role, quoted(fields.PARTS_OF), f"{path}.role")
    elif not isinstance(content, (str, list)):
        yield wrong_type(f"{path}.content", "one of an array of objects or string")
    elif isinstance(content, list):
        for place, part in enumerate(content):
            yield from part_violations(
                part, role, f"{path}.content[{place}]", fields.PARTS_OF, fields.PARTS
            )


def tool_result_violations(post: Post) -> Iterator[Violation]:
    """Yields a violation unless each call is followed by exactly one result."""
    waiting: dict[tuple[str, str], str] = {}
    for item in objects_at(post.body, "input"):
        kind = fields.kind_of(item)
        if kind in fields.RESULTS:
            waiting[kind, _call_id(item)] = fields.RESULTS[kind][1]
        elif kind in _CALL_OF:
            call, words = _CALL_OF[kind]
            if waiting.pop((call, _call_id(item)), None) is None:
                yield Violation(
                    f"No tool call found for {words} output with call_id {_call_id(item)}.", "input"
                )
    for (_, call), words in waiting.items():
        yield Violation(f"No tool output found for {words} {call}.", "input")


def _call_id(item: JsonObject) -> str:
    return text_at(item, "call_id") or text_at(item, "id")


def reasoning_violations(post: Post) -> Iterator[Violation]:
    """Yields the broken rules for reasoning that is sent back or left out."""
    items = objects_at(post.body, "input")
    stored = post.body.get("store") is not False
    for item in items:
        if fields.kind_of(item) in ("reasoning", "compaction"):
            yield from _signature_violations(item, stored=stored)
    yield from _following_violations(items)
    if stored:
        yield from _missing_violations(items)


def _signature_violations(item: JsonObject, *, stored: bool) -> Iterator[Violation]:
    name = text_at(item, "id")
    encrypted = text_at(item, "encrypted_content")
    if encrypted:
        if signed_text("openai", encrypted) is None:
            yield Violation(
                f"The encrypted content for item {name} could not be verified.",
                code="invalid_encrypted_content",
            )
    elif not stored:
        yield Violation(
            f"Item with id '{name}' not found. Items are not persisted when `store` is set to "
            "false. Try again with `store` set to true, or remove this item from your input.",
            "input",
            status=404,
        )
    elif read_item_id(name) is None:
        yield Violation(f"Item with id '{name}' not found.", "input", status=404)


def _following_violations(items: list[JsonObject]) -> Iterator[Violation]:
    for item, after in zip_longest(items, items[1:]):
        if fields.kind_of(item) != "reasoning":
            continue
        if after is None or not _is_of_model(after):
            yield Violation(
                f"Item '{text_at(item, 'id')}' of type 'reasoning' was provided without its "
                "required following item.",
                "input",
            )


def _is_of_model(item: JsonObject) -> bool:
    kind = fields.kind_of(item)
    if kind == "message":
        return text_at(item, "role") == "assistant"
    return not kind.endswith("_output")


def _missing_violations(items: list[JsonObject]) -> Iterator[Violation]:
    given = {text_at(item, "id") for item in items if fields.kind_of(item) == "reasoning"}
    for item in items:
        name = text_at(item, "id")
        known = read_item_id(name)
        if known is None or not known.thought:
            continue
        needed = item_id("rs", known.reply, 0, thought=False)
        if needed not in given:
            yield Violation(
                f"Item '{name}' of type '{fields.kind_of(item)}' was provided without its required "
                f"'reasoning' item: '{needed}'.",
                "input",
            )


_RULES: tuple[Callable[[Post], Iterator[Violation]], ...] = (
    top_level_violations,
    tool_violations,
    item_violations,
    reasoning_violations,
    tool_result_violations,
)


def first_violation(post: Post) -> Violation | None:
    """Returns the first rule that the request breaks. Later rules rely on the earlier ones."""
    return next((found for rule in _RULES for found in rule(post)), None)
