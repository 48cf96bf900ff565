"""What was found out about turns, kept for the next look at the same session.

A session is looked at many times while it grows, and finding the features of its turns is most of
the work. A turn is known by a digest of all that it holds, so what is kept is never about another;
and nothing is lost with it, so that whatever goes wrong with the file is no trouble.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

import msgspec
from msgspec import Struct

from sapwood.app.folders import known_folder
from sapwood.core.session import Session
from sapwood.core.turn import Turn
from sapwood.garden.topics.features import TurnFeatures

__all__ = ["FORMAT", "KnownTurns"]

FORMAT = "1"
"""Raised whenever the same turn has other features than before."""

_WORTH_IT = 50
"""Turns of a session that takes longer to look at than a file."""
_MOST_SESSIONS = 16


class _Kept(Struct):
    format: str
    turns: dict[str, TurnFeatures]


class KnownTurns:
    """The features of a session's turns, as one counter counts them."""

    def __init__(self, session: Session, counter: str) -> None:
        name = blake2b(f"{session.source}/{session.id}".encode(), digest_size=16).hexdigest()
        self._file = known_folder() / f"{name}.msgpack"
        self._about = f"{counter}\0{session.folder}".encode()
        self._known = self._read() if len(session.turns) >= _WORTH_IT else {}
        self._used: dict[str, TurnFeatures] = {}

    def features(self, turn: Turn, find: Callable[[Turn], TurnFeatures]) -> TurnFeatures:
        """Those that are known, else those that are found."""
        digest = blake2b(self._about, digest_size=16)
        digest.update(msgspec.msgpack.encode((turn.prompt, turn.items, turn.status)))
        key = digest.hexdigest()
        features = self._used[key] = self._known.get(key) or find(turn)
        return features

    def save(self) -> None:
        """Keeps what was used, if there is anything new in it."""
        if len(self._used) < _WORTH_IT or self._used.keys() <= self._known.keys():
            return
        with suppress(OSError):
            folder = self._file.parent
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            fresh = self._file.with_suffix(f".{os.getpid()}.new")
            handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with open(handle, "wb") as file:
                file.write(msgspec.msgpack.encode(_Kept(FORMAT, self._used)))
            fresh.replace(self._file)
            _forget_oldest(folder)

    def _read(self) -> dict[str, TurnFeatures]:
        try:
            kept = msgspec.msgpack.decode(self._file.read_bytes(), type=_Kept)
        except (OSError, msgspec.MsgspecError):
            return {}
        return kept.turns if kept.format == FORMAT else {}


def _forget_oldest(folder: Path) -> None:
    files = sorted(folder.iterdir(), key=lambda file: file.stat().st_mtime, reverse=True)
    for file in files[_MOST_SESSIONS:]:
        file.unlink(missing_ok=True)
