"""Text for a terminal: shows control characters, cuts, wraps, lists entries, and splits hits.

A terminal obeys control characters, reverses text after bidirectional controls, and shows nothing
for zero-width characters. Here they become signs (`␛`) or escapes (`\u202e`); none is removed.
"""

import re
import textwrap
import unicodedata
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sapwood.core.log_values import SearchHit


def pieces(hit: "SearchHit") -> Iterator[tuple[str, bool]]:
    """The pieces of the sentence in order, and whether each is a word that was found.

    >>> from sapwood.core.ids import AgentId, EventRef
    >>> from sapwood.core.log_values import SearchHit
    >>> ref = EventRef(AgentId("a"), 1)
    >>> list(pieces(SearchHit(ref, "turn.started", 0, "the heron nests", 1.0, 1, ((4, 9),))))
    [('the ', False), ('heron', True), (' nests', False)]
    """
    at = 0
    for start, end in hit.marks:
        if start > at:
            yield hit.snippet[at:start], False
        yield hit.snippet[start:end], True
        at = end
    if at < len(hit.snippet):
        yield hit.snippet[at:], False


def plain(text: str) -> str:
    """Shows control characters instead of obeying them; see `readable`.

    >>> plain("\\x1b[31mred\\ttab\\x07")
    '␛[31mred\\ttab␇'
    """
    return readable(text)


def one_line(text: str) -> str:
    """Joins all lines of a text into one.

    >>> one_line("two\\n  lines")
    'two lines'
    """
    return " ".join(plain(text).split())


def width_of(text: str) -> int:
    """Returns the width of a text in columns.

    >>> width_of("abc"), width_of("日本")
    (3, 4)
    """
    return sum(0 if unicodedata.combining(char) else 2 if _is_wide(char) else 1 for char in text)


def cut(text: str, width: int) -> str:
    """Cuts a text to one line of at most `width` columns.

    >>> cut("a long\\nstory", 7)
    'a long…'
    """
    line = one_line(text)
    if width_of(line) <= width:
        return line
    kept, used = "", 1
    for char in line:
        used += 2 if _is_wide(char) else 1
        if used > width:
            break
        kept += char
    return kept.rstrip() + "…"


def padded(text: str, width: int) -> str:
    """Appends spaces up to a width."""
    return text + " " * max(0, width - width_of(text))


def wrapped(text: str, width: int, indent: str = "") -> list[str]:
    """Wraps a text to lines of at most `width` columns. Its own line breaks stay.

    >>> wrapped("one two three", 9, "  ")
    ['  one two', '  three']
    """
    lines: list[str] = []
    for line in plain(text).expandtabs(4).split("\n"):
        room = max(width, len(indent) + 10)
        if width_of(line) + len(indent) <= room:
            lines.append(f"{indent}{line}".rstrip())
            continue
        own = indent + line[: len(line) - len(line.lstrip())]
        lines += textwrap.wrap(
            line.strip(), room, initial_indent=own, subsequent_indent=own, break_on_hyphens=False
        )
    return lines


def indented(text: str, indent: str) -> list[str]:
    """Indents every line of a text, without wrapping."""
    return [f"{indent}{line}".rstrip() for line in plain(text).split("\n")]


def _is_wide(char: str) -> bool:
    return char > "\u10ff" and unicodedata.east_asian_width(char) in "WF"


def section(title: str, found: Iterable[str], width: int) -> list[str]:
    """Returns a title with its entries below; no lines if there are no entries.

    >>> section("Files", ["a.py"], 40)
    ['Files', '  - a.py', '']
    """
    lines = entries(found, width)
    return [title, *lines, ""] if lines else []


def entries(found: Iterable[str], width: int, indent: str = "  ") -> list[str]:
    """Returns entries with dashes in front, wrapped and indented."""
    lines: list[str] = []
    for each in found:
        first, *rest = wrapped(" ".join(each.split()), width - 2, indent) or [indent]
        lines += [f"{indent}- {first.strip()}", *(f"  {line}" for line in rest)]
    return lines


