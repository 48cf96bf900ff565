"""Reads the configuration and the API keys again when one of their files has changed.

A program that runs for long looks before it uses them: two calls of `stat`.
"""

from msgspec import structs

from sapwood.config.api_keys import keys_file, load_keys
from sapwood.config.config_file import Config, config_file, load_config

READ_AT_START = (
    *("database", "server", "space", "engine", "temporal", "workers", "limits", "ask_seconds"),
    *("permissions", "sandbox", "sandbox_network", "sandbox_ask", "sandbox_readable", "servers"),
    *("tools", "checkpoints", "telemetry", "encryption", "serve", "retention", "retention_hours"),
    *("folders", "folders_network", "cell", "receipt_days", "title_model"),
)
"""Settings that a running program keeps, because they shape what it has started."""


class ConfigFiles:
    """The files of the configuration, as they were when they were last read."""

    def __init__(self) -> None:
        self._versions = _versions()

    def read_again(self, present: Config) -> tuple[Config, dict[str, str]] | None:
        """The configuration and the API keys if a file has changed since the last call, else None.

        What `present` was started with stays. Raises `ConfigError` if a file cannot be used.
        """
        if (versions := _versions()) == self._versions:
            return None
        self._versions = versions
        stays = {name: getattr(present, name) for name in READ_AT_START}
        return structs.replace(load_config(), **stays), load_keys()


def _versions() -> list[tuple[int, int, int]]:
    """What tells whether the files have changed."""
    found: list[tuple[int, int, int]] = []
    for file in (config_file(), keys_file()):
        try:
            about = file.stat()
        except OSError:
            found.append((0, 0, 0))
        else:
            found.append((about.st_ino, about.st_mtime_ns, about.st_size))
    return found
