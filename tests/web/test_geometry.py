"""No row that is being read moves: not by a prepend, an expansion, a stream, or a resize."""

import re

import pytest
from playwright.sync_api import FloatRect, Route, expect

from tests.web.stage import WIDTHS, Stage

TOLERANCE = 1.5
"""Pixels."""

LONG = 400
"""Turns of the long conversation."""


@pytest.fixture
def long(stage: Stage) -> Stage:
    """A long conversation, which was written by another process."""
    agent = stage.server.record(LONG)
    stage.page.goto(f"{stage.server.address}/c/{agent}")
    expect(stage.page.locator("#rows article").last).to_contain_text(f"Answer {LONG}.")
    return stage


def place(stage: Stage, key: str) -> float:
    return stage.top_of(f"[id='{key}']")


def first_visible(stage: Stage) -> str:
    """The key of the row at the top edge, once there is one: rows may have to be loaded."""
    stage.page.wait_for_function(
        """() => {
            const top = document.getElementById('feed').getBoundingClientRect().top;
            const boxes = [...document.querySelectorAll('#rows > article')].map((row) =>
                row.getBoundingClientRect());
            return boxes.some((box) => box.top <= top + 60 && box.bottom > top + 4);
        }"""
    )
    found = stage.page.evaluate(
        """() => {
            const top = document.getElementById('feed').getBoundingClientRect().top;
            const rows = [...document.querySelectorAll('#rows > article')];
            return rows.find((row) => row.getBoundingClientRect().bottom > top + 4).id;
        }"""
    )
    assert isinstance(found, str)
    return found


def scroll(stage: Stage, by: int) -> None:
    stage.page.evaluate("by => { document.getElementById('feed').scrollTop += by }", by)


def test_it_opens_at_its_end_with_few_rows_mounted(long: Stage) -> None:
    assert long.page.locator("#rows > article").count() <= 320
    at_end = long.page.evaluate(
        "() => { const f = document.getElementById('feed');"
        " return f.scrollHeight - f.scrollTop - f.clientHeight }"
    )
    assert at_end < 32


def test_rows_that_are_loaded_above_move_nothing(long: Stage) -> None:
    for _ in range(3):
        first = long.page.locator("#rows > article").first.get_attribute("id") or ""
        key, top = long.page.evaluate(
            """() => {
                const feed = document.getElementById('feed');
                const rows = [...document.querySelectorAll('#rows > article')];
                const edge = feed.getBoundingClientRect().top;
                feed.scrollTop -= edge - rows[0].getBoundingClientRect().top - 300;
                const row = rows.find((each) => each.getBoundingClientRect().bottom > edge + 4);
                return [row.id, row.getBoundingClientRect().top];
            }"""
        )
        expect(long.page.locator("#rows > article").first).not_to_have_id(first)
        assert abs(place(long, key) - top) <= TOLERANCE


def test_the_scroll_bar_reaches_the_middle_and_the_beginning(long: Stage) -> None:
    long.page.evaluate("() => { document.getElementById('feed').scrollTop = 0 }")
    expect(long.page.locator("#rows > article").first).to_contain_text("Question 1?")
    expect(long.page.locator("#latest")).to_be_visible()
    long.page.click("#latest")
    expect(long.page.locator("#rows article").last).to_contain_text(f"Answer {LONG}.")


def test_a_stream_below_moves_nothing_that_is_read(long: Stage) -> None:
    scroll(long, -1200)
    long.page.wait_for_timeout(200)
    key = first_visible(long)
    before = place(long, key)
    long.server.run("do", long.agent, "/mark BELOW")
    expect(long.page.locator("#latest")).to_be_visible()
    expect(long.page.locator("#side .warns, #side .tree").first).to_be_visible()
    long.page.wait_for_timeout(300)
    assert abs(place(long, key) - before) <= TOLERANCE


def test_a_trim_keeps_the_row_that_is_read(long: Stage) -> None:
    scroll(long, -300)
    long.page.wait_for_timeout(200)
    key = first_visible(long)
    before = place(long, key)
    long.server.run("do", long.agent, "/clear 20")
    expect(long.page.locator("[data-fold]")).to_have_text(re.compile("pruned"))
    assert abs(place(long, key) - before) <= TOLERANCE


