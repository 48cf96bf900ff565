"""Pictures of every kind of row, in two themes and two widths, kept beside this file.

`just tui-pictures` writes them anew; look at them before you commit.
"""

import os
from pathlib import Path

import pytest

from sapwood.api import Sapwood
from sapwood.app.connection import connect
from sapwood.config.config_file import ScreenConfig
from sapwood.core.timeline.rows import Banner, Divider, Fold, Row
from tests.tui.conversations import every_kind
from tests.tui.stage import on_stage
from tests.tui.svg_picture import picture

FOLDER = Path(__file__).parent / "snapshots"
KINDS = frozenset("prompt note thinking reply tool end mark event fold banner divider".split())
WRITE = bool(os.environ.get("SAPWOOD_WRITE_SNAPSHOTS"))


@pytest.mark.parametrize("width", [80, 150])
@pytest.mark.parametrize("theme", ["sapwood-dark", "sapwood-light"])
async def test_every_kind_of_row_looks_as_it_did(theme: str, width: int) -> None:
    connection = await connect(":memory:")
    agent = await every_kind(Sapwood(connection))
    screen = ScreenConfig(theme=theme)
    async with on_stage(agent.id, connection=connection, size=(width, 112), screen=screen) as stage:
        shown = stage.transcript.page.shown
        kinds = {row.kind if isinstance(row, Row) else type(row).__name__.lower() for row in shown}
        assert kinds == KINDS
        assert any(isinstance(row, Fold | Banner | Divider) for row in shown)
        fold = next(row for row in shown if isinstance(row, Fold))
        stage.transcript.clock = lambda: fold.at  # the age of the fold is part of the picture
        drawn = picture(stage.transcript)
    await connection.close()
    kept = FOLDER / f"{theme}-{width}.svg"
    if WRITE:
        FOLDER.mkdir(exist_ok=True)
        kept.write_text(drawn, encoding="utf-8")
    assert drawn == kept.read_text(encoding="utf-8"), f"{kept.name} looks otherwise"
