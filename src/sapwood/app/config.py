"""Configuration: one typed value, from a TOML file and a few environment variables.

SAPWOOD_CONFIG    the file, instead of config.toml in the user's configuration folder
SAPWOOD_DATABASE  a path or postgresql://…
SAPWOOD_SPACE     the space
SAPWOOD_MODEL     the model of new agents
"""

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct, field, structs
from platformdirs import user_config_path, user_data_path, user_log_path

from sapwood.core.errors import SapwoodError

__all__ = ["Config", "ConfigError", "ContextConfig", "McpServer", "config_file", "load_config"]


class ConfigError(SapwoodError):
    """The configuration cannot be used; the message names the file and the place."""


class ContextConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """What new agents start with."""

    cap: int = 100_000
    low_water: float = 0.6
    mask_over: int = 0
    levels: tuple[float, float, float] = (0.5, 0.65, 0.85)
    system: str = ""


class McpServer(Struct, frozen=True, forbid_unknown_fields=True):
    """An MCP server whose tools agents may use: a command to start, or a URL."""

    command: tuple[str, ...] = ()
    url: str = ""
    env: dict[str, str] = {}


class Config(Struct, frozen=True, forbid_unknown_fields=True):
    """Everything that can be configured."""

    database: str = ""
    space: str = "local"
    model: str = ""
    base_urls: dict[str, str] = {}
    context: ContextConfig = ContextConfig()
    permissions: tuple[str, ...] = ()
    servers: dict[str, McpServer] = field(default_factory=dict[str, McpServer])
    workers: int = 100

    @property
    def address(self) -> str:
        """The database: as configured, or a file in the user's data folder."""
        return self.database or str(user_data_path("sapwood", appauthor=False) / "sapwood.db")

    @property
    def log_folder(self) -> Path:
        """Where log files go."""
        return user_log_path("sapwood", appauthor=False)


def config_file(environ: Mapping[str, str] = os.environ) -> Path:
    """The file that is read."""
    named = environ.get("SAPWOOD_CONFIG")
    return Path(named) if named else user_config_path("sapwood", appauthor=False) / "config.toml"


def load_config(environ: Mapping[str, str] = os.environ) -> Config:
    """The configuration in force. A file that is not there is an empty one."""
    file = config_file(environ)
    config = _read(file)
    given = {
        name: environ[f"SAPWOOD_{name.upper()}"]
        for name in ("database", "space", "model")
        if environ.get(f"SAPWOOD_{name.upper()}")
    }
    return structs.replace(config, **given)


def _read(file: Path) -> Config:
    try:
        text = file.read_text()
    except FileNotFoundError:
        return Config()
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}.") from error
    try:
        return msgspec.convert(tomllib.loads(text), Config)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{file} is not TOML: {error}.") from error
    except msgspec.ValidationError as error:
        raise ConfigError(f"{file} does not fit: {error}.") from error
