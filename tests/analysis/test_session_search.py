"""Words are found in turns and archives, without an index."""

from pathlib import Path

from msgspec import structs

from sapwood.analysis.session import Boundary, TopicArchive
from sapwood.analysis.session_search import search_archives, search_session, words_of
from tests.analysis.sessions import ToolRun, asked, session

WORK = session(
    asked("Where are tokens refreshed?", "In the till."),
    asked(
        "And offline?", ToolRun("Bash", '{"command": "grep -rn REFRESH"}', "till.py: refresh token")
    ),
)


def test_one_text_must_contain_all_words() -> None:
    found = [hit.where for hit in search_session(WORK, words_of("Token REFRESH"))]
    assert found == ["turn 2", "turn 1"]
    assert not list(search_session(WORK, words_of("token till offline")))


def test_an_empty_query_finds_nothing() -> None:
    assert not list(search_session(WORK, words_of("  ")))


def test_turns_out_of_view_are_found_and_marked() -> None:
    compacted = structs.replace(WORK, boundaries=(Boundary(1),))
    (hit,) = search_session(compacted, words_of("refreshed"))
    assert hit.where == "turn 1, out of view"


def test_the_excerpt_shows_the_text_around_the_words() -> None:
    long = session(asked("a" * 500 + " needle " + "b" * 500, "Yes."))
    (hit,) = search_session(long, words_of("needle"))
    assert "needle" in hit.excerpt
    assert hit.excerpt[0] == hit.excerpt[-1] == "…"
    assert len(hit.excerpt) < 300


def test_all_texts_of_an_archive_are_searched() -> None:
    archives = [
        (Path("a.txt"), TopicArchive("OAuth", decisions=("Use PKCE for mobile",))),
        (Path("b.txt"), TopicArchive("Docs", excerpt="Nothing here.")),
    ]
    assert [hit.where for hit in search_archives(archives, words_of("pkce"))] == ["a.txt"]
