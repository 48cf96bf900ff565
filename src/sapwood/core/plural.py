"""Numbers with their nouns, for sentences."""


def counted(number: int, noun: str, nouns: str = "") -> str:
    """A number with its noun. `nouns` is the plural, if it is not the noun with an s.

    >>> counted(1, "turn"), counted(1_200, "message"), counted(0, "entry", "entries")
    ('1 turn', '1,200 messages', '0 entries')
    """
    return f"{number:,} {noun if number == 1 else nouns or noun + 's'}"
