"""What a person has an agent work on, in the browser: shell lines, goals, to-dos, jobs, retries."""

import re

from playwright.sync_api import expect

from scripted_model import fail
from tests.web.stage import Stage


def test_a_shell_line_runs_by_the_persons_own_right_and_sessions_are_listed(stage: Stage) -> None:
    page = stage.page
    page.goto(f"{stage.server.address}/?new=1")
    stage.prompt("!echo heron-$((40 + 2))")
    page.wait_for_url("**/c/*")
    expect(page.locator("#rows")).to_contain_text("heron-42")
    assert not any("heron-$" in str(each.body) for each in stage.server.model.requests)
    stage.prompt("Which bird? [[say: A heron.]]")
    stage.see("A heron.")
    stage.idle()
    assert "heron-42" in str(stage.server.model.requests[-1].body)
    page.fill("#message", "!sleep 600")
    expect(page.locator("#composer")).to_have_class("composer shell")
    expect(page.locator("#send")).to_have_text("Run")
    page.press("#message", "Enter")
    page.click("#interrupt")
    expect(page.locator("#rows")).to_contain_text("stopped by the user")
    expect(page.locator("#interrupt")).to_be_hidden()
    stage.command("!seq 1 50; false")
    expect(page.locator("#rows .out-text").last).to_contain_text("lines above")
    stage.command("/btw What is a heron? [[say: A **bird**.]]")
    expect(page.locator("#rows .own strong")).to_have_text("bird")
    stage.server.model.replies([fail(429, retry_after=600)] * 2)
    stage.prompt("Fail. [[status: 400]]")
    limit = page.locator("#limit")
    expect(limit).to_contain_text("The limit of the provider resets at")
    stage.inspect("limit")
    expect(page.locator("#rows .retry:visible")).to_have_count(0)
    until = limit.inner_text()
    limit.get_by_text("Ask now").click()
    expect(limit).not_to_contain_text(until.partition("\n")[0])
    expect(limit).to_be_visible()
    limit.get_by_text("Do not ask again").click()
    expect(limit).to_be_hidden()
    end = page.locator("#rows > article:last-child")
    expect(end).not_to_contain_text("Try again in")
    expect(end.locator(".until")).to_have_text(re.compile(r" until \d+:\d\d:\d\d"))
    page.click("#rows > article:last-child .retry")
    expect(page.locator("#rows .retry:visible")).to_have_count(1)
    stage.command("/sessions")
    expect(page.locator("#hits a").first).to_be_visible()
    stage.inspect("sessions")
    page.locator(f"#hits a[href='/c/{stage.agent}']").click()
    page.wait_for_url("**/c/*")


def test_a_short_limit_counts_down_to_the_next_attempt(stage: Stage) -> None:
    stage.begin(("One?", "First answer."))
    stage.server.model.replies([fail(429, retry_after=25)])
    stage.prompt("Two? [[say: Second answer.]]")
    busy = stage.page.locator("#busy")
    words = re.compile(r"The provider is busy: attempt 2 of \d in \d+ s\.")
    expect(busy).to_have_text(words)
    said = busy.inner_text()
    expect(busy).not_to_have_text(said)
    stage.inspect("busy")
    stage.page.keyboard.press("Escape")
    stage.page.keyboard.press("Escape")
    expect(busy).to_be_hidden()
    stage.idle()


def test_a_goal_continues_until_its_check_passes_and_work_stands_at_the_side(stage: Stage) -> None:
    page, side = stage.page, stage.page.locator("#side")
    stage.begin(("One?", "First answer."))
    stage.command("/todo [x] Read\n[~] Write\n[ ] Test")
    expect(side.get_by_label("To do")).to_contain_text("1 of 3 done")
    job = '{"command": "sleep 600", "background": true}'
    stage.prompt(f"Serve. [[tool: shell {job}]] [[say: It runs.]]")
    page.wait_for_selector("#ask[open]")
    page.keyboard.press("y")
    stage.see("It runs.")
    stage.idle()
    jobs = side.get_by_label("Background commands")
    expect(jobs).to_contain_text("running")
    stage.type('/goal Tidy up. [[say: Tidied.]] --check "test -e tidy || { touch tidy; false; }"')
    expect(page.locator("#rows")).to_contain_text(
        re.compile("The goal is reached. It took 2 turns")
    )
    expect(side.get_by_label("Goal")).to_have_count(0)
    stage.idle()
    stage.type("/goal Wait. [[stall: 600]] [[say: Never.]] --budget 2")
    expect(side.get_by_label("Goal")).to_contain_text("1 of 2 turns")
    page.set_viewport_size({"width": 390, "height": 844})
    expect(page.locator("#work")).to_contain_text("goal 1 of 2 turns · to do 1 of 3")
    page.locator("#interrupt").click(trial=True)  # nothing covers it
    stage.inspect("work")
    page.set_viewport_size({"width": 1440, "height": 900})
    side.get_by_role("button", name="Stop").click()
    expect(side.get_by_label("Goal")).to_have_count(0)
    page.click("#interrupt")
    stage.idle()
    jobs.get_by_role("button", name="End").click()
    expect(jobs).to_contain_text("ended by the user")


def test_instructions_of_a_folder_are_read_and_a_web_page_is_asked_for(stage: Stage) -> None:
    reeds = stage.server.home / "project" / "reeds"
    reeds.mkdir()
    (reeds / "AGENTS.md").write_text("Count the coots twice.")
    (reeds / "list.md").write_text("coot, heron")
    stage.begin(('Read. [[tool: read_file {"path": "reeds/list.md"}]]', "Two birds."))
    assert "Count the coots twice." in str(stage.server.model.requests[-1].body)
    address = "https://birds.example/coots"
    stage.prompt(f'Look. [[tool: web_fetch {{"url": "{address}"}}]] [[say: I did not look.]]')
    dialog = stage.page.locator("#ask[open]")
    expect(dialog).to_contain_text(address)
    stage.page.keyboard.press("n")
    stage.see("I did not look.")


def test_another_model_takes_over_when_one_fails(stage: Stage) -> None:
    stage.server.run("config", "set", "fallback_models", '["claude-opus-5-5"]')
    try:
        stage.page.goto(f"{stage.server.address}/?new=1")
        stage.server.model.replies([fail(401)])
        stage.prompt("Which bird? [[say: A coot.]]")
        stage.page.wait_for_url("**/c/*")
        stage.see("A coot.")
        expect(stage.page.locator("#rows .reply .gut")).to_contain_text("opus")
        expect(stage.page.locator("#rows .event").first).to_contain_text("claude-opus-5-5")
    finally:
        stage.server.run("config", "unset", "fallback_models")
