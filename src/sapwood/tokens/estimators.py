"""Estimates of token counts: from the shapes of a text, and from its length alone.

`FeatureCounter` counts shapes and adds up what they cost in a typical vocabulary. It is the default
for models whose vocabulary is not public. `python -m bench tokens` prints how far off it is;
`python -m bench tokens --fit` computes these weights again.
"""

from sapwood.core.token_count import Count
from sapwood.tokens.text_shapes import classes_of, features_of, pieces_of, shapes_of

# In hundredths of a token: sums of whole numbers are equal on every machine and in every order.
# Sizes are recorded under the counter's name, so a counter with other weights needs another name.
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
        """An estimate; at least one token for a text that is not empty."""
        hundredths = sum(map(_cost, pieces_of(classes_of(text))))
        return Count(max((hundredths + 50) // 100, min(1, len(text))), exact=False)


def _cost(text: bytes) -> int:
    """The cost of a text of character classes, in hundredths of a token."""
    if b"  " in text or b"\n \n" in text:  # white space shapes that cross a space
        return sum(map(_SHAPES.__getitem__, shapes_of(text)))
    first, *others = text.split(b" ")
    return sum(map(_SHAPES.__getitem__, shapes_of(first))) + sum(map(_WORDS.__getitem__, others))


class _CostCache(dict[bytes, int]):
    """Costs of shapes that occur often."""

    # Long keys are hashes and encoded data: they rarely repeat and need much memory.
    MAX_KEY, MAX_ENTRIES = 32, 8192

    def __missing__(self, key: bytes) -> int:
        cost = self.cost(key)
        if len(key) <= self.MAX_KEY:
            if len(self) >= self.MAX_ENTRIES:
                self.clear()
            self[key] = cost
        return cost

    def cost(self, key: bytes) -> int:
        """Computes a cost that is not cached."""
        raise NotImplementedError


class _Shapes(_CostCache):
    def cost(self, key: bytes) -> int:
        return sum(WEIGHTS[name] * times for name, times in features_of(key).items())


class _Words(_CostCache):
    """Costs of the text between two spaces, which do not depend on its surroundings."""

    def cost(self, key: bytes) -> int:
        return sum(map(_SHAPES.__getitem__, shapes_of(b" " + key)))


_SHAPES = _Shapes()
_WORDS = _Words()


class Chars4Counter:
    """Counts one token for every four characters. Off by a quarter on average.

    >>> Chars4Counter().count("sapwood")
    Count(tokens=2, exact=False)
    """

    name = "chars4"
    exact = False

    def count(self, text: str) -> Count:
        """An estimate: a quarter of the characters, rounded up."""
        return Count(-(-len(text) // 4), exact=False)
