"""Makes docs/images/web.png: a conversation in the web page, in a real chromium.

Run it by `just web-picture`, and look at the picture before you commit it.
"""

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

import sapwood
from bench.served import ServedProcess
from sapwood.core.content import ToolCall
from tools.browser import NO_CHROMIUM, find_chromium

_PICTURE = Path(__file__).parents[2] / "docs" / "images" / "web.png"
_FAILED = """FAILED tests/auth/test_tokens.py::test_refresh_after_resume
E   assert token.expires_at > clock.now()
1 failed, 11 passed"""


def main() -> int:
    """Writes the picture."""
    chromium = find_chromium()
    if chromium is None:
        print(NO_CHROMIUM, file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder, ServedProcess(Path(folder)) as served:
        agent = _conversation(served.database)
        with sync_playwright() as player:
            browser = player.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            page = browser.new_context(viewport={"width": 1280, "height": 720}).new_page()
            page.goto(f"{served.address}/sign-in")
            page.fill("#token", served.token())
            page.click("button")
            page.wait_for_selector("#message")
            page.goto(f"{served.address}/c/{agent}?theme=dark")
            page.wait_for_selector("#link.ok")
            prompt = page.locator("#rows .said").nth(1)
            prompt.hover()
            prompt.locator("[data-cut]").click()
            page.wait_for_selector("#head:not([hidden])")
            page.wait_for_selector("#side .chap")
            page.screenshot(path=_PICTURE)
            browser.close()
    print(f"wrote {_PICTURE}")
    return 0


def _conversation(database: Path | str) -> str:
    long = "print('a line of the file')\n" * 900
    with sapwood.open_sync(database) as db:
        for name, model, words in (
            ("Idempotency keys", "codex:gpt-5", 4_000),
            ("Flaky ledger test", "claude-code:claude-sonnet-5-5", 11_000),
        ):
            other = db.start(name, model=model, folder="/code/payments-api")
            other.record("Why?", "Because of the clock. " * (words // 5))
        agent = db.start("OAuth for mobile", model="claude-sonnet-5-5", folder="/code/oauth")
        agent.record("Which flow for the mobile client?", f"PKCE.\n\n```\n{long}\n```")
        agent.record("How long do tokens live?", "Access 15 minutes, refresh 30 days.")
        agent.mark("RESUME_BUG")
        with agent.turn("What happens to the session on a resume?") as turn:
            turn.call()
            turn.reply("", calls=[ToolCall("0", "read_file", '{"path": "src/auth/session.py"}')])
            turn.result("0", long * 3)
            turn.call()
            turn.reply("The token is *refreshed*, then the session is read with it.")
        agent.record("Retry inside the storage?", "It would hide the race. Rather not.")
        with agent.turn("The session still drops. Fix it, and prove it with a test.") as turn:
            turn.call()
            turn.reply(
                "A **401** on refresh clears the storage before the retry can use it.",
                calls=[
                    ToolCall("1", "read_file", '{"path": "src/auth/tokens.py"}'),
                    ToolCall("2", "shell", '{"command": "just test tests/auth"}'),
                ],
            )
            turn.result("1", long)
            turn.result("2", _FAILED, error=True)
            turn.call()
            turn.reply("The expiry is compared with the wall clock. I freeze it in that test.")
        agent.clear(3)
        return agent.id


if __name__ == "__main__":
    sys.exit(main())
