"""Full-text search: the terms of texts and of queries.

All stores index the same ASCII terms, which are made here, so that they find the same. In scripts
without spaces (Chinese, Japanese, Thai …) each character is a term, and a word is searched as a
phrase.
"""

import re
import unicodedata
from collections.abc import Iterator

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
)
_TERM = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")
_QUERY = re.compile(r'"([^"]+)"|(\S+)')
_SNIPPET = 160
_PIECE = 16_384
"""Characters that are cut into terms in one step."""
_BETWEEN_TERMS = re.compile(r"[\x00-/:-@\[-`{-\x7f]")


def index_terms(text: str) -> str:
    """The text as ASCII terms with spaces between them, for an index.

    A long text is cut into pieces: one call for all of it would block every other thread.
    """
    pieces = [text] if len(text) <= _PIECE else _pieces(text)
    return " ".join(_ascii(term) for piece in pieces for term in _terms(piece))


def _pieces(text: str) -> Iterator[str]:
    """Cuts a text before ASCII characters that belong to no term, if there are any."""
    start = 0
    while start < len(text):
        cut = _BETWEEN_TERMS.search(text, start + _PIECE, start + 2 * _PIECE)
        end = cut.start() if cut else start + 2 * _PIECE
        yield text[start:end]
        start = end


def query_phrases(query: str) -> list[list[str]]:
    """The phrases of a query, all of which must be found; each is a list of terms in a row.

    >>> query_phrases('retry "token refresh" 数据')
    [['retry'], ['token', 'refresh'], ['u6570', 'u636e']]
    """
    words = (quoted or word for quoted, word in _QUERY.findall(query))
    phrases = ([_ascii(term) for term in _terms(word)] for word in words)
    return [phrase for phrase in phrases if phrase]


def snippet_of(text: str, query: str) -> str:
    """A line of the text around the first searched word that it contains."""
    flat = " ".join(text.split())
    words = [
        term for quoted, word in _QUERY.findall(query) for term in _TERM.findall(quoted or word)
    ]
    places = [flat.casefold().find(word.casefold()) for word in words]
    found = min((place for place in places if place >= 0), default=0)
    start = max(0, found - _SNIPPET // 3)
    end = start + _SNIPPET
    return f"{'…' if start else ''}{flat[start:end].strip()}{'…' if end < len(flat) else ''}"


def _terms(text: str) -> list[str]:
    """The words of a text; in scripts without spaces, its characters. Accents are normalized."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return _TERM.findall(text)


def _ascii(term: str) -> str:
    folded = term.casefold()
    if folded.isascii():
        return folded
    return "".join(char if char.isascii() else f"u{ord(char):04x}" for char in folded)
