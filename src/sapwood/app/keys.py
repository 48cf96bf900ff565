"""Keys of model providers: from the environment, or from a file that only its owner can read.

They are handed to the model access and to nobody else: never logged, never stored with a
conversation.
"""

import os
import re
import stat
import tomllib
from collections.abc import Mapping
from pathlib import Path

from sapwood.app.config import ConfigError, config_file, load_config
from sapwood.app.configuring import write_private
from sapwood.app.toml_edit import encoded
from sapwood.core.refusals import nearest

__all__ = [
    "PROVIDERS",
    "key_origins",
    "keys_file",
    "load_keys",
    "require_provider",
    "save_key",
]

PROVIDERS: dict[str, tuple[str, ...]] = {
    "anthropic": ("ANTHROPIC_API_KEY",),
    "openai": ("OPENAI_API_KEY",),
    "google": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
}
"""The environment variables of each provider, in the order in which they are looked at."""

_NAME = re.compile(r"[A-Za-z0-9_-]+")


def keys_file(environ: Mapping[str, str] = os.environ) -> Path:
    """The file beside the configuration."""
    return config_file(environ).with_name("keys.toml")


def load_keys(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The key of each provider that has one. The environment comes before the file."""
    keys = _read(keys_file(environ))
    for provider in PROVIDERS:
        if variable := _variable(provider, environ):
            keys[provider] = environ[variable]
    return keys


def key_origins(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Where the key of each provider that has one comes from: a variable or the file."""
    file = keys_file(environ)
    found = dict.fromkeys(_read(file), str(file))
    for provider in PROVIDERS:
        if variable := _variable(provider, environ):
            found[provider] = variable
    return found


def require_provider(name: str, environ: Mapping[str, str] = os.environ) -> None:
    """Raises `ConfigError` for a provider that no model would be asked through."""
    known = [*PROVIDERS, *load_config(environ).base_urls]
    if name in known:
        return
    close = " or ".join(nearest(name, known))
    instead = f"Did you mean {close}?" if close else f"There are {', '.join(known)}."
    raise ConfigError(
        f"There is no provider '{name}'. {instead} One of your own needs an address first: "
        f"sapwood config set base_urls.{name} http://… Nothing was stored."
    )


def save_key(provider: str, key: str, environ: Mapping[str, str] = os.environ) -> Path:
    """Writes a key into the file, which is made readable for its owner alone."""
    if not _NAME.fullmatch(provider):
        raise ConfigError(f"'{provider}' is no name of a provider: letters, digits, '-', '_'.")
    file = keys_file(environ)
    keys = _read(file) | {provider: key}
    text = "".join(f"{name} = {encoded(value)}\n" for name, value in sorted(keys.items()))
    write_private(file, text)
    return file


def _variable(provider: str, environ: Mapping[str, str]) -> str | None:
    return next((name for name in PROVIDERS[provider] if environ.get(name)), None)


def _read(file: Path) -> dict[str, str]:
    try:
        mode = file.stat().st_mode
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file} is not text in UTF-8.") from error
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}.") from error
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise ConfigError(f"{file} can be read by others. Type: chmod 600 {file}")
    try:
        return {name: str(value) for name, value in tomllib.loads(text).items()}
    except tomllib.TOMLDecodeError:
        # Its own words could quote a line, and with it a key.
        raise ConfigError(f'{file} is not TOML. Each line is: provider = "key"') from None
