"""Folder, model and mode in the composer, settings, a paired phone, and how a page is laid out."""

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.web.stage import Stage

REPLY = """Answer {}.

| part | cents |
| --- | ---: |
| one | 334 |

```python
def split(total):  # in cents
    return total // 3
```
"""


PASTE = """(text) => {
    const data = new DataTransfer();
    data.setData('text/plain', text);
    const given = { clipboardData: data, cancelable: true };
    document.getElementById('message').dispatchEvent(new ClipboardEvent('paste', given));
}"""


OVERLAPS = """() => [...document.querySelectorAll('.row.turn')].flatMap((row) => {
    const parts = [...row.querySelectorAll('.you, .words, .pick-turn, .turn-menu > summary')];
    return parts.flatMap((one, at) => parts.slice(at + 1).filter((other) => {
        const a = one.getBoundingClientRect(), b = other.getBoundingClientRect();
        return Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
            && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1;
    }).map((other) => `${one.className} ${other.className || other.tagName}`));
})"""
"""What covers something else in the row of a prompt."""


def right_of(page: Page, selector: str) -> float:
    box = page.locator(selector).first.bounding_box()
    assert box is not None
    return box["x"] + box["width"]


def test_a_conversation_starts_with_the_folder_model_and_mode_that_were_chosen(
    stage: Stage,
) -> None:
    page = stage.page
    other = stage.server.home / "other"
    other.mkdir()
    page.goto(f"{stage.server.address}/?new=1")
    page.click("[data-opens=model]")
    page.wait_for_selector("#models [data-model]")
    stage.inspect("models")
    page.click("[data-model=claude-opus-5-5]")
    page.press("#message", "Shift+Tab")
    expect(page.locator("#chip-mode")).to_have_text("Accept edits")
    page.click("[data-opens=folder]")
    page.fill("#folder", str(other))
    page.press("#folder", "Enter")
    stage.prompt("Hello? [[say: Hello.]]")
    stage.see("Hello.")
    stage.idle()
    expect(page.locator("#chip-model")).to_have_text("claude-opus-5-5")
    expect(page.locator("#chip-mode")).to_have_text("Accept edits")
    expect(page.locator("#chip-folder")).to_have_text("other")
    page.click("[data-opens=mode]")
    page.click("[data-mode=all]")
    expect(page.locator("[data-mode=all]")).to_contain_text("Click again")
    page.keyboard.press("Escape")
    expect(page.locator("#chip-mode")).to_have_text("Accept edits")
    page.click("[data-opens=model]")
    page.click("[data-model=claude-sonnet-5-5]")
    expect(page.locator("#chip-model")).to_have_text("claude-sonnet-5-5")


def test_a_file_is_found_by_at_and_sent_with_the_prompt(stage: Stage) -> None:
    (stage.server.home / "project" / "herons.md").write_text("The heron is blue.")
    stage.begin(("One?", "First answer."))
    page = stage.page
    page.fill("#message", "Look at @hero")
    expect(page.locator("#choices li").first).to_contain_text("file, ~5 tokens")
    page.press("#message", "Tab")
    expect(page.locator("#message")).to_have_value("Look at @herons.md ")
    stage.prompt("Look at @herons.md [[say: Blue.]]")
    stage.see("Blue.")
    stage.idle()
    assert "The heron is blue." in str(stage.server.model.requests[-1].body)
    page.press("#message", "Shift+Tab")
    page.press("#message", "Shift+Tab")
    expect(page.locator("#chip-mode")).to_have_text("Plan")
    expect(page.locator("#accept")).to_be_visible()


def test_a_custom_command_is_listed_and_a_long_paste_is_a_chip(stage: Stage) -> None:
    commands = stage.server.home / "project" / ".claude" / "commands"
    commands.mkdir(parents=True)
    (commands / "tally.md").write_text("---\ndescription: Count them\n---\nCount $ARGUMENTS")
    stage.begin(("One?", "First answer."))
    page = stage.page
    page.fill("#message", "/tal")
    expect(page.locator("#choices li").first).to_contain_text("Count them  (command,")
    stage.prompt("/tally herons [[say: Three.]]")
    stage.see("Three.")
    stage.idle()
    assert "Count herons" in str(stage.server.model.requests[-1].body)
    page.fill("#message", "[[say: Seen.]] ")
    page.evaluate(PASTE, "\n".join(f"line {number}" for number in range(30)))
    expect(page.locator("#message")).to_have_value("[[say: Seen.]] [paste 1: 30 lines]")
    page.press("#message", "Enter")
    stage.see("Seen.")
    stage.idle()
    assert "line 29" in str(stage.server.model.requests[-1].body)
    expect(page.locator("#pastes")).to_be_hidden()
    page.evaluate(PASTE, "\n".join("abcdefghijkl"))
    page.click("#pastes button")
    expect(page.locator("#message")).to_have_value("\n".join("abcdefghijkl"))


