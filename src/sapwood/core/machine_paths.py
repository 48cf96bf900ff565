"""Paths of the machine in commands: typed as such, so that one check finds all of them.

Whoever chooses such a path chooses which files are read. A server and a worker check every one.
"""

from collections.abc import Iterator
from functools import cache
from types import UnionType
from typing import Annotated, Any, Union, cast, get_args, get_origin, get_type_hints

from msgspec import Meta, Struct

_MARK = Meta(extra={"machine_path": True})

MachinePath = Annotated[str, _MARK]
"""A path of the machine that runs the agent, in a field of a command or of a part of one."""


class FoundPath(Struct, frozen=True):
    """A path in a command: the struct and the field that hold it, and the path itself."""

    holder: str
    field: str
    path: str


def found_paths(value: object) -> Iterator[FoundPath]:
    """Yields every path of the machine in a command that is not empty.

    >>> from sapwood.core.commands import StartAgent
    >>> from sapwood.core.ids import AgentId
    >>> from sapwood.core.settings import Workspace
    >>> list(found_paths(StartAgent(AgentId("a"), workspace=Workspace("/srv"))))
    [FoundPath(holder='Workspace', field='folder', path='/srv')]
    """
    if isinstance(value, tuple | list):
        for each in cast("tuple[object, ...]", value):
            yield from found_paths(each)
    elif isinstance(value, Struct) and (fields := _fields(type(value))):
        for name, is_path in fields.items():
            held = getattr(value, name)
            if not is_path:
                yield from found_paths(held)
                continue
            paths = cast("tuple[object, ...]", held if isinstance(held, tuple) else (held,))
            for path in paths:
                if isinstance(path, str) and path:
                    yield FoundPath(type(value).__name__, name, path)


def declared_paths(kind: type[Struct]) -> frozenset[tuple[str, str]]:
    """The structs and fields in which a command of this class can hold a path of the machine."""
    return frozenset(
        (each.__name__, name) for each in structs_in(kind) for name in _path_fields(each)
    )


def structs_in(kind: type[Struct]) -> frozenset[type[Struct]]:
    """A struct and all structs that its fields can hold, however deep."""
    found: set[type[Struct]] = set()
    waiting: list[type[Struct]] = [kind]
    while waiting:
        each = waiting.pop()
        if each not in found:
            found.add(each)
            for hint in get_type_hints(each, include_extras=True).values():
                waiting += _structs_of(hint)
    return frozenset(found)


@cache
def _fields(kind: type[Struct]) -> dict[str, bool]:
    """The fields that are paths (true), and those that may hold structs with paths (false)."""
    hints = get_type_hints(kind, include_extras=True)
    fields = dict.fromkeys(_path_fields(kind), True)
    for name in kind.__struct_fields__:
        held = [inner for each in _structs_of(hints[name]) for inner in structs_in(each)]
        if name not in fields and any(_path_fields(each) for each in held):
            fields[name] = False
    return fields


def _path_fields(kind: type[Struct]) -> list[str]:
    hints = get_type_hints(kind, include_extras=True)
    return [name for name in kind.__struct_fields__ if _is_path(hints[name])]


def _structs_of(hint: Any) -> list[type[Struct]]:
    if isinstance(hint, type) and issubclass(hint, Struct):
        return [hint]
    return [each for inner in get_args(hint) for each in _structs_of(inner)]


def _is_path(hint: Any) -> bool:
    if get_origin(hint) in (Union, UnionType, tuple):
        return any(_is_path(inner) for inner in get_args(hint))
    return _MARK in get_args(hint)[1:] if get_origin(hint) is Annotated else False
