"""Lists the settings of the configuration with their origins, and changes them in its file."""

import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import Struct, structs

from sapwood.config.config_file import (
    Config,
    ConfigError,
    config_file,
    environment_overrides,
    parse_config,
    read_config,
)
from sapwood.config.database_address import shown_address
from sapwood.config.known_settings import KnownSetting, path_of, settings_of, unknown_setting
from sapwood.config.server_names import server_name_problems
from sapwood.config.toml_edit import (
    CannotEditToml,
    KeyPath,
    parse_toml,
    toml_value,
    with_value,
    without_value,
)
from sapwood.private_files import replace_file


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
    in_file = dict(_flat(parse_toml(text)))
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
    return without_secrets(setting).typed


def without_secrets(setting: Setting) -> Setting:
    """The setting with `set` for each secret, and without the passwords of addresses."""
    return structs.replace(setting, value=_masked(setting.name, setting.value))


_URL = re.compile(r"^[a-z][a-z0-9+.-]*://.*$|\S+://\S+", re.ASCII | re.IGNORECASE)
"""A value that is an address, to its end, or an address within a longer text."""


def _masked(name: str, value: object) -> object:
    match value:
        case dict():
            table = cast("dict[str, object]", value)
            return {key: _masked(f"{name}.{key}", inner) for key, inner in table.items()}
        case _ if holds_secret(name, value):
            return "set"
        case list():
            return [_masked(name, item) for item in cast("list[object]", value)]
        case str():
            return _URL.sub(lambda found: shown_address(found[0]), value)
        case _:
            return value


def holds_secret(name: str, value: object) -> bool:
    """Whether a setting's value is not shown: variables and headers may be tokens."""
    return any(".env." in each or ".headers." in each for each, _ in _flat({name: value}))


def _mode(text: str) -> int:
    """The rights of a file with this text: with a secret in it, for its owner alone."""
    values = _flat(parse_toml(text))
    has_secret = any(
        holds_secret(name, value) or _masked(name, value) != value for name, value in values
    )
    return 0o600 if has_secret else 0o644


def get_setting(name: str, environ: Mapping[str, str] = os.environ) -> Setting:
    """The value of a setting. Raises `ConfigError` for an unknown one, or a name without a value.

    The value of a table that the user named, such as `servers.files`, is the whole table.
    """
    settings = list_settings(environ)
    for setting in settings:
        if setting.name == name:
            return setting
    path = setting_path(name)
    config = parse_config(read_config(environ), config_file(environ))
    found: object = msgspec.to_builtins(config)
    for part in path:
        found = cast("dict[str, object]", found).get(part)
        if not isinstance(found, dict):
            raise ConfigError(f"'{name}' is not set.")
    return Setting(name, cast("dict[str, object]", found), str(config_file(environ)))


def set_setting(
    name: str,
    typed: str,
    environ: Mapping[str, str] = os.environ,
    *,
    check: Callable[[Config], None] | None = None,
) -> Setting:
    """Writes a value into the file: as TOML if that fits the setting, else as text.

    Raises `ConfigError` and changes nothing if the value does not fit. `check` gets the changed
    configuration, and may raise an error of its own before it is written.
    """
    file, text = config_file(environ), read_config(environ)
    path = setting_path(name)
    before = parse_config(text, file)
    problem = ""
    for value in _readings(typed):
        try:
            edited = _with_values(text, path, value)
            changed = parse_config(edited, file)
        except CannotEditToml:
            problem = problem or (
                f"Sapwood cannot edit {file}, because of how it is written. Change it in an editor."
            )
        except ConfigError as error:
            problem = problem or str(error.__cause__ or error)
        else:
            _require_server_names(before, changed)
            if check is not None:
                check(changed)
            write_config_file(file, edited, mode=_mode(edited))
            return Setting(name, value, str(file))
    setting = next(each for each in known_settings() if each.path_in(name))
    if problem.startswith(("Expected", "Invalid enum value")):
        problem = f"it takes {setting.values}"
    instead = _whole_setting(name)
    shown = without_secrets(Setting(name, typed)).typed
    value = "this value" if holds_secret(name, typed) else repr(shown)
    raise ConfigError(
        f"'{name}' cannot be {value}: {problem.rstrip('.')}. Nothing was changed.{instead}"
    )


