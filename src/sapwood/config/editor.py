"""Lists the settings of the configuration with their origins, and changes them in its file."""

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import Struct

from sapwood.config.config_file import (
    Config,
    ConfigError,
    config_file,
    environment_overrides,
    parse_config,
    read_config,
)
from sapwood.config.database_address import shown_address
from sapwood.config.toml_edit import CannotEditToml, KeyPath, toml_value, with_value, without_value
from sapwood.core.refusals import nearest
from sapwood.private_files import replace_file

__all__ = [
    "Setting",
    "list_settings",
    "set_setting",
    "shown_value",
    "unset_setting",
    "write_config_file",
]

_NAMED = re.compile(
    r"(base_urls)\.(.+)|(screen)\.(keys)\.(.+)|(servers)\.([^.]+)\.(command|url)"
    r"|(servers)\.([^.]+)\.(env|headers)\.(.+)"
)
"""Settings whose names contain a name that the user chose."""


class Setting(Struct, frozen=True):
    """A setting and its value. `origin` is a variable, the file, or empty for a default."""

    name: str
    value: object
    origin: str = ""

    @property
    def typed(self) -> str:
        """The value as a user would type it."""
        return self.value if isinstance(self.value, str) else toml_value(self.value)


def list_settings(environ: Mapping[str, str] = os.environ) -> list[Setting]:
    """Every setting, in the order of `Config`."""
    file, text = config_file(environ), read_config(environ)
    config = parse_config(text, file)
    in_file = dict(_flat(tomllib.loads(text)))
    overrides = environment_overrides(environ)
    settings: list[Setting] = []
    for name, value in _flat(msgspec.to_builtins(config)):
        if name in overrides:
            settings.append(Setting(name, overrides[name], f"SAPWOOD_{name.upper()}"))
        else:
            settings.append(Setting(name, value, str(file) if name in in_file else ""))
    return settings


def shown_value(setting: Setting, config: Config) -> str:
    """A value to show: secrets are hidden, and the default database is spelled out."""
    if setting.name == "database":
        return shown_address(config.address)
    if ".env." in setting.name or ".headers." in setting.name:
        return "set"
    return _without_passwords(setting.value) if "://" in setting.typed else setting.typed


def _without_passwords(value: object) -> str:
    """The value as a user would type it, without the passwords of URLs."""
    if isinstance(value, str):
        return shown_address(value)
    items = cast("list[object]", value) if isinstance(value, list) else [value]
    return toml_value([shown_address(item) if isinstance(item, str) else item for item in items])


def set_setting(name: str, typed: str, environ: Mapping[str, str] = os.environ) -> Setting:
    """Writes a value into the file: as TOML if that fits the setting, else as text.

    Raises `ConfigError` and changes nothing if the value does not fit.
    """
    file, text = config_file(environ), read_config(environ)
    path = _path(name)
    parse_config(text, file)
    problem = ""
    for value in _readings(typed):
        try:
            edited = with_value(text, path, value)
            parse_config(edited, file)
        except CannotEditToml:
            problem = (
                problem
                or f"{file} is written in a way that Sapwood cannot edit. Change it in an editor."
            )
        except ConfigError as error:
            problem = problem or str(error.__cause__ or error)
        else:
            write_config_file(file, edited, mode=0o644)
            return Setting(name, value, str(file))
    raise ConfigError(f"'{name}' cannot be {typed!r}: {problem.rstrip('.')}. Nothing was changed.")


def unset_setting(name: str, environ: Mapping[str, str] = os.environ) -> Path:
    """Removes a value from the file, so that its default applies. Raises `ConfigError`."""
    file, text = config_file(environ), read_config(environ)
    try:
        edited = without_value(text, _path(name))
    except CannotEditToml:
        raise ConfigError(f"'{name}' is not set in {file}. Nothing was changed.") from None
    write_config_file(file, edited, mode=0o644)
    return file


def write_config_file(file: Path, text: str, *, mode: int) -> None:
    """Replaces a configuration file. Raises `ConfigError` and changes nothing if that fails."""
    try:
        replace_file(file, text, mode=mode)
    except OSError as error:
        raise ConfigError(
            f"{file} cannot be written: {error.strerror}. Nothing was changed."
        ) from error


def _path(name: str) -> KeyPath:
    """The path of a dotted name; its last part may contain dots. Raises `ConfigError`."""
    if named := _NAMED.fullmatch(name):
        return tuple(part for part in named.groups() if part)
    known = list(_names())
    if name in known:
        return tuple(name.split("."))
    close = " or ".join(nearest(name, known)) or ", ".join(known)
    raise ConfigError(f"There is no setting '{name}'. There is {close}.")


_TABLES = ("budget", "checkpoints", "context", "encryption", "tending", "telemetry", "temporal")


def _names() -> Iterator[str]:
    for name in Config.__struct_fields__:
        if name in _TABLES:
            yield from (f"{name}.{each}" for each in getattr(Config(), name).__struct_fields__)
        elif name == "screen":
            plain = (each for each in Config().screen.__struct_fields__ if each != "keys")
            yield from (f"screen.{each}" for each in plain)
            yield "screen.keys.NAME"
        elif name == "base_urls":
            yield "base_urls.NAME"
        elif name == "servers":
            yield from (f"servers.NAME.{each}" for each in ("command", "url", "env.VARIABLE"))
        else:
            yield name


def _readings(typed: str) -> Iterator[object]:
    """The values that a typed text may mean: a TOML value, several, a text, or a list of one."""
    if (value := _toml(typed)) is not None:
        yield value
    words = [_toml(word) for word in typed.split()]
    if len(words) > 1 and None not in words:
        yield words
    yield typed
    yield [typed]


def _toml(text: str) -> object:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return None


def _flat(tables: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, object]]:
    for name, value in tables.items():
        if isinstance(value, dict) and value:
            yield from _flat(cast("dict[str, Any]", value), f"{prefix}{name}.")
        elif value != {}:
            yield f"{prefix}{name}", value
