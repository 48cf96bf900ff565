"""The settings that exist, read from the types of the configuration.

A part of a name that the user chooses is written NAME: `base_urls.NAME`, `servers.NAME.url`.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, cast

from msgspec import NODEFAULT, Struct, inspect

from sapwood.config.config_file import Config, ConfigError
from sapwood.config.toml_edit import KeyPath, toml_value
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
def known_settings() -> tuple[KnownSetting, ...]:
    """Every setting, in the order of `Config`."""
    described = inspect.type_info(Config)
    assert isinstance(described, inspect.StructType)
    return tuple(_settings(described, ""))


def setting_path(typed: str) -> KeyPath:
    """The path of a setting in the file. Raises `ConfigError` for an unknown one."""
    for setting in known_settings():
        if path := setting.path_in(typed):
            return path
    names = [setting.name for setting in known_settings()]
    close = [name for name in names if name.startswith(f"{typed}.")] or nearest(typed, names)
    instead = f"Did you mean {' or '.join(close)}?" if close else "Type: sapwood config"
    raise ConfigError(f"Unknown setting '{typed}'. {instead}")


def setting_help(typed: str) -> str:
    """What a setting does; empty for an unknown one.

    >>> setting_help("screen.keys.sidebar")
    'Custom key for an action, by the name that F1 lists.'
    """
    return next((each.help for each in known_settings() if each.path_in(typed)), "")


def _settings(of: inspect.StructType, prefix: str) -> Iterator[KnownSetting]:
    for field in of.fields:
        name, (kind, help, example) = f"{prefix}{field.name}", _explained(field.type)
        named = f"{name}.{_NAME}"
        match kind:
            case inspect.StructType():
                yield from _settings(kind, f"{name}.")
            case inspect.DictType(value_type=inspect.StructType() as entry):
                yield KnownSetting(named, "table", "", help, example, is_whole=True)
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
            return " or ".join(str(value) for value in values)
        case inspect.IntType():
            return f"whole number{_bounds(kind)}"
        case inspect.FloatType():
            return f"number{_bounds(kind)}"
        case inspect.TupleType(item_types=items):
            return f"list of {len(items)}: {_values(items[0])}"
        case inspect.VarTupleType(item_type=item):
            return f"list: {_values(item)}"
        case _:
            return "string"


def _bounds(kind: inspect.IntType | inspect.FloatType) -> str:
    bounds = {sign: getattr(kind, name) for name, sign in _COMPARED.items()}
    return "".join(f" {sign} {bound}" for sign, bound in bounds.items() if bound is not None)