def _require_server_names(before: Config, changed: Config) -> None:
    """Raises `ConfigError` for an MCP server that the change adds and that could not be used."""
    for name, problem in server_name_problems(changed.servers).items():
        if name not in before.servers:
            raise ConfigError(
                f"An MCP server cannot be named '{name}': {problem}. Choose another name. Nothing "
                "was changed."
            )


def unset_setting(name: str, environ: Mapping[str, str] = os.environ) -> Path:
    """Removes a value from the file, so that its default applies. Raises `ConfigError`."""
    file, text = config_file(environ), read_config(environ)
    path = setting_path(name)
    try:
        edited = text
        for leaf in _leaves(parse_toml(text), path):
            edited = without_value(edited, leaf)
        parse_config(edited, file)
    except CannotEditToml:
        raise ConfigError(f"'{name}' is not set in {file}. Nothing was changed.") from None
    write_config_file(file, edited, mode=_mode(edited))
    return file


def _with_values(text: str, path: KeyPath, value: object) -> str:
    """The text with a value; each value of a table is set on a line of its own."""
    if not isinstance(value, dict):
        return with_value(text, path, value)
    for name, inner in cast("dict[str, object]", value).items():
        text = _with_values(text, (*path, name), inner)
    return text


def _leaves(tables: Mapping[str, Any], path: KeyPath) -> list[KeyPath]:
    """The paths of the values at and below a path. Raises `CannotEditToml` if there are none."""
    found: Any = tables
    for part in path:
        if not isinstance(found, dict) or part not in found:
            raise CannotEditToml
        found = cast("dict[str, Any]", found)[part]
    if not isinstance(found, dict):
        return [path]
    return [
        leaf for name in cast("dict[str, Any]", found) for leaf in _leaves(tables, (*path, name))
    ]


def _whole_setting(name: str) -> str:
    """What to type to set a table at once whose values do not fit alone; empty for other names."""
    for whole in known_settings():
        if whole.is_whole and (path := whole.path_in(".".join(name.split(".")[:2]))):
            return (
                f" Set the whole value instead: sapwood config set {'.'.join(path)} "
                f"'{whole.example}'"
            )
    return ""


def write_config_file(file: Path, text: str, *, mode: int) -> None:
    """Replaces a configuration file. Raises `ConfigError` and changes nothing if that fails."""
    try:
        replace_file(file, text, mode=mode)
    except OSError as error:
        raise ConfigError(
            f"{file} cannot be written: {error.strerror}. Nothing was changed."
        ) from error


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
        return parse_toml(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return None


def _flat(tables: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, object]]:
    for name, value in tables.items():
        if isinstance(value, dict) and value:
            yield from _flat(cast("dict[str, Any]", value), f"{prefix}{name}.")
        elif value != {}:
            yield f"{prefix}{name}", value


def known_settings() -> tuple[KnownSetting, ...]:
    """Every setting, in the order of `Config`."""
    return settings_of(Config)


def setting_path(typed: str) -> KeyPath:
    """The path of a setting in the file. Raises `ConfigError` for an unknown one."""
    path = path_of(typed, Config)
    if path is None:
        raise ConfigError(unknown_setting(typed, Config))
    return path


def setting_help(typed: str) -> str:
    """What a setting does; empty for an unknown one.

    >>> setting_help("screen.keys.sidebar")
    'Custom key for an action. F1 lists the names.'
    """
    return next((each.help for each in known_settings() if each.path_in(typed)), "")
