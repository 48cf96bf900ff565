"""Numbers with their nouns, and alternatives, for sentences."""

from collections.abc import Iterable


def counted(number: int, noun: str, nouns: str = "") -> str:
    """A number with its noun. `nouns` is the plural, if it is not the noun with an s.

    >>> counted(1, "turn"), counted(1_200, "message"), counted(0, "entry", "entries")
    ('1 turn', '1,200 messages', '0 entries')
    """
    return f"{number:,} {noun if number == 1 else nouns or noun + 's'}"


def either(names: Iterable[str]) -> str:
    """Names as alternatives.

    >>> either(["a"]), either(["a", "b"]), either(["a", "b", "c"])
    ('a', 'a or b', 'a, b or c')
    """
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last
