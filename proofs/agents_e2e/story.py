"""The steps for both programs: install, fill, compact, resume, clear, uninstall."""

import time
from collections.abc import Callable
from typing import Protocol

from proofs.agents_e2e.checks import Checks
from proofs.agents_e2e.home import Home
from proofs.agents_e2e.judged import check_judge
from proofs.agents_e2e.model import Seen
from proofs.agents_e2e.replayed import check_replay

RESUMPTION = "## Session Resumption"
NOTE = "Herons are counted in March only"
GOAL = "Finish the atlas of nests"
_PATIENCE = 20.0


class Driver(Protocol):
    """Drives one program through the steps."""

    name: str

    def connected(self) -> bool:
        """Whether the program reports that it has loaded the plugin."""
        ...

    def open(self, *, again: bool = False) -> None:
        """Starts the program: with a new session, or again with the one before."""
        ...

    def ask(self, text: str) -> None:
        """Runs one turn."""
        ...

    def compact(self) -> None:
        """Compacts by hand."""
        ...

    def clear(self) -> None:
        """Starts a new conversation within the program."""
        ...

    def close(self) -> None:
        """Ends the program."""
        ...

    def shows_status(self) -> bool | None:
        """Whether the status line is on the screen; None for a program that has none."""
        ...

    def writes(self, path: str, text: str) -> str:
        """The model's script for a call that writes a file."""
        ...

    def runs(self, command: str) -> str:
        """The model's script for a call that runs a command."""
        ...

    def delegates(self, task: str) -> str:
        """The model's script for a call that starts a subagent."""
        ...

    def looks(self) -> str:
        """The model's script for a call of the MCP tool `context` with the action `estimate`."""
        ...

    def notes(self, kind: str, text: str) -> str:
        """The model's script for a call of the MCP tool `context` with the action `note`."""
        ...

    def sessions(self) -> list[str]:
        """The sessions that the program has stored."""
        ...

    @property
    def session(self) -> str:
        """The id of the session that was opened last."""
        ...


def run_story(driver: Driver, home: Home, seen: Seen, checks: Checks) -> None:
    """Runs all steps and counts the checks."""
    settings = home.claude / "settings.json" if driver.name == "claude-code" else None
    settings = settings or home.codex / "config.toml"
    own = settings.read_bytes()
    _come_and_go(driver, home, checks)
    _connect(driver, home, checks)
    driver.open()
    _grow(driver, home, seen, checks)
    _note(driver, home, seen, checks)
    _compact_by_hand(driver, home, seen, checks)
    _delegate(driver, home, seen, checks)
    _look(driver, seen, checks)
    driver.close()
    _resume(driver, seen, checks)
    _clear(driver, home, seen, checks)
    driver.close()
    if (shown := driver.shows_status()) is not None:
        checks.expect("the status line is on the screen, with its figures", shown)
    _account(driver, home, checks)
    if driver.name == "claude-code":
        check_replay(home, seen, checks)
    check_judge(driver, home, seen, checks)
    home.sapwood("uninstall", driver.name, "--yes")
    checks.expect(
        "uninstalled: the settings are byte for byte as they were", settings.read_bytes() == own
    )
    checks.expect("uninstalled: no file of ours is left", not home.traces(), home.traces())


def _come_and_go(driver: Driver, home: Home, checks: Checks) -> None:
    before = home.snapshot(home.root)
    shown = home.sapwood("install", driver.name, "--dry-run")
    checks.expect(
        "a dry run shows the change and makes none",
        shown.stdout and home.snapshot(home.root) == before,
        shown,
    )
    home.sapwood("install", driver.name, "--yes")
    home.sapwood("uninstall", driver.name, "--yes")
    after = {
        path: sum_ for path, sum_ in home.snapshot(home.root).items() if not path.startswith("data")
    }
    checks.expect(
        "installed and uninstalled: every file and folder is as it was",
        after == before,
        after.items() ^ before.items(),
    )


def _connect(driver: Driver, home: Home, checks: Checks) -> None:
    done = home.sapwood("install", driver.name, "--yes")
    checks.expect("sapwood install connects it", done.returncode == 0, done)
    checks.expect("the program reports that the plugin is loaded", driver.connected())


def _grow(driver: Driver, home: Home, seen: Seen, checks: Checks) -> None:
    driver.ask(
        "Map the heron nests. [[usage: 20000]] "
        f"{driver.writes('nests.md', 'alder, poplar')} "
        "[[say: We decided to store nests as GeoJSON, because herons move.]]"
    )
    driver.ask("Which trees do herons like? [[usage: 45000]] [[say: Tall alders by the water.]]")
    checks.expect("a window with free space causes no warning", not home.acts("warned"))
    seen.mark()
    driver.ask(
        f"And now count them. [[usage: 95000]] {driver.runs('echo counted')} [[say: Seven.]]"
    )
    checks.expect("a full window warns before it compacts", home.acts("warned"))
    checks.expect(
        "the model is warned with figures", seen.contains("Context at ", "/compact now frees ~")
    )
    checks.expect(
        "it compacts automatically, and an archive exists",
        _is_archived(home, "(auto)"),
        home.acts(),
    )
    archive = home.archives()[-1] if home.archives() else ""
    for words in ("Map the heron nests.", "GeoJSON", "Tall alders by the water."):
        checks.expect(f"the archive contains the earlier text: {words}", words in archive, archive)
    sent = seen.last()
    back = sent.contains(RESUMPTION, "Map the heron nests.")
    checks.expect("the next request holds the resumption prompt", back, sent.text)
    checks.expect(
        "with the file that was written", sent.contains(RESUMPTION, "nests.md"), sent.text
    )


