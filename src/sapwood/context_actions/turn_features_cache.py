"""Caches of turn features and of token counts, stored for the next command about a session.

A session is analysed and changed many times while it grows, and most of the work is to find the
features of its turns and to count its tokens. Keys are digests of the whole content, so an entry
never belongs to another turn or text. A cache that cannot be read or written is ignored.
"""

from collections.abc import Callable
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

import msgspec
from msgspec import Struct

from sapwood.analysis.chapters.turn_features import TurnFeatures
from sapwood.config.folders import turn_features_folder
from sapwood.core.turn import Turn
from sapwood.private_files import replace_file

FORMAT = "4"
"""Increase it whenever the same turn gets other features than before."""

_FEWEST_TURNS, _FEWEST_COUNTS = 50, 200
"""A session with less than that is not worth a file: it is analysed and counted fast enough."""
_MAX_SESSIONS = 16


class _CacheFile(Struct):
    format: str
    turns: dict[str, TurnFeatures]
    counter: str = ""
    counts: dict[bytes, int] = {}


class TurnFeaturesCache:
    """The features of a session's turns, as one counter counts them in one folder.

    `counts` are the token counts of its texts by the digest of the text.
    """

    def __init__(self, source: str, session: str, counter: str, folder: str = "") -> None:
        name = blake2b(f"{source}/{session}".encode(), digest_size=16).hexdigest()
        self._file = turn_features_folder() / f"{name}.msgpack"
        self._key_prefix = f"{counter}\0{folder}".encode()
        found = self._read()
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
        """Writes the features that were used, and the counts, if any of them is new.

        If no features were used, those that were stored stay.
        """
        counts = counts or {}
        is_known = self._used.keys() <= self._stored.keys() and counts.keys() <= self.counts.keys()
        is_short = len(self._used) < _FEWEST_TURNS and len(counts) < _FEWEST_COUNTS
        if is_short or is_known:
            return
        turns = self._used or self._stored
        file = _CacheFile(FORMAT, turns, self._counter, self.counts | counts)
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
