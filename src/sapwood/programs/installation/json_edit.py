"""Adds or removes one member of a JSON object and leaves every other byte as it was.

It edits the outermost object. The edited text is parsed again, and the edit is refused if the text
does not have exactly the expected members.
"""

import json
from typing import Any, NamedTuple, cast

_SPACE = " \t\r\n"
_DECODER = json.JSONDecoder()


class CannotEditJson(Exception):
    """The text is not a JSON object, or this module cannot edit the way it is written."""


class _Member(NamedTuple):
    name: str
    start: int
    end: int


def members(text: str) -> dict[str, Any]:
    """The members of the object; none for an empty text. Raises `CannotEditJson`."""
    if not text.strip():
        return {}
    try:
        found: object = json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise CannotEditJson(str(error)) from error
    if not isinstance(found, dict):
        raise CannotEditJson("it is not an object")
    return cast("dict[str, Any]", found)


def with_member(text: str, name: str, value: object) -> str:
    """The text with one more member, after the others and indented like them.

    >>> print(with_member('{"a": 1}', "b", {"c": 2}))
    {"a": 1, "b": {"c": 2}}
    """
    before = members(text)
    if name in before:
        raise CannotEditJson(f"it already has a member {name!r}")
    if not text.strip():
        return json.dumps({name: value}, indent=2, ensure_ascii=False) + "\n"
    found = _scan(text)
    opening = text.index("{")
    if not found:
        edited = _first(text, opening, name, value)
    else:
        previous = found[-2].end if len(found) > 1 else opening
        gap = text[previous + 1 : found[-1].start] if len(found) > 1 else ""
        gap = gap or text[opening + 1 : found[0].start]
        end = found[-1].end
        edited = f"{text[:end]},{gap or ' '}{_written(name, value, gap)}{text[end:]}"
    return _checked(edited, {**before, name: value})


def without_member(text: str, name: str) -> str:
    """The text without the member and its comma.

    >>> without_member('{"a": 1, "b": 2}', "b")
    '{"a": 1}'
    """
    before = members(text)
    found = _scan(text)
    at = next((index for index, each in enumerate(found) if each.name == name), None)
    if at is None:
        raise CannotEditJson(f"it has no member {name!r}")
    if at > 0:
        edited = text[: found[at - 1].end] + text[found[at].end :]
    elif len(found) > 1:
        edited = text[: found[0].start] + text[found[1].start :]
    else:
        closing = text.rindex("}")
        edited = text[: text.index("{") + 1] + text[closing:]
    return _checked(edited, {key: value for key, value in before.items() if key != name})


def _first(text: str, opening: int, name: str, value: object) -> str:
    closing = text.rindex("}")
    written = _written(name, value, "\n  ")
    return f"{text[: opening + 1]}\n  {written}\n{text[closing:]}"


def _written(name: str, value: object, gap: str) -> str:
    """The member as text, on several lines if the other members have lines of their own."""
    newline = gap.rfind("\n")
    if newline < 0:
        return f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}"
    indent = gap[newline + 1 :]
    ending = "\r\n" if "\r\n" in gap else "\n"
    body = json.dumps(value, indent=indent or 2, ensure_ascii=False)
    return f"{json.dumps(name)}: {body}".replace("\n", f"{ending}{indent}")


def _scan(text: str) -> list[_Member]:
    """The members of the outermost object, with the start of each and the end of its value."""
    found: list[_Member] = []
    at = _past_space(text, text.index("{") + 1)
    try:
        while text[at] != "}":
            start = at
            name, at = _DECODER.raw_decode(text, at)
            at = _past_space(text, _past_space(text, at) + 1)
            _, at = _DECODER.raw_decode(text, at)
            found.append(_Member(name, start, at))
            at = _past_space(text, at)
            if text[at] == ",":
                at = _past_space(text, at + 1)
    except (ValueError, IndexError) as error:
        raise CannotEditJson(str(error)) from error
    return found


def _past_space(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def _checked(edited: str, expected: dict[str, Any]) -> str:
    if list(members(edited).items()) != list(expected.items()):
        raise CannotEditJson("it is written in a way that cannot be edited")
    return edited
