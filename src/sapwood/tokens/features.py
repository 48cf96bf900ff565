"""The estimator: counts shapes and adds up what they cost in a typical vocabulary.

The default wherever a model's vocabulary is not public. `python -m bench tokens` prints how far off
it is; `python -m bench tokens --fit` prints these weights anew.
"""

from functools import lru_cache

from sapwood.core.counting import Count
from sapwood.tokens.shapes import features_of, shapes_of

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

# Long shapes are hashes and encoded data: rarely met twice, and large to keep.
_LONGEST_REMEMBERED = 32


class FeatureCounter:
    """Estimates the tokens of a text from its shapes.

    >>> FeatureCounter().count("The quick brown fox jumps over the lazy dog.")
    Count(tokens=10, exact=False)
    """

    name = "features"
    exact = False

    def count(self, text: str) -> Count:
        """About so many tokens, and at least one for any text at all."""
        hundredths = sum(
            times * (_cost(shape) if len(shape) <= _LONGEST_REMEMBERED else _reckon(shape))
            for shape, times in shapes_of(text).items()
        )
        return Count(max((hundredths + 50) // 100, min(1, len(text))), exact=False)


def _reckon(shape: bytes) -> int:
    return sum(WEIGHTS[name] * times for name, times in features_of(shape).items())


_cost = lru_cache(maxsize=4096)(_reckon)