def test_code_tables_and_words_fit_every_width(stage: Stage) -> None:
    page = stage.page
    agent = stage.server.record(2, REPLY)
    page.goto(f"{stage.server.address}/c/{agent}")
    page.wait_for_selector("#link.ok")
    expect(page.locator(".c-word").first).to_have_text("def")
    expect(page.locator("td", has_text="334").first).to_have_css("text-align", "right")
    stage.inspect("talk")
    page.set_viewport_size({"width": 1920, "height": 1080})
    assert right_of(page, "#rows .md pre") <= right_of(page, "#composer")
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate(OVERLAPS) == []
    page.click("[data-drawer=list]")
    expect(page.locator(".list")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".list")).to_be_hidden()
    page.click("[data-drawer=side]")
    expect(page.locator("#side")).to_be_visible()
    page.click("[data-drawer=list]")
    expect(page.locator("#side")).to_be_hidden()


@pytest.mark.parametrize("view", ["calls", "context"])
def test_pages_beside_the_timeline_fit_every_width(stage: Stage, view: str) -> None:
    stage.begin(("One?", "First answer."))
    stage.page.goto(f"{stage.server.address}/c/{stage.agent}?view={view}")
    stage.page.wait_for_selector("#link.ok")
    stage.inspect(view)


def test_a_setting_is_changed_and_a_phone_is_paired(stage: Stage, browser: Browser) -> None:
    page = stage.page
    page.goto(f"{stage.server.address}/settings")
    page.fill("#setting-filter", "context.offer_drops")
    row = page.locator("[data-setting]:visible")
    expect(row).to_have_count(1)
    row.locator("input").fill("7000")
    row.locator("input").press("Enter")
    expect(row.locator(".said")).to_have_text("context.offer_drops is changed.")
    assert "offer_drops = 7000" in (stage.server.home / ".config/sapwood/config.toml").read_text()
    page.fill("#setting-filter", "")
    stage.inspect("settings")
    shown, colours = page.locator("html"), page.locator("#colours")
    expect(colours.locator("option:checked")).to_have_text("as the system")
    for system in ("dark", "light"):
        page.emulate_media(color_scheme=system)
        expect(shown).to_have_attribute("data-theme", system)
    colours.select_option("dark")
    expect(shown).to_have_attribute("data-theme", "dark")
    colours.select_option("as the system")
    expect(shown).to_have_attribute("data-theme", "light")
    page.click("#pair")
    code = page.locator("#code")
    expect(code).to_have_text(re.compile(r"^\w{4}-\w{4}$"))
    here = f"Only browsers on this machine reach {stage.server.address}/sign-in."
    expect(page.locator("#where")).to_contain_text(here)
    phone = browser.new_context(viewport={"width": 390, "height": 844}).new_page()
    phone.goto(f"{stage.server.address}/sign-in")
    phone.fill("#token", code.inner_text())
    phone.click("button")
    phone.wait_for_selector("#main")
    phone.goto(f"{stage.server.address}/settings")
    expect(phone.locator("#pair")).to_be_visible()
    expect(phone.locator("#settings")).to_have_count(0)
    phone.context.close()


_AWAY = """
globalThis.Notification = class {
  static permission = 'granted';
  static requestPermission = async () => 'granted';
  constructor(title, { body }) { (globalThis.shown ||= []).push(body); }
};
Object.defineProperty(document, 'visibilityState', { get: () => 'hidden' });
"""


