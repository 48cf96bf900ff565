"""Remembers which tool results of a long transcript have nothing to mask.

Searching all results for secrets is a large part of reading a transcript, and almost none of them
has one. A result is known by a digest of its whole text. What was found with other rules than the
present ones is not used. A file that cannot be read or written is ignored.
"""

import os
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from pathlib import Path

from sapwood import redaction
from sapwood.config.folders import clean_results_folder
from sapwood.private_files import replace_file
from sapwood.redaction import mask_secrets

_SMALLEST = 2_000_000
"""Bytes of a transcript below which nothing is remembered: masking is fast enough."""
_SHORT = 32
"""Characters of a result up to which masking is as fast as a look-up."""
_SIZE = 16
_MAX_RESULTS = 200_000
_MAX_TRANSCRIPTS = 16


class CleanResults:
    """The results of one transcript in which no secret was found. `mask` masks a result."""

    def __init__(self, transcript: Path) -> None:
        name = blake2b(os.fsencode(transcript), digest_size=_SIZE).hexdigest()
        self._file = clean_results_folder() / name
        self._is_used = _is_large(transcript)
        self._known = self._read() if self._is_used else frozenset[bytes]()
        self._found: set[bytes] = set()

    def mask(self, text: str) -> str:
        """The text with its secrets masked."""
        if not self._is_used or len(text) <= _SHORT:
            return mask_secrets(text)
        key = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_SIZE).digest()
        if key in self._known:
            self._found.add(key)
            return text
        masked = mask_secrets(text)
        if masked == text and len(self._found) < _MAX_RESULTS:
            self._found.add(key)
        return masked

    def save(self) -> None:
        """Remembers the results that were masked, if some of them are new."""
        if not self._is_used or self._found <= self._known:
            return
        with suppress(OSError):
            replace_file(self._file, _rules() + b"".join(sorted(self._found)))
            _remove_oldest(self._file.parent)

    def _read(self) -> frozenset[bytes]:
        try:
            content = self._file.read_bytes()
        except OSError:
            return frozenset()
        if not content.startswith(_rules()):
            return frozenset()
        places = range(_SIZE, len(content) - _SIZE + 1, _SIZE)
        return frozenset([content[place : place + _SIZE] for place in places])


@cache
def _rules() -> bytes:
    """A digest of the rules that find secrets: it changes when one of their files does."""
    digest = blake2b(digest_size=_SIZE)
    for folder in redaction.__path__:
        for file in sorted(Path(folder).glob("*.py")):
            status = file.stat()
            digest.update(f"{file.name} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.digest()


def _is_large(transcript: Path) -> bool:
    try:
        return transcript.stat().st_size >= _SMALLEST
    except OSError:
        return False


def _remove_oldest(folder: Path) -> None:
    files = sorted(folder.iterdir(), key=lambda file: file.stat().st_mtime, reverse=True)
    for file in files[_MAX_TRANSCRIPTS:]:
        file.unlink(missing_ok=True)
