"""The six ways in. Each ends with an answer, or with a change and its undo, on the screen."""

import re
from pathlib import Path

from playwright.sync_api import expect, sync_playwright

from proofs.agents_e2e.model import Seen
from proofs.first_minute.newcomer import Newcomer
from proofs.tui_tmux.terminal import Failed
from scripted_model import ModelRequest, ReplyLike, ScriptedModel
from tools.browser import NO_CHROMIUM, find_chromium
from tools.markdown_pages import blocks_of

_README = Path(__file__).resolve().parents[2] / "README.md"
_HERONS, _STORKS, _ROBINS, _OWLS = (
    "Where do herons nest?",
    "And storks?",
    "And robins?",
    "And owls?",
)
_SIX = "What is 6 x 7?"
_ANSWERS = {
    _HERONS: "In tall trees.",
    _STORKS: "On roofs.",
    _ROBINS: "In hedges.",
    _OWLS: "In barns.",
    _SIX: "It is 42.",
}


def answer(asked: ModelRequest) -> ReplyLike | None:
    """What the scripted model answers: no prompt contains its answer, which the screen shows."""
    prompt = asked.prompt.rstrip()
    return next((words for asks, words in _ANSWERS.items() if prompt.endswith(asks)), None)


def terminal(user: Newcomer, model: ScriptedModel) -> None:
    """Choose a model, paste a key, get an answer; clear it from view and undo that."""
    user.send_models_to(model.anthropic_url)
    user.types("sapwood")
    user.sees("Welcome to Sapwood", "claude-sonnet-5-5")
    user.presses("Enter")
    user.sees("Paste your API key for Anthropic")
    user.types("sk-a-key-for-tests")
    user.sees("sends what you type")
    user.types(_HERONS)
    user.sees("In tall trees.")
    user.terminal.misses("working")
    user.types("/clear")
    user.sees("pruned")
    user.types("/undo")
    user.sees("Undone", "In tall trees.")


def script(user: Newcomer, model: ScriptedModel) -> None:
    """Each error names the next command; the third try prints the answer. Tab completes."""
    user.send_models_to(model.anthropic_url)
    ask = f'sapwood run -p "{_SIX}"'
    user.runs(ask, "No model is set. Type: sapwood config set model claude-sonnet-5-5", code=3)
    user.runs("sapwood config set model claude-sonnet-5-5", "model = claude-sonnet-5-5")
    user.runs(ask, "There is no API key", "sapwood config key anthropic", code=3)
    user.runs("echo sk-a-key-for-tests | sapwood config key anthropic", "Stored in")
    user.runs(ask, "It is 42.")
    user.runs('eval "$(sapwood completion bash)"')
    user.terminal.type("sapwood cont", enter=False)
    user.presses("Tab", "Tab")
    user.sees("context", "continue")
    user.presses("C-c")


def claude_code(user: Newcomer, model: ScriptedModel) -> None:
    """A session that was just closed: what fills it, a trim, its undo, and the plugin."""
    first = f"claude -p '{_HERONS}'"
    _tend(user, model, "claude-code", first, "claude -p --continue")


def codex(user: Newcomer, model: ScriptedModel) -> None:
    """A thread that was just closed: what fills it, a trim, its undo, and the hooks."""
    first = f"codex exec --skip-git-repo-check '{_HERONS}'"
    _tend(user, model, "codex", first, "codex exec --skip-git-repo-check resume --last")


def _tend(user: Newcomer, model: ScriptedModel, name: str, first: str, again: str) -> None:
    seen = Seen(model)
    user.runs(first, "In tall trees.")
    user.runs(f"{again} '{_STORKS}'", "On roofs.")
    user.runs("sapwood context", name, "tokens")
    user.runs("sapwood clear 1", "Kept the last turn", "1 turn removed from view", "To continue")
    seen.mark()
    user.runs(f"{again} '{_ROBINS}'", "In hedges.")
    if seen.last(_ROBINS).contains("herons") or not seen.contains("storks"):
        raise Failed(f"after the trim the model got: {seen.last(_ROBINS).text[-2_000:]}")
    user.runs("sapwood undo", "1 turn back in view")
    seen.mark()
    user.runs(f"{again} '{_OWLS}'", "In barns.")
    if not seen.last(_OWLS).contains("herons"):
        raise Failed(f"after the undo the model got: {seen.last(_OWLS).text[-2_000:]}")
    user.runs(f"sapwood install {name} --yes", "")
    user.runs("sapwood doctor --offline | grep connected", f"{name}")
    user.runs(f"sapwood uninstall {name} --yes", "")


def page(user: Newcomer, model: ScriptedModel) -> None:
    """Open the printed address, paste a key there, get an answer, clear it and undo that."""
    chromium = find_chromium()
    if chromium is None:
        raise Failed(NO_CHROMIUM)
    user.send_models_to(model.anthropic_url)
    user.types("sapwood serve --port 0")
    user.sees("Serving on", "token=")
    found = re.search(r"http://\S+token=\S+", user.terminal.everything("-J"))
    if found is None:
        raise Failed("`sapwood serve` printed no address to open")
    with sync_playwright() as player:
        browser = player.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        try:
            shown = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
            shown.goto(found[0])
            shown.fill("#key-anthropic", "sk-a-key-for-tests")
            shown.press("#key-anthropic", "Enter")
            for text in (_HERONS, _STORKS):
                shown.fill("#message", text)
                shown.press("#message", "Enter")
                reply = shown.locator("#rows .md", has_text=_ANSWERS[text])
                expect(reply.last).to_be_visible(timeout=60_000)
                expect(shown.locator("#interrupt")).to_be_hidden(timeout=60_000)
            shown.fill("#message", "/clear 1")
            shown.press("#message", "Enter")
            expect(shown.locator("[data-fold]")).to_contain_text("pruned", timeout=60_000)
            shown.click(".foldbox .acts button")
            expect(shown.locator("[data-fold]")).to_have_count(0, timeout=60_000)
        except AssertionError as error:
            raise Failed(str(error)) from error
        finally:
            browser.close()
    user.presses("C-c")
    user.sees("newcomer$")


def library(user: Newcomer, _: ScriptedModel) -> None:
    """The first example of the README prints what the README says."""
    blocks = blocks_of(_README)
    at = next(number for number, block in enumerate(blocks) if block.language == "python")
    (user.project / "demo.py").write_text(blocks[at].body, encoding="utf-8")
    user.runs("python demo.py", *blocks[at + 1].body.splitlines())
