"""API keys of model providers: from the environment, or from a file that only its owner can read.

Only the model access gets them. They are never logged and never stored with a conversation.
"""

import os
import re
import stat
import tomllib
from collections.abc import Mapping
from pathlib import Path

from sapwood.config.config_file import ConfigError, config_file, load_config
from sapwood.config.editor import write_config_file
from sapwood.config.providers import PROVIDERS, plugin_variable
from sapwood.config.toml_edit import parse_toml, toml_value
from sapwood.core.refusals import nearest
from sapwood.plugins import plugin_names

KEY_VARIABLES: dict[str, tuple[str, ...]] = {
    name: provider.key_variables for name, provider in PROVIDERS.items() if provider.account == name
}
"""The environment variables of each provider with an API key, in the order they are read."""

_NAME = re.compile(r"[A-Za-z0-9_-]+")


def keys_file(environ: Mapping[str, str] = os.environ) -> Path:
    """The file of the keys, beside the configuration file."""
    return config_file(environ).with_name("keys.toml")


def load_keys(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The key of each provider that has one; the environment overrides the file.

    Raises `ConfigError`.
    """
    keys = _read(keys_file(environ))
    for provider, variables in _variables().items():
        if variable := _first_set(variables, environ):
            keys[provider] = environ[variable]
    return keys


def key_origins(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Where the key of each provider that has one comes from: a variable or the file."""
    file = keys_file(environ)
    found = dict.fromkeys(_read(file), str(file))
    for provider, variables in _variables().items():
        if variable := _first_set(variables, environ):
            found[provider] = variable
    return found


def require_provider(name: str, environ: Mapping[str, str] = os.environ) -> None:
    """Raises `ConfigError` for a provider that has neither a built-in nor a configured address."""
    known = list(dict.fromkeys([*_variables(), *load_config(environ).base_urls]))
    if name in known:
        return
    close = " or ".join(nearest(name, known))
    instead = f"Did you mean {close}?" if close else f"The providers are {', '.join(known)}."
    raise ConfigError(
        f"There is no provider '{name}'. {instead} To add your own, set its address first: sapwood "
        f"config set base_urls.{name} http://… Nothing was stored."
    )


def save_key(provider: str, key: str, environ: Mapping[str, str] = os.environ) -> Path:
    """Writes a key into the file, which only its owner can read. Raises `ConfigError`."""
    if not _NAME.fullmatch(provider):
        raise ConfigError(
            f"'{provider}' is not a valid provider name. Use letters, digits, '-' and '_'."
        )
    file = keys_file(environ)
    keys = _read(file) | {provider: key}
    text = "".join(f"{name} = {toml_value(value)}\n" for name, value in sorted(keys.items()))
    write_config_file(file, text, mode=0o600)
    return file


def _variables() -> dict[str, tuple[str, ...]]:
    """The variables of each provider with an API key, those of plug-ins included."""
    return {name: (plugin_variable(name),) for name in plugin_names("models")} | KEY_VARIABLES


def _first_set(variables: tuple[str, ...], environ: Mapping[str, str]) -> str | None:
    return next((name for name in variables if environ.get(name)), None)


def _read(file: Path) -> dict[str, str]:
    try:
        mode = file.stat().st_mode
        text = file.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return {}
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file} is not valid UTF-8 text.") from error
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}.") from error
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise ConfigError(f"Other users can read {file}. To fix that, type: chmod 600 {file}")
    try:
        return {name: str(value) for name, value in parse_toml(text).items()}
    except tomllib.TOMLDecodeError:
        # The parser's message could quote a line, and with it a key.
        raise ConfigError(
            f'{file} is not valid TOML. Each line must look like this: provider = "key"'
        ) from None
