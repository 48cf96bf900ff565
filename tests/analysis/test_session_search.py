"""Words are found in turns and archives, without an index."""

from pathlib import Path

from msgspec import structs

from sapwood.analysis.session import Boundary, TopicArchive
from sapwood.analysis.session_search import search_archives, search_session
from tests.analysis.sessions import ToolRun, asked, session

WORK = session(
    asked("Where are tokens refreshed?", "In the till."),
    asked(
        "And offline?", ToolRun("Bash", '{"command": "grep -rn REFRESH"}', "till.py: refresh token")
    ),
)


def test_turns_with_more_of_the_words_come_first() -> None:
    found = [hit.where for hit in search_session(WORK, "where is the REFRESH of an offline token")]
    assert found == ["turn 2", "turn 1"]
    assert [hit.where for hit in search_session(WORK, '"in the till"')] == ["turn 1"]
    assert not list(search_session(WORK, "flamingo"))


def test_an_empty_query_finds_nothing() -> None:
    assert not list(search_session(WORK, "  "))


def test_turns_out_of_view_are_found_and_marked() -> None:
    compacted = structs.replace(WORK, boundaries=(Boundary(1),))
    (hit,) = search_session(compacted, '"refreshed"')
    assert hit.where == "turn 1, out of view"


def test_the_excerpt_shows_the_text_around_the_words() -> None:
    long = session(asked("a " * 250 + " needle " + "b " * 250, "Yes."))
    (hit,) = search_session(long, "needle")
    assert "needle" in hit.excerpt
    assert hit.excerpt[0] == hit.excerpt[-1] == "…"
    assert len(hit.excerpt) < 300


def test_all_texts_of_an_archive_are_searched() -> None:
    archives = [
        (Path("a.txt"), TopicArchive("OAuth", decisions=("Use PKCE for mobile",))),
        (Path("b.txt"), TopicArchive("Docs", excerpt="Nothing here.")),
    ]
    assert [hit.where for hit in search_archives(archives, "pkce")] == ["a.txt"]
