"""Estimates of token counts: from the shapes of a text, and from its length alone.

`FeatureCounter` counts shapes and adds up what they cost in a typical vocabulary. It is the default
for models whose vocabulary is not public. `python -m bench tokens` prints how far off it is;
`python -m bench tokens --fit` computes these weights again.

Cuts a text into shapes, the way that byte-pair vocabularies cut it, for estimates of tokens.

Every vocabulary first splits a text by a pattern: a word with the one character before it, a short
group of digits, a run of punctuation, white space. How many tokens a piece becomes depends on the
vocabulary, but the shape of the piece tells most of it: `' getUserName'` is a space and three
capitalised parts, `'=="'` is punctuation with one change. This module replaces each character by
its class, finds the shapes and counts the features in each. `estimators` knows the cost of each
feature.
"""

import re
from collections.abc import Iterator

from sapwood.core.token_count import Count

# In hundredths of a token: sums of whole numbers are equal on every machine and in every order.
# Sizes are recorded under the counter's name, so a counter with other weights needs another name.
WEIGHTS = {
    "word": 100,
    "glued": 45,
    "hump": 94,
    "long": 27,
    "digits": 123,
    "mixed": 121,
    "punctuation": 101,
    "change": 20,
    "newline": 127,
    "space": 106,
    "indent": 84,
    "ideograph": 57,
    "ideographic_mark": 166,
    "symbol": 44,
    "accented": 58,
    "alphabet": 35,
    "kana": 59,
    "hangul": 44,
    "brahmic": 19,
    "emoji": 139,
}


