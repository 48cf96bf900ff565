"""A text as its bytes, one character each: what is searched.

Python keeps a text in the width of its widest character, and one arrow makes all of it slow to
search. Everything that the finders look for is ASCII, which stands for itself here.
"""

from collections.abc import Iterable, Iterator

from sapwood.core.secrets.span import Span

__all__ = ["Narrow"]

_CONTINUED = bytes(range(0x80, 0xC0))
"""The bytes of a character after its first."""


class Narrow:
    """The bytes of a text, and the same as a text, as it is and in small letters."""

    def __init__(self, text: str) -> None:
        self._is_ascii = text.isascii()
        self.data = text.encode("utf-8", "surrogatepass")
        self.text = text if self._is_ascii else self.data.decode("latin-1")
        self.lower = text.lower() if self._is_ascii else self.data.lower().decode("latin-1")

    def places(self, spans: Iterable[Span]) -> Iterator[Span]:
        """The spans as places in the text itself."""
        spans = list(spans)
        if self._is_ascii:
            yield from spans
            return
        offsets = sorted({place for span in spans for place in (span.start, span.end)})
        places: dict[int, int] = {}
        at = count = 0
        for offset in offsets:
            count += len(self.data[at:offset].translate(None, _CONTINUED))
            places[offset] = count
            at = offset
        yield from (Span(places[s.start], places[s.end], s.kind) for s in spans)
