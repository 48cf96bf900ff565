"""Path patterns, as in `.gitignore`: one language for ignore files, rules and arguments. Pure.

`*` and `?` stay within a name, `**` crosses folders, `[a-z]` is one of several, `\\` takes the
next character as it is. A pattern without a slash means a name at any depth; one with a slash
means a path from the top.
"""

import re

__all__ = ["escape", "glob_regex"]

_SPECIAL = re.compile(r"([*?\[\\])")


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
    anchored = "/" in body
    body = body.removeprefix("/")
    return ("" if anchored else "(?:.*/)?") + _body(body)


def _body(pattern: str) -> str:
    out: list[str] = []
    place = 0
    while place < len(pattern):
        piece, place = _next(pattern, place)
        out.append(piece)
    return "".join(out)


def _next(pattern: str, place: int) -> tuple[str, int]:
    """The expression for what stands at a place, and where to go on."""
    stars = re.compile(r"\*\*+").match(pattern, place)
    if stars and (place == 0 or pattern[place - 1] == "/"):
        end = stars.end()
        if end == len(pattern):
            return (".*" if place == 0 else ".+"), end
        if pattern[end] == "/":
            return "(?:.*/)?", end + 1
    match pattern[place]:
        case "*":
            return "[^/]*", stars.end() if stars else place + 1
        case "?":
            return "[^/]", place + 1
        case "[":
            return _class(pattern, place)
        case "\\" if place + 1 < len(pattern):
            return re.escape(pattern[place + 1]), place + 2
        case char:
            return re.escape(char), place + 1


def _class(pattern: str, place: int) -> tuple[str, int]:
    negated = pattern[place + 1 : place + 2] in ("!", "^")
    start = place + 2 if negated else place + 1
    end = pattern.find("]", start + 1)  # a bracket that comes first is one of the characters
    if end < 0:
        return re.escape("["), place + 1
    inside = _ranges(pattern[start:end])
    if not inside:
        return ("[^/]" if negated else r"(?!)"), end + 1
    return f"(?!/)[{'^' if negated else ''}{inside}]", end + 1


def _ranges(inside: str) -> str:
    """What stands in a class, escaped; a range that runs backwards holds nothing."""
    out: list[str] = []
    place = 0
    while place < len(inside):
        first = inside[place]
        last = inside[place + 2] if inside[place + 1 : place + 2] == "-" else ""
        if last:
            if first <= last:
                out.append(f"{re.escape(first)}-{re.escape(last)}")
            place += 3
        else:
            out.append(re.escape(first))
            place += 1
    return "".join(out)
