"""Features of turns are cached, reused only for the same turns, and ignored if the file is bad."""

import hashlib
from pathlib import Path

import msgspec
import pytest
from msgspec import structs

from evals.labels import read_set
from sapwood.analysis.chapters.chapter_builder import chapters_of
from sapwood.analysis.chapters.turn_features import TurnFeatures, features_of
from sapwood.analysis.session import Session
from sapwood.app.connection import connect
from sapwood.config.config_file import Config
from sapwood.config.folders import turn_features_folder
from sapwood.context_actions.actions import ContextActions
from sapwood.context_actions.context_request import ContextRequest
from sapwood.context_actions.turn_features_cache import FORMAT, TurnFeaturesCache
from sapwood.core.turn import Turn
from sapwood.testing.claude_transcript import ClaudeTranscript
from sapwood.tokens.estimators import Chars4Counter
from tests.analysis.sessions import ToolRun, asked, session

COUNTER = Chars4Counter()


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SAPWOOD_DATA", str(tmp_path))
    return tmp_path


def long_session(turns: int = 60) -> Session:
    reads = [ToolRun("Read", f'{{"file_path": "/srv/shop/{n}.py"}}', "x") for n in range(turns)]
    return session(*(asked(f"Look at till {n}.", reads[n], "Done.") for n in range(turns)))


def cache_of(about: Session, counter: str) -> TurnFeaturesCache:
    return TurnFeaturesCache(about.source, about.id, counter, about.folder)


class Finder:
    """Finds features, and counts how often it had to."""

    def __init__(self) -> None:
        self.found = 0

    def __call__(self, turn: Turn) -> TurnFeatures:
        self.found += 1
        return features_of(turn, "/srv/shop", 10)


def looked(at: Session, counter: str = "chars4") -> int:
    """How many turns of a session were not known."""
    known, finder = cache_of(at, counter), Finder()
    for turn in at.turns:
        assert known.features(turn, finder) == features_of(turn, "/srv/shop", 10)
    known.save()
    return finder.found


def test_turns_are_looked_at_once() -> None:
    first = long_session()
    assert looked(first) == 60
    assert looked(first) == 0
    grown = structs.replace(first, turns=(*first.turns, asked("And now?", "Nothing.")))
    assert looked(grown) == 1


def test_a_turn_that_is_another_is_looked_at_again() -> None:
    first = long_session()
    looked(first)
    another = structs.replace(first, turns=(asked("Something else."), *first.turns[1:]))
    assert looked(another) == 1
    assert looked(first, "other counter") == 60


def test_what_chapters_say_does_not_depend_on_what_is_known() -> None:
    about = long_session()
    for _ in range(2):
        known = cache_of(about, COUNTER.name)
        assert chapters_of(about, COUNTER, cache=known) == chapters_of(about, COUNTER)
        known.save()


def test_the_texts_of_a_session_are_counted_once_by_each_counter() -> None:
    about = long_session()
    known = cache_of(about, "chars4")
    for turn in about.turns:
        known.features(turn, Finder())
    known.save({b"digest": 7})
    assert cache_of(about, "chars4").counts == {b"digest": 7}
    assert cache_of(about, "another").counts == {}


def test_a_short_session_leaves_nothing() -> None:
    looked(long_session(3))
    assert not turn_features_folder().exists()


@pytest.mark.parametrize("spoilt", [b"", b"\x00", msgspec.msgpack.encode({"format": "0"})])
def test_a_file_that_cannot_be_read_is_made_again(spoilt: bytes) -> None:
    about = long_session()
    looked(about)
    [file] = turn_features_folder().iterdir()
    file.write_bytes(spoilt)
    assert looked(about) == 60
    assert looked(about) == 0


def test_only_the_newest_sessions_are_kept() -> None:
    for number in range(20):
        looked(structs.replace(long_session(), id=f"s-{number}"))
    assert len(list(turn_features_folder().iterdir())) == 16


async def test_a_transcript_that_is_only_shown_leaves_no_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    path = tmp_path / "claude" / "projects" / "-srv-wood" / "s1.jsonl"
    transcript = ClaudeTranscript(path)
    for number in range(60):
        transcript.ask(f"Look at till {number}.").say("Done.")
    actions = ContextActions(tmp_path, Config(database=str(tmp_path / "none.db")), connect)
    shown = await actions.do(ContextRequest("drift", transcript=str(path)))
    assert not turn_features_folder().exists()
    assert await actions.do(ContextRequest("drift", session="s1")) == shown
    assert len(list(turn_features_folder().iterdir())) == 1


# What the labelled sessions' turns look like under each `FORMAT`: whoever changes it raises that.
FEATURES = {
    "1": "8e8e9ba262f7fcfe",
    "2": "789e30613f73345c",
    "3": "5c8b8e3b0d7bf7dc",
    "4": "dbaaf7dcec4171ac",
}


def test_features_that_change_have_a_new_format() -> None:
    digest = hashlib.sha256()
    for each in read_set("tuned"):
        for turn in each.session.turns:
            features = features_of(turn, each.session.folder, 0)
            digest.update(msgspec.json.encode(features, order="sorted"))
    assert FEATURES.get(FORMAT) == digest.hexdigest()[:16], (
        "Turns have other features than those that are kept. Raise FORMAT in "
        f"context_actions/turn_features_cache.py and add it here with {digest.hexdigest()[:16]!r}."
    )
