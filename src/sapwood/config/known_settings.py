"""The settings that exist, read from the types of a configuration.

A part of a name that the user chooses is written NAME: `base_urls.NAME`, `servers.NAME.url`.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, cast

from msgspec import NODEFAULT, Struct, inspect

from sapwood.config.toml_edit import KeyPath, toml_value
from sapwood.core.plural import either
from sapwood.core.refusals import nearest

_NAME = "NAME"
_COMPARED = {"gt": ">", "ge": "≥", "lt": "<", "le": "≤"}


class KnownSetting(Struct, frozen=True):
    """A setting: its name, the values it takes, its default as TOML, its help, and an example.

    `is_whole` says that the setting is a table of settings, such as `servers.NAME`, which is typed
    as one value.
    """

    name: str
    values: str
    default: str
    help: str
    example: str = ""
    is_whole: bool = False

    def path_in(self, typed: str) -> KeyPath | None:
        """The path that a typed name means; None if it is another setting."""
        *first, last = self.name.split(".")
        parts = [r"([^.]+)" if part == _NAME else f"({re.escape(part)})" for part in first]
        ends = r"(.+)" if last == _NAME and not self.is_whole else r"([^.]+)"
        parts.append(ends if last == _NAME else f"({re.escape(last)})")
        found = re.fullmatch(r"\.".join(parts), typed)
        return found.groups() if found else None


@cache
def settings_of(config: type[Struct]) -> tuple[KnownSetting, ...]:
    """Every setting of a configuration, in the order of its fields."""
    described = inspect.type_info(config)
    assert isinstance(described, inspect.StructType)
    return tuple(_settings(described, ""))


def path_of(typed: str, config: type[Struct]) -> KeyPath | None:
    """The path of a setting in the file; None for an unknown one."""
    paths = (setting.path_in(typed) for setting in settings_of(config))
    return next(filter(None, paths), None)


def unknown_setting(typed: str, config: type[Struct]) -> str:
    """The sentence for a setting that does not exist, with the nearest ones."""
    names = [setting.name for setting in settings_of(config)]
    close = [name for name in names if name.startswith(f"{typed}.")] or nearest(typed, names)
    instead = f"Did you mean {' or '.join(close)}?" if close else "Type: sapwood config"
    return f"Unknown setting '{typed}'. {instead}"


def _settings(of: inspect.StructType, prefix: str) -> Iterator[KnownSetting]:
    for field in of.fields:
        name, (kind, help, example) = f"{prefix}{field.name}", _explained(field.type)
        named = f"{name}.{_NAME}"
        match kind:
            case inspect.StructType():
                yield from _settings(kind, f"{name}.")
            case inspect.DictType(value_type=inspect.StructType() as entry):
                yield KnownSetting(named, "a table", "", help, example, is_whole=True)
                yield from _settings(entry, f"{named}.")
            case inspect.DictType(value_type=value):
                yield KnownSetting(named, _values(value), "", help, example)
            case _:
                default = "" if field.default is NODEFAULT else toml_value(field.default)
                yield KnownSetting(name, _values(kind), default, help, example)


def _explained(kind: inspect.Type) -> tuple[inspect.Type, str, str]:
    """A type without its explanation, the explanation, and the example in it."""
    if not isinstance(kind, inspect.Metadata):
        return kind, "", ""
    about = cast("dict[str, Any]", kind.extra_json_schema or {})  # pyright: ignore[reportUnknownMemberType]
    return kind.type, about.get("description", ""), next(iter(about.get("examples", ())), "")


def _values(kind: inspect.Type) -> str:
    """The values of a type in words."""
    match kind:
        case inspect.BoolType():
            return "true or false"
        case inspect.LiteralType(values=values):
            return either(map(str, values))
        case inspect.IntType():
            return f"a whole number{_bounds(kind)}"
        case inspect.FloatType():
            return f"a number{_bounds(kind)}"
        case inspect.TupleType(item_types=items):
            return f"a list of {len(items)}, each {_values(items[0])}"
        case inspect.VarTupleType(item_type=item):
            return f"a list, each {_values(item)}"
        case _:
            return "text"


def _bounds(kind: inspect.IntType | inspect.FloatType) -> str:
    bounds = {sign: getattr(kind, name) for name, sign in _COMPARED.items()}
    return " and".join(f" {sign} {bound}" for sign, bound in bounds.items() if bound is not None)
