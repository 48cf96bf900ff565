"""The judge: the program itself is asked in the background about its own session."""

import json
import re
import time
from collections.abc import Callable
from typing import Protocol

from proofs.agents_e2e.checks import Checks
from proofs.agents_e2e.home import Home
from proofs.agents_e2e.model import Seen, Sent
from scripted_model import ModelRequest, ScriptedModel

_TASK = "You judge a record of an agent's work."
_KEPT = "Use atlas tiles instead of vectors."
_DROPPED = "Let's go with the small office."
_CLEAR = "Tiles are used instead of vectors"
_TURNS = 20
_PATIENCE = 60.0
_LISTED = re.compile(r"^(\d+)\. \(turn \d+\) (.*)$", re.MULTILINE)


class Driver(Protocol):
    """The part of a driver that this needs."""

    name: str

    def open(self, *, again: bool = False) -> None: ...
    def ask(self, text: str) -> None: ...
    def close(self) -> None: ...
    def sessions(self) -> list[str]: ...
    @property
    def session(self) -> str: ...


def answer_as_judge(model: ScriptedModel) -> None:
    """Lets the scripted model answer the request of a judge; others go on as before."""

    def answer(request: ModelRequest) -> str | None:
        if _TASK not in request.prompt:
            return None
        sentences: list[dict[str, object]] = []
        for number, text in _LISTED.findall(request.prompt):
            if text == _DROPPED:
                sentences.append({"n": int(number), "kind": "neither"})
            elif text == _KEPT:
                sentences.append({"n": int(number), "kind": "decision", "text": _CLEAR})
        stretches = [{"n": number, "status": "other work"} for number in (1, 2, 3)]
        return json.dumps({"stretches": stretches, "sentences": sentences})

    model.script(answer)


def check_judge(driver: Driver, home: Home, seen: Seen, checks: Checks) -> None:
    """Runs a session of twenty turns, with the program as its judge."""
    done = home.sapwood("config", "set", "tending.judge", driver.name)
    checks.expect("the program itself is set as the judge", done.returncode == 0, done)
    seen.mark()
    driver.open()
    driver.ask(f"{_KEPT} [[usage: 5000]] [[say: Ok.]]")
    driver.ask(f"{_DROPPED} [[say: Ok.]]")
    for number in range(_TURNS - 2):
        driver.ask(f"Draw sheet {number} of the atlas. [[say: Drawn.]]")
    judged = _wait(lambda: bool(home.acts("judged")))
    checks.expect("after twenty turns the program judges its session", judged, home.acts())
    known = driver.sessions()
    _check_request(driver, seen, checks)
    _check_result(driver, home, checks)
    driver.close()
    home.sapwood("config", "set", "tending.judge", "off")
    checks.expect("the judge leaves no session", driver.sessions() == known, driver.sessions())
    runs = len(_requests(seen))
    checks.expect(
        "and does not trigger itself", runs in (1, 2), [each.text for each in seen.since()]
    )


def _check_request(driver: Driver, seen: Seen, checks: Checks) -> None:
    sent = (_requests(seen) or [Sent({})])[0]
    bare = not sent.names_tool("Bash", "exec_command", "context")
    checks.expect("the judge gets no tool that acts", bare, sent.text)
    checks.expect(
        "and the sentences that the user typed", sent.contains(_TASK, _KEPT, _DROPPED), sent.text
    )


def _check_result(driver: Driver, home: Home, checks: Checks) -> None:
    message = next((act.message for act in home.acts("judged")), "")
    checks.expect("the journal tells what was judged, and its tokens", "tokens" in message, message)
    shown = home.sapwood("context", "ledger", "--session", driver.session, "--json")
    decisions = json.loads(shown.stdout or "{}").get("decisions", [])
    found = {each["text"]: each["source"] for each in decisions}
    checks.expect("a judged decision is marked", found.get(_CLEAR) == "judged", shown)
    checks.expect("what the judge dropped is gone", _DROPPED not in found, shown)


def _requests(seen: Seen) -> list[Sent]:
    return [each for each in seen.since() if each.contains(_TASK)]


def _wait(holds: Callable[[], bool]) -> bool:
    until = time.monotonic() + _PATIENCE
    while not holds():
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True
