"""The window of a session whose program has not reported one."""

import pytest

from sapwood.analysis.session import Boundary, Session
from sapwood.context_actions.session_finder import assumed_window
from sapwood.models import window_of

LARGE = "claude-opus-4-6"


@pytest.mark.parametrize(
    ("source", "used", "window"),
    [
        ("claude-code", 90_000, 200_000),
        ("claude-code", None, 200_000),
        ("claude-code", 300_000, window_of(LARGE)),
        ("opencode", 90_000, window_of(LARGE)),
    ],
)
def test_it_is_what_the_program_uses_of_the_models_window(
    source: str, used: int | None, window: int
) -> None:
    assert (window_of(LARGE) or 0) > 200_000
    assert assumed_window(Session(source, "s1", model=LARGE, used=used)) == window


@pytest.mark.parametrize("model", ["claude-opus-4-8", "claude-sonnet-5", "claude-opus-5"])
def test_newer_models_have_their_whole_window_in_claude_code(model: str) -> None:
    assert assumed_window(Session("claude-code", "s1", model=model, used=90_000)) == 1_000_000


def test_a_compaction_of_more_than_the_program_usually_has_says_that_the_window_is_larger() -> None:
    compacted = Boundary(3, "auto", before_tokens=400_000, summary="It is cold.")
    session = Session("claude-code", "s1", model=LARGE, used=20_000, boundaries=(compacted,))
    assert assumed_window(session) == window_of(LARGE)


def test_it_is_unknown_without_a_known_model() -> None:
    assert assumed_window(Session("claude-code", "s1", model="heron")) is None
