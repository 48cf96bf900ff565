"""A conversation that Sapwood holds in one program, as a user does: by its command line.

After every act a short prompt is sent. The request that the model then got must have exactly the
turns that are expected, and so must our own view. Every file of the program must begin with what it
had before.
"""

import itertools
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, cast  # requests and rows are JSON

from proofs.agents_e2e.environment import ProofError
from proofs.agents_e2e.home import Home
from proofs.providers_e2e.act_checks import ActChecks
from proofs.providers_e2e.sent_history import history_in, view_of, words
from sapwood.programs.opencode.session_database import NAME, events_of, sessions_in
from scripted_model import ScriptedModel

_SECONDS = 300.0
_OTHERS = itertools.count(1)
"""Each conversation next to the first one numbers its probes from another hundred on."""
_TOOLS = {
    "claude-code": 'Bash {{"command":"{}"}}',
    "codex": 'exec_command {{"cmd":"{}"}}',
    "opencode": 'bash {{"command":"{}","description":"try"}}',
    "pi": 'bash {{"command":"{}"}}',
}


def whole(*turns: str) -> list[str]:
    """The short form of turns with a tool call; a probe has none and is only asked and answered."""
    found: list[str] = []
    for name in turns:
        number = name.removeprefix("TURN").removeprefix("PROBE")
        calls = [f"call result-{number}", f"result-{number}"] if name.startswith("TURN") else []
        found += [name, *calls, f"ANSWER{number}"]
    return found


def turn(program: str, name: str, *, before: str = "") -> str:
    """The prompt of a turn that runs a command and answers."""
    number = name.removeprefix("TURN")
    call = _TOOLS[program].format(f"echo result-{number}")
    return f"{name} [[think: hm]] [[tool: {call}]] {before}[[say: ANSWER{number}]]"


