"""The terms of a text: what a search index stores of it, and what a query is compared with.

All stores index the terms that are made here, so that they find the same. A term is a word without
case, accents and ending. An identifier gives itself and its parts: `parseConfig` is found by
'parseconfig', 'parse' and 'config'. In scripts without spaces (Chinese, Japanese, Thai …) each
character and each pair of characters is a term.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterator
from functools import cache

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
)
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_MARKS = re.compile("[\u0300-\u036f]")
_NOT_IN_TERMS = re.compile(r"[\W_]+")
_PIECE = 16_384
"""Characters that are cut into words in one step: a longer step would block every other thread."""
_BETWEEN_WORDS = re.compile(r"[\x00-/:-@\[-`{-\x7f]")
_MAX_TERM = 64
_SHORTEST_STEM = 4
_ENDINGS = sorted(
    """ingly ings ing edly ed es s ly ations ation ments ment ers er est e en em ern ung ungen os as
    o a ar ir ando iendo ado ada ados adas ido ida idos idas cion ciones aron ieron aba abas aban
    mente y ies ied""".split(),
    key=len,
    reverse=True,
)
"""Of English, German and Spanish: a text may mix languages, so all are tried on every word."""

_STOP_WORDS = """
    a about after again all also am an and any are as at be because been before being between both
    but by can could did do does doing done for from get got had has have he her here him his how i
    if in into is it its just me more most my no not now of off on once only or other our out over
    own per same she should so some such than that the their them then there these they this those
    through to too under until up us very was we were what when where which while who whom whose why
    will with without would you your

    der die das den dem des ein eine einen einem einer eines und oder aber ist sind war waren wird
    werden wurde wurden hat haben hatte ich du er sie es wir ihr man mich dich sich uns mir dir ihm
    ihn ihnen mein dein sein unser im am auf aus bei beim mit nach von vom vor zu zum zur für über
    unter durch gegen ohne um als wie wenn weil dass daß ob nicht kein keine nur noch schon auch was
    wer wo wann warum weshalb wieso welche welcher welches welchen wem wen wieviel wieviele dann da
    doch jetzt

    el la los las un una unos unas y o u e de del al en con por para sin sobre entre desde hasta que
    qué quien quién cual cuál cuando cuándo donde dónde como cómo cuanto cuánto cuánta cuántas
    cuántos porque si ni se su sus lo le les te nos mi tu son era fue ser estar está están estaba
    estaban hay había ha han muy más ya pero este esta estos estas ese esa eso esto

    une et ou du au aux dans est sont qui pour pas ce cette sur des
    il lo gli che di per non è sono della nel
    um uma os as do da dos das no na em não com foi

    的 了 是 在 和 有 不 我 们 什 么 怎 为 谁 吗 呢 哪 の は が を に と で も か た て し"""


@cache  # compiled when it is needed: most commands search and index nothing
def word_pattern() -> re.Pattern[str]:
    """A word of a text; in scripts without spaces, a run of characters."""
    return re.compile(rf"[{_UNSPACED}]+|[^\W_{_UNSPACED}]+")


def fold(word: str) -> str:
    """The word without case and accents.

    >>> fold("Füße"), fold("CÁMARA")
    ('fusse', 'camara')
    """
    if word.isascii():
        return word.lower()
    bare = _MARKS.sub("", unicodedata.normalize("NFKD", word))
    return _NOT_IN_TERMS.sub("", unicodedata.normalize("NFKC", bare).casefold())


STOP_WORDS = frozenset(map(fold, _STOP_WORDS.split()))
"""Words of seven languages that say nothing about the topic of a question, folded."""


def stem(word: str) -> str:
    """A folded word without its ending, if enough of it remains.

    >>> [stem(word) for word in ("retries", "retrying", "reservas", "rechnungen", "v2")]
    ['retr', 'retr', 'reserv', 'rechn', 'v2']
    """
    if len(word) < _SHORTEST_STEM or not word.isalpha():
        return word
    if len(word) == _SHORTEST_STEM:
        return word[:-1] if word.endswith("s") and not word.endswith("ss") else word
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM:
            if not word.endswith("ss"):
                word = word[: -len(ending)]
            break
    while len(word) > _SHORTEST_STEM and word[-1] in "aeioy":
        word = word[:-1]
    return word


class _Letters(dict[int, int]):
    """A cache from a character to the letter that it is without case and accent."""

    def __missing__(self, code: int) -> int:
        folded = fold(chr(code))
        self[code] = letter = ord(folded) if len(folded) == 1 else code
        return letter


_LETTERS = _Letters()


def folded_letters(text: str) -> str:
    """The text without case and accents, with every character at its place."""
    return text.lower() if text.isascii() else text.translate(_LETTERS)


def is_unspaced(word: str) -> bool:
    """Whether a word is a run of characters of a script without spaces."""
    return re.match(f"[{_UNSPACED}]", word) is not None


class _WordTerms(dict[str, tuple[str, ...]]):
    """A cache from a word, as it is written, to its terms."""

    MAX_SIZE = 65_536

    def __missing__(self, word: str) -> tuple[str, ...]:
        if len(self) >= self.MAX_SIZE:
            self.clear()
        self[word] = terms = tuple(dict.fromkeys(_terms(word)))
        return terms


def _terms(word: str) -> Iterator[str]:
    folded = fold(word)
    if is_unspaced(word):
        yield from folded
        yield from (folded[at : at + 2] for at in range(len(folded) - 1))
    elif folded:
        yield stem(folded[:_MAX_TERM])
        yield from (stem(fold(part)[:_MAX_TERM]) for part in parts_of(word))


def parts_of(word: str) -> list[str]:
    """The parts of an identifier in camel case; none if it is a single word."""
    if word.islower() or word.isdigit() or word.istitle() or not word.isascii():
        return []
    parts = _PART.findall(word)
    return [part for part in parts if len(part) > 1] if len(parts) > 1 else []


WORD_TERMS = _WordTerms()
"""The terms of each word; the first is that of the whole word."""


def normal_text(text: str) -> str:
    """The text with composed characters, so that an accent does not end a word."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def index_terms(text: str) -> list[str]:
    """The distinct terms of a text, for an index."""
    terms: dict[str, None] = {}
    text = normal_text(text)
    for piece in [text] if len(text) <= _PIECE else _pieces(text):
        for word in word_pattern().findall(piece):
            terms.update(dict.fromkeys(WORD_TERMS[word]))
    return list(terms)


def _pieces(text: str) -> Iterator[str]:
    """Cuts a text before ASCII characters that belong to no word, if there are any."""
    start = 0
    while start < len(text):
        cut = _BETWEEN_WORDS.search(text, start + _PIECE, start + 2 * _PIECE)
        end = cut.start() if cut else start + 2 * _PIECE
        yield text[start:end]
        start = end


def spaced(text: str) -> str:
    """The folded words of a text with a space around each, in which a phrase can be found."""
    words = (
        " ".join(fold(word)) if is_unspaced(word) else fold(word)
        for word in word_pattern().findall(normal_text(text))
    )
    return f" {' '.join(words)} "


def agent_term(agent: str) -> str:
    """The term that marks every event of an agent. No word has such a term."""
    return f"\u00a7{hashlib.blake2b(agent.encode(), digest_size=12).hexdigest()}"
