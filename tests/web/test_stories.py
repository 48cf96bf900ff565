"""What people do in the browser, each from the first click to what they must see at the end."""

import re

from playwright.sync_api import expect

from tests.web.stage import Stage

TURNS = (("One?", "First answer."), ("Two?", "Second answer."), ("Three?", "Third answer."))
FOLD = "[data-fold]"


def test_a_first_visit_a_prompt_and_an_answer(stage: Stage) -> None:
    stage.page.goto(f"{stage.server.address}/?new=1")
    expect(stage.page.locator(".welcome")).to_contain_text("you decide what the model sees")
    stage.prompt("Say it. [[say: **Bold** and `code`.]]")
    stage.page.wait_for_url("**/c/*")
    expect(stage.see("Bold").locator("strong")).to_have_text("Bold")
    expect(stage.page.locator("#link")).to_contain_text("live")
    expect(stage.page.locator("#list [aria-current=page]")).to_contain_text("Say it.")


def test_words_arrive_while_the_model_writes(stage: Stage) -> None:
    stage.begin(("Hello.", "Hi."))
    stage.prompt('Stream. [[stall: 3]] [[say: "' + "word " * 60 + 'end"]]')
    stage.page.wait_for_selector("#stream .words:not(:empty)")
    expect(stage.page.locator("#interrupt")).to_be_visible()
    stage.see("end")
    stage.idle()
    assert stage.page.locator("#stream > *").count() == 0


def test_clear_n_folds_the_turns_and_undo_brings_them_back(stage: Stage) -> None:
    stage.begin(*TURNS)
    stage.command("/clear 1")
    fold = stage.page.locator(FOLD)
    expect(fold).to_have_text(re.compile("4 messages pruned"))
    expect(stage.page.locator(".foldbox")).to_contain_text("/clear 1")
    expect(stage.page.locator("#says")).to_contain_text("2 turns removed from view")
    before = stage.top_of(FOLD)
    fold.click()
    inside = stage.page.locator(".inside article")
    expect(inside).to_have_count(4)
    assert abs(stage.top_of(FOLD) - before) <= 1  # opening it moves no row above it
    expect(inside.first).to_contain_text("not in context")
    assert "out" in (inside.first.get_attribute("class") or "").split()
    fold.click()
    expect(inside).to_have_count(0)
    stage.page.click(".foldbox .acts button")
    expect(fold).to_have_count(0)
    expect(stage.page.locator("#rows .said")).to_have_count(3)


def test_a_mark_is_a_place_to_rewind_to_by_click(stage: Stage) -> None:
    stage.begin(TURNS[0])
    stage.command("/mark START")
    expect(stage.page.locator(".mark")).to_contain_text("START")
    stage.prompt("Two? [[say: Second answer.]]")
    stage.see("Second answer.")
    stage.idle()
    stage.page.locator(".mark button", has_text="rewind").click()
    expect(stage.page.locator(FOLD)).to_contain_text("2 messages pruned")
    expect(stage.page.locator("#says")).to_contain_text("Rewound to 'START'")


def test_an_undo_that_takes_later_turns_along_is_done_by_a_second_enter(stage: Stage) -> None:
    stage.begin(TURNS[0])
    stage.command("/mark START")
    for reply in ("Second answer.", "Third answer.", "Fourth answer."):
        if reply == "Third answer.":
            stage.command("/rewind START")
        stage.prompt(f"Go on. [[say: {reply}]]")
        stage.see(reply)
        stage.idle()
    stage.type("/undo")
    expect(stage.page.locator("#says.refused")).to_contain_text("removes 2 later turns (3 to 4)")
    expect(stage.page.locator("#message")).to_have_value("/undo --anyway")
    stage.page.press("#message", "Enter")
    expect(stage.page.locator("#says")).to_contain_text("Undone: /rewind and 2 later turns")


