"""Finds `[[name: value]]` in a text, also when the value contains brackets or JSON. Pure."""

import json
import re
from collections.abc import Iterator

from msgspec import Struct

from scripted_model.conversation import ToolCall
from scripted_model.json_values import encode

_NAMES = "say tool tools think and usage out sleep stall cut status".split()
_OPENING = re.compile(rf"\[\[\s*(?P<name>{'|'.join(_NAMES)})\s*(?::|(?=\]\]))\s*")
_CLOSING = re.compile(r"\]\](?!\])")
_TOOL_NAME = re.compile(r"[^\s{}\[\];,]+")
_GAP = re.compile(r"[\s;,]*")
_JSON = json.JSONDecoder()


class ScriptError(ValueError):
    """A directive has a wrong form. The message quotes it."""


class Directive(Struct, frozen=True):
    """One `[[name: value]]`."""

    name: str
    value: str


def has_directives(text: str) -> bool:
    """Whether the text contains a directive.

    >>> has_directives("[[say: hi]]"), has_directives("a [[b]] c")
    (True, False)
    """
    start = text.find("[[")
    return start >= 0 and _OPENING.search(text, start) is not None


def directives(text: str) -> Iterator[Directive]:
    """Yields every directive, in order.

    Raises:
        ScriptError: A directive is not closed.

    >>> [each.value for each in directives('[[say: a [b[0]] c]] and [[say: "]]"]]')]
    ['a [b[0]] c', '"]]"']
    """
    position = max(0, text.find("[["))
    while (opening := _OPENING.search(text, position)) is not None:
        end = _end(text, opening)
        if end is None:
            raise ScriptError(f"'{text[opening.start() :][:40]}' is not closed by ]]")
        yield Directive(opening["name"], text[opening.end() : end].strip())
        position = end + 2


def read_text(value: str) -> str:
    """Returns the text of a value: a JSON string is decoded, anything else is taken as it is.

    >>> read_text("plain"), read_text(r'"two\\nlines"')
    ('plain', 'two\\nlines')
    """
    if value.startswith('"'):
        try:
            said: object = json.loads(value)
        except ValueError:
            return value
        if isinstance(said, str):
            return said
    return value


def read_calls(value: str, *, several: bool) -> tuple[ToolCall, ...]:
    """Returns the calls of a `tool` or `tools` directive.

    Raises:
        ScriptError: The value does not have the form `NAME {json}`.

    >>> [each.name for each in read_calls('read {"path": "a"} grep', several=True)]
    ['read', 'grep']
    """
    calls: list[ToolCall] = []
    position = 0
    while (found := _TOOL_NAME.match(value, position)) is not None:
        args, position = _arguments(value, _skip(value, found.end()))
        calls.append(ToolCall("", found[0], encode(args).decode()))
        position = _skip(value, position)
    if position < len(value) or not calls or (len(calls) > 1 and not several):
        kind = "NAME {json} NAME {json}" if several else "NAME {json}"
        raise ScriptError(f"'{value[:60]}' is not of the form {kind}")
    return tuple(calls)


def _skip(value: str, position: int) -> int:
    gap = _GAP.match(value, position)
    return gap.end() if gap else position


def _arguments(value: str, position: int) -> tuple[object, int]:
    if not value.startswith("{", position):
        return {}, position
    try:
        return _JSON.raw_decode(value, position)
    except ValueError as problem:
        # Some agents escape every quote of a prompt from the command line.
        unescaped = value[position:].replace('\\"', '"')
        try:
            return json.loads(unescaped), len(value)
        except ValueError:
            raise ScriptError(f"'{value[:60]}' holds no valid JSON: {problem}") from None


def _end(text: str, opening: re.Match[str]) -> int | None:
    """Returns the position of the closing brackets, or `None` if there are none."""
    start = opening.end()
    if text.startswith('"', start) and (quoted := _after_string(text, start)) is not None:
        return quoted
    lazy = _CLOSING.search(text, start)
    if lazy is None:
        return None
    balanced = _balanced_end(text, start, in_json=opening["name"] in ("tool", "tools"))
    following = _OPENING.search(text, start)
    strays = following is not None and lazy.start() < following.start()
    if balanced is None or (strays and following is not None and balanced > following.start()):
        return lazy.start()  # a single bracket in the text, not a nested pair
    return balanced


def _after_string(text: str, start: int) -> int | None:
    """Returns the end of a directive whose whole value is one JSON string."""
    try:
        _, end = _JSON.raw_decode(text, start)
    except ValueError:
        return None
    end = _skip(text, end)
    return end if text.startswith("]]", end) else None


def _balanced_end(text: str, start: int, *, in_json: bool) -> int | None:
    """Returns the first `]]` outside nested brackets, and in JSON outside strings and braces."""
    depth = braces = 0
    position = start
    while position < len(text):
        character = text[position]
        if character == '"' and braces:
            position = _string_end(text, position)
        elif character == "[":
            depth += 1
        elif character == "]" and depth:
            depth -= 1
        elif text.startswith("]]", position) and not braces:
            return position
        elif in_json and character in "{}":
            braces = max(0, braces + (1 if character == "{" else -1))
        position += 1
    return None


def _string_end(text: str, start: int) -> int:
    """Returns the position of the closing quote of a JSON string."""
    position = start + 1
    while position < len(text) and text[position] != '"':
        position += 2 if text[position] == "\\" else 1
    return position
