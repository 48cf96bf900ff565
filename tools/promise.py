"""What Sapwood promises: the stable names of Python and the routes of `/v1`, line by line.

Every line that was kept must still be true; new lines are free. So a name, a parameter, a field or
a route cannot go or change without somebody saying why: `just promise --because "REASON"`.
"""

import argparse
import inspect
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import Struct, structs

import sapwood
from sapwood_server.access.rate_limit import OpenStreams
from sapwood_server.application import endpoints
from sapwood_server.routes.openapi import openapi_document

KEPT = Path(__file__).resolve().parents[1] / "docs" / "promise"
STABLE = (
    "open open_sync runtime tool Sapwood Agent SyncSapwood SyncAgent TurnStream TurnResult "
    "TurnRecorder TurnParams Delta Recorded Request Message Text Thinking ToolCall ToolResult File "
    "Usage ToolContext Where Actor Cursor AgentNotFound LogError RefusedError SapwoodError "
    "ToolError TurnError"
).split()
"""The stable names of `import sapwood`. The others may still move to submodules before 1.0."""

_WORDS = ("description", "title", "default", "discriminator", "summary")


def python_lines() -> Iterator[str]:
    """The stable names, with the parameters of what can be called and the fields of values."""
    for name in STABLE:
        thing: Any = getattr(sapwood, name)
        yield f"{name}: {'class' if inspect.isclass(thing) else 'function'}"
        if not inspect.isclass(thing):
            yield from _parameters(name, thing)
            continue
        if issubclass(thing, Struct):
            for number, field in enumerate(structs.fields(thing)):
                needed = " required" if field.required else ""
                yield f"{name}.{field.name}: field {number}{needed}"
        for member, value in inspect.getmembers_static(thing):
            if member.startswith("_") or member in getattr(thing, "__struct_fields__", ()):
                continue
            if isinstance(value, property):
                yield f"{name}.{member}: property"
            elif inspect.isfunction(value):
                yield from _parameters(f"{name}.{member}", value)


def _parameters(name: str, function: Callable[..., object]) -> Iterator[str]:
    yield f"{name}()"
    for number, each in enumerate(inspect.signature(function).parameters.values()):
        place = number if each.kind == each.POSITIONAL_OR_KEYWORD else each.kind.description
        needed = " required" if each.default is each.empty else ""
        yield f"{name}({each.name}): {place}{needed}"


def http_lines() -> Iterator[str]:
    """The routes with what they take and answer, and the fields of every type."""
    document = openapi_document(endpoints(OpenStreams(1)))
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield from _route(f"{method.upper()} {path}", operation)
    for name, schema in document["components"]["schemas"].items():
        required = schema.get("required", ())
        for field, each in schema.get("properties", {}).items():
            needed = " required" if field in required else ""
            yield from _shape(f"{name}.{field}{needed}", each)
        if "properties" not in schema:
            yield from _shape(name, schema)


def _route(name: str, operation: dict[str, Any]) -> Iterator[str]:
    yield f"{name} needs {operation['x-scope']}"
    for each in operation["parameters"]:
        needed = " required" if each.get("required") else ""
        yield from _shape(f"{name} takes {each['name']} in {each['in']}{needed}", each["schema"])
    for kind, content in operation.get("requestBody", {}).get("content", {}).items():
        yield from _shape(f"{name} takes {kind}", content["schema"])
    for status, response in operation["responses"].items():
        for kind, content in response.get("content", {}).items():
            for event, schema in content.get("x-messages", {"": content["schema"]}).items():
                yield from _shape(f"{name} answers {status} {kind} {event}".rstrip(), schema)


def _shape(name: str, schema: dict[str, Any]) -> Iterator[str]:
    """One line for each kind of value that a schema allows."""
    if "anyOf" in schema:
        for each in schema["anyOf"]:
            yield from _shape(name, each)
    elif "enum" in schema:
        yield from (f"{name} = {each}" for each in schema["enum"])
    else:
        yield f"{name}: {msgspec.json.encode(_plain(schema), order='sorted').decode()}"


def _plain(schema: object) -> object:
    """A schema without words for people."""
    if isinstance(schema, list | tuple):
        return [_plain(each) for each in cast(list[object], schema)]
    if not isinstance(schema, dict):
        return schema
    fields = cast(dict[str, object], schema)
    return {name: _plain(each) for name, each in fields.items() if name not in _WORDS}


LINES: dict[str, Callable[[], Iterator[str]]] = {
    "python.txt": python_lines,
    "http.txt": http_lines,
}


def broken(kept: list[str], now: list[str]) -> list[str]:
    """The kept lines that are no longer true, and what must be sent now and was not before."""
    gone = sorted(set(kept) - set(now))
    known = {line.partition(".")[0].partition("(")[0].partition(" takes")[0] for line in kept}
    added = [
        line
        for line in sorted(set(now) - set(kept))
        if " required" in line and ("(" in line or " takes " in line or "Body." in line)
    ]
    owners = [line.partition(".")[0].partition("(")[0].partition(" takes")[0] for line in added]
    asked = [line for line, owner in zip(added, owners, strict=True) if owner in known]
    return [*(f"gone: {line}" for line in gone), *(f"now required: {line}" for line in asked)]


def main(arguments: list[str]) -> int:
    """Writes what is promised from now on, with the reason."""
    parser = argparse.ArgumentParser(prog="just promise", description=__doc__)
    parser.add_argument("--because", required=True, help="why the promise changes")
    reason = parser.parse_args(arguments).because.strip()
    found: list[str] = []
    for name, lines in LINES.items():
        now = sorted(set(lines()))
        place = KEPT / name
        before = place.read_text().splitlines() if place.exists() else []
        found += broken(before, now)
        place.write_text("\n".join(now) + "\n")
        print(f"{name}: {len(now)} lines, {len(set(now) - set(before))} of them new")
    today = datetime.now(UTC).date()
    with (KEPT / "changes.md").open("a") as changes:
        changes.write("".join(f"- {today}: {each}\n" for each in [reason]))
        changes.write("".join(f"  - {each}\n" for each in found))
    print("\n".join(found) or "Nothing that was promised has changed.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
