"""Items of the input, each for itself: types, fields, roles, content, ids."""

from collections.abc import Iterator

from sapwood.testing.scripted.jsontree import Json, JsonObject, is_object, items_at, text_at
from sapwood.testing.scripted.wires.openai import length_violations, shape_violations
from sapwood.testing.scripted.wires.responses.fields import (
    ID_PREFIXES,
    ITEMS,
    PARTS,
    PARTS_OF,
    RESULTS,
)
from sapwood.testing.scripted.wires.wire import Post, Violation

__all__ = ["item_violations", "kind_of"]

_LONGEST_ID = 64
_OUTPUTS = frozenset(output for output, _ in RESULTS.values())


def kind_of(item: JsonObject) -> str:
    """The type of an item; without one it is a message, or a reference."""
    if "type" in item:
        return text_at(item, "type")
    return "message" if "role" in item else "item_reference"


def item_violations(post: Post) -> Iterator[Violation]:
    """What is wrong with an item taken alone, or with two of one id."""
    seen: set[str] = set()
    for index, item in enumerate(items_at(post.body, "input")):
        path = f"input[{index}]"
        if not is_object(item):
            yield Violation(f"Invalid type for '{path}': expected an object.", path, "invalid_type")
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
    kind = kind_of(item)
    form = ITEMS.get(kind)
    if form is None:
        supported = ", ".join(f"'{name}'" for name in ITEMS)
        yield Violation(
            f"Invalid value: '{kind}'. Supported values are: {supported}.", path, "invalid_value"
        )
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
        case _ if kind in _OUTPUTS:
            if not isinstance(item.get("output"), (str, list)):
                where = f"{path}.output"
                yield Violation(f"Invalid type for '{where}': expected a string.", where)
        case _:
            pass


def _id_violations(item: JsonObject, kind: str, path: str) -> Iterator[Violation]:
    name = item.get("id")
    if name is not None:
        yield from length_violations(name, _LONGEST_ID, f"{path}.id")
        prefix = ID_PREFIXES.get(kind, "")
        if not str(name).startswith(prefix):
            yield Violation(
                f"Invalid '{path}.id': '{name}'. Expected an ID that begins with '{prefix}'.",
                f"{path}.id",
                "invalid_value",
            )
    if kind in RESULTS:
        yield from length_violations(item.get("call_id"), _LONGEST_ID, f"{path}.call_id")


def _message_violations(item: JsonObject, path: str) -> Iterator[Violation]:
    role, content = text_at(item, "role"), item.get("content")
    if role not in PARTS_OF:
        supported = ", ".join(f"'{name}'" for name in PARTS_OF)
        yield Violation(
            f"Invalid value: '{role}'. Supported values are: {supported}.",
            f"{path}.role",
            "invalid_value",
        )
    elif not isinstance(content, (str, list)):
        where = f"{path}.content"
        yield Violation(
            f"Invalid type for '{where}': expected one of an array of objects or string.",
            where,
            "invalid_type",
        )
    elif isinstance(content, list):
        for place, part in enumerate(content):
            yield from _part_violations(part, role, f"{path}.content[{place}]")


def _part_violations(part: Json, role: str, path: str) -> Iterator[Violation]:
    kind = text_at(part, "type") if is_object(part) else ""
    if not is_object(part) or kind not in PARTS_OF[role]:
        supported = " and ".join(f"'{name}'" for name in sorted(PARTS_OF[role]))
        yield Violation(
            f"Invalid value: '{kind}'. Supported values are: {supported}.", path, "invalid_value"
        )
        return
    yield from shape_violations(part, PARTS[kind], path)
