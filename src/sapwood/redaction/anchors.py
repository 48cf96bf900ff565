"""Rules with an anchor: a plain text without which the rule finds nothing.

Looking for one anchor takes a pass over the text, and there are many. Most contain one of a few
common parts, such as `pass`. A text is searched for these parts once, and a rule whose part is
missing is left out without another pass.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Generic, TypeVar

__all__ = ["Anchored", "common_parts"]

_Rule = TypeVar("_Rule")
_COMMON_PARTS = ("pass", "auth", "login", "cred", "token", "secret", "key")


def common_parts(lower: str) -> set[str]:
    """The common parts that a text in lower case has, and the empty one, which every text has."""
    found = {part for part in _COMMON_PARTS if part in lower}
    found.add("")
    return found


class Anchored(Generic[_Rule]):
    """Rules with their anchors, grouped by the common part of the anchor."""

    def __init__(self, rules: Iterable[tuple[str, _Rule]]) -> None:
        groups: defaultdict[str, list[tuple[str, _Rule]]] = defaultdict(list)
        for anchor, rule in rules:
            lower = anchor.lower()
            part = next((part for part in _COMMON_PARTS if part in lower), "")
            groups[part].append((anchor, rule))
        self._groups = list(groups.items())

    def present(self, parts: set[str], text: str) -> list[_Rule]:
        """The rules whose anchor is in the text, which has these common parts."""
        return [
            rule
            for part, rules in self._groups
            if part in parts
            for anchor, rule in rules
            if anchor in text
        ]
