"""Looking at the configuration value by value, with where each came from, and changing it."""

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import Struct

from sapwood.app.config import (
    Config,
    ConfigError,
    config_file,
    given_by_environment,
    parse_config,
    read_config,
)
from sapwood.app.opening import shown_address
from sapwood.app.toml_edit import CannotEdit, Place, encoded, removed, with_value
from sapwood.core.refusals import nearest

__all__ = [
    "Setting",
    "list_settings",
    "set_setting",
    "shown_value",
    "unset_setting",
    "write_private",
]

_NAMED = re.compile(
    r"(base_urls)\.(.+)|(screen)\.(keys)\.(.+)|(servers)\.([^.]+)\.(command|url)"
    r"|(servers)\.([^.]+)\.(env|headers)\.(.+)"
)
"""Settings with names of the user's own in them."""


class Setting(Struct, frozen=True):
    """A value in force. `origin` is a variable, the file, or empty for a default."""

    name: str
    value: object
    origin: str = ""

    @property
    def typed(self) -> str:
        """The value as one would type it."""
        return self.value if isinstance(self.value, str) else encoded(self.value)


def list_settings(environ: Mapping[str, str] = os.environ) -> list[Setting]:
    """Every value in force, in the order of `Config`."""
    file, text = config_file(environ), read_config(environ)
    config = parse_config(text, file)
    written = dict(_flat(tomllib.loads(text)))
    given = given_by_environment(environ)
    settings: list[Setting] = []
    for name, value in _flat(msgspec.to_builtins(config)):
        if name in given:
            settings.append(Setting(name, given[name], f"SAPWOOD_{name.upper()}"))
        else:
            settings.append(Setting(name, value, str(file) if name in written else ""))
    return settings


def shown_value(setting: Setting, config: Config) -> str:
    """A value as people may see it: without what may be secret, and with what "" stands for."""
    if setting.name == "database":
        return shown_address(config.address)
    if ".env." in setting.name or ".headers." in setting.name:
        return "set"
    return setting.typed


def set_setting(name: str, typed: str, environ: Mapping[str, str] = os.environ) -> Setting:
    """Writes a value into the file: as TOML if it is TOML that fits, else as text."""
    file, text = config_file(environ), read_config(environ)
    place = _place(name)
    parse_config(text, file)
    problem = ""
    for value in _readings(typed):
        try:
            edited = with_value(text, place, value)
            parse_config(edited, file)
        except CannotEdit:
            problem = problem or f"{file} is written in a way that I cannot edit. Open it yourself."
        except ConfigError as error:
            problem = problem or str(error.__cause__ or error)
        else:
            write_private(file, edited, mode=0o644)
            return Setting(name, value, str(file))
    raise ConfigError(f"'{name}' cannot be {typed!r}: {problem.rstrip('.')}. Nothing was changed.")


def unset_setting(name: str, environ: Mapping[str, str] = os.environ) -> Path:
    """Takes a value out of the file, so that its default holds again."""
    file, text = config_file(environ), read_config(environ)
    try:
        edited = removed(text, _place(name))
    except CannotEdit:
        raise ConfigError(f"'{name}' does not stand in {file}. Nothing was changed.") from None
    write_private(file, edited, mode=0o644)
    return file


def write_private(file: Path, text: str, *, mode: int = 0o600) -> None:
    """Replaces a file as a whole or not at all; its folder is made for its owner alone."""
    file = file.resolve()  # a link stays a link
    fresh = file.with_name(f"{file.name}.{os.getpid()}.new")
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as out:
                out.write(text)
            fresh.replace(file)
        except BaseException:
            fresh.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise ConfigError(
            f"{file} cannot be written: {error.strerror}. Nothing was changed."
        ) from error


def _place(name: str) -> Place:
    """The place that a dotted name stands for; the last part may hold dots of its own."""
    if named := _NAMED.fullmatch(name):
        return tuple(part for part in named.groups() if part)
    known = list(_names())
    if name in known:
        return tuple(name.split("."))
    close = " or ".join(nearest(name, known)) or ", ".join(known)
    raise ConfigError(f"There is no setting '{name}'. There is {close}.")


def _names() -> Iterator[str]:
    for name in Config.__struct_fields__:
        if name in ("checkpoints", "context", "tending", "telemetry"):
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
    """What somebody may mean by this: a TOML value, several of them, a text, a list of one."""
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
