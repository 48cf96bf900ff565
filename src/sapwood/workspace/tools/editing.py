"""`edit_file`: one exact text for another, and help when the text is not there."""

from collections.abc import Sequence
from difflib import SequenceMatcher

from sapwood.workspace.errors import ToolError
from sapwood.workspace.places import Place
from sapwood.workspace.tools.changing import diff, read_text, require_no_mask
from sapwood.workspace.tools.replacing import replace_file

__all__ = ["edit_file", "preview_edit"]

_LINES_COMPARED = 20_000
_ALIKE = 0.6
_AROUND = 2


def edit_file(place: Place, old: str, new: str, everywhere: bool, known: Sequence[str]) -> str:
    """Replaces the one place where `old` stands, or all of them.

    `known` are secrets, which a model sees masked; a mask cannot be written in their place.
    """
    text, seen = read_text(place)
    require_no_mask(place, old + new, text, known)
    edited, lines = _edited(place, text, old, new, everywhere)
    replace_file(place, edited.encode(), seen)
    where = ", ".join(f"{line:,}" for line in lines[:20]) + (", …" if len(lines) > 20 else "")
    return f"Edited {place.shown} at line{'s' if len(lines) > 1 else ''} {where}."


def preview_edit(place: Place, old: str, new: str, everywhere: bool) -> str:
    """What the edit would change, as a diff. Raises `ToolError` if it could not be done."""
    text, _ = read_text(place)
    edited, _ = _edited(place, text, old, new, everywhere)
    return diff(place, text, edited)


def _edited(place: Place, text: str, old: str, new: str, everywhere: bool) -> tuple[str, list[int]]:
    if old not in text and "\r\n" in text and "\r" not in old:
        old, new = old.replace("\n", "\r\n"), new.replace("\r\n", "\n").replace("\n", "\r\n")
    if old == new:
        raise ToolError("old_text and new_text are the same. Nothing was changed.")
    places = _places(text, old)
    if not places:
        raise ToolError(f"old_text is not in {place.shown}. {_nearest(text, old)}")
    if len(places) > 1 and not everywhere:
        where = ", ".join(f"{line:,}" for line in places[:20])
        raise ToolError(
            f"old_text is in {place.shown} {len(places)} times, at lines {where}. "
            "Add lines around the one that is meant, or set all."
        )
    return text.replace(old, new), places


def _places(text: str, old: str) -> list[int]:
    """The numbers of the lines where it begins, without overlaps."""
    found: list[int] = []
    line, counted = 1, 0
    place = text.find(old)
    while place >= 0:
        line += text.count("\n", counted, place)
        counted = place
        found.append(line)
        place = text.find(old, place + len(old))
    return found


def _nearest(text: str, old: str) -> str:
    """The lines that were probably meant."""
    lines = text.split("\n")[:_LINES_COMPARED]
    wanted = old.strip("\n").split("\n")
    bare = [" ".join(line.split()) for line in lines]
    start = _same_words(bare, [" ".join(line.split()) for line in wanted])
    if start is not None:
        told = "It is there with other white space:"
        return f"{told}\n{_around(lines, start, len(wanted), 0)}"
    key = max(wanted, key=lambda line: len(line.strip()))
    start = _most_alike(bare, " ".join(key.split()))
    if start is None:
        return "Nothing in it is alike. Read the file again."
    first = max(0, start - wanted.index(key))
    return f"The nearest lines are:\n{_around(lines, first, len(wanted), _AROUND)}"


def _same_words(bare: list[str], wanted: list[str]) -> int | None:
    for start in range(len(bare) - len(wanted) + 1):
        if bare[start] == wanted[0] and bare[start : start + len(wanted)] == wanted:
            return start
    return None


def _most_alike(bare: list[str], key: str) -> int | None:
    matcher = SequenceMatcher(None, "", key[:500], autojunk=False)
    best, place = _ALIKE, None
    for number, line in enumerate(bare):
        matcher.set_seq1(line[:500])
        if matcher.real_quick_ratio() > best and matcher.quick_ratio() > best:
            ratio = matcher.ratio()
            if ratio > best:
                best, place = ratio, number
    return place


def _around(lines: list[str], first: int, count: int, around: int) -> str:
    start = max(0, first - around)
    end = min(len(lines), first + min(count, 40) + around)
    return "\n".join(f"{n + 1:6}\t{lines[n].removesuffix(chr(13))}" for n in range(start, end))