def _note(driver: Driver, home: Home, seen: Seen, checks: Checks) -> None:
    """The agent notes something; its place in the recap is checked after the next compaction."""
    seen.mark()
    driver.ask(
        f"Keep that. [[usage: 5000]] {driver.notes('decision', NOTE)} "
        f"{driver.notes('goal', GOAL)} [[say: Kept.]]"
    )
    sent = seen.last("Keep that.")
    result = (sent.results() or [""])[-1]
    checks.expect("the agent notes a decision and a goal", NOTE in result and GOAL in result, sent)
    listed = home.sapwood("context", "note", "--session", driver.session).stdout
    checks.expect("sapwood lists the notes of the agent", NOTE in listed, listed)


def _compact_by_hand(driver: Driver, home: Home, seen: Seen, checks: Checks) -> None:
    driver.ask("Do storks nest here? [[usage: 6000]] [[say: On the church roof.]]")
    driver.compact()
    checks.expect("a compaction by hand is archived", _is_archived(home, "(manual)"), home.acts())
    checks.expect(
        "with the turns since then", any("On the church roof." in each for each in home.archives())
    )
    seen.mark()
    driver.ask("Go on. [[usage: 7000]] [[say: Going on.]]")
    sent = seen.last("Go on.")
    back = sent.contains(RESUMPTION, "Do storks nest here?")
    checks.expect("the next request holds the resumption prompt", back, sent.text)
    noted = sent.contains(RESUMPTION, f"- Decision: {NOTE}", f"Previous work on: {GOAL}")
    checks.expect("with what the agent noted, the goal as its title", noted, sent.text)
    first = sent.text.rfind(f"- Decision: {NOTE}") < sent.text.rfind("GeoJSON")
    checks.expect("a noted decision stands above those that rules found", first, sent.text)
    asked = sent.contains(RESUMPTION, "action `note`")
    checks.expect("the recap asks for notes", asked, sent.text)


def _delegate(driver: Driver, home: Home, seen: Seen, checks: Checks) -> None:
    seen.mark()
    task = "Look for grebes. [[say: Two grebes on the pond.]]"
    driver.ask(f"Ask somebody. [[usage: 8000]] {driver.delegates(task)} [[say: Asked.]]")
    checks.expect(
        "a subagent's work is archived",
        _wait(lambda: _is_archived(home, "A subagent ended")),
        home.acts(),
    )
    checks.expect(
        "with its words", any("Two grebes on the pond." in each for each in home.archives())
    )
    sent = seen.last("Look for grebes.")
    knows = sent.contains(RESUMPTION, "Map the heron nests.")
    checks.expect("a subagent knows the goal of the session", knows, sent.text)


def _look(driver: Driver, seen: Seen, checks: Checks) -> None:
    seen.mark()
    driver.ask(f"How full is it? [[usage: 9000]] {driver.looks()} [[say: I see.]]")
    sent = seen.last("How full is it?")
    result = (sent.results() or [""])[-1]
    answers = "k of " in result and "tokens" in result
    checks.expect("the MCP tool `context` answers the agent", answers, result or sent.text)


def _resume(driver: Driver, seen: Seen, checks: Checks) -> None:
    seen.mark()
    driver.open(again=True)
    driver.ask("Here again. [[usage: 9000]] [[say: Welcome back.]]")
    sent = seen.last("Here again.")
    told = seen.contains(RESUMPTION, "How full is it?")
    checks.expect("a resumed session, whose history is in view, gets no recap", not told, sent.text)


def _clear(driver: Driver, home: Home, seen: Seen, checks: Checks) -> None:
    driver.clear()
    seen.mark()
    driver.ask("A new page. [[usage: 5000]] [[say: Yes.]]")
    checks.expect("a clear is archived", _is_archived(home, "Before a clear"), home.acts())
    sent = seen.last("A new page.")
    told = sent.contains(RESUMPTION, "Here again.")
    checks.expect("a cleared session gets no recap of what was cleared", not told, sent.text)


def _account(driver: Driver, home: Home, checks: Checks) -> None:
    found = _wait(lambda: "alders" in home.sapwood("search", "alders", "water").stdout)
    checks.expect("sapwood search finds the imported text", found)
    checks.expect("no hook failed", not home.acts("failed"), home.acts("failed"))
    journal = home.sapwood("journal", "--json")
    checks.expect(
        "sapwood journal lists the resumption", '"did":"resumed"' in journal.stdout, journal
    )
    doctor = home.sapwood("doctor", "--offline").stdout
    checks.expect("sapwood doctor reports the connection", "connected (plugin" in doctor, doctor)
    checks.expect(
        "and that its hooks ran", f"{driver.name} hooks" in doctor and " ran " in doctor, doctor
    )


def _is_archived(home: Home, words: str) -> bool:
    return any(words in act.message for act in home.acts("archived"))


def _wait(holds: Callable[[], bool]) -> bool:
    until = time.monotonic() + _PATIENCE
    while not holds():
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True
