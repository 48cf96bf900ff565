"""What stands around the timeline: the tree with side branches, chapters, notes, costs, images."""

import base64
import re
import struct
import zlib
from pathlib import Path

import pytest
from playwright.sync_api import Route, expect

from tests.web.stage import Stage
from tests.web.test_composer import PASTE

TURNS = (("One?", "First answer."), ("Two?", "Second answer."), ("Three?", "Third answer."))


def png(width: int, height: int) -> bytes:
    """A picture in one colour."""
    rows = (b"\0" + b"\x33\x99\x66" * width) * height
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


def test_a_rewound_turn_is_a_side_branch_of_the_tree(stage: Stage) -> None:
    stage.begin(*TURNS)
    row = stage.page.locator("#rows .said").nth(1)
    row.locator(".turn-menu summary").click()
    row.locator("[data-run^='/rewind']").click()
    stage.page.wait_for_selector("[data-fold]")
    stage.prompt("Other? [[say: Other answer.]]")
    stage.see("Other answer.")
    stage.idle()
    tree = stage.page.locator(".tree")
    expect(tree.locator("li.aside").first).to_contain_text("2 turns")
    expect(tree.locator("li.aside.past")).to_have_text([re.compile("Two"), re.compile("Three")])
    expect(tree.locator(".cutline")).to_have_count(0)  # the head has not moved
    tree.locator("li.aside.past").first.click()
    expect(stage.page.locator(".inside .found")).to_contain_text("Two?")


def test_chapters_stand_at_the_side(stage: Stage) -> None:
    stage.begin(*TURNS)
    expect(stage.page.locator("#side .chap").first).to_contain_text("%")


def test_the_page_of_costs_adds_up_by_project(stage: Stage) -> None:
    stage.begin(TURNS[0])
    stage.page.keyboard.press("Escape")
    stage.page.keyboard.press("4")
    expect(stage.page.locator(".totals")).to_contain_text("$")
    row = stage.page.locator(".costs tr", has=stage.page.locator(f"a[href='/c/{stage.agent}']"))
    expect(row).to_contain_text("$")
    expect(stage.page.locator(".costs header").first).to_contain_text("project")


@pytest.mark.parametrize("way", ["pasted", "dropped"])
def test_an_image_is_pasted_or_dropped_shown_and_sent(stage: Stage, way: str) -> None:
    stage.begin(TURNS[0])
    page = stage.page
    page.evaluate(
        """([data, way]) => {
            const bytes = Uint8Array.from(atob(data), (each) => each.charCodeAt(0));
            const moved = new DataTransfer();
            moved.items.add(new File([bytes], 'shot.png', { type: 'image/png' }));
            const event = way === 'pasted'
                ? new ClipboardEvent('paste', { clipboardData: moved, cancelable: true })
                : new DragEvent('drop', { dataTransfer: moved, bubbles: true, cancelable: true });
            document.getElementById('message').dispatchEvent(event);
        }""",
        [base64.b64encode(png(40, 30)).decode(), way],
    )
    expect(page.locator("#attached img")).to_have_count(1)
    stage.prompt("What is this? [[say: A green picture.]]")
    stage.see("A green picture.")
    expect(page.locator("#attached img")).to_have_count(0)
    image = page.locator("#rows .shot img")
    expect(image).to_have_attribute("alt", re.compile("shot.png"))
    assert image.evaluate("async (each) => { await each.decode(); return each.naturalWidth }") == 40
    body = str(stage.server.model.requests[-1].body)
    assert "image/png" in body


def test_a_prompt_waits_for_an_image_that_is_still_uploaded(stage: Stage, tmp_path: Path) -> None:
    picture = tmp_path / "slow.png"
    picture.write_bytes(png(30, 30))
    stage.begin(("One?", "First answer."))
    page = stage.page
    waiting: list[Route] = []
    page.route("**/files?*", lambda route: waiting.append(route))
    page.set_input_files("#files", picture)
    expect(page.locator("#says")).to_have_text("Uploading …")
    stage.type("With a picture? [[say: Seen.]]")
    expect(page.locator("#send")).to_be_disabled()
    waiting[0].continue_()
    stage.see("Seen.")
    expect(page.locator("#rows .shot img")).to_have_count(1)


def test_a_refused_image_stops_only_the_prompt_that_waits_for_it(
    stage: Stage, tmp_path: Path
) -> None:
    picture = tmp_path / "refused.png"
    picture.write_bytes(png(30, 30))
    stage.begin(("One?", "First answer."))
    page = stage.page
    waiting: list[Route] = []
    page.route("**/files?*", lambda route: waiting.append(route))
    page.set_input_files("#files", picture)
    expect(page.locator("#says")).to_have_text("Uploading …")
    stage.type("Without it? [[say: Sent.]]")
    expect(page.locator("#send")).to_be_disabled()
    waiting[0].fulfill(status=413, json={"detail": "The file is too large."})
    expect(page.locator("#says")).to_have_text("The file is too large.")
    expect(page.locator("#message")).to_have_value("Without it? [[say: Sent.]]")
    page.press("#message", "Enter")
    stage.see("Sent.")