def test_edit_of_a_turn_puts_its_prompt_into_the_composer(stage: Stage) -> None:
    stage.begin(*TURNS[:2])
    row = stage.page.locator("#rows .said").nth(1)
    row.locator(".turn-menu summary").click()
    row.locator("[data-run^='/edit']").click()
    expect(stage.page.locator("#message")).to_have_value("Two? [[say: Second answer.]]")
    expect(stage.page.locator(FOLD)).to_contain_text("2 messages pruned")


def test_a_refusal_stands_beside_the_composer_and_keeps_what_was_typed(stage: Stage) -> None:
    stage.begin(TURNS[0])
    stage.type("/rewind NOWHERE")
    says = stage.page.locator("#says.refused")
    expect(says).to_contain_text("NOWHERE")
    expect(stage.page.locator("#message")).to_have_value("/rewind NOWHERE")


def test_completion_comes_from_the_table(stage: Stage) -> None:
    stage.begin(TURNS[0])
    stage.page.fill("#message", "/cle")
    expect(stage.page.locator("#choices li").first).to_contain_text("/clear")
    stage.page.press("#message", "Tab")
    expect(stage.page.locator("#message")).to_have_value("/clear ")


def test_an_approval_shows_the_exact_text_and_starts_on_deny(stage: Stage) -> None:
    stage.begin(TURNS[0])
    call = '{"command": "touch a\\u200bb", "needs": ["network"]}'
    script = f"[[tool: shell {call}]] [[say: It was denied.]]"
    stage.prompt(f"Run. {script}")
    dialog = stage.page.locator("#ask[open]")
    expect(dialog.locator(".cc.hard").first).to_have_text("\\u200b")
    expect(dialog.locator("[role=alert]")).to_contain_text("invisible")
    expect(dialog.locator("[data-key=n]")).to_be_focused()
    stage.page.keyboard.press("t")
    stage.page.keyboard.type("because")
    stage.page.keyboard.press("Escape")
    expect(dialog.locator("#reason")).to_be_hidden()
    expect(dialog.locator("[data-key=n]")).to_be_focused()
    stage.page.keyboard.press("n")
    expect(dialog).to_have_count(0)
    stage.see("It was denied.")
    assert not list((stage.server.home / "project").glob("a*b"))


def test_what_was_approved_runs(stage: Stage) -> None:
    stage.begin(TURNS[0])
    stage.prompt(
        'Run. [[tool: shell {"command": "touch approved.txt", "needs": ["network"]}]] [[say: Ran.]]'
    )
    stage.page.wait_for_selector("#ask[open]")
    stage.page.keyboard.press("y")
    stage.see("Ran.")
    assert (stage.server.home / "project/approved.txt").exists()


def test_a_question_of_the_model_is_answered_by_a_choice_or_in_own_words(stage: Stage) -> None:
    port = '{"question": "Which port?", "choices": ["80", "8080"]}'
    host = '{"question": "Which host?", "choices": ["here", "there"]}'
    stage.begin(TURNS[0])
    stage.prompt(f"Serve. [[tool: ask_user {port}]] [[tool: ask_user {host}]] [[say: Serving.]]")
    dialog = stage.page.locator("#ask[open]")
    expect(dialog.locator("h2")).to_have_text("The model asks you")
    expect(dialog.locator(".cmd")).to_have_text("Which port?")
    expect(stage.page.locator("#list .needs [aria-current=page]")).to_contain_text("needs you")
    dialog.get_by_role("button", name="8080").click()
    expect(dialog.locator(".cmd")).to_have_text("Which host?")
    stage.page.locator("#ask[open] [data-key=t]").click()
    stage.page.get_by_placeholder("Your answer").fill("the other one")
    stage.page.keyboard.press("Enter")
    stage.see("Serving.")
    expect(stage.page.locator("body")).to_contain_text("The user answered: the other one")


def test_compact_puts_a_summary_in_place_with_its_score(stage: Stage) -> None:
    stage.begin(*TURNS)
    stage.type("/compact --keep 1 --anyway")
    banner = stage.page.locator(".sum")
    expect(banner).to_contain_text("Summary of")
    expect(banner).to_contain_text("in every call")
    expect(stage.page.locator(FOLD)).to_contain_text("messages pruned")