class FeatureCounter:
    """Estimates the tokens of a text from its shapes.

    >>> FeatureCounter().count("The quick brown fox jumps over the lazy dog.")
    Count(tokens=10, exact=False)
    """

    name = "features"
    exact = False

    def count(self, text: str) -> Count:
        """An estimate; at least one token for a text that is not empty."""
        hundredths = sum(map(_cost, pieces_of(classes_of(text))))
        return Count(max((hundredths + 50) // 100, min(1, len(text))), exact=False)


def _cost(text: bytes) -> int:
    """The cost of a text of character classes, in hundredths of a token."""
    words, runs = _SPACES.subn(b" ", text) if b"  " in text else (text, 0)
    if b"\n \n" in words:  # a shape of white space that crosses a space
        return sum(map(_SHAPES.__getitem__, shapes_of(text)))
    # Of a run of spaces, all but the last are a shape of their own.
    indents = len(_INDENTS.findall(text)) if runs else 0
    blank = indents * WEIGHTS["indent"] + (runs - indents) * WEIGHTS["space"]
    first, *others = words.split(b" ")
    cost = sum(map(_SHAPES.__getitem__, shapes_of(first)))
    return blank + cost + sum(map(_WORDS.__getitem__, others))


class _CostCache(dict[bytes, int]):
    """Costs of shapes that occur often."""

    # Longer keys are hashes and encoded data: they rarely repeat and need much memory. Paths do.
    MAX_KEY, MAX_ENTRIES = 64, 32_768

    def __missing__(self, key: bytes) -> int:
        cost = self.cost(key)
        if len(key) <= self.MAX_KEY:
            if len(self) >= self.MAX_ENTRIES:
                self.clear()
            self[key] = cost
        return cost

    def cost(self, key: bytes) -> int:
        """Computes a cost that is not cached."""
        raise NotImplementedError


class _Shapes(_CostCache):
    def cost(self, key: bytes) -> int:
        return sum(WEIGHTS[name] * times for name, times in features_of(key).items())


class _Words(_CostCache):
    """Costs of the text between two spaces, which do not depend on its surroundings."""

    def cost(self, key: bytes) -> int:
        return sum(map(_SHAPES.__getitem__, shapes_of(b" " + key)))


_SHAPES = _Shapes()
_WORDS = _Words()


class Chars4Counter:
    """Counts one token for every four characters. Off by a quarter on average.

    >>> Chars4Counter().count("sapwood")
    Count(tokens=2, exact=False)
    """

    name = "chars4"
    exact = False

    def count(self, text: str) -> Count:
        """An estimate: a quarter of the characters, rounded up."""
        return Count(-(-len(text) // 4), exact=False)


FEATURES = (
    "word",  # a run of letters, with the character before it
    "glued",  # a word after punctuation instead of a space
    "hump",  # each further capitalised part of a word
    "long",  # each letter beyond the eighth of a part
    "digits",  # each group of up to three digits
    "mixed",  # each run of letters or of digits in a word that has both, as in 3f9a
    "punctuation",  # a run of it
    "change",  # each character of the run that differs from the one before
    "newline",  # white space that ends a line
    "space",  # a single space that belongs to no other piece, as before a digit
    "indent",  # two or more spaces
    "ideograph",  # each Chinese character
    "ideographic_mark",  # each mark of Chinese or Japanese punctuation
    "symbol",  # each quotation mark, dash, arrow, box drawing
    "accented",  # each Latin letter beyond ASCII, on top of its word
    "alphabet",  # each letter of Greek, Cyrillic, Hebrew, Arabic
    "kana",  # each
    "hangul",  # each
    "brahmic",  # each letter or vowel sign of Devanagari, Tamil, Thai and related scripts
    "emoji",  # each
)

_PUNCTUATION = rb"!-/:-@\[-`{-~"
_PIECE = re.compile(
    rb"[ %(p)s]?[aAl]++(?!0)"  # first, because most pieces are words
    rb"|[aAl0]+"
    rb"| +(?= )"  # an indent leaves its last space to what follows
    rb"| ?[%(p)s]+\n*"
    rb"|[ \n]*\n"
    rb"|c+|k+|s+| ?y+|j+|h+|i+|e+"
    rb"| " % {b"p": _PUNCTUATION}
)
_SPACES = re.compile(rb"  +")
_INDENTS = re.compile(rb"   +")
_PART = re.compile(rb"A?[al]+|A+(?![al])")
_RUN = re.compile(rb"0+|[aAl]+")
_PER_CHARACTER = {
    b"c": "ideograph",
    b"k": "ideographic_mark",
    b"s": "symbol",
    b"y": "alphabet",
    b"j": "kana",
    b"h": "hangul",
    b"i": "brahmic",
    b"e": "emoji",
}
_SHAPE_END = re.compile(rb"(?<=[aAl0])[^aAl0]|(?<=[cksyjhie])[^cksyjhie]")
_LONG = 16_384
"""Characters that are searched in one step."""
_SAME = re.compile(rb"(?s)(.)\1*")
_MARKS = bytes(range(0x21, 0x30)) + b":;<=>?@[\\]^_`{|}~"


def _class_of(byte: int) -> bytes:
    """The class of an ASCII character, or of any other character by its first UTF-8 byte."""
    character = chr(byte)
    if byte < 0x80:
        if character.isalpha():
            return b"A" if character.isupper() else b"a"
        if character.isdigit():
            return b"0"
        if character in "\n\r":
            return b"\n"
        if character in " \t":
            return b" "
        return bytes([byte]) if character.isprintable() else b"?"
    if byte in (0xC2, 0xE2):
        return b"s"
    if byte <= 0xCA or byte == 0xE1:
        return b"l"
    if byte <= 0xDF:
        return b"y"
    if byte == 0xE0:
        return b"i"
    if byte == 0xE3:
        return b"j"
    if byte <= 0xE9:
        return b"c"
    if byte <= 0xED:
        return b"h"
    return b"k" if byte == 0xEF else b"e"


_CLASSES = b"".join(_class_of(byte) for byte in range(256))
_CONTINUATIONS = bytes(range(0x80, 0xC0))


def classes_of(text: str) -> bytes:
    """The text with every character replaced by its class.

    >>> classes_of("getUserName(42)")
    b'aaaAaaaAaaa(00)'
    """
    # Bytes make this fast: one table look-up per byte and no objects except the pieces.
    # Ideographic marks share a first byte with the kana and get another one here.
    encoded = text.encode("utf-8", "surrogatepass").replace(b"\xe3\x80", b"\xef")
    return encoded.translate(_CLASSES, _CONTINUATIONS)


def shapes_of(classes: bytes) -> list[bytes]:
    """The shapes of a text of character classes, in order.

    >>> shapes_of(b"aaaAaaaAaaa(00)")
    [b'aaaAaaaAaaa', b'(', b'00', b')']
    """
    return _found(_PIECE, classes)


def pieces_of(classes: bytes) -> Iterator[bytes]:
    """Cuts long classes where a shape ends in any case: the shapes are the same.

    One step over a long text would block every other thread.
    """
    start, searched = 0, _LONG
    while searched < len(classes):
        cut = _SHAPE_END.search(classes, searched, searched + _LONG)
        searched += _LONG
        if cut:
            yield classes[start : cut.start()]
            start, searched = cut.start(), cut.start() + _LONG
    yield classes[start:]


def _found(pattern: re.Pattern[bytes], classes: bytes) -> list[bytes]:
    """All matches; in a long text one by one, so that other threads can run meanwhile."""
    if len(classes) <= 2 * _LONG:
        return pattern.findall(classes)
    return [match[0] for match in pattern.finditer(classes)]


def features_of(shape: bytes) -> dict[str, int]:
    """How often each feature occurs in one shape.

    >>> features_of(b" aaaAaaaAaaa")
    {'word': 1, 'hump': 2}
    """
    core = shape.strip(b" \n")
    if not core:
        return {_blank(shape): 1}
    if name := _PER_CHARACTER.get(core[:1]):
        return {name: len(core)}
    if core[0] in _MARKS and core[-1] in _MARKS:
        return {"punctuation": 1, "change": _changes(core)}
    if b"0" not in core:
        return _word(core)
    runs = len(_found(_RUN, core))
    return {"mixed": runs} if runs > 1 else {"digits": -(-len(core) // 3)}


def _changes(core: bytes) -> int:
    """How many characters differ from the one before, counted in steps."""
    steps = range(0, len(core), _LONG)
    return sum(len(_SAME.findall(core[step : step + _LONG + 1])) - 1 for step in steps)


def _blank(shape: bytes) -> str:
    if b"\n" in shape:
        return "newline"
    return "space" if len(shape) == 1 else "indent"


def _word(core: bytes) -> dict[str, int]:
    parts = _found(_PART, core)
    found = {
        "word": 1,
        "glued": int(core[0] in _MARKS),
        "hump": len(parts) - 1,
        "long": sum(max(0, len(part) - 8) for part in parts),
        "accented": core.count(b"l"),
    }
    return {name: count for name, count in found.items() if count}
