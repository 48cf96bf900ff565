"""A counter that remembers: each call sends nearly what the last one sent, and counts it anew."""

from hashlib import sha256

from sapwood.core.counting import Count, Counter

__all__ = ["RememberingCounter"]

_SHORT = 64
"""Characters that are counted faster than looked up."""
_MOST = 65_536
"""Texts remembered: by their hash, so that no text is kept for it."""


class RememberingCounter:
    """Counts as another counter does, and each long text once.

    >>> from sapwood.tokens import Chars4Counter
    >>> RememberingCounter(Chars4Counter()).count("word " * 20)
    Count(tokens=25, exact=False)
    """

    def __init__(self, counter: Counter) -> None:
        self._counter = counter
        self._tokens: dict[bytes, int] = {}

    @property
    def name(self) -> str:
        """That of the other: the counts are the same."""
        return self._counter.name

    @property
    def exact(self) -> bool:
        """Whether the other one is."""
        return self._counter.exact

    def count(self, text: str) -> Count:
        """The tokens of a text, from memory where it is there."""
        if len(text) <= _SHORT:
            return self._counter.count(text)
        key = sha256(text.encode("utf-8", "surrogatepass")).digest()
        tokens = self._tokens.get(key)
        if tokens is None:
            tokens = self._counter.count(text).tokens
            if len(self._tokens) >= _MOST:
                self._tokens.clear()
            self._tokens[key] = tokens
        return Count(tokens, self.exact)