def test_a_resize_at_the_end_stays_at_the_end(long: Stage) -> None:
    long.page.set_viewport_size({"width": 900, "height": 500})
    last = long.page.locator("#rows article").last
    expect(last).to_be_in_viewport()
    long.page.set_viewport_size({"width": 390, "height": 844})
    expect(last).to_be_in_viewport()


def test_a_resize_keeps_the_row_that_is_read(long: Stage) -> None:
    scroll(long, -2400)
    long.page.wait_for_timeout(200)
    key = first_visible(long)
    before = place(long, key)
    for width, height in ((1100, 700), (1440, 900)):
        long.page.set_viewport_size({"width": width, "height": height})
        expect(long.page.locator(f"[id='{key}']")).to_be_in_viewport()
    long.page.wait_for_timeout(200)
    assert abs(place(long, key) - before) <= TOLERANCE


def test_a_stream_follows_the_end_and_moves_nothing_for_a_reader_above(stage: Stage) -> None:
    stage.begin(*((f"Question {n}?", f"Answer {n}.") for n in range(2)))
    stage.page.set_viewport_size({"width": 900, "height": 320})
    text = " ".join(f"word{n}" for n in range(400))
    stage.prompt(f'Stream. [[stall: 3]] [[say: "{text} end"]]')
    stage.page.wait_for_selector("#stream .words:not(:empty)")
    expect(stage.page.locator("#rows .said")).to_have_count(3)  # there is something to scroll
    stage.page.evaluate("() => { document.getElementById('feed').scrollTop = 0 }")
    expect(stage.page.locator("#latest")).to_be_visible()
    key = first_visible(stage)
    before = place(stage, key)
    stage.see("end")
    stage.idle()
    assert abs(place(stage, key) - before) <= TOLERANCE
    expect(stage.page.locator("#latest")).to_be_visible()
    stage.page.click("#latest")
    expect(stage.page.locator("#rows .md").last).to_be_in_viewport()


def test_the_model_of_a_stream_is_named_beside_the_rail(stage: Stage) -> None:
    stage.begin(("Question?", "Answer."))
    stage.prompt("Stream. [[stall: 3]] [[say: words]]")
    stage.page.wait_for_selector("#stream .gut abbr:not(:empty)")
    label = stage.page.locator("#stream .gut abbr").bounding_box()
    words = stage.page.locator("#stream .body").bounding_box()
    assert label is not None
    assert words is not None
    rail = words["x"] - 14 - 3  # the gap between the columns, and the width of the rail
    assert label["x"] + label["width"] <= rail
    shown = stage.page.locator("#rows .row.reply .gut abbr").last.inner_text()
    assert stage.page.locator("#stream .gut abbr").inner_text() == shown
    stage.idle()


def test_a_fold_that_is_opened_above_moves_nothing_below_the_top_edge(long: Stage) -> None:
    long.server.run("do", long.agent, "/clear 20")
    fold = long.page.locator("[data-fold]")
    expect(fold).to_have_text(re.compile("pruned"))
    fold.scroll_into_view_if_needed()
    long.page.wait_for_timeout(200)
    before = long.top_of("[data-fold]")
    fold.click()
    expect(long.page.locator(".inside article").first).to_be_attached()
    assert abs(long.top_of("[data-fold]") - before) <= TOLERANCE
    more = long.page.locator(".more")
    expect(more).to_be_attached()
    fold.click()
    expect(long.page.locator(".inside article")).to_have_count(0)
    assert abs(long.top_of("[data-fold]") - before) <= TOLERANCE


def box_of(stage: Stage, selector: str) -> FloatRect:
    found = stage.page.locator(selector).last.bounding_box()
    assert found is not None, selector
    return found


def test_the_way_to_the_end_stands_above_the_composer(long: Stage) -> None:
    long.page.evaluate("() => { document.getElementById('feed').scrollTop = 0 }")
    for width, height in WIDTHS.items():
        long.page.set_viewport_size({"width": width, "height": height})
        expect(long.page.locator("#latest")).to_be_visible()
        button = box_of(long, "#latest")
        assert button["y"] + button["height"] <= box_of(long, "#composer")["y"], width


