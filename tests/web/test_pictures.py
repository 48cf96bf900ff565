"""Pictures in three themes and three widths, and what each must show. Look at them after a change.

They are written to the folder that SAPWOOD_WEB_PICTURES names.
"""

import os
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.web.stage import THEMES, Stage

WIDTHS = {"wide": (1440, 900), "tablet": (900, 900), "phone": (390, 844)}
FOLDER = os.environ.get("SAPWOOD_WEB_PICTURES", "")


@pytest.mark.parametrize("theme", THEMES)
def test_the_page_fits_every_width(stage: Stage, theme: str, tmp_path: Path) -> None:
    stage.begin(("One?", "First answer."), ("Two?", "Second answer."))
    stage.command("/mark HERE")
    stage.command("/clear 1")
    stage.page.wait_for_selector("[data-fold]")
    folder = Path(FOLDER) if FOLDER else tmp_path
    for name, (width, height) in WIDTHS.items():
        stage.page.set_viewport_size({"width": width, "height": height})
        for view in ("timeline", "context", "calls"):
            stage.page.goto(f"{stage.server.address}/c/{stage.agent}?view={view}&theme={theme}")
            expect(stage.page.locator("#link")).to_have_class("row-x num ok")
            across, below = stage.page.evaluate(
                "() => { const all = document.documentElement;"
                " return [all.scrollWidth - innerWidth, all.scrollHeight - innerHeight] }"
            )
            assert across <= 0, (name, view)
            assert below == 0, (name, view)
            stage.page.screenshot(path=folder / f"{view}-{theme}-{name}.png")
