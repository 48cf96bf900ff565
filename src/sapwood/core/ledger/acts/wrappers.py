"""The command behind what only wraps it: `sudo`, `time`, `timeout 60`, `env A=1`."""

import re
from collections.abc import Sequence

from sapwood.core.ledger.acts.shell import Word

__all__ = ["unwrapped"]

_ASSIGNMENT = re.compile(r"^[A-Za-z_]\w*\+?=")
_WRAPPERS = frozenset(
    "sudo doas time nice nohup env command exec builtin timeout stdbuf xvfb-run unbuffer "
    "caffeinate dotenv cross-env".split()
)
_NUMBER = re.compile(r"^\d+(\.\d+)?[smhd]?$")


def unwrapped(words: Sequence[Word]) -> Sequence[Word]:
    """The words from the program on that does the work.

    >>> texts = lambda words: [word.text for word in words]
    >>> texts(unwrapped([Word(t) for t in "CI=1 timeout 60 pytest -q".split()]))
    ['pytest', '-q']
    """
    place, inside = 0, False
    while place < len(words):
        text = words[place].text
        if text.rsplit("/", 1)[-1] in _WRAPPERS:
            inside = True
        elif not (_ASSIGNMENT.match(text) or (inside and _is_option(text))):
            break
        place += 1
    return words[place:]


def _is_option(text: str) -> bool:
    return text.startswith("-") or bool(_NUMBER.match(text))
