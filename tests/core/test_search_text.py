"""Search: what of an event can be found, and how words are cut into terms."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.core.content import Note, RecordedReply, RecordedResult, Text, Thinking, ToolCall
from sapwood.core.context import ROOT
from sapwood.core.event_texts import event_texts
from sapwood.core.events import (
    AgentForked,
    AgentStarted,
    ContextRewound,
    ContextSummarized,
    Event,
    Focused,
    MailReceived,
    MailSent,
    MarkSet,
    Pin,
    PinAdded,
    ReplyAdded,
    Size,
    ToolFinished,
    ToolStarted,
    TurnCompleted,
    TurnFailed,
    TurnRecorded,
    TurnStarted,
)
from sapwood.core.ids import AgentId
from sapwood.core.search_text import index_terms, query_phrases, snippet_of
from tests.core.events.examples import EXAMPLES, NAMES

A = AgentId("a")
HERON: tuple[Event, ...] = (
    TurnStarted(None, (Text("heron"),)),
    TurnStarted(None, (Note("mail", "heron"), Text("x"))),
    ReplyAdded((Text("heron"),)),
    ReplyAdded((Thinking("heron"),)),
    ReplyAdded((ToolCall("1", "heron"),)),
    ReplyAdded((ToolCall("1", "read", '{"bird":"heron"}'),)),
    TurnRecorded(None, (Text("heron"),), (), Size(1, "x")),
    TurnRecorded(None, (Text("x"),), (RecordedReply((Text("heron"),)),), Size(1, "x")),
    TurnRecorded(None, (Text("x"),), (RecordedResult("1", "heron"),), Size(1, "x")),
    ToolFinished("1", "heron"),
    ContextSummarized("heron"),
    ContextRewound("A", 1, ROOT, "heron"),
    MailSent("m", A, "heron"),
    MailReceived("m", "heron"),
    PinAdded(Pin("heron", "x")),
    PinAdded(Pin("x", "heron")),
    AgentStarted(name="heron"),
    AgentStarted(pins=(Pin("x", "heron"),)),
    AgentForked(A, goal=(Text("heron"),)),
    MarkSet("heron"),
    Focused("heron"),
    TurnFailed(Size(1, "x"), "heron"),
)


@pytest.mark.parametrize("event", HERON, ids=[f"{n} {event.kind}" for n, event in enumerate(HERON)])
def test_whatever_somebody_said_or_got_can_be_found(event: Event) -> None:
    assert "heron" in index_terms(event_texts(event).search).split()


def test_events_without_words_have_none() -> None:
    for event in (ToolStarted("1"), TurnCompleted(Size(1, "x"))):
        assert event_texts(event).search == ""


@pytest.mark.parametrize("event", EXAMPLES, ids=NAMES)
def test_terms_of_every_event_are_plain_letters_and_digits(event: Event) -> None:
    terms = index_terms(event_texts(event).search)
    assert terms.isascii()
    assert all(term.isalnum() for term in terms.split())


@given(st.text(max_size=60))
def test_terms_of_any_text_are_plain_letters_and_digits(text: str) -> None:
    terms = index_terms(text)
    assert terms.isascii()
    assert all(term.isalnum() and term == term.lower() for term in terms.split())


@given(st.text(max_size=30), st.text(max_size=10), st.text(max_size=30))
def test_what_stands_between_spaces_is_found_by_searching_for_it(
    before: str, words: str, after: str
) -> None:
    terms = f" {index_terms(f'{before} {words} {after}')} "
    for phrase in query_phrases(words):
        assert f" {' '.join(phrase)} " in terms


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Hello, World!", "hello world"),
        ("snake_case and kebab-case", "snake case and kebab case"),
        ("utf8 x86_64", "utf8 x86 64"),
        ("数据库", "u6570 u636e u5e93"),
        ("naïve", "nau00efve"),
        ("STRASSE Straße", "strasse strasse"),
        ("a\0b", "a b"),
        ("🌳", ""),
        ("ＡＢＣ", "abc"),
    ],
)
def test_words_are_cut_so(text: str, terms: str) -> None:
    assert index_terms(text) == terms


@pytest.mark.parametrize("word", ["café", "Ångström", "한국어", "がぎぐ"])
def test_an_accent_is_found_however_it_was_typed(word: str) -> None:
    composed, apart = (unicodedata.normalize(form, word) for form in ("NFC", "NFD"))
    assert composed != apart
    assert index_terms(composed) == index_terms(apart)
    assert query_phrases(composed) == query_phrases(apart)


@pytest.mark.parametrize(
    ("query", "phrases"),
    [
        ("token refresh", [["token"], ["refresh"]]),
        ('"token refresh" now', [["token", "refresh"], ["now"]]),
        ("snake_case", [["snake", "case"]]),
        ('"unclosed words', [["unclosed"], ["words"]]),
        ('"" !!', []),
        ("", []),
        ("数据", [["u6570", "u636e"]]),
    ],
)
def test_a_query_is_phrases_that_must_all_be_found(query: str, phrases: list[list[str]]) -> None:
    assert query_phrases(query) == phrases


# Snippets


def test_a_snippet_is_a_line_around_the_first_word_found() -> None:
    text = "start " + "x " * 300 + "the\n  heron\tstands " + "y " * 300
    snippet = snippet_of(text, '"blue heron"')
    assert "the heron stands" in snippet
    assert snippet.startswith("…")
    assert snippet.endswith("…")
    assert len(snippet) <= 162


def test_a_short_text_is_its_own_snippet() -> None:
    assert snippet_of("the heron", "heron") == "the heron"


def test_without_a_literal_match_a_snippet_is_the_beginning() -> None:
    assert snippet_of("one two three", "four") == "one two three"


@given(st.text(max_size=200), st.text(max_size=20))
def test_a_snippet_is_one_line(text: str, query: str) -> None:
    assert len(snippet_of(text, query).splitlines()) <= 1


@pytest.mark.parametrize(
    "word", ["maple_river-stone ", "x.", "Ärger—naïve ", "e\u0301te\u0301 ", "数据 refresh "]
)
def test_a_long_text_has_the_terms_of_its_parts(word: str) -> None:
    text = word * (100_000 // len(word))
    assert index_terms(text).split() == index_terms(word).split() * text.count(word)
