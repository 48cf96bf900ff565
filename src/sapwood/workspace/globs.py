"""Path patterns as in `.gitignore`, for ignore files, permission rules and arguments. Pure.

`*` and `?` stay within a name, `**` crosses folders, `[a-z]` is one of several, `\\` takes the
next character literally. A pattern without a slash matches a name at any depth; one with a slash
matches a path from the top. The peculiarities of git are kept: tests compare the two.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

# ASCII only: no class contains a character beyond ASCII.
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
    """The regular expression for the character class that starts at `place`, and its end.

    None if the class is not closed or has an unknown name: such a pattern matches nothing.

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
    """The next member: its expression, the character a range could start from, and its end.

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
    """A character, which may follow a backslash, and the place after it."""
    if pattern[place] == "\\":
        place += 1
    return (pattern[place], place + 1) if place < len(pattern) else None


def _named(pattern: str, place: int) -> tuple[str, str, int] | None:
    """A named class such as `[:alpha:]`. Without its end, `[` is an ordinary character."""
    end = pattern.find("]", place + 2)
    if end < 0:
        return None
    if pattern[end - 1] != ":" or end - 1 < place + 2:
        return re.escape("["), "[", place + 1
    members = _NAMED.get(pattern[place + 2 : end - 1])
    return None if members is None else (members, "", end + 1)


_SPECIAL = re.compile(r"([*?\[\\])")
_PLAIN = re.compile(r"[^*?\[\\]*")
_STARS = re.compile(r"\*+")
_NEVER = "(?!)"


def escape(path: str) -> str:
    """The pattern that matches exactly this path.

    >>> escape("notes/[draft]*.md")
    'notes/\\\\[draft]\\\\*.md'
    """
    return _SPECIAL.sub(r"\\\1", path)


def glob_regex(pattern: str) -> str:
    """The regular expression of a pattern, for whole paths.

    >>> bool(re.fullmatch(glob_regex("src/**/*.py"), "src/a/b/c.py"))
    True
    >>> bool(re.fullmatch(glob_regex("*.py"), "src/a/b/c.py"))
    True
    >>> bool(re.fullmatch(glob_regex("/*.py"), "src/a/b/c.py"))
    False
    """
    body = pattern.removesuffix("/")
    if "/" not in body:
        return "(?:.*/)?" + _body(body, crosses=False)
    body = body.removeprefix("/")
    # Git treats what follows the plain prefix as the pattern: in `ab**/c` it starts with stars.
    plain = _plain_start(body)
    return re.escape(plain) + _body(body[len(plain) :], crosses=True)


def _plain_start(body: str) -> str:
    found = _PLAIN.match(body)
    return found[0] if found else ""


_STAR = "[^/]*"
_FOLDERS = "(?:.*/)?"
_ANYTHING = ".*"
_SHORTEST = {_STAR: "[^/]*?", _FOLDERS: "(?:.*?/)??", _ANYTHING: ".*?"}


def _body(pattern: str, *, crosses: bool) -> str:
    """The expression of a pattern, whose matches are found without trying all combinations.

    If the text after a star matches somewhere, its first match is as good as any later one, because
    the next star can take whatever is in between. So each star but the last is an atomic group that
    ends at the first match. Without these groups a pattern of many stars would take exponential
    time, and patterns come from models and from the files of a repository.
    """
    pieces = list(_pieces(pattern, crosses))
    return _atomic(pieces, (_FOLDERS, _ANYTHING), lambda part: _atomic(part, (_STAR,), "".join))


def _atomic(
    pieces: Sequence[str], stars: Sequence[str], inner: Callable[[Sequence[str]], str]
) -> str:
    """Joins the pieces, with each of these stars but the last in an atomic group."""
    places = [index for index, piece in enumerate(pieces) if piece in stars]
    out = [inner(pieces[: places[0]] if places else pieces)]
    for place, end in pairwise((*places, len(pieces))):
        star, rest = pieces[place], inner(pieces[place + 1 : end])
        is_last = place == places[-1]
        out.append(f"{star}{rest}" if is_last else f"(?>{_SHORTEST[star]}{rest})")
    return "".join(out)


def _pieces(pattern: str, crosses: bool) -> Iterator[str]:
    """The expressions of stars, characters and classes, in order. A repeated star is one star."""
    place, before = 0, ""
    while place < len(pattern):
        piece, place = _next(pattern, place, crosses)
        if piece != before or piece not in _SHORTEST:
            yield piece
        before = piece


def _next(pattern: str, place: int, crosses: bool) -> tuple[str, int]:
    """The expression for what is at a place, and the place after it."""
    match pattern[place]:
        case "*":
            return _stars(pattern, place, crosses)
        case "?":
            return "[^/]", place + 1
        case "[":
            return class_at(pattern, place) or (_NEVER, len(pattern))
        case "\\" if place + 1 < len(pattern):
            return re.escape(pattern[place + 1]), place + 2
        case "\\":
            return _NEVER, place + 1
        case char:
            return re.escape(char), place + 1


def _stars(pattern: str, place: int, crosses: bool) -> tuple[str, int]:
    """Two or more stars cross folders if they stand between slashes or ends."""
    stars = _STARS.match(pattern, place)
    end = stars.end() if stars else place + 1
    begins = place == 0 or pattern[place - 1] == "/"
    if not crosses or end - place == 1 or not begins:
        return _STAR, end
    if end == len(pattern) or pattern.startswith("\\/", end):
        return _ANYTHING, end
    if pattern[end] == "/":
        return _FOLDERS, end + 1
    return _STAR, end