_CONTROLS = r"\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff"
_INVISIBLE = (
    r"\u00ad\u034f\u061c\u070f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e"
    r"\u2060-\u206f\u2800\u3164\ufdd0-\ufdef\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    r"\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_SPACES = r"\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"
_JOINERS = r"\u200c\u200d"
_SELECTORS = r"\ufe0e\ufe0f"
_PRIVATE = r"\ue000-\uf8ff\U000f0000-\U0010ffff"

_SYMBOLS = r"\u2190-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
_EXACT = re.compile(f"[{_CONTROLS}{_INVISIBLE}{_SPACES}{_JOINERS}{_SELECTORS}{_PRIVATE}]+")
_READING = re.compile(
    f"[{_CONTROLS}{_INVISIBLE}]+"
    # Joiners and selectors belong to emoji and to scripts such as Persian; elsewhere they hide.
    rf"|(?<![\u0600-\u1fff{_SYMBOLS}\ufe0f])[{_JOINERS}]+"
    rf"|(?<![#*0-9\u00a9\u00ae\u203c\u2049\u2122\u2139{_SYMBOLS}])[{_SELECTORS}]+"
)
_COLOUR = re.compile(r"\x1b\[[0-9;:]*m")


def visible_parts(text: str) -> list[tuple[str, bool]]:
    """Divides a text into pieces, each with whether it stands for characters that are not visible.

    >>> visible_parts("a\\x1b]b")
    [('a', False), ('␛', True), (']b', False)]
    """
    parts: list[tuple[str, bool]] = []
    at = 0
    for found in _EXACT.finditer(text):
        if found.start() > at:
            parts.append((text[at : found.start()], False))
        parts.append((_signs(found), True))
        at = found.end()
    if at < len(text):
        parts.append((text[at:], False))
    return parts


def visible(text: str) -> str:
    """Shows every character exactly, except line breaks and tabs: for what a person approves.

    >>> visible("git status\\x1b]\\u202e\\u00a0x\\r")
    'git status␛]\\\\u202e\\\\u00a0x␍'
    """
    return _EXACT.sub(_signs, text)


def readable(text: str, before: str = "") -> str:
    """Shows control, bidirectional and zero-width characters: for conversations and messages.

    Emoji, icons and wide spaces stay as they are, and Windows' line ends become line breaks.
    `before` is what was printed just before a text that is printed in pieces: a joiner belongs to
    the character in front of it.

    >>> readable("one\\r\\ntwo\\x07 \\u200b❤\\ufe0f")
    'one\\ntwo␇ \\\\u200b❤️'
    >>> readable("\\ufe0f"), readable("\\ufe0f", "❤")
    ('\\\\ufe0f', '️')
    """
    last = before[-1:]

    def signs(found: re.Match[str]) -> str:
        printed = max(0, len(last) - found.start())
        return found[0][:printed] + "".join(map(_sign, found[0][printed:]))

    return _READING.sub(signs, last + text.replace("\r\n", "\n"))[len(last) :]


def one_sign_each(text: str) -> str:
    """Replaces each character that `readable` would show by one sign: for lines of fixed width.

    >>> one_sign_each("a\\x1b\\u202eb")
    'a␛�b'
    """
    return _READING.sub(lambda found: "".join(map(_one_sign, found[0])), text)


def without_colours(text: str) -> str:
    """Removes the sequences that only set colours, which programs print.

    >>> without_colours("\\x1b[1;31mred\\x1b[0m")
    'red'
    """
    return _COLOUR.sub("", text)


def json_escaped(encoded: str) -> str:
    """Escapes in JSON, inside its strings, what a terminal would obey or not show.

    >>> json_escaped('"\\u009b31m \\U000e0041"')
    '"\\\\u009b31m \\\\udb40\\\\udc41"'
    """
    return _EXACT.sub(_json_escapes, encoded)


def _signs(found: re.Match[str]) -> str:
    return "".join(map(_sign, found[0]))


def _sign(char: str) -> str:
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _one_sign(char: str) -> str:
    return _sign(char) if ord(char) < 0x80 else "\ufffd"


def _json_escapes(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
