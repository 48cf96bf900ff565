"""Reads the JSON of a judge. Whatever does not fit is passed over, entry by entry."""

import re
from typing import Any, cast, get_args

import msgspec
from msgspec import Struct

from sapwood.core.events import JudgedKind, JudgedStatus

MAX_SENTENCES = 20
"""The most sentences that one answer may be about."""

_MAX_STRETCHES = 3
_LONGEST_ANSWER = 60_000
"""Characters of an answer that are looked at, from its end."""
_TEXT_LENGTH, _ABOUT_LENGTH = 280, 160
_FENCED = re.compile(r"```[a-z]*[ \t]*\n(.*?)\n?[ \t]*```", re.DOTALL | re.IGNORECASE)
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]+")
_STATUSES, _KINDS = get_args(JudgedStatus), get_args(JudgedKind)


class StretchVerdict(Struct, frozen=True):
    """What the judge says of the stretch with this number."""

    number: int
    status: JudgedStatus


class SentenceVerdict(Struct, frozen=True):
    """What the judge says of the sentence with this number; 0 is a sentence that it found itself.

    `text` and `about` are empty if the words stay as they are.
    """

    number: int
    kind: JudgedKind
    text: str = ""
    about: str = ""


class JudgeAnswer(Struct, frozen=True):
    """The entries of an answer that could be read, and the answer without its JSON."""

    stretches: tuple[StretchVerdict, ...] = ()
    sentences: tuple[SentenceVerdict, ...] = ()
    rest: str = ""


def read_answer(answer: str) -> JudgeAnswer | None:
    """Returns what an answer says; None if it has no JSON object with entries that can be read.

    >>> read_answer('So:\\n```json\\n{"sentences": [{"n": 2, "kind": "neither"}]}\\n```').sentences
    (SentenceVerdict(number=2, kind='neither', text='', about=''),)
    """
    head, text = answer[:-_LONGEST_ANSWER], answer[-_LONGEST_ANSWER:]
    for start, end, json in _objects(text):
        found = _decoded(json)
        if found is None or not ("stretches" in found or "sentences" in found):
            continue
        stretches = tuple(filter(None, map(_stretch, _entries(found, "stretches"))))
        sentences = tuple(filter(None, map(_sentence, _entries(found, "sentences"))))
        rest = f"{head}{text[:start].rstrip()}\n{text[end:].lstrip()}".strip()
        return JudgeAnswer(stretches[:_MAX_STRETCHES], sentences[:MAX_SENTENCES], rest)
    return None


def _objects(text: str) -> list[tuple[int, int, str]]:
    """The places in an answer where a JSON object may be, the last fenced block first."""
    fenced = [(each.start(), each.end(), each[1]) for each in _FENCED.finditer(text)]
    first, last = text.find("{"), text.rfind("}")
    bare = [(first, last + 1, text[first : last + 1])] if 0 <= first < last else []
    return [*reversed(fenced), *bare]


def _decoded(json: str) -> dict[str, Any] | None:
    try:
        found: Any = msgspec.json.decode(json)
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return None
    return cast("dict[str, Any]", found) if isinstance(found, dict) else None


def _entries(found: dict[str, Any], name: str) -> list[dict[str, Any]]:
    listed = found.get(name)
    if not isinstance(listed, list):
        return []
    return [
        cast("dict[str, Any]", each)
        for each in cast("list[Any]", listed)[: 4 * MAX_SENTENCES]
        if isinstance(each, dict)
    ]


def _stretch(entry: dict[str, Any]) -> StretchVerdict | None:
    number, status = _number(entry), entry.get("status")
    if number <= 0 or status not in _STATUSES:
        return None
    return StretchVerdict(number, cast("JudgedStatus", status))


def _sentence(entry: dict[str, Any]) -> SentenceVerdict | None:
    number, kind = _number(entry), entry.get("kind")
    text = _line(entry.get("text"), _TEXT_LENGTH)
    if number < 0 or kind not in _KINDS or (number == 0 and (not text or kind == "neither")):
        return None
    about = _line(entry.get("answers"), _ABOUT_LENGTH)
    return SentenceVerdict(number, cast("JudgedKind", kind), text, about)


def _number(entry: dict[str, Any]) -> int:
    """The number of the entry, 0 if it has none, -1 if it is not a number."""
    number = entry.get("n", 0)
    return number if isinstance(number, int) and not isinstance(number, bool) else -1


def _line(value: object, length: int) -> str:
    """A text of one line, without control characters, cut to its length."""
    if not isinstance(value, str):
        return ""
    words = " ".join(_CONTROLS.sub(" ", value[: 4 * length]).split())
    return words if len(words) <= length else f"{words[:length].rstrip()} […]"
