"""A few of the damaged transcripts, and tests that the proof finds faults."""

import subprocess
import sys
from pathlib import Path

import pytest

from proofs import fuzz_sources
from proofs.fuzz.bases import BASES, Line
from proofs.fuzz.damage import DAMAGES
from sapwood.programs.transcripts.conversation_builder import ConversationBuilder

ROOT = Path(__file__).parents[2]


def test_damaged_transcripts_neither_crash_nor_lose_nor_write() -> None:
    # In a process of its own, because an audit hook stays for good.
    command = [sys.executable, "-m", "proofs.fuzz_sources", "--cases", "400"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "fuzz-sources: 400 damaged transcripts, 0 writes elsewhere\n"


def undamaged(monkeypatch: pytest.MonkeyPatch, source: str) -> None:
    """Makes every case a sound transcript."""

    def sound(_: int) -> tuple[str, list[Line]]:
        return source, BASES[source]("a1")

    monkeypatch.setattr(fuzz_sources, "damaged", sound)


@pytest.mark.parametrize("source", BASES)
def test_a_sound_transcript_keeps_every_word(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    undamaged(monkeypatch, source)
    fuzz_sources.check(0)


def test_a_word_that_is_lost_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def deaf(*_: object) -> None: ...

    monkeypatch.setattr(ConversationBuilder, "start_turn", deaf)
    undamaged(monkeypatch, "codex")
    with pytest.raises(AssertionError, match=r"lost \['a1w0001'"):
        fuzz_sources.check(0)


def test_every_damage_is_done_to_some_case(monkeypatch: pytest.MonkeyPatch) -> None:
    done: set[str] = set()
    for damage in DAMAGES:
        monkeypatch.setattr(fuzz_sources, "DAMAGES", (damage,))
        for number in range(20):
            source, lines = fuzz_sources.damaged(number)
            sound = BASES[source](f"a{number % 1000}")
            if [line.data for line in lines] != [line.data for line in sound]:
                done.add(damage.__name__)
    assert done == {damage.__name__ for damage in DAMAGES}


def test_a_write_elsewhere_is_noticed(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    script = (
        "import sys\nfrom pathlib import Path\nfrom proofs.fuzz.write_monitor import WriteMonitor\n"
        "watch = WriteMonitor(Path(sys.argv[1]))\n"
        "Path(sys.argv[1], 'a').write_text('x')\nPath(sys.argv[1], '..', 'b').write_text('x')\n"
        "Path(sys.argv[1], '..', 'c').mkdir()\nprint(len(watch.outside))\n"
    )
    command = [sys.executable, "-B", "-c", script, str(inside)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout == "2\n", done.stderr