def test_a_prompt_while_a_turn_is_open_is_queued_and_sent_after_it(stage: Stage) -> None:
    stage.begin(TURNS[0])
    stage.prompt("Slow. [[sleep: 15]] [[say: Slow answer.]]")
    expect(stage.page.locator("#interrupt")).to_be_visible()
    stage.prompt("/etc/hosts is wrong. [[say: Later answer.]]")
    expect(stage.page.locator(".queue")).to_contain_text("/etc/hosts is wrong.")
    stage.see("Later answer.")
    expect(stage.page.locator(".queue")).to_have_count(0)


def test_a_prompt_after_an_interrupt_waits_behind_the_queue(stage: Stage) -> None:
    stage.begin(TURNS[0])
    stage.prompt("Slow. [[sleep: 30]] [[say: Never.]]")
    expect(stage.page.locator("#interrupt")).to_be_visible()
    stage.prompt("Second. [[say: Second answer.]]")
    expect(stage.page.locator(".queue")).to_have_count(1)
    stage.page.click("#interrupt")
    stage.idle()
    stage.prompt("Third. [[say: Third answer.]]")
    stage.see("Third answer.")
    said = stage.page.locator("#rows").inner_text()
    assert said.index("Second answer.") < said.index("Third answer.")


def test_what_is_sent_while_another_message_is_being_sent_waits_for_it(stage: Stage) -> None:
    stage.begin(TURNS[0])
    page = stage.page
    held = stage.hold("**/submissions")
    stage.prompt("Two? [[say: Second answer.]]")
    page.wait_for_function("document.getElementById('send').disabled")
    stage.prompt("Three? [[say: Third answer.]]")
    page.press("#message", "Enter")  # pressed twice, sent once
    held[0].continue_()
    stage.see("Third answer.")
    stage.idle()
    expect(page.locator("#rows .said")).to_have_count(3)
    expect(page.locator("#message")).to_have_value("")


def test_the_queue_goes_on_if_a_turn_ends_while_its_message_is_being_sent(stage: Stage) -> None:
    """The answer to 'send the next message' can come later than the end of that message's turn."""
    stage.begin(TURNS[0])
    page = stage.page
    stage.prompt("Slow. [[sleep: 30]] [[say: Never.]]")
    expect(page.locator("#interrupt")).to_be_visible()
    for number, words in ((1, "Second."), (2, "Third.")):
        stage.prompt(f"{words} [[say: {words[:-1]} answer.]]")
        expect(page.locator(".queue")).to_have_count(number)
    page.click("#interrupt")
    stage.idle()
    late = stage.hold("**/queue/next")
    page.press("#message", "Enter")
    while not late:
        page.wait_for_timeout(20)
    answer = late[0].fetch()
    stage.see("Second answer.")
    stage.idle()
    late[0].fulfill(response=answer)
    stage.see("Third answer.")


def test_an_interrupt_keeps_what_was_said(stage: Stage) -> None:
    stage.begin(TURNS[0])
    stage.prompt("Wait. [[sleep: 30]] [[say: Never.]]")
    stage.page.click("#interrupt")
    expect(stage.page.locator("#rows .end")).to_contain_text("interrupted")
    stage.idle()


def test_new_archives_the_conversation_and_goes_on_with_a_fresh_one(stage: Stage) -> None:
    stage.begin(TURNS[0])
    old = stage.agent
    stage.type("/new")
    expect(stage.page).not_to_have_url(re.compile(old))
    expect(stage.page.locator("#list .archived")).to_have_count(1)


def test_a_child_is_in_the_tree_and_its_mail_is_read(stage: Stage) -> None:
    stage.begin(TURNS[0])
    stage.command("/fork -- Count. [[say: I counted three.]]")
    expect(stage.page.locator("#side .tree a").first).to_be_visible()
    expect(stage.page.locator("#side .warns")).to_contain_text("1 unread")
    stage.page.click("#side [data-run='/check-mail']")
    expect(stage.page.locator("#says")).to_contain_text("I counted three.")


