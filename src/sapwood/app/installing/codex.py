"""Codex: the same plugin folder in its cache, and two tables in `config.toml` that name it.

That is the state which `codex plugin marketplace add` and `codex plugin add` leave. Whether its
hooks may run is between Codex and its user: trust is never written here.
"""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sapwood.app.folders import data_folder
from sapwood.app.installing.edits import Edit, InstallError, read_bytes
from sapwood.app.installing.plugin_files import plugin_version
from sapwood.app.installing.toml_tables import CannotEdit, with_tables, without_tables

__all__ = ["Codex"]

_MARKET, _PLUGIN = "sapwood", "sapwood@sapwood"
_REVIEW = (
    "Codex runs hooks only after you have reviewed them: start `codex`, type /hooks, and trust "
    "those of sapwood."
)


class Codex:
    """The files of Codex that matter here."""

    name = "codex"
    program = "codex"

    def home(self, environ: Mapping[str, str]) -> Path:
        given = environ.get("CODEX_HOME")
        return Path(given) if given else Path(environ.get("HOME") or Path.home()) / ".codex"

    def settings_file(self, environ: Mapping[str, str]) -> Path:
        return self.home(environ) / "config.toml"

    def folders(self, environ: Mapping[str, str]) -> tuple[Path, ...]:
        cache = self.home(environ) / "plugins" / "cache"
        return (cache / _MARKET / "sapwood" / plugin_version(), _source())

    def settings(
        self, environ: Mapping[str, str], command: Sequence[str]
    ) -> tuple[Edit | None, tuple[str, ...]]:
        path = self.settings_file(environ)
        before = read_bytes(path)
        tables: dict[tuple[str, str], dict[str, object]] = {
            ("marketplaces", _MARKET): {"source_type": "local", "source": str(_source())},
            ("plugins", _PLUGIN): {"enabled": True},
        }
        try:
            text = (before or b"").decode()
            told = tomllib.loads(text)
            missing = {place: tables[place] for place in tables if not _has(told, place)}
            after = with_tables(text, missing).encode()
        except (CannotEdit, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InstallError(f"{path} cannot be edited: {error}. Nothing was changed.") from error
        return (Edit(path, before, after) if missing else None), (_REVIEW,)

    def without_us(self, path: Path, text: bytes) -> bytes:
        try:
            return without_tables(text.decode(), _is_ours).encode()
        except (CannotEdit, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InstallError(
                f"{path} cannot be edited: {error}. Take the tables that name sapwood out of it "
                "yourself, then type this again."
            ) from error

    def same(self, one: bytes, other: bytes) -> bool:
        try:
            return tomllib.loads(one.decode()) == tomllib.loads(other.decode())
        except (tomllib.TOMLDecodeError, UnicodeDecodeError):
            return one == other

    def leftovers(self, environ: Mapping[str, str]) -> tuple[Path, ...]:
        plugins = self.home(environ) / "plugins"
        return (plugins / "data" / "sapwood-sapwood", plugins / "cache" / _MARKET / "sapwood")


def _source() -> Path:
    """Where Codex finds the plugin again: a copy that outlives a move of the environment."""
    return data_folder() / "plugin"


def _has(told: Mapping[str, Any], place: tuple[str, str]) -> bool:
    table: object = told.get(place[0])
    return isinstance(table, dict) and place[1] in table


def _is_ours(place: tuple[str, ...]) -> bool:
    """Our own tables, and what Codex noted of our hooks, such as that its user trusts them."""
    match place:
        case ("marketplaces", "sapwood", *_) | ("plugins", "sapwood@sapwood", *_):
            return True
        case ("hooks", "state", key, *_):
            return key.startswith(f"{_PLUGIN}:")
        case _:
            return False
