"""Refusals: typed reasons, each told in a sentence that says what to do instead."""

import inspect

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.core import refusals
from sapwood.core.refusals import BadMarkName, Refusal, UnknownCommand, UnknownMark, nearest
from sapwood.core.refusals.agents import BudgetName
from sapwood.core.token_count import Count

REASONS = [
    kind
    for _, kind in inspect.getmembers(refusals, inspect.isclass)
    if issubclass(kind, Refusal) and kind is not Refusal
]
SOMETHING: dict[object, object] = {
    str: "something",
    BudgetName: "calls",
    float: 7.0,
    int: 7,
    bool: True,
    int | None: 7,
    tuple[str, ...]: ("one", "two"),
    tuple[tuple[str, Count], ...]: (("history", Count(7, exact=True)),),
}


def example(kind: type[Refusal]) -> Refusal:
    """A refusal of this kind, with every field set."""
    return kind(*(SOMETHING[hint] for hint in inspect.get_annotations(kind).values()))


@pytest.mark.parametrize("kind", REASONS, ids=lambda kind: kind.__name__)
def test_every_reason_is_a_full_sentence(kind: type[Refusal]) -> None:
    sentence = example(kind).sentence
    assert sentence.endswith(".")
    assert sentence[0].isupper() or sentence[0] in "'/s7"
    assert "  " not in sentence
    assert "\n" not in sentence


# What to do: a command to type, or a verb that says so.
INSTEAD = (
    "/",
    "Did you mean",
    "Type",
    "Usage: ",
    ", type ",
    "just type",
    "Choose",
    "Run it",
    "Send a message",
    "Resume",
    "fork it",
    "Wait",
    "Start one",
    "Finish",
    "Only calls",
    "Give",
    "Use ",
    "Remove one",
    "Write",
    "Put",
    "must be",
    "Send it mail",
    "Ask the user",
    "ask the user",
    "Record its result",
    "Build it again",
    "Shorten it",
    "again",
    "'sapwood ",
)


@pytest.mark.parametrize("kind", REASONS, ids=lambda kind: kind.__name__)
def test_every_reason_says_what_to_do(kind: type[Refusal]) -> None:
    sentence = example(kind).sentence
    assert any(words in sentence for words in INSTEAD), sentence


@pytest.mark.parametrize("kind", REASONS, ids=lambda kind: kind.__name__)
def test_every_reason_can_be_imported_by_name(kind: type[Refusal]) -> None:
    assert getattr(refusals, kind.__name__) is kind


def test_without_a_near_name_there_is_still_something_to_do() -> None:
    assert UnknownMark("x").sentence == (
        "There is no mark 'x'. Type /mark NAME to set one. Nothing was changed."
    )


def test_a_long_typed_text_is_shortened() -> None:
    long = "x" * 1_000_000
    for reason in (BadMarkName(long), UnknownMark(long), UnknownCommand(f"/{long}")):
        assert len(reason.sentence) < 250


# Nearest names


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("mrak", ("mark",)),
        ("MARK", ("mark",)),
        ("cler", ("clear",)),
        ("frok", ("fork",)),
        ("xyzzy", ()),
        ("", ()),
    ],
)
def test_the_nearest_names_are_found_whatever_their_case(
    word: str, expected: tuple[str, ...]
) -> None:
    assert nearest(word, ["mark", "clear", "fork", "undo"])[:1] == expected


def test_no_more_than_three_are_told() -> None:
    assert len(nearest("mark1", [f"mark{n}" for n in range(2, 9)])) == 3


@given(st.text(max_size=20), st.lists(st.text(max_size=20), max_size=8))
def test_only_names_that_exist_are_told(word: str, names: list[str]) -> None:
    assert set(nearest(word, names)) <= set(names)


def test_a_page_is_compared_in_little_time() -> None:
    names = [f"name-{number}" for number in range(256)]
    assert nearest("x" * 1_000_000, names) == ()


def test_facts_that_a_summary_lacks_stay_as_they_are_beside_the_command_of_a_shell() -> None:
    refused = refusals.SummaryLacking(4, 3, ("tools/compact",))
    assert refused.sentence_for("sapwood compact demo") == (
        "4 turns summarised, but only 2 of 3 key facts are in the summary. Missing: tools/compact. "
        "Nothing was changed. Type sapwood compact demo to try again, or sapwood compact demo "
        "--anyway to accept any summary."
    )
