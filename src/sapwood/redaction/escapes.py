r"""Undoes escapes in a text, so that a secret is found behind them.

A program prints a secret after `\n` in a JSON text, between colours of a terminal, or with `%3D` in
a URL. `DecodedText` is the text without these escapes, and converts spans of it to spans of the
original. It contains only the parts of the text that have escapes.
"""

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate

from sapwood.redaction.byte_text import LazyPattern, Span

_WITHOUT_WIDTH = frozenset({0xAD, 0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF})
"""Characters that are not seen: a soft hyphen, spaces and joiners, the mark of byte order."""


def _bytes_of(character: int) -> str:
    return chr(character).encode().decode("latin-1")


_FORMS = {
    "\x1b": r"\x1b(?:\[[0-9;:?]{0,32}[A-Za-z]|\][^\x07\x1b\n]{0,200}(?:\x07|\x1b\\))",
    "\\": r"\\(?:\\{0,15}(?:u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|[nrtbf\"'/]|(?:e|033)\[[0-9;]{0,16}m)"
    r"|\\++)",
    "%": r"%[0-9A-Fa-f]{2}",
    "&": r"&(?:quot|apos|amp|lt|gt|#\d{1,5}|#x[0-9a-fA-F]{1,4});",
    # Characters without width, as the bytes that they are in UTF-8.
    **{sign: sign for sign in map(_bytes_of, sorted(_WITHOUT_WIDTH))},
}
"""Each sort of escape by the sign that it begins with."""
_ESCAPE = LazyPattern(f"({'|'.join(_FORMS.values())})")
_ESCAPES = [(sign, LazyPattern(form)) for sign, form in _FORMS.items()]
_ASCII_ESCAPES = [(sign, form) for sign, form in _ESCAPES if sign.isascii()]
_LEFT_OUT = "\x1b\xe2\xef\xc2"
"""First characters of escapes that stand for nothing: colours, and characters without width."""
_LEVELS = 2
"""How often escapes are undone. Several backslashes, as in JSON inside JSON, count as one."""
_BLOCK = 256
"""Characters after an escape that are decoded with it, up to the end of the line."""
_LETTERS = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}
_ENTITIES = {"quot": '"', "apos": "'", "amp": "&", "lt": "<", "gt": ">"}
_MAX_KEPT = 70_000
_LONG_ESCAPE = 24


class _Decoder(dict[str, str]):
    """What each escape stands for; each is computed once."""

    def __missing__(self, escape: str) -> str:
        value = _decoded(escape)
        if len(self) < _MAX_KEPT and len(escape) < _LONG_ESCAPE:
            self[escape] = value
        return value


_DECODER = _Decoder()


def decoded_texts(text: str) -> "Iterator[DecodedText]":
    """Yields the text with its escapes undone once, twice and so on, as long as there are any."""
    outer: DecodedText | None = None
    for _ in range(_LEVELS):
        blocks = _blocks_with_escapes(text)
        if not blocks:
            return
        outer = DecodedText(text, blocks, outer)
        yield outer
        text = outer.text


class DecodedText:
    """The `blocks` of a text, given by start and end, without their escapes (`text`)."""

    def __init__(
        self, original: str, blocks: list[tuple[int, int]], outer: "DecodedText | None"
    ) -> None:
        self._outer = outer
        self._blocks = blocks
        self._sources = [_ESCAPE.split(original[start:end]) for start, end in blocks]
        self._parts: list[list[str]] = []
        for source in self._sources:
            parts = list(source)
            parts[1::2] = map(_DECODER.__getitem__, source[1::2])
            self._parts.append(parts)
        texts = ["".join(parts) for parts in self._parts]
        self.text = "\n\n".join(texts)
        self._starts = [0, *accumulate(len(text) + 2 for text in texts)]
        self._offsets: dict[int, tuple[list[int], list[int]]] = {}

    def original_span(self, span: Span) -> Span | None:
        """Returns the span in the original; None if it covers parts that are not neighbours."""
        block = bisect_right(self._starts, span.start) - 1
        if bisect_right(self._starts, span.end - 1) - 1 != block or block >= len(self._blocks):
            return None
        start, _ = self._original(block, span.start - self._starts[block])
        _, end = self._original(block, span.end - 1 - self._starts[block])
        found = Span(start, max(end, start), span.kind)
        return self._outer.original_span(found) if self._outer else found

    def _original(self, block: int, place: int) -> tuple[int, int]:
        """Returns the start and end in the original of one decoded character of a block."""
        if block not in self._offsets:
            self._offsets[block] = (
                [0, *accumulate(map(len, self._parts[block]))],
                [0, *accumulate(map(len, self._sources[block]))],
            )
        decoded, original = self._offsets[block]
        part = min(bisect_right(decoded, place) - 1, len(self._parts[block]) - 1)
        first = self._blocks[block][0] + original[part]
        if part % 2:  # an escape
            return first, self._blocks[block][0] + original[part + 1]
        return first + place - decoded[part], first + place - decoded[part] + 1


def _blocks_with_escapes(text: str) -> list[tuple[int, int]]:
    """Returns the start and end of each part of the text that has escapes: whole lines."""
    blocks: list[tuple[int, int]] = []
    escapes = _ASCII_ESCAPES if text.isascii() else _ESCAPES
    forms = [form for sign, form in escapes if sign in text and form.search(text)]
    if not forms:
        return blocks
    pattern = forms[0] if len(forms) == 1 else _ESCAPE
    end = 0
    while escape := pattern.search(text, end):
        start = max(text.rfind("\n", end, escape.start()) + 1, end)
        end = text.find("\n", escape.end() + _BLOCK) + 1 or len(text)
        if blocks and blocks[-1][1] == start:
            start = blocks.pop()[0]
        blocks.append((start, end))
    return blocks


def _decoded(escape: str) -> str:
    """Returns the character that an escape stands for; '' for a colour or a move of the cursor."""
    if escape[0] in _LEFT_OUT:
        return ""
    if escape[0] == "%":
        return _character(escape[1:], 16)
    if escape[0] == "\\":
        return _after_backslashes(escape.lstrip("\\"))
    if escape[1] != "#":
        return _ENTITIES[escape[1:-1]]
    return _character(escape[3:-1], 16) if escape[2] == "x" else _character(escape[2:-1], 10)


def _after_backslashes(rest: str) -> str:
    if rest[:1] in {"u", "x"}:
        return _character(rest[1:], 16)
    if rest[:1] in {"e", "0"}:
        return ""
    return _LETTERS.get(rest, rest or "\\")


def _character(digits: str, base: int) -> str:
    number = int(digits, base)
    if number in _WITHOUT_WIDTH:
        return ""
    return chr(number) if number < 0x80 else "\x80"
