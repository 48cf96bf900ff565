"""axe-core finds no violation: on each view, in each theme, in each dialog and at phone width."""

import pytest
from playwright.sync_api import expect

from tests.web.axe import violations
from tests.web.stage import THEMES, WIDTHS, Stage

VIEWS = ("timeline", "context", "calls", "costs")


@pytest.mark.parametrize("theme", THEMES)
def test_axe_finds_nothing(stage: Stage, theme: str) -> None:
    stage.begin(("One?", "First answer."), ("Two?", "Second answer."))
    stage.command("/mark HERE")
    stage.command("/clear 1")
    stage.page.click("[data-fold]")
    stage.page.wait_for_selector(".inside article")
    for view in VIEWS:
        stage.page.goto(f"{stage.server.address}/c/{stage.agent}?view={view}&theme={theme}")
        stage.page.wait_for_selector("#link.ok")
        assert violations(stage.page) == [], view


def test_axe_finds_nothing_in_dialogs_and_on_a_phone(stage: Stage) -> None:
    stage.page.goto(f"{stage.server.address}/?new=1")
    assert violations(stage.page) == [], "welcome"
    stage.begin(("One?", "First answer."), ("Two?", "Second answer."))
    page = stage.page
    page.keyboard.press("Escape")
    page.keyboard.press("h")
    page.wait_for_selector("#head:not([hidden])")
    assert violations(page) == [], "head"
    page.keyboard.press("Escape")
    page.click("#find")
    page.fill("#words", "First")
    page.wait_for_selector("#hits a")
    assert violations(page) == [], "search"
    page.keyboard.press("Escape")
    page.click("#help")
    assert violations(page) == [], "keys"
    page.keyboard.press("Escape")
    page.fill("#message", "/c")
    page.wait_for_selector("#choices li")
    page.press("#message", "ArrowDown")
    assert violations(page) == [], "completion"
    call = '{"command": "touch a\\u200bb", "needs": ["network"]}'
    stage.prompt(f"Run. [[tool: shell {call}]] [[say: It was denied.]]")
    page.wait_for_selector("#ask[open]")
    assert violations(page) == [], "approval"
    page.set_viewport_size({"width": 390, "height": 844})
    assert violations(page) == [], "approval on a phone"
    expect(page.locator("#ask kbd").first).to_be_visible()  # the text above names these keys
    page.keyboard.press("n")
    stage.see("It was denied.")
    assert violations(page) == [], "phone"
    page.click("[data-drawer=list]")
    expect(page.locator(".list")).to_be_visible()
    assert violations(page) == [], "phone list"


@pytest.mark.parametrize(
    ("path", "share"),
    [("/api", 10), pytest.param("/api", 1, marks=pytest.mark.night), ("/sign-in", 1)],
)
def test_pages_of_their_own_follow_the_system_and_fit_every_width(
    stage: Stage, path: str, share: int
) -> None:
    page = stage.page
    page.emulate_media(color_scheme="light")
    page.goto(f"{stage.server.address}{path}")
    expect(page.locator("html")).to_have_attribute("data-theme", "light")
    for details in page.locator("details").all()[:4]:
        details.evaluate("each => { each.open = true }")
    for width, height in WIDTHS.items():
        page.set_viewport_size({"width": width, "height": height})
        across = page.evaluate("() => document.documentElement.scrollWidth - innerWidth")
        assert across <= 0, width
    assert "`" not in page.locator("main").inner_text()
    # One template draws all types of the API, and axe-core takes half a minute for them.
    page.evaluate(
        """(share) => [...document.querySelectorAll("details")]
            .filter((each, place) => place > 4 && place % share)
            .forEach((each) => each.remove())""",
        share,
    )
    assert violations(page) == []
