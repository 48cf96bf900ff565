"""Path patterns, as in `.gitignore`: one language for ignore files, rules and arguments. Pure.

`*` and `?` stay within a name, `**` crosses folders, `[a-z]` is one of several, `\\` takes the
next character as it is. A pattern without a slash means a name at any depth; one with a slash
means a path from the top. Where git has its own mind, this has it too: it is tested against git.
"""

import re

from sapwood.workspace.classes import class_at

__all__ = ["escape", "glob_regex"]

_SPECIAL = re.compile(r"([*?\[\\])")
_PLAIN = re.compile(r"[^*?\[\\]*")
_STARS = re.compile(r"\*+")
_NEVER = "(?!)"


def escape(path: str) -> str:
    """The pattern that means exactly this path.

    >>> escape("notes/[draft]*.md")
    'notes/\\\\[draft]\\\\*.md'
    """
    return _SPECIAL.sub(r"\\\1", path)


def glob_regex(pattern: str) -> str:
    """A regular expression for whole paths.

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
    # To git a pattern begins where its plain beginning ends: `ab**/c` has its stars at the start.
    plain = _plain_start(body)
    return re.escape(plain) + _body(body[len(plain) :], crosses=True)


def _plain_start(body: str) -> str:
    found = _PLAIN.match(body)
    return found[0] if found else ""


def _body(pattern: str, *, crosses: bool) -> str:
    out: list[str] = []
    place = 0
    while place < len(pattern):
        piece, place = _next(pattern, place, crosses)
        out.append(piece)
    return "".join(out)


def _next(pattern: str, place: int, crosses: bool) -> tuple[str, int]:
    """The expression for what stands at a place, and where to go on."""
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
    """Two stars or more cross folders where they stand between slashes or ends."""
    stars = _STARS.match(pattern, place)
    end = stars.end() if stars else place + 1
    begins = place == 0 or pattern[place - 1] == "/"
    if not crosses or end - place == 1 or not begins:
        return "[^/]*", end
    if end == len(pattern) or pattern.startswith("\\/", end):
        return ".*", end
    if pattern[end] == "/":
        return "(?:.*/)?", end + 1
    return "[^/]*", end
