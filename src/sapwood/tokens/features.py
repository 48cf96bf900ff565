"""The estimator: counts shapes and adds up what they cost in a typical vocabulary.

The default wherever a model's vocabulary is not public. `python -m bench tokens` prints how far off
it is; `python -m bench tokens --fit` prints these weights anew.
"""

from sapwood.core.counting import Count
from sapwood.tokens.shapes import features_of, shapes_of, worn

__all__ = ["WEIGHTS", "FeatureCounter"]

# In hundredths of a token: whole numbers add up to the same on every machine, in every order.
# Sizes are recorded under the counter's name: with other weights it needs another name.
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
        """About so many tokens, and at least one for any text at all."""
        hundredths = _cost(worn(text))
        return Count(max((hundredths + 50) // 100, min(1, len(text))), exact=False)


def _cost(text: bytes) -> int:
    """What a worn text costs, in hundredths of a token."""
    if b"  " in text or b"\n \n" in text:  # blank shapes that reach over a space
        return sum(map(_SHAPES.__getitem__, shapes_of(text)))
    first, *others = text.split(b" ")
    return sum(map(_SHAPES.__getitem__, shapes_of(first))) + sum(map(_WORDS.__getitem__, others))


class _Remembered(dict[bytes, int]):
    """Costs of what is met often."""

    # Long ones are hashes and encoded data: rarely met twice, and large to keep.
    LONGEST, MOST = 32, 8192

    def __missing__(self, key: bytes) -> int:
        cost = self.reckon(key)
        if len(key) <= self.LONGEST:
            if len(self) >= self.MOST:
                self.clear()
            self[key] = cost
        return cost

    def reckon(self, key: bytes) -> int:
        """The cost of one that is not remembered."""
        raise NotImplementedError


class _Shapes(_Remembered):
    def reckon(self, key: bytes) -> int:
        return sum(WEIGHTS[name] * times for name, times in features_of(key).items())


class _Words(_Remembered):
    """Whatever stands between two spaces; it costs the same wherever it stands after one."""

    def reckon(self, key: bytes) -> int:
        return sum(map(_SHAPES.__getitem__, shapes_of(b" " + key)))


_SHAPES = _Shapes()
_WORDS = _Words()
