"""A small run of the proof with interrupted answers, and tests that it finds faults."""

import shutil

import pytest

from proofs.crash_stream.__main__ import main
from proofs.crash_stream.stream_check import missing_characters, turns_of
from sapwood.core.content import Text
from sapwood.core.context import ROOT
from sapwood.core.events import (
    SYSTEM,
    Event,
    ModelCalled,
    Recorded,
    ReplyLost,
    ReplyStreamed,
    Size,
    TurnInterrupted,
    TurnStarted,
)
from sapwood.core.ids import AgentId, CommandId


def recorded(*events: Event) -> list[Recorded]:
    return [
        Recorded(AgentId("a"), version, event, 0, SYSTEM, CommandId("c"))
        for version, event in enumerate(events, 1)
    ]


@pytest.mark.night
@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_interrupted_answers_lose_no_word(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--interruptions", "3", "--database", "sqlite"]) == 0
    assert "3 interruptions of 3" in capsys.readouterr().out


def test_a_word_that_is_shown_and_not_stored_is_noticed() -> None:
    screens = ["│ K1.000 K1.001 K1.0", "│ K1.000 K1.001 K1.002 K2.000"]
    assert missing_characters("K1", screens, "K1.000 K1.001 K1.002") == 0
    assert missing_characters("K1", screens, "K1.000 K1.001") == len("K1.002")


def test_a_call_that_is_made_again_without_a_word_is_noticed() -> None:
    call = ModelCalled("oak", ROOT, "hash")
    start, end = TurnStarted(None, (Text("Tell K1."),)), TurnInterrupted(Size(0, ""))
    piece = ReplyStreamed((Text("K1.000 "),))
    [silent] = turns_of(recorded(start, call, piece, call, end))
    assert (silent.calls, silent.lost, silent.ended) == (2, 0, True)
    [told] = turns_of(recorded(start, call, piece, ReplyLost(piece.parts), call))
    assert (told.calls, told.lost, told.ended) == (2, 1, False)
    assert "K1.000" in told.words
