"""The words of a text that carry meaning, reduced to stems so that they can be compared."""

import re
from functools import lru_cache

_WORD = re.compile(r"[^\W_]+(?:[._'’-][^\W_]+)*")
_STOP_WORDS = frozenset(
    """a about above after again all also am an and any are aren't as at be because been before
    being below between both but by can can't cannot could couldn't did didn't do does
    doesn't doing don't down during each else even ever every few first for from further get
    gets getting go goes going got had hadn't has hasn't have haven't having he her here hers
    him his how i i'd i'll i'm i've if in into is isn't it it'd it'll it's its itself just
    kind know last lets let's like likely look looks lot made make makes making many may
    maybe me might mine more most much must my myself need needs never next no nor not
    nothing now of off ok okay on once one only onto or other our ours out over own per
    perhaps please put quite rather really right run said same say see seems she should
    shouldn't since so some something still such sure take than thank thanks that that's the
    their them then there there's these they they're thing things think this those though
    through to too try two under until up upon us use used uses using very want wants was
    wasn't way we we'd we'll we're we've well were weren't what what's when where whether
    which while who whom whose why will with within without won't would wouldn't yes yet you
    you'd you'll you're you've your yours actually already always anyway away back bit come
    done fine give given good great hm hmm hey hi hello keep left let long mean new nice old
    point probably quick second sort soon start tell time today tomorrow whole work works
    yesterday""".split()
)
_ENDINGS = (
    ("sses", "ss"),
    ("ies", "y"),
    ("ied", "y"),
    ("ations", "at"),
    ("ation", "at"),
    ("ings", ""),
    ("ing", ""),
    ("edly", ""),
    ("ed", ""),
    ("ers", "er"),
    ("es", "e"),
    ("s", ""),
)


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """Returns the word without a common English ending; names and numbers stay as they are.

    >>> [stem(w) for w in ("retries", "retried", "caching", "caches", "class", "v2")]
    ['retry', 'retry', 'cach', 'cach', 'class', 'v2']
    """
    if len(word) < 4 or not word.isalpha() or not word.isascii():
        return word
    for ending, replacement in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            word = word[: -len(ending)] + replacement
            break
    return word[:-1] if word.endswith("e") and len(word) > 3 else word


def content_words(text: str) -> list[str]:
    """Returns the stems of all words except stop words, in order.

    >>> content_words("Should we use the Vec, or a Decimal?")
    ['vec', 'decimal']
    """
    return list(_content_words(text))


def word_set(text: str) -> set[str]:
    """Returns the distinct stems. Faster than `content_words` for a long text with repetitions."""
    return {stemmed for word in set(_words(text)) if (stemmed := _STEMS[word])}


@lru_cache(maxsize=1024)
def _content_words(text: str) -> tuple[str, ...]:
    return tuple([stemmed for word in _words(text) if (stemmed := _STEMS[word])])


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower().replace("’", "'"))


class _Stems(dict[str, str]):
    """A cache from word to stem; the stem of a stop word is empty."""

    MAX_SIZE = 65_536

    def __missing__(self, word: str) -> str:
        bare = word.removesuffix("'s")
        has_meaning = (
            word not in _STOP_WORDS
            and bare not in _STOP_WORDS
            and (len(word) > 1 or word.isdigit())
        )
        if len(self) >= self.MAX_SIZE:
            self.clear()
        self[word] = stemmed = stem(bare) if has_meaning else ""
        return stemmed


_STEMS = _Stems()
