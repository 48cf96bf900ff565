"""Finds words that are a secret in base64 or hex, by how the encoded form begins."""

import re
from base64 import b64encode
from binascii import Error, a2b_base64, unhexlify
from collections import defaultdict
from collections.abc import Iterator
from functools import cache

from sapwood.redaction.byte_text import Searched
from sapwood.redaction.token_forms import FORMS

ENCODED_SECRET = "encoded-secret"
_MIN_PREFIX = 4
_LONGEST = 8_192
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]*+={0,2}+", re.ASCII)
_HEX = re.compile(r"(?:[0-9a-f]{2})*+", re.ASCII)
_TEXTS = (
    *("https://", "http://", "postgres", "mysql://", "redis://", "mongodb", "amqp://"),
    *("password", "PASSWORD", "Password", "passwd", "secret", "SECRET", "token", "TOKEN"),
    *("api_key", "API_KEY", "DB_PASS", "export ", "-----BEGIN"),
)
"""Beginnings of texts with a secret that are not tokens themselves."""
_HEAD = 5


def encoded_words(searched: Searched) -> Iterator[tuple[int, int, str]]:
    """Yields words that may be an encoded secret: start, end, and the decoded text."""
    text, heads = searched.text, _heads()
    for start, _ in searched.long_words:
        encodings = heads.get(text[start : start + _HEAD])
        for prefix, is_hex in encodings or ():
            if not text.startswith(prefix, start):
                continue
            word = (_HEX if is_hex else _BASE64).match(text, start, start + _LONGEST)
            decoded = _decoded(word[0], is_hex=is_hex) if word else ""
            if word and decoded:
                yield start, word.end(), decoded


@cache
def _heads() -> dict[str, list[tuple[str, bool]]]:
    """The encoded forms of every beginning, by their first characters."""
    found: defaultdict[str, list[tuple[str, bool]]] = defaultdict(list)
    prefixes = [prefix for _, given, _ in FORMS for prefix in given.split()]
    for prefix in (*prefixes, *_TEXTS):
        if len(prefix) >= _MIN_PREFIX:
            # The last character depends on what follows, if the prefix does not fill it.
            base64 = b64encode(prefix.encode())[: len(prefix) * 8 // 6].decode()
            for encoded, is_hex in ((base64, False), (prefix.encode().hex(), True)):
                found[encoded[:_HEAD]].append((encoded, is_hex))
    return dict(found)


def _decoded(word: str, *, is_hex: bool) -> str:
    """The decoded text; empty if it is not printable."""
    try:
        if is_hex:
            data = unhexlify(word)
        else:
            plain = word.rstrip("=")
            if "-" in plain or "_" in plain:  # the other alphabet
                plain = plain.replace("-", "+").replace("_", "/")
            data = a2b_base64(plain + "=" * (-len(plain) % 4))
        text = data.decode("ascii")
    except (Error, ValueError):
        return ""
    return text if text.isprintable() else ""
