"""Sets or removes one value of a TOML text and leaves every other line as it was.

It edits lines, which does not cover all of TOML. So the edited text is parsed again, and the edit
is refused if the text does not have exactly the expected values.

Parses TOML that a person or another program wrote.

The parser of the standard library calls itself for each nested list, so a deep one would end in a
`RecursionError`. Nobody writes such a file on purpose: it is not TOML as far as Sapwood reads it.
"""

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, cast

KeyPath = tuple[str, ...]
"""The path to a value: the names of its tables, and its own name."""

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_NEWLINE = re.compile(r"\r?\n")
_HEADER = re.compile(r"\s*\[")


class CannotEditToml(Exception):
    """This module cannot edit the way the text is written."""


def with_value(text: str, path: KeyPath, value: object) -> str:
    """The text with a value set at a path, in its table if that exists.

    >>> print(with_value('model = "a"  # for now\\n', ("context", "cap"), 5))
    model = "a"  # for now
    <BLANKLINE>
    [context]
    cap = 5
    <BLANKLINE>
    """
    line = f"{_key(path[-1])} = {toml_value(value)}"
    lines = _lines(text)
    found, start, end = _table(lines, path[:-1])
    at = _line_of(lines, path[-1], start, end)
    if at is not None:
        lines[at] = line
    elif found:
        while end > start and not lines[end - 1].strip():
            end -= 1
        lines.insert(end, line)
        if end + 1 < len(lines) and _HEADER.match(lines[end + 1]):
            lines.insert(end + 1, "")
    else:
        lines += [*([""] if lines else []), f"[{table_header(path[:-1])}]", line]
    return _checked(text, lines, path, value)


def without_value(text: str, path: KeyPath) -> str:
    """The text without the value at a path, and without its table if that is empty then.

    >>> without_value('model = "a"\\n\\n[context]\\ncap = 5\\n', ("context", "cap"))
    'model = "a"\\n'
    """
    lines = _lines(text)
    _, start, end = _table(lines, path[:-1])
    at = _line_of(lines, path[-1], start, end)
    if at is None:
        raise CannotEditToml
    del lines[at]
    if start and not any(line.strip() for line in lines[start : end - 1]):
        del lines[start - 1 : end - 1]
    while lines and not lines[-1].strip():
        del lines[-1]
    return _checked(text, lines, path, None)


def toml_value(value: object) -> str:
    """A value as TOML, on one line.

    >>> toml_value(["a", 1, 0.5, True, {"b": "c"}])
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
            return f"[{', '.join(toml_value(item) for item in each)}]"
        case dict():
            pairs = cast("Mapping[str, object]", value).items()
            return f"{{{', '.join(f'{_key(name)} = {toml_value(item)}' for name, item in pairs)}}}"
        case _:
            raise CannotEditToml


def table_header(path: KeyPath) -> str:
    """The names of a table as written in its header.

    >>> table_header(("servers", "my files"))
    'servers."my files"'
    """
    return ".".join(map(_key, path))


def _lines(text: str) -> list[str]:
    """Splits at the line ends of TOML; `splitlines` would split at other characters too."""
    return _NEWLINE.split(text.removesuffix("\n")) if text else []


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else toml_value(name)


def _table(lines: list[str], names: KeyPath) -> tuple[bool, int, int]:
    """Whether the table exists, and the range of its lines."""
    headers = [index for index, line in enumerate(lines) if _HEADER.match(line)]
    if not names:
        return True, 0, headers[0] if headers else len(lines)
    for index in headers:
        if header_names(lines[index]) == names:
            later = [other for other in headers if other > index]
            return True, index + 1, later[0] if later else len(lines)
    return False, len(lines), len(lines)


def header_names(header: str) -> KeyPath:
    """The names in a header such as `[servers.files]`; empty if the line is no header."""
    try:
        inner: object = parse_toml(header)
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
    own = re.compile(rf"\s*(?:{re.escape(name)}|{re.escape(toml_value(name))})\s*=")
    return next((index for index in range(start, end) if own.match(lines[index])), None)


def _checked(before: str, lines: list[str], path: KeyPath, value: object) -> str:
    """The new text, if it has the expected values. Raises `CannotEditToml`."""
    expected = deepcopy(parse_toml(before))
    _put(expected, path, value)
    text = "\n".join(lines) + "\n" if lines else ""
    try:
        if without_empty(parse_toml(text)) == without_empty(expected):
            return text
    except tomllib.TOMLDecodeError:
        pass
    raise CannotEditToml


def _put(tables: dict[str, Any], path: KeyPath, value: object) -> None:
    for name in path[:-1]:
        tables = tables.setdefault(name, {})
    if value is None:
        tables.pop(path[-1], None)
    else:
        tables[path[-1]] = list(cast("tuple[Any]", value)) if isinstance(value, tuple) else value


def without_empty(tables: dict[str, Any]) -> dict[str, Any]:
    """The tables without those that hold nothing."""
    kept = {k: without_empty(v) if isinstance(v, dict) else v for k, v in tables.items()}  # pyright: ignore[reportUnknownArgumentType]
    return {name: value for name, value in kept.items() if value != {}}


_MAX_DEPTH = 100


def parse_toml(text: str) -> dict[str, Any]:
    """The tables of a text. Raises `tomllib.TOMLDecodeError`.

    >>> parse_toml("a = 1")
    {'a': 1}
    """
    try:
        tables = tomllib.loads(text)
    except RecursionError:
        raise _too_deep() from None
    if _is_deep(tables):
        raise _too_deep()
    return tables


def _is_deep(tables: dict[str, Any]) -> bool:
    level: list[object] = [tables]
    for _ in range(_MAX_DEPTH):
        level = [inner for each in level for inner in _inner(each)]
        if not level:
            return False
    return True


def _inner(value: object) -> list[object]:
    if isinstance(value, dict):
        return list(cast("dict[str, object]", value).values())
    return cast("list[object]", value) if isinstance(value, list) else []


def _too_deep() -> tomllib.TOMLDecodeError:
    return tomllib.TOMLDecodeError(f"it has more than {_MAX_DEPTH} levels of nesting")
