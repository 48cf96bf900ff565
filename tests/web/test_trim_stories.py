"""The user stories about trimmed conversations: dividers, banners, blocked commands, archives."""

import json
import re
from typing import Any, cast  # requests are JSON

from playwright.sync_api import expect

from tests.web.stage import Stage

TURNS = (("One?", "First answer."), ("Two?", "Second answer."), ("Three?", "Third answer."))
FOLD = "[data-fold]"


def last_request(stage: Stage) -> str:
    """The messages of the newest request that the model got, as text."""
    body = cast("dict[str, Any]", stage.server.model.requests[-1].body)
    return json.dumps(body["messages"])


def test_only_the_last_turns_are_sent_after_a_trim(stage: Stage) -> None:
    stage.begin(*TURNS)
    stage.command("/clear 2")
    stage.page.wait_for_selector(FOLD)
    stage.prompt("Four? [[say: Fourth answer.]]")
    stage.see("Fourth answer.")
    stage.idle()
    sent = last_request(stage)
    assert "First answer." not in sent
    assert all(words in sent for words in ("Second answer.", "Third answer.", "Four?"))


def test_a_detour_of_four_turns_is_dragged_priced_dropped_and_undone(stage: Stage) -> None:
    detour = [(f"Detour {number}?", f"Aside {number}.") for number in range(1, 5)]
    last = ("Back? [[think: Where were we?]]", "On the road again.")
    stage.begin(TURNS[0], *detour, last, ("And then?", "Home."))
    page, saves = stage.page, stage.page.locator("#saves")
    grip = page.locator('[data-turn="2"] [data-pick]')
    grip.hover(force=True)
    page.mouse.down()
    page.locator('[data-turn="4"]').hover()
    expect(page.locator("#drop")).to_have_text("Drop 3 turns")
    page.locator('[data-turn="5"]').hover()
    page.mouse.up()
    expect(saves).to_contain_text("4 turns leave")
    expect(saves).to_contain_text(re.compile(r"next call \$[\d.]+ once, then \$[\d.]+"))
    expect(saves).to_contain_text("1 signed thought after it may be dropped")
    page.keyboard.press("Escape")
    expect(page.locator("#picked")).to_be_hidden()
    page.locator('[data-pick="2"]').click(force=True)
    page.locator('[data-pick="5"]').click(force=True, modifiers=["Shift"])
    expect(saves).to_contain_text("4 turns leave")
    page.click("#drop")
    fold = page.locator(FOLD)
    expect(fold).to_contain_text("4 turns dropped")
    expect(page.locator("#picked")).to_be_hidden()
    stage.prompt("Five? [[say: Fifth answer.]]")
    stage.see("Fifth answer.")
    stage.idle()
    sent = last_request(stage)
    assert ["First answer." in sent, "Aside" in sent, "On the road" in sent] == [True, False, True]
    stage.command("/undo")
    expect(fold).to_have_count(0)
    stage.prompt("Six? [[say: Sixth answer.]]")
    stage.see("Sixth answer.")
    assert all(words in last_request(stage) for _, words in detour)


def test_a_dropped_tool_result_says_so_at_its_row_and_comes_back(stage: Stage) -> None:
    stage.begin(("One?", "First answer."))
    (stage.server.home / "project" / "notes.txt").write_text("heron " * 200)
    read = json.dumps({"path": "notes.txt"})
    stage.prompt(f"Read it. [[tool: read_file {read}]] [[say: Many herons.]]")
    stage.see("Many herons.")
    stage.idle()
    stage.prompt("Two? [[say: Second answer.]]")
    stage.see("Second answer.")
    stage.idle()
    assert "heron heron" in last_request(stage)
    tool = stage.page.locator("#rows .tool", has_text="read_file")
    stage.command("/drop 2.1")
    expect(tool).to_contain_text("result dropped")
    stage.prompt("Three? [[say: Third answer.]]")
    stage.see("Third answer.")
    stage.idle()
    assert "heron heron" not in last_request(stage)
    tool.locator('[data-run="/load 2.1"]').click()
    expect(tool).not_to_contain_text("result dropped")


def test_a_decision_is_found_by_a_question_and_brought_back(stage: Stage) -> None:
    decision = ("Which rings do we take?", "You chose orange rings for the young herons.")
    stage.begin(TURNS[0], decision, *TURNS[1:])
    page = stage.page
    stage.command("/clear 1")
    page.wait_for_selector(FOLD)
    page.click("#find")
    page.fill("#words", "which colour did we choose for the rings of young birds?")
    hit = page.locator("#hits a").first
    expect(hit).to_contain_text("orange rings")
    hit.click()
    found = page.locator(".inside .found")
    expect(found).to_contain_text("orange rings")
    row = page.locator(".inside .said", has=page.locator('[data-run="/bring 2"]')).first
    row.locator(".turn-menu summary").first.click()
    row.locator('[data-run="/bring 2"]').first.click()
    expect(page.locator("#rows")).to_contain_text("turn 2")
    stage.prompt("Five? [[say: Fifth answer.]]")
    stage.see("Fifth answer.")
    sent = last_request(stage)
    assert ["orange rings" in sent, "First answer." in sent] == [True, False]


