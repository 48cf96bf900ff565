"""One value changes, and everything else stays as its author wrote it."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as some

from sapwood.config.toml_edit import CannotEditToml, toml_value, with_value, without_value

WRITTEN = """\
# My settings
model = "gpt-5"  # the best

[context]
cap = 5
# keep this

[base_urls]
den = "http://127.0.0.1/v1"
"""


def test_a_value_is_replaced_where_it_stands() -> None:
    edited = with_value(WRITTEN, ("context", "cap"), 9)
    assert edited == WRITTEN.replace("cap = 5", "cap = 9")


def test_a_value_is_added_to_its_table() -> None:
    edited = with_value(WRITTEN, ("context", "system"), "Be brief.")
    assert '# keep this\nsystem = "Be brief."\n\n[base_urls]' in edited


def test_a_value_at_the_top_stays_above_the_tables() -> None:
    edited = with_value(WRITTEN, ("space",), "mine")
    assert '# the best\nspace = "mine"\n\n[context]' in edited


def test_a_table_is_made_where_there_is_none() -> None:
    assert with_value("", ("servers", "my files", "url"), "x") == (
        '[servers."my files"]\nurl = "x"\n'
    )


def test_an_empty_table_goes_with_its_last_value() -> None:
    assert "[base_urls]" not in without_value(WRITTEN, ("base_urls", "den"))
    assert "# keep this" in without_value(WRITTEN, ("context", "cap"))


@pytest.mark.parametrize(
    "text",
    ["context = { cap = 5 }\n", "context.cap = 5\n", "[context]\ncap = [\n  1,\n  2,\n]\n"],
)
def test_what_lines_cannot_change_is_refused(text: str) -> None:
    with pytest.raises(CannotEditToml):
        with_value(text, ("context", "cap"), 9)


def test_what_is_not_there_cannot_be_taken_out() -> None:
    with pytest.raises(CannotEditToml):
        without_value(WRITTEN, ("context", "levels"))


VALUES = some.recursive(
    some.text(some.characters(exclude_categories=["Cs"]), max_size=20)
    | some.booleans()
    | some.integers(-(2**60), 2**60)
    | some.floats(allow_nan=False, allow_infinity=False),
    lambda inner: some.lists(inner, max_size=3),
    max_leaves=5,
)


@given(VALUES)
def test_every_value_is_read_back_as_it_was_written(value: object) -> None:
    assert tomllib.loads(f"value = {toml_value(value)}")["value"] == value


@given(some.text(some.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=10), VALUES)
def test_any_name_and_value_can_be_set_and_taken_out(name: str, value: object) -> None:
    edited = with_value(WRITTEN, ("base_urls", name), value)
    assert tomllib.loads(edited)["base_urls"][name] == value
    assert tomllib.loads(without_value(edited, ("base_urls", name))) == tomllib.loads(
        without_value(with_value(WRITTEN, ("base_urls", name), "x"), ("base_urls", name))
    )
