"""Codex: the same plugin folder in its cache, and two tables in `config.toml` that name it.

`codex plugin marketplace add` and `codex plugin add` would leave the same state. Codex asks its
user whether the hooks may run; Sapwood never answers that question itself.
"""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sapwood.config.folders import data_folder
from sapwood.config.toml_edit import parse_toml, with_value, without_empty, without_value
from sapwood.programs.codex.program import PROGRAM
from sapwood.programs.installation.file_edits import FileEdit, InstallError, cannot_edit, read_bytes
from sapwood.programs.installation.plugin_files import (
    InstalledHook,
    plugin_files,
    plugin_hooks,
    plugin_version,
)
from sapwood.programs.installation.toml_tables import CannotEditToml, with_tables, without_tables

_MARKET, _PLUGIN = "sapwood", "sapwood@sapwood"
_REVIEW = (
    "Codex runs hooks only after you have reviewed them: start `codex`, type /hooks, and trust "
    "the ones from sapwood."
)


class _Installer:
    """The files of Codex that an installation changes."""

    def files(self, command: Sequence[str]) -> dict[str, bytes]:
        return plugin_files(command)

    def hooks(self, files: Mapping[str, bytes]) -> Iterable[InstalledHook]:
        return plugin_hooks(files)

    def settings_file(self, environ: Mapping[str, str]) -> Path:
        return PROGRAM.home(environ) / "config.toml"

    def folders(self, environ: Mapping[str, str]) -> tuple[Path, ...]:
        cache = PROGRAM.home(environ) / "plugins" / "cache"
        return (cache / _MARKET / "sapwood" / plugin_version(), _plugin_copy())

    def settings(
        self, environ: Mapping[str, str], command: Sequence[str]
    ) -> tuple[FileEdit | None, tuple[str, ...]]:
        path = self.settings_file(environ)
        before = read_bytes(path)
        tables: dict[tuple[str, str], dict[str, object]] = {
            ("marketplaces", _MARKET): {"source_type": "local", "source": str(_plugin_copy())},
            ("plugins", _PLUGIN): {"enabled": True},
        }
        try:
            text = (before or b"").decode()
            config = parse_toml(text)
            missing = {place: tables[place] for place in tables if not _has_table(config, place)}
            after = with_tables(text, missing).encode()
        except (CannotEditToml, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InstallError(f"{path} cannot be edited: {error}. Nothing was changed.") from error
        return (FileEdit(path, before, after) if missing else None), (_REVIEW,)

    def without_sapwood(self, path: Path, text: bytes) -> bytes:
        try:
            return without_tables(text.decode(), _is_sapwood).encode()
        except (CannotEditToml, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise cannot_edit(path, text, "sapwood", str(error)) from error

    def with_values(
        self,
        path: Path,
        text: bytes,
        values: Mapping[str, int | bool],
        owned: Mapping[str, int | bool],
    ) -> bytes:
        try:
            settings = text.decode()
            for name, value in owned.items():
                if parse_toml(settings).get(name) == value:
                    settings = without_value(settings, (name,))
            for name, value in values.items():
                if name not in parse_toml(settings):
                    settings = with_value(settings, (name,), value)
        except (CannotEditToml, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InstallError(f"{path} cannot be edited: {error}.") from error
        return settings.encode()

    def same_settings(self, one: bytes, other: bytes) -> bool:
        try:
            return without_empty(parse_toml(one.decode())) == without_empty(
                parse_toml(other.decode())
            )
        except (tomllib.TOMLDecodeError, UnicodeDecodeError):
            return one == other

    def leftovers(self, environ: Mapping[str, str]) -> tuple[Path, ...]:
        plugins = PROGRAM.home(environ) / "plugins"
        return (plugins / "data" / "sapwood-sapwood", plugins / "cache" / _MARKET / "sapwood")


INSTALLER = _Installer()


def _plugin_copy() -> Path:
    """The copy of the plugin that Codex installs from; it stays if the environment moves."""
    return data_folder() / "plugin"


def _has_table(config: Mapping[str, Any], place: tuple[str, str]) -> bool:
    table: object = config.get(place[0])
    return isinstance(table, dict) and place[1] in table


def _is_sapwood(place: tuple[str, ...]) -> bool:
    """Whether a table is Sapwood's, or holds what Codex knows about Sapwood's hooks."""
    match place:
        case ("marketplaces", "sapwood", *_) | ("plugins", "sapwood@sapwood", *_):
            return True
        case ("hooks", "state", key, *_):
            return key.startswith(f"{_PLUGIN}:")
        case _:
            return False
