"""Reads the fields of requests from the typed dictionaries of a client library."""

import types
import typing
from collections.abc import Iterator, Mapping
from typing import Any

from scripted_model.wires.wire import Shape


def fields_of(kind: Any) -> frozenset[str]:
    """Returns the names of the fields of a typed dictionary."""
    return frozenset(typing.get_type_hints(kind, include_extras=True))


def by_discriminator(kind: Any) -> dict[str, list[frozenset[str]]]:
    """Returns the fields of every dictionary inside one, by `type`. Several may share a type."""
    seen: dict[Any, Mapping[str, Any]] = {}
    _walk(kind, seen)
    found: dict[str, list[frozenset[str]]] = {}
    for hints in seen.values():
        for value in _literals(hints.get("type")):
            found.setdefault(value, []).append(frozenset(hints))
    return found


def missing_from(
    table: Mapping[str, Shape], known: Mapping[str, list[frozenset[str]]]
) -> dict[str, set[str]]:
    """Returns the fields of the library that a table does not allow, by object."""
    found: dict[str, set[str]] = {}
    for name, form in table.items():
        variants = known.get(name, [])
        none: frozenset[str] = frozenset()
        meant = max(variants, key=lambda fields: len(fields & form.allowed), default=none)
        if not meant <= form.allowed:
            found[name] = set(meant - form.allowed)
    return found


def _walk(kind: Any, seen: dict[Any, Mapping[str, Any]]) -> None:
    if kind in seen:
        return
    seen[kind] = typing.get_type_hints(kind, include_extras=True)
    for hint in seen[kind].values():
        for inner in _dictionaries(hint):
            _walk(inner, seen)


def _dictionaries(hint: Any) -> Iterator[Any]:
    if isinstance(hint, type) and hasattr(hint, "__total__"):
        yield hint
        return
    if isinstance(hint, types.GenericAlias) or typing.get_origin(hint) is not None:
        for inner in typing.get_args(hint):
            yield from _dictionaries(inner)


def _literals(hint: Any) -> Iterator[str]:
    if typing.get_origin(hint) is typing.Literal:
        yield from (str(value) for value in typing.get_args(hint))
    else:
        for inner in typing.get_args(hint):
            yield from _literals(inner)
