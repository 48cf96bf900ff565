"""The text that the secret finders search: one character for each UTF-8 byte.

Python stores a text in the width of its widest character, so a single arrow makes the whole text
slow to search. The finders look for ASCII only, and ASCII characters are the same in this form.

Rules with an anchor: a plain text without which the rule finds nothing.

Looking for one anchor takes a pass over the text, and there are many. Most contain one of a few
common parts, such as `pass`. A text is searched for these parts once, and a rule whose part is
missing is left out without another pass. A part is looked for in the consonants of the text first,
which are a third of it.
"""

import re
import string
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Generic, TypeVar

from msgspec import Struct

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


class LazyPattern:
    """A pattern that is compiled when it is used for the first time.

    Compiling all patterns takes longer than most processes search, and most texts need few of them.

    >>> LazyPattern("a+").findall("aab a")
    ['aa', 'a']
    """

    search: Callable[..., re.Match[str] | None]
    match: Callable[..., re.Match[str] | None]
    fullmatch: Callable[..., re.Match[str] | None]
    finditer: Callable[..., Iterator[re.Match[str]]]
    findall: Callable[..., list[str]]
    split: Callable[..., list[str]]
    sub: Callable[..., str]

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self._pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Callable[..., object]:
        """Called once for each method: afterwards the object has that of the compiled pattern."""
        if name not in LazyPattern.__annotations__:
            raise AttributeError(name)
        method: Callable[..., object] = getattr(re.compile(self._pattern, self._flags), name)
        setattr(self, name, method)
        return method


_Rule = TypeVar("_Rule")
_COMMON_PARTS = (
    *("@", "$", "\xc3", "://", "pass", "auth", "login", "cred", "token", "secret", "key"),
    *("admin", "appid", "backup", "bearer", "cookie", "curl", "identified", "kennwort"),
    *("mnemonic", "net use", "phrase", "private", "psk", "pw", "rabbitmqctl", "recovery", "root"),
    *("rsakeyvalue", "securestring", "senha", "sqlplus"),
)
"""Single characters are found fastest, so they come first."""
_OUR_NAME = "sapwood"
_CONSONANTS = frozenset(b"bcdfghjklmnpqrstvwxyz")
_NO_CONSONANTS = bytes(byte for byte in range(256) if byte not in _CONSONANTS)


def _consonants(lower: str) -> bytes:
    return lower.encode("latin-1").translate(None, _NO_CONSONANTS)


_PARTS = tuple((part, _consonants(part)) for part in _COMMON_PARTS)


def common_parts(lower: str) -> set[str]:
    """The common parts that a text in lower case has, and the empty one, which every text has."""
    letters = _consonants(lower)
    found = {part for part, own in _PARTS if own in letters and part in lower}
    if "pw" in found and "pw" not in lower.replace(_OUR_NAME, " "):
        found.discard("pw")  # no name of a password, but in every log line
    found.add("")
    return found


class Anchored(Generic[_Rule]):
    """Rules with their anchors, grouped by the common part of the anchor."""

    def __init__(self, rules: Iterable[tuple[str, _Rule]]) -> None:
        groups: defaultdict[str, list[tuple[str, _Rule]]] = defaultdict(list)
        self.anchors: list[str] = []
        for anchor, rule in rules:
            self.anchors.append(anchor)
            lower = _in_lower_case(anchor)
            part = next((part for part in _COMMON_PARTS if part in lower), "")
            groups[part].append((anchor, rule))
        self._groups = list(groups.items())

    def present(self, parts: set[str], text: str) -> list[_Rule]:
        """The rules whose anchor is in the text, which has these common parts."""
        return [
            rule
            for part, rules in self._groups
            if part in parts
            for anchor, rule in rules
            if anchor in text
        ]


def pattern_of_any(anchors: Iterable[str]) -> LazyPattern:
    """A pattern that finds any of the anchors in a text in lower case.

    An anchor that contains another one is left out. The others are grouped by first character, so
    that few are tried at each place.
    """
    lower = set(map(_in_lower_case, anchors))
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for anchor in sorted(lower):
        if not any(other in anchor for other in lower if other != anchor):
            groups[anchor[0]].append(re.escape(anchor[1:]))
    each = (f"{re.escape(first)}(?:{'|'.join(rest)})" for first, rest in groups.items())
    return LazyPattern("|".join(each))


def _in_lower_case(anchor: str) -> str:
    """As the searched text is: its characters are bytes, and only those of ASCII have a case."""
    return anchor.encode("latin-1").lower().decode("latin-1")
