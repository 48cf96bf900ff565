"""Makes characters visible that a terminal would obey or not show.

A terminal obeys control characters, reverses text after bidirectional controls, and shows nothing
for zero-width characters. Here they become signs (`␛`) or escapes (`\\u202e`); none is removed.
"""

import re

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


def readable(text: str) -> str:
    """Shows control, bidirectional and zero-width characters: for conversations and messages.

    Emoji, icons and wide spaces stay as they are, and Windows' line ends become line breaks.

    >>> readable("one\\r\\ntwo\\x07 \\u200b❤\\ufe0f")
    'one\\ntwo␇ \\\\u200b❤️'
    """
    return _READING.sub(_signs, text.replace("\r\n", "\n"))


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
