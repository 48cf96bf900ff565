"""Parses TOML that a person or another program wrote.

The parser of the standard library calls itself for each nested list, so a deep one would end in a
`RecursionError`. Nobody writes such a file on purpose: it is not TOML as far as Sapwood reads it.
"""

import tomllib
from typing import Any, cast

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