def test_a_question_and_the_end_of_a_turn_are_notified(stage: Stage) -> None:
    page = stage.page
    stage.begin(("One?", "First answer."))
    agent = stage.agent
    page.add_init_script(_AWAY)
    page.goto(f"{stage.server.address}/settings")
    page.click("#notify")
    expect(page.locator("#notify")).to_have_text("Switch off")
    with page.expect_response("**/v1/events?form=agents"):
        page.goto(f"{stage.server.address}/c/{agent}")
    call = '{"command": "touch asked.txt", "needs": ["network"]}'
    stage.prompt(f"Run. [[tool: shell {call}]] [[say: It was denied.]]")
    page.wait_for_selector("#ask[open]")
    page.wait_for_function("() => globalThis.shown?.includes('A tool call needs your approval.')")
    page.keyboard.press("n")
    page.wait_for_function("() => globalThis.shown?.includes('The turn has ended.')")


def test_escape_in_the_composer_interrupts_the_open_turn_at_once(stage: Stage) -> None:
    stage.begin(("One?", "First answer."))
    stage.prompt("Wait. [[stall: 600]] [[say: Never.]]")
    expect(stage.page.locator("#interrupt")).to_be_visible()
    stage.page.press("#message", "Escape")
    stage.idle()
    expect(stage.page.locator("#message")).to_be_focused()
    stage.page.press("#message", "Escape")
    expect(stage.page.locator("#message")).not_to_be_focused()


def test_a_command_without_its_argument_changes_nothing_and_asks_for_it(stage: Stage) -> None:
    page, box = stage.page, stage.page.locator("#message")
    stage.begin(("One?", "First answer."), ("Two?", "Second answer."))
    stage.command("/mark HERE")
    for typed, said in (("/rewind", "Which mark or turn?"), ("/edit", "Which turn?")):
        stage.type(typed)
        expect(page.locator("#says")).to_contain_text(f"{said} Usage: ")
        expect(box).to_have_value(f"{typed} ")
        expect(box).to_be_focused()
    page.fill("#message", "/rewind ")
    expect(page.locator("#choices li").first).to_contain_text("HERE")
    stage.inspect("which-turn")
    page.press("#message", "Escape")
    stage.type("/model")
    expect(page.locator("#pick-model")).to_be_visible()
    expect(page.locator("#rows .row.out")).to_have_count(0)


_LATE = """() => {
    const soon = globalThis.fetch;
    const later = () => new Promise((answer) => setTimeout(answer, 3000));
    globalThis.fetch = (...sent) => later().then(() => soon(...sent));
}"""
"""Every request of the page takes three seconds."""


def test_a_queue_that_is_held_says_what_is_sent_and_in_which_order(stage: Stage) -> None:
    stage.begin(("One?", "First answer."))
    page = stage.page
    note = page.locator("#held")
    stage.command("Wait. [[sleep: 60]]")
    expect(page.locator("#interrupt")).to_be_visible()
    stage.command("Two? [[say: Second answer.]]")
    stage.command("Three? [[say: Third answer.]]")
    expect(page.locator("#queue .queue")).to_have_count(2)
    expect(note).to_be_hidden()
    page.click("#interrupt")
    expect(note).to_be_visible()
    expect(note).to_have_text(
        "Not sent yet. Send sends these in order, then your new message. ✕ removes one."
    )
    stage.inspect("held")
    stage.command("Four? [[say: Fourth answer.]]")
    stage.see("Fourth answer.")
    said = page.locator("#rows .said").all_inner_texts()
    assert [next(w for w in ("Two", "Three", "Four") if w in each) for each in said[-3:]] == [
        "Two",
        "Three",
        "Four",
    ]
    expect(note).to_be_hidden()


def test_a_slow_command_does_not_keep_the_composer(stage: Stage) -> None:
    stage.begin(("One?", "First answer."))
    page = stage.page
    stage.command("/btw What is a heron? [[stall: 8]] [[say: A bird.]]")
    expect(page.locator("#send")).to_be_enabled()
    stage.prompt("Two? [[say: Second answer.]]")
    stage.see("Second answer.")
    expect(page.locator("#rows .own")).to_have_count(0)
    expect(page.locator("#rows .own")).to_contain_text("A bird.")
    page.evaluate(_LATE)
    stage.command("/rewind NOWHERE")
    expect(page.locator("#says")).to_contain_text("There is no mark")
    expect(page.locator("#message")).to_have_value("/rewind NOWHERE")
