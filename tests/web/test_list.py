"""The list: conversations and sessions of all programs and projects, archived and trimmed ones."""

from playwright.sync_api import expect

from sapwood.programs.transcripts.discovery import program_homes
from tests.programs.transcripts.writing import ClaudeFile, CodexFile, GeminiFile
from tests.web.stage import Stage


def write_sessions(stage: Stage) -> None:
    """A session of each program, in the home of the server."""
    homes = program_homes({"HOME": str(stage.server.home)})
    claude = ClaudeFile(homes["claude-code"] / "projects" / "-srv-wood")
    claude.user("Where do swifts sleep?")
    claude.says("In the air.")
    codex = CodexFile(
        homes["codex"] / "sessions/2026/11/14", "01a1dc49-cb32-7ff3-be8a-10d31f7fe650"
    )
    codex.user("Where do owls nest?")
    codex.says("In hollow trees.")
    codex.event("task_complete")
    gemini = GeminiFile(homes["gemini"] / "tmp" / "5e55" / "chats")
    gemini.message("m1", "user", "Where do storks winter?")
    gemini.message("g1", "gemini", "In Africa.")


def test_sessions_of_other_programs_are_listed_and_imported_by_a_click(stage: Stage) -> None:
    write_sessions(stage)
    stage.begin(("One?", "First answer."))
    apart = stage.page.locator("#list [data-import]")
    expect(apart).to_have_count(3)  # it is live: the files were written after the page was opened
    for words in ("swifts", "owls", "storks"):
        expect(apart.filter(has_text=words)).to_have_count(1)
    stage.page.click("[data-filter=Codex]")
    expect(stage.page.locator("#list [data-program]:visible")).to_have_count(1)
    apart.filter(has_text="owls").click()
    expect(stage.page.locator("#rows")).to_contain_text("In hollow trees.")
    expect(stage.page.locator("#list [aria-current=page]")).to_contain_text("Codex")
    expect(apart).to_have_count(2)
    imported = stage.agent
    expect(stage.page.locator("#send")).to_have_text("Fork and send")
    stage.page.click("text=Go on in Codex")
    expect(stage.page.locator(".there code")).to_contain_text("codex resume 01a1dc49")
    stage.prompt("And eagles? [[say: On cliffs.]]")
    stage.see("On cliffs.")
    assert stage.agent != imported
    expect(stage.page.locator("#send")).to_have_text("Send")
    expect(stage.page.locator("#rows")).to_contain_text("In hollow trees.")


def test_what_is_done_in_the_program_is_shown_while_the_page_is_open(stage: Stage) -> None:
    homes = program_homes({"HOME": str(stage.server.home)})
    claude = ClaudeFile(homes["claude-code"] / "projects" / "-srv-reeds", session="reeds")
    claude.user("Where do bitterns hide?")
    claude.says("In the reeds.")
    stage.page.goto(stage.server.address)
    stage.page.locator("#list [data-import]", has_text="bitterns").click()
    stage.see("In the reeds.")
    claude.user("And coots?")
    claude.says("On open water.")
    stage.see("On open water.")


def test_a_token_that_does_not_administer_sees_no_session_of_the_machine(stage: Stage) -> None:
    write_sessions(stage)
    stage.page.goto(f"{stage.server.address}/sign-in")
    stage.page.fill("#token", stage.server.new_token("read"))
    stage.page.click("button")
    stage.page.wait_for_selector("#list")
    answer = stage.page.request.get(f"{stage.server.address}/page/list")
    assert answer.ok
    assert "data-import" not in answer.text()
    assert stage.page.request.get(f"{stage.server.address}/v1/sessions").status == 403


def test_trimmed_and_compacted_conversations_say_so(stage: Stage) -> None:
    stage.begin(("One?", "First answer."), ("Two?", "Second answer."))
    entry = stage.page.locator("#list [aria-current=page]")
    expect(entry).not_to_contain_text("trimmed")
    stage.command("/clear 1")
    expect(entry).to_contain_text("trimmed")
    stage.command("/undo")
    expect(entry).not_to_contain_text("trimmed")
    stage.type("/compact --keep 1 --anyway")
    expect(entry).to_contain_text("compacted")