def test_the_cut_shows_tokens_and_price_before_it_is_made(stage: Stage) -> None:
    stage.begin(*TURNS)
    stage.page.click(".tabs [data-view=context]")
    slider = stage.page.locator("#cut")
    slider.focus()
    stage.page.keyboard.press("ArrowRight")
    stage.page.keyboard.press("ArrowRight")
    expect(stage.page.locator("#leaving")).to_have_text("2 turns removed")
    expect(stage.page.locator("#after-once")).to_contain_text("$")
    expect(slider).to_have_attribute("aria-valuetext", re.compile("before turn #"))
    stage.page.click("#trim")
    expect(stage.page.locator(".bars > li")).to_have_count(1)
    stage.page.click(".ctx [data-run='/undo']")
    expect(stage.page.locator(".bars > li")).to_have_count(3)


def test_what_the_model_saw_is_checked_by_its_hash(stage: Stage) -> None:
    stage.begin(TURNS[0])
    stage.page.click(".tabs [data-view=calls]")
    expect(stage.page.locator(".hash")).to_contain_text("The hash matches")
    expect(stage.page.locator(".calls b")).to_have_text("Turn 1, call 1")
    expect(stage.page.locator(".saw h2").nth(1)).to_have_text("Turn 1, call 1")
    stage.inspect("calls")
    expect(stage.page.locator(".blk.user").first).to_contain_text("One?")


def test_search_finds_a_turn_that_left_view_and_opens_it(stage: Stage) -> None:
    stage.begin(("The heron is blue?", "A heron stands in the reeds."), *TURNS[1:])
    stage.command("/clear 1")
    stage.page.wait_for_selector(FOLD)
    stage.page.click("#find")
    stage.page.fill("#words", "reeds")
    stage.page.locator("#hits a", has_text="reeds").first.click()
    expect(stage.page.locator(".inside .found")).to_contain_text("heron")


def test_two_tabs_and_a_terminal_show_one_conversation(stage: Stage) -> None:
    stage.begin(TURNS[0])
    other = stage.context.new_page()
    stage.watch(other)
    other.goto(stage.page.url)
    stage.prompt("Two? [[say: Seen in both.]]")
    stage.see("Seen in both.")
    expect(other.locator("#rows .md", has_text="Seen in both.")).to_have_count(1)
    stage.server.run("do", stage.agent, "/mark FROM_TERMINAL")
    for page in (stage.page, other):
        expect(page.locator(".mark")).to_contain_text("FROM_TERMINAL")


def test_a_restarted_server_and_a_lost_network_lose_nothing(stage: Stage) -> None:
    stage.begin(TURNS[0])
    stage.server.stop()
    expect(stage.page.locator("#link")).to_contain_text("reconnecting")
    stage.server.run("do", stage.agent, "/mark WHILE_AWAY")
    stage.server.start()
    expect(stage.page.locator("#link")).to_contain_text("live")
    expect(stage.page.locator(".mark")).to_contain_text("WHILE_AWAY")
    stage.context.set_offline(True)
    expect(stage.page.locator("#link")).to_contain_text("offline")
    stage.server.run("do", stage.agent, "/mark OFFLINE")
    stage.context.set_offline(False)
    expect(stage.page.locator(".mark").last).to_contain_text("OFFLINE")
    stage.prompt("Two? [[say: Still here.]]")
    stage.see("Still here.")


