"""`[a-z]` in a path pattern: one of several characters, as git reads it. Pure."""

import re

__all__ = ["class_at"]

# Of bytes, so that every character beyond ASCII is in none of them.
_NAMED = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "blank": r" \t",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r" \t\n\r",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}


def class_at(pattern: str, place: int) -> tuple[str, int] | None:
    """The expression for the class that opens at a place, and where to go on.

    None if it is not closed, or names what is not known: such a pattern fits nothing.

    >>> class_at("[!abc]x", 0)
    ('(?!/)[^abc]', 6)
    """
    place += 1
    negated = pattern[place : place + 1] in ("!", "^")
    start = place + negated
    inside: list[str] = []
    before = ""
    place = start
    while place == start or pattern[place : place + 1] != "]":
        found = _member(pattern, place, before)
        if found is None:
            return None
        expression, before, place = found
        inside.append(expression)
    members = "".join(inside)
    if not members:
        return ("[^/]" if negated else "(?!)"), place + 1
    return f"(?!/)[{'^' if negated else ''}{members}]", place + 1


def _member(pattern: str, place: int, before: str) -> tuple[str, str, int] | None:
    """What the next member adds, the character that a range could start from, and the place after.

    A range adds all but its first character, which was added before.
    """
    char = pattern[place : place + 1]
    if not char:
        return None
    if char == "[" and pattern[place + 1 : place + 2] == ":":
        return _named(pattern, place)
    if char == "-" and before and pattern[place + 1 : place + 2] not in ("", "]"):
        last = _literal(pattern, place + 1)
        if last is None:
            return None
        until, end = last
        range_ = f"{re.escape(before)}-{re.escape(until)}" if before <= until else ""
        return range_, "", end
    literal = _literal(pattern, place)
    if literal is None:
        return None
    char, end = literal
    return re.escape(char), char, end


def _literal(pattern: str, place: int) -> tuple[str, int] | None:
    """A character, perhaps behind a backslash, and the place after it."""
    if pattern[place] == "\\":
        place += 1
    return (pattern[place], place + 1) if place < len(pattern) else None


def _named(pattern: str, place: int) -> tuple[str, str, int] | None:
    """`[:alpha:]`. Without its end it is a bracket like any other."""
    end = pattern.find("]", place + 2)
    if end < 0:
        return None
    if pattern[end - 1] != ":" or end - 1 < place + 2:
        return re.escape("["), "[", place + 1
    members = _NAMED.get(pattern[place + 2 : end - 1])
    return None if members is None else (members, "", end + 1)