class Conversation:
    """One agent of Sapwood, whose turns a program runs."""

    def __init__(
        self, home: Home, model: ScriptedModel, checks: ActChecks, program: str, name: str = "demo"
    ) -> None:
        self.home = home
        self.model = model
        self.checks = checks
        self.program = program
        self.name = name
        self.path: list[str] = []
        """The names of the turns that must be in view, in order."""
        self._probes = 100
        self._files: dict[Path, bytes] = {}

    # Acts

    def sapwood(self, *args: str, script: str = "", codes: tuple[int, ...] = (0,)) -> str:
        """Runs Sapwood's command; returns what it printed."""
        ran = subprocess.run(
            [sys.executable, "-m", "sapwood.cli", *args],
            cwd=self.home.project,
            env=self.home.environ,
            input=script,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        if ran.returncode not in codes:
            told = (ran.stdout + ran.stderr)[-1_500:]
            raise ProofError(f"`sapwood {' '.join(args)}` returned {ran.returncode}: {told}")
        return ran.stdout + ran.stderr

    def start(self, lines: Iterable[str]) -> str:
        """Starts the conversation with a script: texts, and commands between them."""
        options = ("--with", self.program, "--agent", self.name, "--new")
        return self.sapwood(
            "run", *options, "--permission-mode", "all", script="\n".join(lines) + "\n"
        )

    def say(self, *lines: str) -> str:
        """Goes on with a script, in one process."""
        return self.sapwood("run", "--agent", self.name, script="\n".join(lines) + "\n")

    def do(self, *commands: str) -> str:
        """Runs slash commands while the program is not running."""
        return self.sapwood("do", self.name, *commands)

    def probe(self) -> str:
        """The prompt of the next probe. The caller sends it."""
        self._probes += 1
        self.path.append(f"PROBE{self._probes}")
        return f"{self.path[-1]} [[say: ANSWER{self._probes}]]"

    # What the model got

    def requests(self, name: str) -> list[dict[str, Any]]:
        """The requests whose newest turn has this name."""
        found: list[dict[str, Any]] = []
        for each in self.model.requests:
            body = cast("dict[str, Any]", each.body or {})
            if "messages" in body or "input" in body:
                asked = [word for word in words(history_in(body)) if word.startswith(_PROMPTS)]
                if asked[-1:] == [name]:
                    found.append(body)
        return found

    def request(self, name: str, *, last: bool = True) -> dict[str, Any]:
        """The last (or first) request whose newest turn has this name."""
        found = self.requests(name)
        if not found:
            raise ProofError(f"the model got no request that ends with {name}")
        return found[-1 if last else 0]

    def history_before(self, name: str) -> list[dict[str, Any]]:
        """The history that was sent in front of the prompt of this turn."""
        history = history_in(self.request(name, last=False))
        return history[:-1]

    def expect_request(self, act: str, path: list[str]) -> None:
        """Checks that the request of the last turn of a path has exactly the path."""
        wanted = [*whole(*path[:-1]), path[-1]]
        got = words(history_in(self.request(path[-1], last=False)))
        self.checks.expect(f"{act}: the request has exactly {_shown(path)}", got == wanted, got)

    def expect_path(self, act: str, path: list[str] | None = None) -> None:
        """Checks the request of the last probe, our view, and the files of the program."""
        path = self.path if path is None else path
        self.expect_request(act, path)
        view = view_of(json.loads(self.sapwood("show", self.name, "--json")))
        self.checks.expect(f"{act}: our view is the same", view == whole(*path), view)
        self.expect_files(act)

    def expect_same_history(self, act: str, first: str, second: str) -> None:
        """Checks that the history in front of one turn begins with that in front of another."""
        before = self.history_before(first)
        same = self.history_before(second)[: len(before)] == before
        self.checks.expect(f"{act}: the history is identical, part for part", same)

    def expect_files(self, act: str) -> None:
        """Checks that every file of the program begins with what it had at the last check."""
        changed = self.changed_files()
        self.checks.expect(f"{act}: the files were only appended to", not changed, changed)

    def changed_files(self) -> list[str]:
        """The files of the program that do not begin with what they had at the last look."""
        before, self._files = self._files, self.files()
        return [
            str(path)
            for path, content in before.items()
            if not self._files.get(path, b"").startswith(content)
        ]

    # What there is

    def files(self) -> dict[Path, bytes]:
        """Every session file of the programs, and its content.

        That of a session in a database is its log of events.
        """
        home = self.home
        places = (home.claude / "projects", home.codex / "sessions", home.pi / "sessions")
        paths = [path for place in places for path in place.rglob("*.jsonl")]
        base = home.opencode / NAME
        logs = {
            base / each.id: b"\n".join(event.row for event in events_of(base, each.id))
            for each in (sessions_in(base) if base.exists() else ())
        }
        return {path: path.read_bytes() for path in paths} | logs

    def events(self, *kinds: str) -> list[dict[str, Any]]:
        """The agent's events of these kinds."""
        options = [word for kind in kinds for word in ("--kind", kind)]
        printed = self.sapwood("log", self.name, "--json", *options)
        return [json.loads(line) for line in printed.splitlines()]

    def sessions(self) -> list[str]:
        """The ids of the program's sessions that the agent has had, in order."""
        found = [event["data"]["session"]["id"] for event in self.events("session.assumed")]
        return list(dict.fromkeys(found))

    def is_open(self) -> bool:
        """Whether the last turn has not ended."""
        kinds = ("turn.started", "turn.completed", "turn.failed", "turn.interrupted")
        return self.events(*kinds)[-1]["kind"] == "turn.started"

    def number_of(self, name: str) -> int:
        """The number of a turn: turns count in the order in which they were started."""
        turns = self.events("turn.started", "turn.recorded")
        for number, event in enumerate(turns, 1):
            if f'"{name} ' in json.dumps(event["data"]):
                return number
        raise ProofError(f"{self.name} has no turn {name}")

    def other(self, name: str, path: list[str], program: str = "") -> "Conversation":
        """Another agent of the same home, which has this path."""
        program = program or self.program
        found = Conversation(self.home, self.model, self.checks, program, name)
        found.path = list(path)
        found._probes = self._probes + 100 * next(_OTHERS)
        return found


_PROMPTS = ("TURN", "PROBE")


def _shown(path: list[str]) -> str:
    return " ".join(name.removeprefix("TURN") for name in path)


def until(holds: Callable[[], bool], what: str, seconds: float = 60.0) -> None:
    """Waits for a condition."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise ProofError(f"waited {seconds:g} s for {what}")
        time.sleep(0.02)
