"""Ways to damage a transcript. Each marks the rows that are no longer sound."""

import json
import random
from collections.abc import Callable
from typing import Any

from proofs.fuzz.bases import BASES, Line

HOSTILE: tuple[Any, ...] = (
    "../../x",
    "/etc/passwd",
    "~/.ssh/id",
    "a\0b",
    "\ud800",
    "x" * 5_000,
    "..\\..\\x",
    "line\nbreak",
    "-rf",
    "$(touch x)",
    "",
    " ",
    "\u202e",
    None,
    True,
    -1,
    1e308,
    10**30,
    [],
    {},
    [[]],
    {"type": "user"},
)

Lines = list[Line]
Damage = Callable[[random.Random, Lines, str], Lines]
"""From a transcript of a program to a damaged one."""


def _spoil(chance: random.Random, lines: Lines) -> int:
    """Chooses a row to damage and marks it."""
    place = chance.randrange(len(lines))
    lines[place] = Line(lines[place].data, sound=False, fixed=lines[place].fixed)
    return place


def cut_off(chance: random.Random, lines: Lines, _source: str) -> Lines:
    """The file ends in the middle of a row."""
    kept = lines[: chance.randrange(1, len(lines) + 1)]
    last = kept[-1].data
    return [*kept[:-1], Line(last[: chance.randrange(len(last) + 1)], sound=False)]


def lose(chance: random.Random, lines: Lines, _source: str) -> Lines:
    """Rows are missing."""
    gone = {chance.randrange(len(lines)) for _ in range(chance.randint(1, 4))}
    return [line for place, line in enumerate(lines) if place not in gone]


def repeat(chance: random.Random, lines: Lines, source: str) -> Lines:
    """Rows are repeated, directly or later."""
    place = chance.randrange(len(lines))
    line = lines[place]
    if line.fixed:
        return lines
    later = chance.randrange(place + 1, len(lines) + 1)
    if source == "gemini":  # the later row replaces the earlier one
        lines[place] = Line(line.data, fixed=True)
        line = Line(line.data, line.word, line.sound, fixed=True)
    return [*lines[:later], line, *lines[later:]]


def reorder(chance: random.Random, lines: Lines, _source: str) -> Lines:
    """Some neighbouring rows are in another order."""
    start = chance.randrange(len(lines))
    part = lines[start : start + chance.randint(2, 8)]
    if any(line.fixed for line in part):
        return lines
    chance.shuffle(part)
    return [*lines[:start], *part, *lines[start + len(part) :]]


def interleave(chance: random.Random, lines: Lines, source: str) -> Lines:
    """Another session of the same program wrote into the same file."""
    other = BASES[source](f"b{chance.randrange(1000)}")
    mixed: Lines = []
    ours, theirs = lines[:], other
    while ours or theirs:
        pile = ours if ours and (not theirs or chance.random() < 0.5) else theirs
        mixed.append(pile.pop(0))
    return mixed


def flip(chance: random.Random, lines: Lines, _source: str) -> Lines:
    """Some bytes of a row are changed."""
    place = _spoil(chance, lines)
    data = bytearray(lines[place].data)
    for _ in range(chance.randint(1, 6)):
        if data:
            data[chance.randrange(len(data))] = chance.randrange(256)
    lines[place].data = bytes(data).replace(b"\n", b"?")
    return lines


def garble(chance: random.Random, lines: Lines, _source: str) -> Lines:
    """A row has another encoding, or is not text."""
    place = _spoil(chance, lines)
    data = lines[place].data
    lines[place].data = chance.choice(
        (
            data.decode("utf-8", "replace").encode("utf-16"),
            data.decode("utf-8", "replace").encode("utf-32-be"),
            "naïve \xe9".encode("latin-1") + data,
            bytes(chance.randrange(256) for _ in range(chance.randrange(200))),
            b"\xef\xbb\xbf" + data,
            b"\x00" * 50,
            b"",
            b"null",
            b"[]",
            b'"text"',
            b"{}",
        )
    ).replace(b"\n", b"?")
    return lines


def nest(chance: random.Random, lines: Lines, _source: str) -> Lines:
    """A row nests deeper than any program would."""
    place = _spoil(chance, lines)
    depth = chance.choice((50, 2_000, 50_000))
    deep = b"[" * depth + b"]" * chance.choice((0, depth))
    lines[place].data = chance.choice((deep, b'{"type":"user","message":' + deep + b"}"))
    return lines


def swell(chance: random.Random, lines: Lines, _source: str) -> Lines:
    """A row is huge."""
    size = chance.choice((10_000, 100_000, 1_000_000)) if chance.random() < 0.05 else 5_000
    junk = chance.choice((b"x" * size, b'{"type":"user","junk":"' + b"y" * size + b'"}'))
    place = chance.randrange(len(lines) + 1)
    return [*lines[:place], Line(junk, sound=False), *lines[place:]]


def mistype(chance: random.Random, lines: Lines, _source: str) -> Lines:
    """A value in a row has another type, or is hostile."""
    place = chance.randrange(len(lines))
    row = _row_of(lines[place])
    if row:
        _spoil_within(chance, row)
        data = json.dumps(row, separators=(",", ":")).encode()
        lines[place] = Line(data, sound=False, fixed=lines[place].fixed)
    return lines


def _spoil_within(chance: random.Random, holder: Any) -> None:
    keys: list[Any] = list(holder) if _is_object(holder) else list(range(len(holder)))
    key = chance.choice(keys)
    inner: Any = holder[key]
    if inner and (_is_object(inner) or isinstance(inner, list)) and chance.random() < 0.7:
        _spoil_within(chance, inner)
    else:
        holder[key] = chance.choice(HOSTILE)


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def rename(chance: random.Random, lines: Lines, _source: str) -> Lines:
    """Every row has a hostile name for the session, its folder or its agent."""
    name = chance.choice(HOSTILE)
    field = chance.choice(("sessionId", "cwd", "agentId", "id", "title", "summary"))
    for line in lines:
        row = _row_of(line)
        payload: Any = row.get("payload")
        for holder in [row, payload] if _is_object(payload) else [row]:
            # Only where it names a session: the id of a message makes it another message.
            if field in holder and "content" not in holder:
                holder[field] = name
                line.data = json.dumps(row, separators=(",", ":")).encode()
    return lines


def _row_of(line: Line) -> dict[str, Any]:
    try:
        row: Any = json.loads(line.data)
    except (ValueError, RecursionError):
        return {}
    return row if _is_object(row) else {}


def space_out(chance: random.Random, lines: Lines, _source: str) -> Lines:
    """Lines have other line endings, and some are blank."""
    end = chance.choice((b"\r", b" ", b"\t", b""))
    return [Line(line.data + end, line.word, line.sound, line.fixed) for line in lines] + [
        Line(b"")
    ]


DAMAGES: tuple[Damage, ...] = (
    *(cut_off, lose, repeat, reorder, interleave, flip, garble, nest, swell),
    *(mistype, mistype, rename, space_out),
)
