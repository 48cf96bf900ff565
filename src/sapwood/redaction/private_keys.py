"""Finds private keys that span several lines: PEM, PGP, SSH2 and PuTTY, also parts of them.

Also finds where such a key begins in a text whose rest is still arriving.
"""

import re
from collections.abc import Iterator

from sapwood.redaction.byte_text import LazyPattern, Searched, Span

PRIVATE_KEY = "private-key"

_TITLE = r"(?:[A-Z0-9]{2,12} ){0,3}PRIVATE KEY(?: BLOCK)?"
_HEADER_FORM = rf"(?:-----BEGIN {_TITLE}-----|---- BEGIN {_TITLE} ----)"
_FOOTER_FORM = rf"(?:-----END {_TITLE}-----|---- END {_TITLE} ----)"
_BEGIN_FORM = r"(?:---- ?-?BEGIN |-----BEGIN )"
_HEADER, _FOOTER = LazyPattern(_HEADER_FORM), LazyPattern(_FOOTER_FORM)
_BEGIN = LazyPattern(_BEGIN_FORM)
_ARGUMENT_END = LazyPattern(r"""["'`][)\]]""")
"""After a header that code looks for in a text: no key follows."""
_MAX_LENGTH = 30_000
_PUTTY = LazyPattern(r"Private-Lines: ?\d{1,4}")
_PUTTY_SIGNATURE = LazyPattern(r"\s{0,4}Private-(?:MAC|Hash): ?[0-9a-f]{40,64}")

# What may stand before a line of a key: a line break, escaped or not, quotes, a number of a line.
# The searched text has one character a byte, so an arrow and a bar are written as their bytes.
_NUMBER = r"\d{1,7}(?:[\t:|]|\xe2\x86\x92|\xe2\x94\x82)[ \t]*+"
_GAP = rf"(?:\\[nrt]|[\s\"'+>,|\\])++(?:{_NUMBER})?[\"'+>]{{0,2}}"
_LINES = LazyPattern(
    rf"(?:{_GAP}[A-Z][A-Za-z-]{{2,20}}: [^\n\\]{{0,200}}){{0,4}}"
    rf"(?:{_GAP}[A-Za-z0-9+/=]{{16,}}+)*(?:{_GAP}[A-Za-z0-9+/]{{0,63}}={{1,2}})?",
    re.ASCII,
)
_LINE_OF_KEY = LazyPattern(
    rf"[\s\"'+>,|]*+(?:{_NUMBER})?[\"'+>]{{0,2}}[A-Za-z0-9+/=]{{1,100}}[\s\"',\\]{{0,4}}", re.ASCII
)
_LONG_LINE = 16
_TAIL_LENGTH = 8_000
_JSON_KEY = LazyPattern(r'"d"[ ]{0,4}:[ ]{0,4}"([\w-]{40,}+)"', re.ASCII)
_XML_KEY = LazyPattern(r"<D>([A-Za-z0-9+/=\s]{40,2000})</D>")

_PART_OF_HEADER = LazyPattern(r"(?:-----BEGIN |---- (?:BEGIN )?)(?:[A-Z0-9]{2,12} ){0,5}\Z")
_MAX_HEADER = 100
_JSON_MEMBERS = LazyPattern(
    r"""(?:\{(?:[^{}]|\{[^{}]*+\})*+\}|[\s,:{\[\]]|"(?:[^"\\\n]|\\.)*+"|-?\d[\d.eE+-]*+"""
    r"""|true|false|null)*+"""
    r"""(?:"(?:[^"\\\n]|\\.)*+)?"""
)
_XML_LINES = LazyPattern(r"[A-Za-z0-9+/=\s]{0,2000}", re.ASCII)
_ARRIVING = (
    ("PRIVATE KEY", _HEADER, _LINES, LazyPattern(rf"{_FOOTER_FORM}|{_BEGIN_FORM}")),
    ("Private-Lines", _PUTTY, _LINES, LazyPattern(r"Private-(?:MAC|Hash): ?[0-9a-f]{40,64}")),
    ('"d"', _JSON_KEY, _JSON_MEMBERS, LazyPattern(r"\}")),
    ("<RSAKeyValue>", LazyPattern("<D>"), _XML_LINES, LazyPattern("</D>")),
)
"""What a text with a key has, the key's start, what follows it, and its end.

In JSON, what makes a value a key may come after it.
"""
_BETWEEN = 100
"""The most other characters between the start, the lines and the end of a key that is set oddly."""
_RUN = LazyPattern(r"(?<![A-Za-z0-9+/=])(?=[a-z0-9+/=]*+[A-Z])[A-Za-z0-9+/=]{40,}+")
"""Most of a line of a key, whatever stands around it. A hash or a path has no capital letter."""

