"""A member comes and goes, and everything else stays as its author wrote it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as some

from sapwood.programs.installation.json_edit import (
    CannotEditJson,
    members,
    with_member,
    without_member,
)

LINE = {"type": "command", "command": "sapwood hook status-line"}

LAYOUTS = [
    '{\n  "a": 1\n}\n',
    '{\n    "a": "sonnet",   \n  "b": {"c": ["d"]}\n}\n',
    '{"a":1,"b":[1,2]}',
    '{\r\n\t"a": 1,\r\n\t"b": 2\r\n}\r\n',
    '{"a": "}, \\"b\\": {"}',
    "{}",
]


@pytest.mark.parametrize("text", LAYOUTS)
def test_what_was_put_in_comes_out_byte_for_byte(text: str) -> None:
    edited = with_member(text, "statusLine", LINE)
    assert members(edited) == {**json.loads(text), "statusLine": LINE}
    assert without_member(edited, "statusLine") == text


@pytest.mark.parametrize("text", LAYOUTS[:-1])
def test_what_was_there_stays_where_it_was(text: str) -> None:
    edited = with_member(text, "statusLine", LINE)
    assert edited.startswith(text.rstrip().removesuffix("}").rstrip())


def test_an_empty_file_becomes_an_object() -> None:
    assert json.loads(with_member("", "a", 1)) == {"a": 1}


def test_a_member_is_taken_out_of_the_front_and_the_middle() -> None:
    assert without_member('{"a": 1, "b": 2, "c": 3}', "a") == '{"b": 2, "c": 3}'
    assert without_member('{"a": 1, "b": 2, "c": 3}', "b") == '{"a": 1, "c": 3}'


@pytest.mark.parametrize("text", ["[1]", "{", '{"a": 1,}', '// mine\n{"a": 1}', '{"a": 1} {}'])
def test_what_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(CannotEditJson):
        with_member(text, "b", 2)


def test_a_member_that_is_there_is_not_overwritten() -> None:
    with pytest.raises(CannotEditJson):
        with_member('{"a": 1}', "a", 2)


def test_a_name_that_stands_twice_is_refused() -> None:
    with pytest.raises(CannotEditJson):
        without_member('{"a": 1, "a": 2}', "a")


VALUES = some.recursive(
    some.none() | some.booleans() | some.integers() | some.text(),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text(), inner, max_size=3),
    max_leaves=6,
)


@given(
    some.dictionaries(some.text(), VALUES, max_size=4),
    some.sampled_from([None, 1, 4, "\t"]),
    some.booleans(),
)
def test_any_object_is_the_same_after_coming_and_going(
    given_: dict[str, object], indent: int | str | None, ascii_: bool
) -> None:
    given_.pop("statusLine", None)
    text = json.dumps(given_, indent=indent, ensure_ascii=ascii_)
    assert without_member(with_member(text, "statusLine", LINE), "statusLine") == text
