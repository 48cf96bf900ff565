"""The export as one HTML file: it opens from the disk, asks for nothing, and runs no script."""

from pathlib import Path

from playwright.sync_api import Page, expect

from tests.web.axe import violations
from tests.web.stage import Stage
from tests.web.test_side import png

HOSTILE = '<img src=x onerror="window.hacked=1"><script>window.hacked=2</script>'


def opened(stage: Stage, file: Path) -> tuple[Page, list[str]]:
    """The file in a page of its own, and what the page asked for besides the file."""
    page = stage.context.new_page()
    asked: list[str] = []
    page.on("request", lambda sent: asked.append(sent.url))
    page.goto(file.as_uri())
    return page, [each for each in asked if each != file.as_uri() and each[:5] != "data:"]


def test_an_exported_file_shows_the_conversation_and_asks_for_nothing(
    stage: Stage, tmp_path: Path
) -> None:
    picture = tmp_path / "a.png"
    picture.write_bytes(png(20, 20))
    link = "[x](javascript:window.hacked=3) ![i](http://evil.example/x.png)"
    stage.begin(("One?", "First answer."), (f"{HOSTILE} Two?", "Second answer."))
    stage.prompt(f'Link? [[say: "{link} is a link."]]')
    stage.see("is a link.")
    stage.idle()
    stage.page.set_input_files("#files", picture)
    stage.prompt("Three? [[say: Third answer.]]")
    stage.see("Third answer.")
    stage.idle()
    stage.command("/clear 1")
    stage.page.wait_for_selector("[data-fold]")
    with stage.page.expect_download() as saved:
        stage.page.click("header .btn[download]")
    file = tmp_path / "conversation.html"
    saved.value.save_as(file)
    page, asked = opened(stage, file)
    assert asked == []
    expect(page.locator(".md", has_text="Third answer.")).to_be_visible()
    expect(page.locator(".md", has_text="First answer.")).to_be_hidden()
    page.click("summary.div")
    expect(page.locator(".md", has_text="First answer.")).to_be_visible()
    expect(page.locator("body")).to_contain_text("<script>window.hacked=2</script>")
    image = page.locator(".shot img")
    assert image.evaluate("async (each) => { await each.decode(); return each.naturalWidth }") == 20
    assert page.evaluate("window.hacked") is None
    assert page.locator("button, script, [onclick], [onerror]").count() == 0
    assert violations(page) == []


def test_the_command_line_leaves_out_what_the_model_does_not_see(
    stage: Stage, tmp_path: Path
) -> None:
    stage.begin(("One?", "First answer."), ("Two?", "Second answer."))
    stage.command("/rename birds")
    stage.command("/clear 1")
    stage.page.wait_for_selector("[data-fold]")
    file = tmp_path / "seen.html"
    stage.server.run("export", stage.agent, "--html", "-o", str(file))
    text = file.read_text()
    assert "Second answer." in text
    assert "2 messages pruned" in text
    assert "First answer." not in text
    stage.server.run("export", stage.agent, "--html", "--everything", "-o", str(file))
    assert "First answer." in file.read_text()