KEY_ANCHORS = ("PRIVATE KEY", "Private-Lines", '"kty"', "<RSAKeyValue>")


def find_private_keys(searched: Searched) -> Iterator[Span]:
    """Yields every private key, also one without header or footer."""
    text = searched.text
    if "private" in searched.parts:
        if "PRIVATE KEY" in text:
            yield from _armoured(text)
        for match in _PUTTY.finditer(text):
            end = _after(_LINES, text, match.end())
            if end > match.end():
                yield Span(match.end(), _after(_PUTTY_SIGNATURE, text, end), PRIVATE_KEY)
    if '"kty"' in text:
        yield from (Span(*match.span(1), PRIVATE_KEY) for match in _JSON_KEY.finditer(text))
    if "rsakeyvalue" in searched.parts and "<RSAKeyValue>" in text:
        yield from (Span(*match.span(1), PRIVATE_KEY) for match in _XML_KEY.finditer(text))


def arriving_key(text: str) -> int:
    """Returns where a key begins whose end may still arrive; the length of the text if none does.

    A key that has not ended after the length of the longest keys is none. If a text only names the
    start of a key, what follows can be shown, up to what looks like a line of a key.
    """
    part = _PART_OF_HEADER.search(text, max(0, len(text) - _MAX_HEADER))
    start = part.start() if part else len(text)
    for anchor, begin, lines, end in _ARRIVING:
        if anchor in text:
            begun = list(begin.finditer(text, max(0, len(text) - _MAX_LENGTH)))
            lines_end = _after(lines, text, begun[-1].end()) if begun else 0
            if begun and not end.search(text, lines_end):
                start = min(start, _unfinished(text, begun[-1].start(), lines_end))
    return start


def _unfinished(text: str, start: int, lines_end: int) -> int:
    """Returns from where a text must wait for the end of a key whose lines ended so far."""
    if len(text) - lines_end <= _BETWEEN:
        return start
    run = _RUN.search(text, lines_end)
    if run is None:
        return len(text)
    return start if run.start() - lines_end <= _BETWEEN else run.start()


def _armoured(text: str) -> Iterator[Span]:
    """Yields keys from header to footer, keys without footer, and the ends of keys."""
    position = 0
    footer = _FOOTER.search(text)
    for header in _HEADER.finditer(text):
        if header.start() < position:
            continue
        while footer and footer.start() < header.start():
            yield from _tail(text, position, footer)
            position = footer.end()
            footer = _FOOTER.search(text, position)
        start, position = header.start(), _key_end(text, header.end(), footer)
        if position > header.end() or not _ARGUMENT_END.match(text, position):
            yield Span(start, position, PRIVATE_KEY)
        if footer and footer.start() < position:
            footer = _FOOTER.search(text, position)
    while footer:
        yield from _tail(text, position, footer)
        position = footer.end()
        footer = _FOOTER.search(text, position)


def _key_end(text: str, start: int, footer: re.Match[str] | None) -> int:
    """Returns where the key ends whose header ends at `start`."""
    if footer and footer.start() - start <= _MAX_LENGTH:
        other = _BEGIN.search(text, start, footer.start())
        if other is None:
            return footer.end()
    return _after(_LINES, text, start)


def _tail(text: str, limit: int, footer: re.Match[str]) -> Iterator[Span]:
    """Yields the last lines of a key whose header is missing, with their footer."""
    first = max(limit, footer.start() - _TAIL_LENGTH)
    start = footer.start()
    size = 0
    while start > first:
        line = max(text.rfind("\n", first, start - 1) + 1, first)
        if not _LINE_OF_KEY.fullmatch(text, line, start):
            break
        size = max(size, start - line)
        start = line
    if size >= _LONG_LINE:
        yield Span(start, footer.end(), PRIVATE_KEY)


def _after(pattern: LazyPattern, text: str, start: int) -> int:
    match = pattern.match(text, start)
    return match.end() if match else start
