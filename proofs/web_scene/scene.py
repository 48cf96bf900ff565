"""The scene: what a person does in the page, and what the model then got from the program."""

from pathlib import Path

from playwright.sync_api import Page, expect

from proofs.agents_e2e.environment import ProofError
from proofs.providers_e2e.conversation import Conversation, turn
from proofs.web_scene.served_home import ServedHome

_NAMES = {"claude-code": "Claude Code", "codex": "Codex"}


class Scene:
    """One conversation that is held in the page and run by a program."""

    def __init__(
        self, page: Page, served: ServedHome, talk: Conversation, pictures: Path | None
    ) -> None:
        self._page = page
        self._served = served
        self._talk = talk
        self._pictures = pictures
        self._errors: list[str] = []
        self._foreign: list[str] = []
        page.on("pageerror", lambda error: self._errors.append(str(error)))
        page.on("request", lambda sent: self._note_request(sent.url))

    def play(self) -> None:
        """From the first visit to a trimmed conversation, and back again."""
        try:
            self._sign_in()
            self._begin()
            self._three_turns()
            self._trim()
            self._undo()
            self._rewind_by_click()
            self._look_at_the_list()
        except (AssertionError, ProofError) as error:
            self._picture("failed")
            self._talk.checks.expect("the scene runs to its end", False, error)
        self._talk.checks.expect("the page had no error", not self._errors, self._errors)
        self._talk.checks.expect("no request left the server", not self._foreign, self._foreign)

    def _sign_in(self) -> None:
        self._page.goto(self._served.entrance)
        self._page.get_by_role("button", name=f"Use {_NAMES[self._talk.program]}").click()
        expect(self._page.locator(".welcome")).to_be_visible()

    def _begin(self) -> None:
        """The program is chosen in the composer. Its first command asks for approval."""
        self._type(f"/model {self._talk.program}")
        self._page.wait_for_url("**/c/*")
        self._talk.name = self._page.url.rpartition("/c/")[2].partition("?")[0]
        expect(self._page.locator("#link")).to_contain_text("live", timeout=60_000)

    def _three_turns(self) -> None:
        self._type(turn(self._talk.program, "TURN1").replace("echo", "touch asked; echo"))
        dialog = self._page.locator("#ask[open]")
        expect(dialog).to_contain_text("touch asked; echo result-1", timeout=60_000)
        self._saw("the program's command waits for approval, with its exact text")
        self._picture("approval")
        self._page.keyboard.press("y")
        self._answered("ANSWER1")
        expect(self._page.locator("#rows details.tool", has_text="echo result-1")).to_have_count(1)
        ran = (self._talk.home.project / "asked").exists()
        self._talk.checks.expect("the approved command ran, and its row is in the timeline", ran)
        self._type("/permissions all")
        for number in (2, 3):
            self._type(turn(self._talk.program, f"TURN{number}"))
            self._answered(f"ANSWER{number}")
        self._talk.path = ["TURN1", "TURN2", "TURN3"]

    def _trim(self) -> None:
        self._type("/clear 1")
        fold = self._page.locator("[data-fold]")
        expect(fold).to_contain_text("messages pruned", timeout=60_000)
        self._saw("a divider stands where the context begins")
        self._talk.path = ["TURN3"]
        self._probe("a trim in the middle")
        self._picture("trimmed")
        fold.click()
        expect(self._page.locator(".inside .md", has_text="ANSWER1")).to_have_count(1)
        self._saw("the pruned turns open below the divider")
        fold.click()

    def _undo(self) -> None:
        after = self._talk.path[1:]
        self._page.click(".foldbox .acts button")
        expect(self._page.locator("[data-fold]")).to_have_count(0, timeout=60_000)
        self._talk.path = ["TURN1", "TURN2", "TURN3", *after]
        self._probe("the divider's undo")

    def _rewind_by_click(self) -> None:
        row = self._page.locator("#rows .said", has_text="TURN2")
        row.hover()
        row.locator(".turn-menu summary").click()
        row.locator("[data-run^='/rewind']").click()
        expect(self._page.locator("[data-fold]")).to_contain_text("messages pruned", timeout=60_000)
        self._talk.path = ["TURN1"]
        self._probe("a rewind by click")
        self._picture("rewound")

    def _look_at_the_list(self) -> None:
        entry = self._page.locator("#list [aria-current=page]")
        expect(entry).to_contain_text(_NAMES[self._talk.program], timeout=60_000)
        self._saw("the list says which program runs the conversation")

    # Parts

    def _type(self, text: str) -> None:
        self._page.fill("#message", text)
        self._page.press("#message", "Enter")
        expect(self._page.locator("#message")).to_have_value("", timeout=60_000)

    def _answered(self, words: str) -> None:
        reply = self._page.locator("#rows .md", has_text=words)
        expect(reply).to_have_count(1, timeout=60_000)
        expect(self._page.locator("#interrupt")).to_be_hidden(timeout=60_000)

    def _probe(self, act: str) -> None:
        """Sends a short prompt and checks the request that the model got for it."""
        prompt = self._talk.probe()
        self._type(prompt)
        self._answered(self._talk.path[-1].replace("PROBE", "ANSWER"))
        self._talk.expect_path(act)

    def _saw(self, what: str) -> None:
        self._talk.checks.expect(what, True)

    def _picture(self, name: str) -> None:
        if self._pictures is not None:
            self._pictures.mkdir(parents=True, exist_ok=True)
            self._page.screenshot(path=self._pictures / f"{self._talk.program}-{name}.png")

    def _note_request(self, address: str) -> None:
        if not address.startswith((self._served.address, "data:")):
            self._foreign.append(address)