def test_the_bar_of_the_head_is_whole_before_the_first_turn(stage: Stage) -> None:
    stage.begin(("One?", "First answer."), ("Two?", "Second answer."))
    before = stage.top_of("#rows > article")
    stage.page.keyboard.press("Escape")
    stage.page.keyboard.press("h")
    expect(stage.page.locator("#head")).to_contain_text("head before #1")
    bar = box_of(stage, "#head")
    assert bar["y"] >= box_of(stage, "#feed")["y"]
    assert bar["y"] + bar["height"] <= stage.top_of("#rows > article .words")
    stage.page.keyboard.press("Escape")
    expect(stage.page.locator("#head")).to_be_hidden()
    assert abs(stage.top_of("#rows > article") - before) <= TOLERANCE


def test_menus_open_where_there_is_space(long: Stage) -> None:
    for width, height in WIDTHS.items():
        long.page.set_viewport_size({"width": width, "height": height})
        menu = long.page.locator("details.turn-menu").last
        menu.locator("summary").click()
        popup = box_of(long, "details.turn-menu[open] > .popv")
        feed = box_of(long, "#feed")
        assert popup["y"] >= feed["y"], width
        assert popup["y"] + popup["height"] <= feed["y"] + feed["height"], width
        assert popup["x"] + popup["width"] <= width, width
        long.page.keyboard.press("Escape")
        expect(menu).not_to_have_attribute("open", "")


def test_what_a_word_at_the_side_means_is_shown_inside_the_window(stage: Stage) -> None:
    stage.begin(("One?", "First answer."), ("Two?", "Second answer."))
    words = stage.page.locator(".side .why")
    expect(words).to_have_count(2)
    for number in range(2):
        words.nth(number).locator("summary").click()
        shown = words.nth(number).locator("p").bounding_box()
        assert shown is not None
        assert shown["y"] + shown["height"] <= 900
    row, section = box_of(stage, ".chap .num"), box_of(stage, ".sec:has(.chap) > header")
    assert row["x"] + row["width"] <= section["x"] + section["width"] + TOLERANCE


def test_a_long_next_call_wraps_inside_the_side(stage: Stage) -> None:
    def after_a_pause(route: Route) -> None:
        answer = route.fetch()
        shown = answer.text().replace("next call", "next call (cache ended)")
        route.fulfill(response=answer, body=shown.replace("so far", "00.00 so far"))

    stage.begin(("One?", "First answer."))
    stage.page.route("**/page/*/side", after_a_pause)
    stage.command("/mark HERE")
    expect(stage.page.locator(".spent")).to_contain_text("cache ended")
    for width in (1280, 390):
        stage.page.set_viewport_size({"width": width, "height": 844})
        if width == 390:
            stage.page.click("[data-drawer=side]")
        row = stage.page.locator(".spent")
        over = row.evaluate("(row) => row.scrollWidth - row.clientWidth")
        assert over == 0, width
        side, end = box_of(stage, "#side"), box_of(stage, ".spent b")
        assert end["x"] + end["width"] <= side["x"] + side["width"], width


def test_the_largest_items_stay_inside_their_card(stage: Stage) -> None:
    folder = stage.server.home / "project" / "a-folder-with-a-long-name"
    folder.mkdir(exist_ok=True)
    (folder / "and_a_file_with_a_long_name.txt").write_text("heron " * 4000)
    read = f'{{"path": "{folder.name}/and_a_file_with_a_long_name.txt"}}'
    stage.begin((f"Read. [[tool: read_file {read}]]", "Read."))
    stage.page.goto(f"{stage.server.address}/c/{stage.agent}?view=context")
    for width, height in WIDTHS.items():
        stage.page.set_viewport_size({"width": width, "height": height})
        card, table = box_of(stage, ".card:has(.tbl)"), box_of(stage, ".tbl")
        assert table["x"] + table["width"] <= card["x"] + card["width"], width


def test_the_slider_of_the_cut_ends_at_the_last_bar(stage: Stage) -> None:
    stage.begin(*((f"Question {n}?", f"Answer {n}.") for n in range(3)))
    stage.page.goto(f"{stage.server.address}/c/{stage.agent}?view=context")
    slider, bar = box_of(stage, "#cut"), box_of(stage, ".bars > li")
    thumb = 16
    assert abs(slider["x"] + slider["width"] - thumb / 2 - bar["x"]) <= 4
