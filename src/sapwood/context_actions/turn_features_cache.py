"""A cache of turn features, stored for the next analysis of the same session.

A session is analysed many times while it grows, and finding the features of its turns is most of
the work. The key of a turn is a digest of its whole content, so an entry never belongs to another
turn. A cache that cannot be read or written is ignored.
"""

from collections.abc import Callable
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

import msgspec
from msgspec import Struct

from sapwood.analysis.chapters.turn_features import TurnFeatures
from sapwood.analysis.session import Session
from sapwood.config.folders import turn_features_folder
from sapwood.core.turn import Turn
from sapwood.private_files import replace_file

__all__ = ["FORMAT", "TurnFeaturesCache"]

FORMAT = "3"
"""Increase it whenever the same turn gets other features than before."""

_FEWEST_TURNS = 50
"""A session with fewer turns is analysed faster than the cache is read."""
_MOST_SESSIONS = 16


class _CacheFile(Struct):
    format: str
    turns: dict[str, TurnFeatures]


class TurnFeaturesCache:
    """The features of a session's turns, as one counter counts them."""

    def __init__(self, session: Session, counter: str) -> None:
        name = blake2b(f"{session.source}/{session.id}".encode(), digest_size=16).hexdigest()
        self._file = turn_features_folder() / f"{name}.msgpack"
        self._key_prefix = f"{counter}\0{session.folder}".encode()
        self._stored = self._read() if len(session.turns) >= _FEWEST_TURNS else {}
        self._used: dict[str, TurnFeatures] = {}

    def features(self, turn: Turn, find: Callable[[Turn], TurnFeatures]) -> TurnFeatures:
        """The cached features of a turn; if there are none, those that `find` returns."""
        digest = blake2b(self._key_prefix, digest_size=16)
        digest.update(msgspec.msgpack.encode((turn.prompt, turn.items, turn.status)))
        key = digest.hexdigest()
        features = self._used[key] = self._stored.get(key) or find(turn)
        return features

    def save(self) -> None:
        """Writes the features that were used, if any of them is new."""
        if len(self._used) < _FEWEST_TURNS or self._used.keys() <= self._stored.keys():
            return
        with suppress(OSError):
            replace_file(self._file, msgspec.msgpack.encode(_CacheFile(FORMAT, self._used)))
            _remove_oldest(self._file.parent)

    def _read(self) -> dict[str, TurnFeatures]:
        try:
            file = msgspec.msgpack.decode(self._file.read_bytes(), type=_CacheFile)
        except (OSError, msgspec.MsgspecError):
            return {}
        return file.turns if file.format == FORMAT else {}


def _remove_oldest(folder: Path) -> None:
    files = sorted(folder.iterdir(), key=lambda file: file.stat().st_mtime, reverse=True)
    for file in files[_MOST_SESSIONS:]:
        file.unlink(missing_ok=True)