def test_the_whole_way_by_keyboard(stage: Stage) -> None:
    stage.begin(*TURNS)
    page = stage.page
    page.keyboard.press("Escape")
    page.keyboard.press("k")
    expect(page.locator("article:focus")).to_have_count(1)
    page.keyboard.press("c")
    expect(page.locator("#message")).to_be_focused()
    page.keyboard.type("/clear 1\n")
    page.wait_for_selector(FOLD)
    page.keyboard.press("Escape")
    page.keyboard.press("u")
    expect(page.locator(FOLD)).to_have_count(0)
    page.keyboard.press("?")
    expect(page.locator("#map[open]")).to_contain_text("Keyboard shortcuts")
    page.keyboard.press("Escape")
    expect(page.locator("#map[open]")).to_have_count(0)
    page.keyboard.press("2")
    expect(page.locator("#cut")).to_be_visible()


def test_hostile_text_is_shown_and_never_run(stage: Stage) -> None:
    hostile = '<img src=x onerror="window.hacked=1"><script>window.hacked=2</script>'
    link = "[x](javascript:window.hacked=3) ![i](http://evil.example/x.png)"
    stage.page.goto(f"{stage.server.address}/?new=1")
    stage.prompt(f'{hostile} [[say: "{link} <b onclick=alert(1)>b</b> done"]]')
    stage.page.wait_for_url("**/c/*")
    stage.see("done")
    stage.command("/mark A")
    stage.command(f"/rename {hostile}")
    expect(stage.page.locator("#rows .said").first).to_contain_text("<script>")
    assert stage.page.evaluate("window.hacked") is None
    assert stage.page.locator("#rows img, #rows script, #list img").count() == 0


def test_a_key_that_comes_before_the_script_is_not_lost(stage: Stage) -> None:
    """On a slow line the page is there before its script: Enter still sends."""
    page = stage.page
    waiting = stage.hold("**/static/sapwood.js")
    page.goto(f"{stage.server.address}/?new=1", wait_until="commit")
    page.fill("#message", "Early? [[say: Not too early.]]")
    page.press("#message", "Enter")
    expect(page.locator("#message")).to_have_value("Early? [[say: Not too early.]]")
    waiting[0].continue_()
    page.wait_for_url("**/c/*")
    stage.see("Not too early.")


def test_a_click_that_comes_before_the_script_is_not_lost(stage: Stage) -> None:
    page = stage.page
    waiting = stage.hold("**/static/sapwood.js")
    page.goto(f"{stage.server.address}/?new=1", wait_until="commit")
    page.click("[data-opens=mode]")
    expect(page.locator("[data-mode=all]")).to_be_hidden()
    waiting[0].continue_()
    expect(page.locator("[data-mode=all]")).to_be_visible()


def test_a_token_that_is_sent_before_the_script_is_there_stays_out_of_the_address(
    stage: Stage,
) -> None:
    page = stage.page
    waiting = stage.hold("**/static/sign-in.js")
    page.goto(f"{stage.server.address}/sign-in", wait_until="commit")
    page.fill("#token", stage.server.new_token())
    page.press("#token", "Enter")
    while not waiting:
        page.wait_for_timeout(20)
    assert "?" not in page.url
    waiting[0].continue_()
    page.wait_for_selector("#main")


def test_the_way_to_the_end_is_shown_only_if_something_is_below(stage: Stage) -> None:
    stage.begin(*TURNS)
    stage.page.keyboard.press("Escape")
    stage.page.keyboard.press("k")
    stage.command("/mark here")
    expect(stage.page.locator("#rows")).to_contain_text("here")
    expect(stage.page.locator("#latest")).to_be_hidden()


def test_a_key_right_after_a_dialog_was_closed_is_not_lost(stage: Stage) -> None:
    """The browser gives keys to a closed dialog until it is drawn again."""
    stage.begin(TURNS[0])
    stage.page.keyboard.press("Escape")
    stage.page.keyboard.press("?")
    expect(stage.page.locator("#map[open]")).to_contain_text("Keyboard shortcuts")
    stage.page.evaluate("""() => {
        const dialog = document.getElementById('map'), inside = dialog.querySelector('.scroll');
        dialog.close();
        inside.dispatchEvent(new KeyboardEvent('keydown', { key: '2', bubbles: true }));
    }""")
    expect(stage.page.locator("#cut")).to_be_visible()
