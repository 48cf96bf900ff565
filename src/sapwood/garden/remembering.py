"""A counter that counts each text once, for work that looks at the same texts several times."""

from sapwood.core.counting import Count, Counter

__all__ = ["RememberingCounter"]


class RememberingCounter:
    """Another counter's counts, kept for as long as this one lives."""

    def __init__(self, counter: Counter) -> None:
        self._counter = counter
        self._known: dict[str, Count] = {}

    @property
    def name(self) -> str:
        """The name of the counter behind it."""
        return self._counter.name

    @property
    def exact(self) -> bool:
        """Whether the counter behind it is."""
        return self._counter.exact

    def count(self, text: str) -> Count:
        """The tokens of a text."""
        count = self._known.get(text)
        if count is None:
            count = self._known[text] = self._counter.count(text)
        return count