def test_an_image_on_the_first_page_starts_the_conversation(stage: Stage, tmp_path: Path) -> None:
    page = stage.page
    page.goto(f"{stage.server.address}/?new=1")
    page.fill("#message", "Look at this. [[say: Seen.]]")
    picture = tmp_path / "a.png"
    picture.write_bytes(png(20, 20))
    page.set_input_files("#files", picture)
    page.wait_for_url("**/c/*")
    expect(page.locator("#attached img")).to_have_count(1)
    expect(page.locator("#message")).to_have_value("Look at this. [[say: Seen.]]")
    page.press("#message", "Enter")
    stage.see("Seen.")
    expect(page.locator("#rows .shot img")).to_have_count(1)


def test_an_image_on_the_first_page_keeps_what_was_chosen_and_pasted(
    stage: Stage, tmp_path: Path
) -> None:
    page = stage.page
    other = stage.server.home / "aside"
    other.mkdir()
    page.goto(f"{stage.server.address}/?new=1")
    page.click("[data-opens=folder]")
    page.fill("#folder", str(other))
    page.press("#folder", "Enter")
    page.press("#message", "Shift+Tab")
    expect(page.locator("#chip-mode")).to_have_text("Accept edits")
    page.evaluate(PASTE, "\n".join(f"line {n}" for n in range(12)))
    expect(page.locator("#message")).to_have_value("[paste 1: 12 lines]")
    picture = tmp_path / "a.png"
    picture.write_bytes(png(20, 20))
    page.set_input_files("#files", picture)
    page.wait_for_url("**/c/*")
    expect(page.locator("#attached img")).to_have_count(1)
    expect(page.locator("#message")).to_have_value(re.compile("line 0\nline 1"))
    expect(page.locator("#chip-mode")).to_have_text("Accept edits")
    expect(page.locator("#chip-folder")).to_have_text("aside")
    page.press("#message", "End")
    page.keyboard.type(" [[say: Seen.]]")
    page.press("#message", "Enter")
    stage.see("Seen.")
    page.reload()
    expect(page.locator("#message")).to_have_value("")


def test_a_queued_prompt_keeps_its_image_and_waits_after_an_interrupt(
    stage: Stage, tmp_path: Path
) -> None:
    picture = tmp_path / "queued.png"
    picture.write_bytes(png(30, 30))
    stage.begin(("One?", "First answer."))
    page = stage.page
    stage.command("Wait. [[sleep: 60]]")
    expect(page.locator("#interrupt")).to_be_visible()
    page.set_input_files("#files", picture)
    expect(page.locator("#attached img")).to_have_count(1)
    stage.type("What is this? [[say: A picture.]]")
    expect(page.locator("#queue .queue")).to_have_count(1)
    expect(page.locator("#attached img")).to_have_count(0)
    page.click("#interrupt")
    expect(page.locator("#interrupt")).to_be_hidden()
    page.reload()
    page.click("#queue .queue >> text=edit")
    expect(page.locator("#message")).to_have_value("What is this? [[say: A picture.]]")
    expect(page.locator("#attached img")).to_have_count(1)
    expect(page.locator("#rows .row.turn")).to_have_count(2)  # nothing was sent by itself
    page.press("#message", "Enter")
    stage.see("A picture.")
    expect(page.locator("#rows .shot img")).to_have_count(1)


def test_a_draft_stays_when_something_else_is_written_into_the_box(stage: Stage) -> None:
    stage.begin(("One?", "First answer."))
    page = stage.page
    stage.command("Wait. [[sleep: 60]]")
    stage.command("Queued words.")
    expect(page.locator("#queue .queue")).to_have_count(1)
    page.fill("#message", "A long draft")
    page.click("#queue .queue >> text=edit")
    expect(page.locator("#message")).to_have_value("Queued words.\n\nA long draft")
    page.locator("#message").blur()
    page.keyboard.press("m")
    expect(page.locator("#says")).to_have_text("Send or clear your message first.")
    expect(page.locator("#message")).to_have_value("Queued words.\n\nA long draft")


def test_prompts_with_images_wait_in_one_queue_for_all_tabs(stage: Stage, tmp_path: Path) -> None:
    stage.begin(("One?", "First answer."))
    first, second = stage.page, stage.context.new_page()
    stage.watch(second)
    second.goto(first.url)
    stage.command("Wait. [[sleep: 60]]")
    for page, prompt in ((first, "Two?"), (second, "Three?"), (first, "Four?")):
        expect(page.locator("#interrupt")).to_be_visible()
        picture = tmp_path / f"{prompt[:-1]}.png"
        picture.write_bytes(png(20, 20))
        page.set_input_files("#files", picture)
        expect(page.locator("#attached img")).to_have_count(1)
        page.fill("#message", f"{prompt} [[say: Seen.]]")
        page.press("#message", "Enter")
        expect(page.locator("#queue .queue", has_text=prompt)).to_have_count(1)
    for page in (first, second):
        expect(page.locator("#queue .queue")).to_contain_text(["Two?", "Three?", "Four?"])
    second.locator("#queue .queue", has_text="Two?").get_by_text("✕").click()
    second.close()
    first.reload()
    expect(first.locator("#queue .queue")).to_contain_text(["Three?", "Four?"])
    first.click("#interrupt")
    stage.idle()
    stage.prompt("Five? [[say: Fifth answer.]]")
    stage.see("Fifth answer.")
    said = "".join(first.locator("#rows .said").all_inner_texts())
    assert re.findall("Two|Three|Four|Five", said) == ["Three", "Four", "Five"]