def test_clear_without_a_number_starts_afresh_in_the_same_conversation(stage: Stage) -> None:
    stage.begin(*TURNS)
    agent = stage.agent
    stage.command("/clear")
    expect(stage.page.locator(FOLD)).to_contain_text("6 messages pruned")
    stage.prompt("Four? [[say: Fourth answer.]]")
    stage.see("Fourth answer.")
    assert stage.agent == agent
    assert "answer" not in last_request(stage).replace("Fourth answer", "")


def test_a_trim_is_refused_while_a_turn_is_open_and_says_why(stage: Stage) -> None:
    stage.begin(*TURNS[:2])
    stage.prompt("Slow. [[sleep: 300]] [[say: Never.]]")
    expect(stage.page.locator("#interrupt")).to_be_visible()
    for line in ("/clear 1", "/compact", "/new"):
        stage.type(line)
        expect(stage.page.locator("#says.refused")).to_contain_text("turn")
        expect(stage.page.locator("#message")).to_have_value(line)
    stage.page.click("#interrupt")
    stage.idle()
    expect(stage.page.locator(FOLD)).to_have_count(0)


def test_the_commands_that_trim_are_in_the_completion(stage: Stage) -> None:
    stage.begin(TURNS[0])
    for typed, wanted in (("/cl", "/clear"), ("/comp", "/compact"), ("/ne", "/new")):
        stage.page.fill("#message", typed)
        choice = stage.page.locator("#choices li", has=stage.page.get_by_text(wanted, exact=True))
        expect(choice).to_have_count(1)
        assert len((choice.text_content() or "").strip()) > len(wanted) + 10


def test_several_trims_leave_a_divider_each(stage: Stage) -> None:
    stage.begin(*TURNS)
    stage.command("/clear 2")
    expect(stage.page.locator(FOLD)).to_have_count(1)
    stage.prompt("Four? [[say: Fourth answer.]]")
    stage.see("Fourth answer.")
    stage.idle()
    stage.type("/compact --keep 1 --anyway")
    expect(stage.page.locator(".sum")).to_contain_text("Summary of")
    folds = stage.page.locator(".foldbox")
    expect(folds.first).to_contain_text("/clear 2")
    expect(folds.last).to_contain_text("/compact")
    summary = stage.top_of(".sum")
    last = folds.last.bounding_box()
    assert last is not None
    kept = stage.page.locator("#rows .said").last.bounding_box()
    assert kept is not None
    assert last["y"] < kept["y"]
    assert summary < kept["y"]
    stage.prompt("Five? [[say: Fifth answer.]]")
    stage.see("Fifth answer.")
    sent = last_request(stage)
    assert "Second answer." not in sent
    assert "Fourth answer." in sent


def test_the_archived_conversation_is_in_the_list_and_opens(stage: Stage) -> None:
    stage.begin(("The kestrel?", "A kestrel hovers."))
    old = stage.agent
    stage.type("/new")
    expect(stage.page).not_to_have_url(re.compile(old))
    stage.page.click("#list .archived > summary")
    stage.page.click(f"#list .archived a[href='/c/{old}']")
    expect(stage.page.locator("#rows")).to_contain_text("A kestrel hovers.")
    banner, composer = stage.page.locator("#archived"), stage.page.locator("#composer")
    expect(banner).to_contain_text("This conversation is archived.")
    expect(composer).to_be_hidden()
    stage.inspect("archived")
    banner.get_by_text("Unarchive").click()
    expect(banner).to_be_hidden()
    stage.prompt("And the heron? [[say: A heron waits.]]")
    stage.see("A heron waits.")
    stage.idle()
    stage.type("/archive")
    expect(banner).to_be_visible()
    expect(composer).to_be_hidden()


def test_files_go_back_to_before_a_turn_that_was_pruned(stage: Stage) -> None:
    notes = stage.server.home / "project/notes.txt"
    notes.write_text("first\n")
    stage.begin(TURNS[0])
    stage.command("/permissions all")
    write = '{"path": "notes.txt", "content": "changed\\n"}'
    stage.prompt(f"Write. [[tool: write_file {write}]] [[say: Written.]]")
    stage.see("Written.")
    stage.idle()
    assert notes.read_text() == "changed\n"
    turn = stage.page.locator("#rows .said").last.get_attribute("data-turn")
    stage.prompt("Three? [[say: Third answer.]]")
    stage.see("Third answer.")
    stage.idle()
    stage.command("/clear 1")
    stage.page.wait_for_selector(FOLD)
    stage.type(f"/revert {turn}")
    expect(stage.page.locator("#says")).to_contain_text("Send it again to do it.")
    expect(stage.page.locator("#message")).to_have_value(f"/revert {turn}")
    assert notes.read_text() == "changed\n"
    stage.command(f"/revert {turn}")
    expect(stage.page.locator("#says")).to_contain_text(re.compile("revert|took", re.I))
    assert notes.read_text() == "first\n"


