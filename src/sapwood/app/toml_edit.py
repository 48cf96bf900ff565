"""One value set or taken out of a TOML text, with everything else left as its author wrote it.

Works on lines, which is not all of TOML: what came of it is parsed again, and a text that does not
hold exactly what it should is refused.
"""

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, cast

__all__ = [
    "CannotEdit",
    "Place",
    "encoded",
    "header_of",
    "removed",
    "table_named",
    "with_value",
]

Place = tuple[str, ...]
"""Where a value stands: the names of its tables, and its own."""

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_NEWLINE = re.compile(r"\r?\n")
_HEADER = re.compile(r"\s*\[")


class CannotEdit(Exception):
    """The text is written in a way that only its author can change."""


def with_value(text: str, place: Place, value: object) -> str:
    """The text with a value at a place, in its table if there is one.

    >>> print(with_value('model = "a"  # for now\\n', ("context", "cap"), 5))
    model = "a"  # for now
    <BLANKLINE>
    [context]
    cap = 5
    <BLANKLINE>
    """
    line = f"{_key(place[-1])} = {encoded(value)}"
    lines = _lines(text)
    found, start, end = _table(lines, place[:-1])
    at = _line_of(lines, place[-1], start, end)
    if at is not None:
        lines[at] = line
    elif found:
        while end > start and not lines[end - 1].strip():
            end -= 1
        lines.insert(end, line)
        if end + 1 < len(lines) and _HEADER.match(lines[end + 1]):
            lines.insert(end + 1, "")
    else:
        lines += [*([""] if lines else []), f"[{header_of(place[:-1])}]", line]
    return _checked(text, lines, place, value)


def removed(text: str, place: Place) -> str:
    """The text without the value at a place, and without its table if nothing else is in it.

    >>> removed('model = "a"\\n\\n[context]\\ncap = 5\\n', ("context", "cap"))
    'model = "a"\\n'
    """
    lines = _lines(text)
    _, start, end = _table(lines, place[:-1])
    at = _line_of(lines, place[-1], start, end)
    if at is None:
        raise CannotEdit
    del lines[at]
    if start and not any(line.strip() for line in lines[start : end - 1]):
        del lines[start - 1 : end - 1]
    while lines and not lines[-1].strip():
        del lines[-1]
    return _checked(text, lines, place, None)


def encoded(value: object) -> str:
    """The value as TOML, on one line.

    >>> encoded(["a", 1, 0.5, True, {"b": "c"}])
    '["a", 1, 0.5, true, {b = "c"}]'
    """
    match value:
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case list() | tuple():
            each = cast("Sequence[object]", value)
            return f"[{', '.join(encoded(item) for item in each)}]"
        case dict():
            pairs = cast("Mapping[str, object]", value).items()
            return f"{{{', '.join(f'{_key(name)} = {encoded(item)}' for name, item in pairs)}}}"
        case _:
            raise CannotEdit


def header_of(place: Place) -> str:
    """The names of a table as they stand in its header.

    >>> header_of(("servers", "my files"))
    'servers."my files"'
    """
    return ".".join(map(_key, place))


def _lines(text: str) -> list[str]:
    """As TOML has them: a text may hold other characters at which Python would break it."""
    return _NEWLINE.split(text.removesuffix("\n")) if text else []


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else encoded(name)


def _table(lines: list[str], names: Place) -> tuple[bool, int, int]:
    """Whether the table has lines of its own, and from where to where they go."""
    headers = [index for index, line in enumerate(lines) if _HEADER.match(line)]
    if not names:
        return True, 0, headers[0] if headers else len(lines)
    for index in headers:
        if table_named(lines[index]) == names:
            later = [other for other in headers if other > index]
            return True, index + 1, later[0] if later else len(lines)
    return False, len(lines), len(lines)


def table_named(header: str) -> Place:
    """The names in a header such as `[servers.files]`; none if the line is no header."""
    try:
        inner: object = tomllib.loads(header)
    except tomllib.TOMLDecodeError:
        return ()
    names: list[str] = []
    while isinstance(inner, dict) and inner:
        tables = cast("dict[str, object]", inner)
        (name,) = tables
        names.append(name)
        inner = tables[name]
    return tuple(names)


def _line_of(lines: list[str], name: str, start: int, end: int) -> int | None:
    own = re.compile(rf"\s*(?:{re.escape(name)}|{re.escape(encoded(name))})\s*=")
    return next((index for index in range(start, end) if own.match(lines[index])), None)


def _checked(before: str, lines: list[str], place: Place, value: object) -> str:
    """The new text, if it says what it should."""
    expected = deepcopy(tomllib.loads(before))
    _put(expected, place, value)
    text = "\n".join(lines) + "\n" if lines else ""
    try:
        if _without_empty(tomllib.loads(text)) == _without_empty(expected):
            return text
    except tomllib.TOMLDecodeError:
        pass
    raise CannotEdit


def _put(tables: dict[str, Any], place: Place, value: object) -> None:
    for name in place[:-1]:
        tables = tables.setdefault(name, {})
    if value is None:
        tables.pop(place[-1], None)
    else:
        tables[place[-1]] = list(cast("tuple[Any]", value)) if isinstance(value, tuple) else value


def _without_empty(tables: dict[str, Any]) -> dict[str, Any]:
    kept = {k: _without_empty(v) if isinstance(v, dict) else v for k, v in tables.items()}  # pyright: ignore[reportUnknownArgumentType]
    return {name: value for name, value in kept.items() if value != {}}
