"""Hostile content in every field of a conversation, rendered in a real browser: no script runs."""

from pathlib import Path

import msgspec
from playwright.sync_api import sync_playwright

import sapwood
from proofs.attack_web.raw_http import Target
from sapwood.core.content import ToolCall
from tools.browser import NO_CHROMIUM, find_chromium

PAYLOADS = (
    "<script>hacked=1</script>",
    '<img src=x onerror="hacked=1">',
    '"><svg onload=hacked=1>',
    "' onmouseover='hacked=1",
    "[x](javascript:hacked=1)",
    "![x](http://evil.example/x.png)",
    "<style>*{background:url(http://evil.example/x)}</style>",
    "</textarea></article><iframe src=javascript:hacked=1>",
    "`</code><script>hacked=1</script>`",
    "```html\n</code></pre><script>hacked=1</script>\n```",
    "\u202e\u200b\x1b[31m<b>",
    "{{constructor.constructor('hacked=1')()}}",
)


def write_hostile_conversation(database: str | Path) -> str:
    """An agent with every payload in every field that a user, a model or a tool can write."""
    everything = "\n\n".join(PAYLOADS)
    with sapwood.open_sync(database) as db:
        agent = db.start(
            PAYLOADS[1], model='x"><script>hacked=1</script>', folder=f"/{PAYLOADS[2]}", cap=0
        )
        agent.record(everything, everything)
        for payload in PAYLOADS:
            with agent.turn(payload) as turn:
                turn.call()
                args = msgspec.json.encode({"path": payload, payload: payload}).decode()
                turn.reply(payload, calls=[ToolCall("c", "tool", args)])
                turn.result("c", payload, error=True)
                turn.call()
                turn.reply(payload)
        agent.pin("p", everything)
        agent.fork(goal=PAYLOADS[0], name=PAYLOADS[1])
        agent.clear(3)
        return agent.id


def hostile_content(target: Target) -> None:
    """Hostile content in every field, on every view of the page."""
    chromium = find_chromium()
    assert chromium, NO_CHROMIUM
    foreign: list[str] = []
    with sync_playwright() as player:
        browser = player.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        context = browser.new_context()
        context.add_cookies(
            [
                {
                    "name": "sapwood_session",
                    "value": target.cookie,
                    "url": f"http://127.0.0.1:{target.port}",
                }
            ]
        )
        page = context.new_page()
        own = f"http://127.0.0.1:{target.port}"
        page.on(
            "request",
            lambda sent: foreign.append(sent.url) if not sent.url.startswith(own) else None,
        )
        for view in ("timeline", "context", "calls"):
            page.goto(f"{own}/c/{target.agent}?view={view}")
            page.wait_for_selector("#link.ok")
            for each in page.locator("summary").all():
                each.click(timeout=5_000, force=True) if each.is_visible() else None
            if view == "timeline":
                page.locator("[data-fold]").first.click()
                page.wait_for_selector(".inside article")
                page.click("#find")
                page.fill("#words", "hacked")
                page.wait_for_selector("#hits li, #hits p")
                page.keyboard.press("Escape")
            assert page.evaluate("() => window.hacked") is None, view
            strange = page.evaluate(
                "() => document.querySelectorAll('main iframe, main img, main script, main style,"
                " nav script, nav img, aside script, [onerror], [onload], [onmouseover]').length"
            )
            assert strange == 0, (view, strange)
        browser.close()
    assert foreign == [], foreign