def test_an_agent_is_killed_when_it_was_sent_twice_and_an_unknown_one_is_refused(
    stage: Stage,
) -> None:
    stage.begin(TURNS[0])
    says = stage.page.locator("#says")
    stage.command("/fork")
    child = (stage.page.locator("#side .tree a").first.get_attribute("href") or "").rpartition("/")[
        2
    ]
    stage.type("/kill nobody")
    expect(says).to_contain_text("There is no agent 'nobody'")
    stage.type(f"/kill {child}")
    expect(says).to_have_text(
        "/kill ends the agent and all its descendants permanently. Send it again to do it."
    )
    stage.command("/mark HERE")  # what is sent in between takes the question back
    stage.type(f"/kill {child}")
    expect(says).to_contain_text("Send it again")
    stage.command(f"/kill {child}")
    expect(says).to_contain_text("Killed")


def test_a_command_is_confirmed_while_messages_wait_behind_an_interrupt(stage: Stage) -> None:
    stage.begin(TURNS[0])
    stage.command("/fork")
    child = stage.page.locator("#side .tree a").first.get_attribute("href") or ""
    stage.prompt("Slow. [[sleep: 30]] [[say: Never.]]")
    stage.prompt("Next. [[say: Next answer.]]")
    expect(stage.page.locator(".queue")).to_have_count(1)
    stage.page.click("#interrupt")
    stage.idle()
    stage.type(f"/kill {child.rpartition('/')[2]}")
    expect(stage.page.locator("#says")).to_contain_text("Send it again")
    stage.command(f"/kill {child.rpartition('/')[2]}")
    expect(stage.page.locator("#says")).to_contain_text("Killed")


def test_the_page_of_an_agent_that_was_ended_continues_in_a_fork(stage: Stage) -> None:
    stage.begin(("The kestrel?", "A kestrel hovers."))
    ended = stage.agent
    expect(stage.page.locator("#ended")).to_be_hidden()
    stage.page.fill("#message", "And the heron? [[say: A heron waits.]]")
    stage.server.run("do", ended, "/fork")  # from elsewhere, as the kill
    stage.server.run("kill", ended)
    expect(stage.page.locator("#send")).to_have_text("Fork and send")
    expect(stage.page.locator("#ended")).to_contain_text("This agent was ended.")
    stage.inspect("ended")
    stage.page.press("#message", "Enter")
    stage.see("A heron waits.")
    assert stage.agent != ended
    expect(stage.page.locator("#send")).to_have_text("Send")
    expect(stage.page.locator("#rows")).to_contain_text("A kestrel hovers.")


def test_a_fork_from_a_mark_by_click_sees_what_came_after_it(stage: Stage) -> None:
    stage.begin(TURNS[0])
    stage.command("/mark START")
    stage.prompt("Two? [[say: Second answer.]]")
    stage.see("Second answer.")
    stage.idle()
    parent = stage.agent
    stage.page.locator(".mark button", has_text="fork").click()
    stage.page.locator("#side .tree a").first.click()
    expect(stage.page).not_to_have_url(re.compile(parent))
    expect(stage.page.locator("#rows")).to_contain_text("Second answer.")
    expect(stage.page.locator("#rows")).not_to_contain_text("First answer.")
    stage.prompt("Other? [[say: The fork's answer.]]")
    stage.see("The fork's answer.")
    stage.page.goto(f"{stage.server.address}/c/{parent}")
    expect(stage.page.locator("#rows")).to_contain_text("First answer.")
    expect(stage.page.locator("#rows .md", has_text="The fork's answer.")).to_have_count(0)


def test_two_contexts_are_compared_on_the_page_of_calls(stage: Stage) -> None:
    stage.begin(TURNS[0])
    stage.command("/mark START")
    stage.prompt("Two? [[say: Second answer.]]")
    stage.see("Second answer.")
    stage.idle()
    stage.page.keyboard.press("Escape")
    stage.page.keyboard.press("3")
    stage.page.click("text=Difference")
    stage.page.fill("[data-compare] [name=a]", "START")
    stage.page.click("[data-compare] button")
    expect(stage.page.locator(".differs .add")).to_contain_text("Two?")
    expect(stage.page.locator(".differs .same")).to_have_text("1 turn in both")


def test_contexts_are_compared_before_the_script_has_arrived(stage: Stage) -> None:
    stage.begin(TURNS[0])
    stage.command("/mark START")
    stage.prompt("Two? [[say: Second answer.]]")
    stage.see("Second answer.")
    stage.idle()
    stage.page.route("**/*.js*", lambda route: route.abort())
    stage.page.goto(f"{stage.server.address}/c/{stage.agent}?view=calls&compare=1")
    stage.page.fill("[data-compare] [name=a]", "START")
    stage.page.click("[data-compare] button")
    expect(stage.page.locator(".differs .add")).to_contain_text("Two?")
