"""The head is moved by hand: tokens and price are shown first, and nothing else moves."""

import re

from playwright.sync_api import expect

from tests.web.stage import Stage

TURNS = tuple((f"Question {n}?", f"Answer {n}.") for n in range(1, 5))
HEAD = "#head:not([hidden])"


def test_the_head_is_moved_by_keys_and_shows_the_price_before(stage: Stage) -> None:
    stage.begin(*TURNS)
    page = stage.page
    page.keyboard.press("Escape")
    page.keyboard.press("h")
    bar = page.locator(HEAD)
    expect(bar).to_contain_text("nothing is removed")
    expect(bar.locator(".grip")).to_be_focused()
    before = stage.top_of("#rows .said")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(bar).to_contain_text("2 turns removed")
    expect(bar).to_contain_text("$")
    spoken = re.compile(r"before turn \d+, 2 turns removed")
    expect(bar.locator(".grip")).to_have_attribute("aria-valuetext", spoken)
    expect(page.locator("#rows .leaving")).to_have_count(4)
    assert abs(stage.top_of("#rows .said") - before) <= 1
    page.keyboard.press("Escape")
    expect(bar).to_have_count(0)
    expect(page.locator("#rows .leaving, [data-fold]")).to_have_count(0)
    page.keyboard.press("h")
    expect(bar.locator(".grip")).to_be_focused()
    page.keyboard.press("End")
    expect(bar).to_contain_text("3 turns removed")
    page.keyboard.press("Enter")
    expect(page.locator("[data-fold]")).to_contain_text("6 messages pruned")
    expect(bar).to_have_count(0)


def test_the_head_is_dragged_from_the_divider(stage: Stage) -> None:
    stage.begin(*TURNS)
    stage.command("/clear 3")
    page = stage.page
    page.click(".foldbox .grip")
    bar = page.locator(HEAD)
    expect(bar).to_contain_text("nothing is removed")
    at = bar.bounding_box()
    row = page.locator("#rows .said").nth(2).bounding_box()
    assert at is not None
    assert row is not None
    page.mouse.move(at["x"] + 30, at["y"] + 18)
    page.mouse.down()
    page.mouse.move(at["x"] + 30, row["y"], steps=6)
    page.mouse.up()
    expect(bar).to_contain_text("2 turns removed")
    page.click("#head [data-trim]")
    expect(page.locator("[data-fold]").last).to_contain_text("pruned")
    expect(page.locator("#rows .said")).to_have_count(1)


def test_the_head_is_held_while_a_turn_is_open(stage: Stage) -> None:
    stage.begin(*TURNS[:2])
    stage.prompt("Slow. [[sleep: 300]] [[say: Never.]]")
    expect(stage.page.locator("#interrupt")).to_be_visible()
    row = stage.page.locator("#rows .said").nth(1)
    row.locator(".turn-menu summary").click()
    row.locator("[data-cut]").click()
    bar = stage.page.locator(HEAD)
    expect(bar.locator("[data-trim]")).to_be_disabled()
    expect(bar).to_have_attribute("title", re.compile("turn is open"))
    stage.page.click("#interrupt")
    stage.idle()
