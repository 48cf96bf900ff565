"""Runs axe-core in a page."""

import os
from functools import cache
from importlib.resources import files
from pathlib import Path

from playwright.sync_api import Page

RULES = "['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice']"

_BRIEF = "resultTypes: ['violations'], selectors: false"
"""Does not describe every element that passed, which takes half of the time on a long page."""


def violations(page: Page) -> list[tuple[str, str]]:
    """What axe-core finds: the name of each rule, and the first element that breaks it."""
    devtools = page.context.new_cdp_session(page)  # the page's own policy allows no script
    devtools.send(  # pyright: ignore[reportUnknownMemberType] # Playwright does not say more
        "Runtime.evaluate", {"expression": _script()}
    )
    found = page.evaluate(
        f"async () => (await axe.run(document, {{runOnly: {RULES}, {_BRIEF}}}))"
        ".violations.map((each) => [each.id, each.nodes[0].html.slice(0, 200)])"
    )
    return [(rule, element) for rule, element in found]


@cache
def _script() -> str:
    """The script: the file that SAPWOOD_AXE names, else that of the package."""
    if named := os.environ.get("SAPWOOD_AXE"):
        return Path(named).read_text()
    return (files("axe_playwright_python") / "axe.min.js").read_text()
