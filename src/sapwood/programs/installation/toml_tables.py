"""Adds or removes whole tables of a TOML text and leaves every other byte as it was.

It finds tables by their header lines. The edited text is parsed again, and the edit is refused if
the text does not have exactly the expected values.
"""

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from typing import Any, cast

from sapwood.config.toml_edit import CannotEditToml as CannotEditToml
from sapwood.config.toml_edit import (
    KeyPath,
    header_names,
    parse_toml,
    table_header,
    toml_value,
    without_empty,
)

_HEADER = re.compile(r"\s*\[")


def with_tables(text: str, tables: Mapping[KeyPath, Mapping[str, object]]) -> str:
    """The text with more tables at its end.

    >>> print(with_tables("a = 1\\n", {("b", "c@d"): {"on": True}}))
    a = 1
    <BLANKLINE>
    [b."c@d"]
    on = true
    <BLANKLINE>
    """
    if not tables:
        return text
    ending = "\r\n" if "\r\n" in text else "\n"
    expected = deepcopy(parse_toml(text))
    parts = [text if not text or text.endswith("\n") else text + ending]
    for place, values in tables.items():
        lines = [
            f"[{table_header(place)}]",
            *(f"{name} = {toml_value(values[name])}" for name in values),
        ]
        parts += [ending if parts[-1] else "", *(line + ending for line in lines)]
        _put(expected, place, dict(values))
    return _checked("".join(parts), expected)


def without_tables(text: str, unwanted: Callable[[KeyPath], bool]) -> str:
    """The text without the unwanted tables and the empty lines before them.

    Tables that hold nothing but unwanted ones go too, and so do unwanted values with dotted names.

    >>> without_tables("a = 1\\n\\n[b]\\nc = 2\\n\\n[d]\\ne = 3\\n", lambda place: place == ("b",))
    'a = 1\\n\\n[d]\\ne = 3\\n'
    """
    before = parse_toml(text)
    emptied = set(_emptied(before, unwanted))
    kept: list[str] = []
    after: list[str] = []  # comments and empty lines that belong to the next table
    table: KeyPath = ()
    dropping = False
    for line in text.splitlines(keepends=True):
        if _HEADER.match(line) and (place := header_names(line)):
            kept += after
            after = []
            table = place
            dropping = unwanted(place) or place in emptied
            while dropping and kept and not kept[-1].strip():
                kept.pop()
        if not dropping:
            if not _is_unwanted_value(line, table, unwanted):
                kept.append(line)
        elif not line.strip() or line.lstrip().startswith("#"):
            after.append(line)
        else:
            after = []
    kept += after if any(line.strip() for line in after) else []
    left = "".join(kept)
    return _checked(left, _pruned(before, unwanted))


def _is_unwanted_value(line: str, table: KeyPath, unwanted: Callable[[KeyPath], bool]) -> bool:
    """Whether the line sets a value within an unwanted table, by a dotted name."""
    names = [*table]
    try:
        inner: object = parse_toml(line)
    except tomllib.TOMLDecodeError:
        return False
    while isinstance(inner, dict) and len(cast("dict[str, object]", inner)) == 1:
        ((name, inner),) = cast("dict[str, object]", inner).items()
        names.append(name)
        if unwanted(tuple(names)):
            return True
    return False


def _emptied(
    tables: dict[str, Any], unwanted: Callable[[KeyPath], bool], above: KeyPath = ()
) -> Iterator[KeyPath]:
    """The tables that hold something and nothing but unwanted tables."""
    for name, value in tables.items():
        place = (*above, name)
        if isinstance(value, dict) and value and not unwanted(place):
            inner = cast("dict[str, Any]", value)
            if not _pruned(inner, unwanted, place):
                yield place
            yield from _emptied(inner, unwanted, place)


def _put(tables: dict[str, Any], place: KeyPath, value: dict[str, Any]) -> None:
    for name in place[:-1]:
        inner: object = tables.setdefault(name, {})
        if not isinstance(inner, dict):
            raise CannotEditToml(f"{name} is not a table")
        tables = cast("dict[str, Any]", inner)
    tables[place[-1]] = value


def _pruned(
    tables: dict[str, Any], unwanted: Callable[[KeyPath], bool], above: KeyPath = ()
) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for name, value in tables.items():
        place = (*above, name)
        if not isinstance(value, dict):
            kept[name] = value
        elif not unwanted(place):
            inner = _pruned(cast("dict[str, Any]", value), unwanted, place)
            if inner or not value:
                kept[name] = inner
    return kept


def _checked(text: str, expected: dict[str, Any]) -> str:
    try:
        found = parse_toml(text)
    except tomllib.TOMLDecodeError as error:
        raise CannotEditToml(str(error)) from error
    if without_empty(found) != without_empty(expected):
        raise CannotEditToml("it is written in a way that cannot be edited")
    return text
