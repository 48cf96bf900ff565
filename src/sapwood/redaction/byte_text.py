"""The text that the secret finders search: one character for each UTF-8 byte.

Python stores a text in the width of its widest character, so a single arrow makes the whole text
slow to search. The finders look for ASCII only, and ASCII characters are the same in this form.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

__all__ = ["ByteText", "Span"]

_CONTINUATION_BYTES = bytes(range(0x80, 0xC0))
"""The bytes of a UTF-8 character after its first byte."""


class Span(NamedTuple):
    """Where a secret begins and ends, and its kind."""

    start: int
    end: int
    kind: str


class ByteText:
    """The bytes of a text (`data`), one character a byte (`text`), and in lower case (`lower`)."""

    def __init__(self, text: str) -> None:
        self._is_ascii = text.isascii()
        self.data = text.encode("utf-8", "surrogatepass")
        self.text = text if self._is_ascii else self.data.decode("latin-1")
        self.lower = text.lower() if self._is_ascii else self.data.lower().decode("latin-1")

    def character_spans(self, spans: Iterable[Span]) -> Iterator[Span]:
        """Converts spans of bytes to spans of characters of the original text."""
        spans = list(spans)
        if self._is_ascii:
            yield from spans
            return
        offsets = sorted({offset for span in spans for offset in (span.start, span.end)})
        characters: dict[int, int] = {}
        previous = count = 0
        for offset in offsets:
            count += len(self.data[previous:offset].translate(None, _CONTINUATION_BYTES))
            characters[offset] = count
            previous = offset
        yield from (Span(characters[s.start], characters[s.end], s.kind) for s in spans)
