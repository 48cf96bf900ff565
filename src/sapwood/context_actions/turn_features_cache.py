"""A cache of turn features and of token counts, stored for the next analysis of the same session.

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

FORMAT = "4"
"""Increase it whenever the same turn gets other features than before."""

_FEWEST_TURNS = 50
"""A session with fewer turns is analysed faster than the cache is read."""
_MAX_SESSIONS = 16


class _CacheFile(Struct):
    format: str
    turns: dict[str, TurnFeatures]
    counter: str = ""
    counts: dict[bytes, int] = {}


class TurnFeaturesCache:
    """The features of a session's turns, as one counter counts them.

    `counts` are the token counts of its texts by the digest of the text.
    """

    def __init__(self, session: Session, counter: str) -> None:
        name = blake2b(f"{session.source}/{session.id}".encode(), digest_size=16).hexdigest()
        self._file = turn_features_folder() / f"{name}.msgpack"
        self._key_prefix = f"{counter}\0{session.folder}".encode()
        found = self._read() if len(session.turns) >= _FEWEST_TURNS else _CacheFile(FORMAT, {})
        self._counter = counter
        self._stored = found.turns
        self._used: dict[str, TurnFeatures] = {}
        self.counts = found.counts if found.counter == counter else {}

    def features(self, turn: Turn, find: Callable[[Turn], TurnFeatures]) -> TurnFeatures:
        """The cached features of a turn; if there are none, those that `find` returns."""
        digest = blake2b(self._key_prefix, digest_size=16)
        digest.update(msgspec.msgpack.encode((turn.prompt, turn.items, turn.status)))
        key = digest.hexdigest()
        features = self._used[key] = self._stored.get(key) or find(turn)
        return features

    def save(self, counts: dict[bytes, int] | None = None) -> None:
        """Writes the features that were used, and the counts, if any of them is new."""
        counts = counts or {}
        is_known = self._used.keys() <= self._stored.keys() and counts.keys() <= self.counts.keys()
        if len(self._used) < _FEWEST_TURNS or is_known:
            return
        file = _CacheFile(FORMAT, self._used, self._counter, self.counts | counts)
        with suppress(OSError):
            replace_file(self._file, msgspec.msgpack.encode(file))
            _remove_oldest(self._file.parent)

    def _read(self) -> _CacheFile:
        try:
            file = msgspec.msgpack.decode(self._file.read_bytes(), type=_CacheFile)
        except (OSError, msgspec.MsgspecError):
            return _CacheFile(FORMAT, {})
        return file if file.format == FORMAT else _CacheFile(FORMAT, {})


def _remove_oldest(folder: Path) -> None:
    files = sorted(folder.iterdir(), key=lambda file: file.stat().st_mtime, reverse=True)
    for file in files[_MAX_SESSIONS:]:
        file.unlink(missing_ok=True)
