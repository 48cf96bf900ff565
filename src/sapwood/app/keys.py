"""Keys of model providers: from the environment, or from a file that only its owner can read.

They are handed to the model access and to nobody else: never logged, never stored with a
conversation.
"""

import os
import stat
import tomllib
from collections.abc import Mapping
from pathlib import Path

from sapwood.app.config import ConfigError, config_file

__all__ = ["PROVIDERS", "keys_file", "load_keys", "save_key"]

PROVIDERS: dict[str, tuple[str, ...]] = {
    "anthropic": ("ANTHROPIC_API_KEY",),
    "openai": ("OPENAI_API_KEY",),
    "google": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
}
"""The environment variables of each provider, in the order in which they are looked at."""


def keys_file(environ: Mapping[str, str] = os.environ) -> Path:
    """The file beside the configuration."""
    return config_file(environ).with_name("keys.toml")


def load_keys(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The key of each provider that has one. The environment comes before the file."""
    keys = _read(keys_file(environ))
    for provider, variables in PROVIDERS.items():
        found = next((environ[name] for name in variables if environ.get(name)), None)
        if found:
            keys[provider] = found
    return keys


def save_key(provider: str, key: str, environ: Mapping[str, str] = os.environ) -> Path:
    """Writes a key into the file, which is made readable for its owner alone."""
    file = keys_file(environ)
    keys = _read(file) | {provider: key}
    file.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(f'{name} = "{value}"\n' for name, value in sorted(keys.items()))
    fresh = file.with_suffix(".new")
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as out:
        out.write(text)
    fresh.replace(file)
    return file


def _read(file: Path) -> dict[str, str]:
    try:
        mode = file.stat().st_mode
        text = file.read_text()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}.") from error
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise ConfigError(f"{file} can be read by others. Type: chmod 600 {file}")
    try:
        return {name: str(value) for name, value in tomllib.loads(text).items()}
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{file} is not TOML: {error}.") from error
