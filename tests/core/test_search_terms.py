"""Search: what of an event can be found, and how words are cut into terms."""

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sapwood.core.content import Note, RecordedReply, RecordedResult, Text, Thinking, ToolCall
from sapwood.core.context import ROOT
from sapwood.core.event_texts import event_texts
from sapwood.core.events import (
    HUMAN,
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
    Recorded,
    ReplyAdded,
    Size,
    ToolFinished,
    ToolStarted,
    TurnCompleted,
    TurnFailed,
    TurnRecorded,
    TurnStarted,
)
from sapwood.core.ids import AgentId, CommandId
from sapwood.core.log_values import SearchHit
from sapwood.core.search_query import read_query
from sapwood.core.search_ranking import CandidateEvent, KeyHits, rank_turns
from sapwood.core.search_terms import index_terms
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
    assert "heron" in index_terms(event_texts(event).search)


def test_events_without_words_have_none() -> None:
    for event in (ToolStarted("1"), TurnCompleted(Size(1, "x"))):
        assert event_texts(event).search == ""


@pytest.mark.parametrize("event", EXAMPLES, ids=NAMES)
def test_terms_of_every_event_are_letters_and_digits(event: Event) -> None:
    assert all(term.isalnum() for term in index_terms(event_texts(event).search))


@given(st.text(max_size=60))
def test_terms_of_any_text_have_no_quotes_and_no_spaces(text: str) -> None:
    for term in index_terms(text):
        assert term
        assert not set(term) & set(" \t\n\r\0\"'\\&|!()<>:*_")


@given(st.text(max_size=30))
@example("\u0e31")
@example('"a\u0e31"')
@example("\u037a")
def test_keys_of_any_query_have_terms(text: str) -> None:
    for key in read_query(text).keys:
        assert key.terms
        assert all(term and not set(term) & set(' "\0') for term in key.terms)


@given(st.text(max_size=30), st.text(max_size=10), st.text(max_size=30))
def test_what_stands_between_spaces_is_found_by_searching_for_it(
    before: str, words: str, after: str
) -> None:
    terms = set(index_terms(f"{before} {words} {after}"))
    for key in read_query(words.replace('"', " ").replace(":", " ")).keys:
        assert terms.issuperset(key.terms)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Hello, World!", "hell world"),
        ("snake_case and kebab-case", "snak case and kebab"),
        ("utf8 x86_64", "utf8 x86 64"),
        ("数据库", "数 据 库 数据 据库"),
        ("naïve CAFÉ", "naiv cafe"),
        ("STRASSE Straße", "strass"),
        ("a\0b", "a b"),
        ("🌳", ""),
        ("ＡＢＣ", "abc"),
        ("parseHTTPConfig", "parsehttpconfig pars http config"),
        ("retry retries retried retrying", "retr"),
        ("reserva reservas reservado", "reserv"),
        ("Rechnung Rechnungen", "rechn"),
    ],
)
def test_words_are_cut_so(text: str, terms: str) -> None:
    assert index_terms(text) == terms.split()


@pytest.mark.parametrize("word", ["café", "Ångström", "한국어", "がぎぐ"])
def test_an_accent_is_found_however_it_was_typed(word: str) -> None:
    composed, apart = (unicodedata.normalize(form, word) for form in ("NFC", "NFD"))
    assert composed != apart
    assert index_terms(composed) == index_terms(apart)
    assert read_query(composed) == read_query(apart)


@pytest.mark.parametrize(
    ("query", "keys"),
    [
        ("token refresh", [["token"], ["refresh"]]),
        ('"token refresh" now', [["token", "refresh"]]),
        ("which of the tokens", [["token"]]),
        ("to be or not", [["to"], ["be"], ["or"], ["not"]]),
        ("snake_case", [["snak"], ["case"]]),
        ("refreshToken", [["refreshtok"], ["refresh"], ["token"]]),
        ('"unclosed words', [["unclos"], ["word"]]),
        ('"" !!', []),
        ("", []),
        ("数据", [["数据"]]),
        ("数据库的", [["数据"], ["据库"], ["库的"]]),
        ("is:green", [["green"]]),
        ("is:decision", []),
        ("before:soon", [["soon"]]),
    ],
)
def test_a_query_is_words_and_phrases(query: str, keys: list[list[str]]) -> None:
    assert [list(key.terms) for key in read_query(query).keys] == keys


def test_a_query_can_have_filters() -> None:
    query = read_query('agent:demo file:"my notes.md" tool:shell is:decision after:2026-05-01 x')
    assert (query.agents, query.files, query.tools) == (("demo",), ("my notes.md",), ("shell",))
    assert (query.after, query.before, query.decisions) == (1_777_593_600_000_000, 0, True)
    assert read_query("before:2026-05-01T12:00+02:00").before == 1_777_629_600_000_000


# Sentences


def sentence(text: str, query: str) -> SearchHit | None:
    """What a search shows of a text; None if it does not find it."""
    keys = read_query(query).keys
    event = Recorded(A, 1, TurnStarted(None, (Text(text),)), 1, HUMAN, CommandId("c"))
    found = {key: KeyHits([1], 1) for key in keys}
    return next(iter(rank_turns(keys, found, 10, [CandidateEvent(event, 1)])), None)


def shown(text: str, query: str) -> tuple[str, list[str]]:
    """The sentence and the words that are marked in it."""
    hit = sentence(text, query)
    assert hit is not None
    return hit.snippet, [hit.snippet[start:end] for start, end in hit.marks]


def test_a_hit_shows_the_sentence_with_the_words() -> None:
    text = "start. " + "x " * 300 + "End! The blue\n  herons\tstand here. " + "y " * 300
    snippet, marked = shown(text, "where did the heron stand")
    assert snippet.startswith("herons stand here. y y")
    assert marked == ["herons", "stand"]
    assert snippet.endswith("…")
    assert len(snippet) <= 242


@pytest.mark.parametrize(
    ("text", "query", "marked"),
    [
        ("the heron", "heron", ["heron"]),
        ("Die Straße, die Größe", "strasse grosse", ["Straße", "Größe"]),
        ("configuración nueva", "configuracion", ["configuración"]),
        ("see parseConfig()", "config", ["parseConfig"]),
        ("用户数据库需要迁移", "数据库", ["数据"]),
        ("a token refresh", '"token refresh"', ["token", "refresh"]),
    ],
)
def test_the_words_that_were_found_are_marked(text: str, query: str, marked: list[str]) -> None:
    assert shown(text, query) == (text, marked)


def test_a_phrase_must_be_there_word_for_word() -> None:
    assert sentence("the refresh of a token", '"token refresh"') is None
    assert sentence("token refreshes", '"token refresh"') is None
    assert sentence("Token-Refresh", '"token refresh"') is not None


@given(st.text(max_size=200), st.text(max_size=20))
def test_a_snippet_is_one_line_and_its_marks_are_in_it(text: str, query: str) -> None:
    hit = sentence(text, query)
    if hit is not None:
        assert len(hit.snippet.splitlines()) <= 1
        assert all(0 <= start < end <= len(hit.snippet) for start, end in hit.marks)


@pytest.mark.parametrize(
    "word", ["maple_river-stone ", "x.", "Ärger—naïve ", "e\u0301te\u0301 ", "数据 refresh "]
)
def test_a_long_text_has_the_terms_of_its_parts(word: str) -> None:
    text = word * (100_000 // len(word))
    assert index_terms(text) == index_terms(word)
