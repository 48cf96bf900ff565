"""Figures in decisions are those of the code."""

from pathlib import Path

from sapwood.config.config_file import CheckpointConfig
from sapwood.core.state import MARKS_KEPT, UNDO_DEPTH
from sapwood.core.turn import MAX_SHOWN
from sapwood.turns.driver import Limits
from sapwood.turns.open_agent import SNAPSHOT_EVERY
from sapwood.workspace.checkpoints.checkpoint_save import CheckpointLimits

FOLDER = Path(__file__).parents[2] / "docs" / "decisions"


def test_the_limits_of_the_state_are_told_as_they_are() -> None:
    text = (FOLDER / "0004-bounded-state.md").read_text(encoding="utf-8")
    assert f"`UNDO_DEPTH` ({UNDO_DEPTH})" in text
    assert f"`MARKS_KEPT` ({MARKS_KEPT})" in text
    assert f"every {SNAPSHOT_EVERY} events" in text


def test_how_much_of_a_result_is_shown_is_told_as_it_is() -> None:
    text = (FOLDER / "0024-limits-of-a-turn.md").read_text(encoding="utf-8")
    assert f"at most {MAX_SHOWN:,} characters" in text
    assert f"({Limits().mask_over:,} characters)" in text


def test_what_checkpoints_cover_is_told_as_it_is() -> None:
    text = (FOLDER.parent / "guides" / "checkpoints.md").read_text(encoding="utf-8")
    assert f"files of more than {CheckpointLimits().max_file:,} bytes" in text
    assert f"more than {CheckpointLimits().max_untracked:,} bytes" in text
    assert CheckpointConfig().largest == CheckpointLimits().max_file


def test_records_are_numbered_as_their_titles_say() -> None:
    for path in FOLDER.glob("0*.md"):
        title = path.read_text(encoding="utf-8").splitlines()[0]
        assert title.startswith(f"# {int(path.name[:4])}. "), path.name


def test_the_index_names_every_record_once_with_its_title() -> None:
    index = (FOLDER / "README.md").read_text(encoding="utf-8")
    for path in FOLDER.glob("0*.md"):
        number, _, title = path.read_text(encoding="utf-8").splitlines()[0][2:].partition(". ")
        assert index.count(f"- [{number}]({path.name}) {title}\n") == 1, path.name
