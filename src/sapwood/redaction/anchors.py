"""Rules with an anchor: a plain text without which the rule finds nothing.

Looking for one anchor takes a pass over the text, and there are many. Most contain one of a few
common parts, such as `pass`. A text is searched for these parts once, and a rule whose part is
missing is left out without another pass.
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Generic, TypeVar

_Rule = TypeVar("_Rule")
_COMMON_PARTS = ("@", "$", "\xc3", "://", "pass", "auth", "login", "cred", "token", "secret", "key")
"""Single characters are found fastest, so they come first."""


def common_parts(lower: str) -> set[str]:
    """The common parts that a text in lower case has, and the empty one, which every text has."""
    found = {part for part in _COMMON_PARTS if part in lower}
    found.add("")
    return found


class Anchored(Generic[_Rule]):
    """Rules with their anchors, grouped by the common part of the anchor."""

    def __init__(self, rules: Iterable[tuple[str, _Rule]]) -> None:
        groups: defaultdict[str, list[tuple[str, _Rule]]] = defaultdict(list)
        self.anchors: list[str] = []
        for anchor, rule in rules:
            self.anchors.append(anchor)
            lower = _in_lower_case(anchor)
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


def pattern_of_any(anchors: Iterable[str]) -> re.Pattern[str]:
    """A pattern that finds any of the anchors in a text in lower case.

    An anchor that contains another one is left out. The others are grouped by first character, so
    that few are tried at each place.
    """
    lower = set(map(_in_lower_case, anchors))
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for anchor in sorted(lower):
        if not any(other in anchor for other in lower if other != anchor):
            groups[anchor[0]].append(re.escape(anchor[1:]))
    each = (f"{re.escape(first)}(?:{'|'.join(rest)})" for first, rest in groups.items())
    return re.compile("|".join(each))


def _in_lower_case(anchor: str) -> str:
    """As the searched text is: its characters are bytes, and only those of ASCII have a case."""
    return anchor.encode("latin-1").lower().decode("latin-1")
