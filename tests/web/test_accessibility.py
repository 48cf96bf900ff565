"""axe-core finds no violation, on each view and in each theme. SAPWOOD_AXE names axe.min.js."""

import os
from pathlib import Path

import pytest

from tests.web.stage import Stage

AXE = os.environ.get("SAPWOOD_AXE", "")
RULES = "['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice']"


@pytest.mark.parametrize("theme", ["dark", "light", "contrast"])
def test_axe_finds_nothing(stage: Stage, theme: str) -> None:
    if not AXE:
        pytest.skip("SAPWOOD_AXE does not name axe.min.js: npm install axe-core")
    stage.begin(("One?", "First answer."), ("Two?", "Second answer."))
    stage.command("/mark HERE")
    stage.command("/clear 1")
    stage.page.click("[data-fold]")
    stage.page.wait_for_selector(".inside article")
    for view in ("timeline", "context", "calls"):
        stage.page.goto(f"{stage.server.address}/c/{stage.agent}?view={view}&theme={theme}")
        stage.page.wait_for_selector("#link.ok")
        devtools = stage.context.new_cdp_session(stage.page)  # the page's policy allows no script
        devtools.send(  # pyright: ignore[reportUnknownMemberType] # Playwright does not say more
            "Runtime.evaluate", {"expression": Path(AXE).read_text()}
        )
        found = stage.page.evaluate(
            f"async () => (await axe.run(document, {{runOnly: {RULES}}}))"
            ".violations.map((each) => [each.id, each.nodes[0].html])"
        )
        assert found == [], view
