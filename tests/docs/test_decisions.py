"""Figures in decisions are those of the code."""

from pathlib import Path

from sapwood.app.config import CheckpointConfig
from sapwood.core.shortening import MOST_SHOWN
from sapwood.core.state import MARKS_KEPT, UNDO_DEPTH
from sapwood.runtime.driver import Limits
from sapwood.runtime.opening import SNAPSHOT_EVERY
from sapwood.workspace.checkpoints.saving import Bounds

FOLDER = Path(__file__).parents[2] / "docs" / "decisions"


def test_the_limits_of_the_state_are_told_as_they_are() -> None:
    text = (FOLDER / "0004-bounded-state.md").read_text(encoding="utf-8")
    assert f"`UNDO_DEPTH` ({UNDO_DEPTH})" in text
    assert f"`MARKS_KEPT` ({MARKS_KEPT})" in text
    assert f"every {SNAPSHOT_EVERY} events" in text


def test_how_much_of_a_result_is_shown_is_told_as_it_is() -> None:
    text = (FOLDER / "0024-limits-of-a-turn.md").read_text(encoding="utf-8")
    assert f"at most {MOST_SHOWN:,} characters" in text
    assert f"({Limits().mask_over:,} characters)" in text


def test_what_checkpoints_cover_is_told_as_it_is() -> None:
    text = (FOLDER.parent / "guides" / "checkpoints.md").read_text(encoding="utf-8")
    assert f"files of more than {Bounds().largest:,} bytes" in text
    assert f"more than {Bounds().together:,} bytes" in text
    assert CheckpointConfig().largest == Bounds().largest


def test_records_are_numbered_as_their_titles_say() -> None:
    for path in FOLDER.glob("*.md"):
        title = path.read_text(encoding="utf-8").splitlines()[0]
        assert title.startswith(f"# {int(path.name[:4])}. "), path.name
