"""The text that the secret finders search: one character for each UTF-8 byte.

Python stores a text in the width of its widest character, so a single arrow makes the whole text
slow to search. The finders look for ASCII only, and ASCII characters are the same in this form.
"""

import string
from collections.abc import Iterable, Iterator
from functools import cached_property

from msgspec import Struct

from sapwood.redaction.anchors import common_parts

_CONTINUATION_BYTES = bytes(range(0x80, 0xC0))
"""The bytes of a UTF-8 character after its first byte."""


class Span(Struct, frozen=True, order=True, gc=False):
    """Where a secret begins and ends, and its kind."""

    start: int
    end: int
    kind: str


_WORD_CHARACTERS = string.ascii_letters + string.digits + "_-"
_WORD_SHAPE = bytes(ord("w") if chr(char) in _WORD_CHARACTERS else 32 for char in range(256))
_LONG_WORD = b"w" * 16


class Searched:
    """A text with one character a byte (`text`), and in lower case (`lower`).

    `long_words` are the start and end of each word of sixteen characters or more.

    What begins at `stop` or later need not be found: the next piece of a long text has it too.
    """

    def __init__(self, text: str, stop: int | None = None) -> None:
        self.text = text
        self.stop = len(text) if stop is None else stop
        data = text.encode("latin-1")
        self.lower = data.lower().decode("latin-1")
        self.long_words = _long_words(data)

    @cached_property
    def parts(self) -> set[str]:
        """The common parts of anchors that it has; see `Anchored`."""
        return common_parts(self.lower)


def _long_words(data: bytes) -> list[tuple[int, int]]:
    shape = data.translate(_WORD_SHAPE)
    found: list[tuple[int, int]] = []
    start = shape.find(_LONG_WORD)
    while start >= 0:
        end = shape.find(b" ", start)
        end = end if end >= 0 else len(shape)
        found.append((start, end))
        start = shape.find(_LONG_WORD, end)
    return found


class ByteText:
    """A text in the form in which it is searched (`text`)."""

    def __init__(self, text: str) -> None:
        self._data = b"" if text.isascii() else text.encode("utf-8", "surrogatepass")
        self.text = self._data.decode("latin-1") if self._data else text

    def character_spans(self, spans: Iterable[Span]) -> Iterator[Span]:
        """Converts spans of bytes to spans of characters of the original text."""
        if not self._data:
            yield from spans
            return
        spans = list(spans)
        offsets = sorted({offset for span in spans for offset in (span.start, span.end)})
        characters: dict[int, int] = {}
        previous = count = 0
        for offset in offsets:
            count += len(self._data[previous:offset].translate(None, _CONTINUATION_BYTES))
            characters[offset] = count
            previous = offset
        yield from (Span(characters[s.start], characters[s.end], s.kind) for s in spans)
