"""Words are found in turns and archives, without an index."""

from pathlib import Path

from msgspec import structs

from sapwood.core.session import Boundary
from sapwood.garden.archive import Archive
from sapwood.garden.searching import search_archives, search_session, words_of
from tests.garden.sessions import Ran, asked, session

WORK = session(
    asked("Where are tokens refreshed?", "In the till."),
    asked("And offline?", Ran("Bash", '{"command": "grep -rn REFRESH"}', "till.py: refresh token")),
)


def test_all_words_have_to_stand_in_one_text() -> None:
    found = [hit.where for hit in search_session(WORK, words_of("Token REFRESH"))]
    assert found == ["turn 2", "turn 1"]
    assert not list(search_session(WORK, words_of("token till offline")))


def test_no_words_find_nothing() -> None:
    assert not list(search_session(WORK, words_of("  ")))


def test_what_is_out_of_view_is_found_and_said_to_be() -> None:
    compacted = structs.replace(WORK, boundaries=(Boundary(1),))
    (hit,) = search_session(compacted, words_of("refreshed"))
    assert hit.where == "turn 1, out of view"


def test_the_text_around_is_shown() -> None:
    long = session(asked("a" * 500 + " needle " + "b" * 500, "Yes."))
    (hit,) = search_session(long, words_of("needle"))
    assert "needle" in hit.excerpt
    assert hit.excerpt[0] == hit.excerpt[-1] == "…"
    assert len(hit.excerpt) < 300


def test_archives_are_searched_as_a_whole() -> None:
    archives = [
        (Path("a.txt"), Archive("OAuth", decisions=("Use PKCE for mobile",))),
        (Path("b.txt"), Archive("Docs", excerpt="Nothing here.")),
    ]
    assert [hit.where for hit in search_archives(archives, words_of("pkce"))] == ["a.txt"]
