"""Rounds on one conversation: turns and context commands, a SIGKILL at a random moment, a look.

After each round nothing may be lost or doubled: the next request has exactly the turns of our view,
each once; every turn that was acknowledged before is in the program's own files, and its answer is
in the request if it is in view; no tool ran twice; and the files were only appended to.
"""

import json
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress

from proofs.agents_e2e.environment import ProofError
from proofs.providers_e2e.conversation import Conversation, turn
from proofs.providers_e2e.processes import kill_program
from proofs.providers_e2e.sent_history import history_in, view_of, words

_COMMANDS = (
    ("/clear 1",),
    ("/clear 2",),
    ("/clear 1", "/undo"),
    ("/clear 1", "/undo", "/redo"),
    ("/mark HERE", "PROMPT", "/rewind HERE"),
)
"""Commands after a turn; none of them is refused."""
_VICTIMS = ("sapwood", "program", "both")
_GOES_ON = (0, 1, 7)
"""Finished; nothing to go on with; ended where the program was stopped."""


class KillRounds:
    """The rounds with one program, and what was found."""

    def __init__(self, talk: Conversation, chance: random.Random) -> None:
        self._talk = talk
        self._chance = chance
        self._number = 0
        self._seconds = 3.0
        self._reported: set[str] = set()
        self.kills: Counter[str] = Counter()
        self.moments: Counter[str] = Counter()
        self.faults: list[str] = []
        self.acknowledged = 0
        self.missed = 0

    def begin(self) -> None:
        """Makes the conversation, and measures how long a round takes."""
        self._talk.start([self._turn(), "/mark START", self._turn(), "/mark M2"])
        started = time.monotonic()
        self._talk.say(self._turn(), "/clear 2", self._turn())
        self._seconds = time.monotonic() - started

    def round(self) -> None:
        """One round: a script, a kill, a look."""
        talk, chance = self._talk, self._chance
        commands = chance.choice(_COMMANDS)
        lines = [self._turn()]
        lines += [self._turn() if line == "PROMPT" else line for line in commands]
        lines.append(self._turn())
        requests = len(talk.model.requests)
        running = subprocess.Popen(
            [sys.executable, "-m", "sapwood.cli", "run", "--agent", talk.name],
            cwd=talk.home.project,
            env=talk.home.environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        assert running.stdin is not None
        running.stdin.write(("\n".join(lines) + "\n").encode())
        running.stdin.close()
        self._wait(running, chance.uniform(0.05, 1.0) * self._seconds)
        self._kill(running, chance.choice(_VICTIMS))
        running.wait(60)
        self.moments["before a request" if len(talk.model.requests) == requests else "after"] += 1
        self._look()

    def _wait(self, running: "subprocess.Popen[bytes]", seconds: float) -> None:
        """Waits this long. If the script ends sooner, rounds are shorter than was measured."""
        started = time.monotonic()
        with suppress(subprocess.TimeoutExpired):
            running.wait(seconds)
            self._seconds = (self._seconds + time.monotonic() - started) / 2

    def _kill(self, running: "subprocess.Popen[bytes]", victim: str) -> None:
        killed = 0
        if victim in ("sapwood", "both") and running.poll() is None:
            running.send_signal(signal.SIGKILL)
            killed += 1
        if victim in ("program", "both"):
            killed += kill_program(self._talk.home, self._talk.program)
        self.kills[victim] += bool(killed)
        self.missed += not killed

    def _look(self) -> None:
        talk = self._talk
        ended = self._names("turn.completed")
        self.acknowledged = len(ended)
        try:
            if talk.is_open():
                talk.sapwood("run", "--agent", talk.name, codes=_GOES_ON)
            talk.say(talk.probe())
        except (ProofError, subprocess.TimeoutExpired) as error:
            self._fault(f"the session does not go on: {error}")
            return
        probe = talk.path[-1]
        got = words(history_in(talk.request(probe, last=False)))
        view = view_of(json.loads(talk.sapwood("show", talk.name, "--json")))
        self._compare(probe, got, view, ended)
        self._look_at_files(ended)

    def _compare(self, probe: str, got: list[str], view: list[str], ended: list[str]) -> None:
        sent, seen = _prompts(got), _prompts(view)
        if sent != seen:
            self._fault(f"{probe}: sent {sent}, our view has {seen}")
        for name, count in Counter(sent).items():
            if count > 1:
                self._fault(f"{name} is in the request {count} times")
        for name in ended:
            answer = name.replace("TURN", "ANSWER").replace("PROBE", "ANSWER")
            if name in sent and answer not in got:
                self._fault(f"{name} was acknowledged, and its answer is not in the request")
        for name, count in Counter(self._names("turn.started")).items():
            if count > 1:
                self._fault(f"{name} was started {count} times")

    def _look_at_files(self, ended: list[str]) -> None:
        talk = self._talk
        everything = b"".join(talk.files().values())
        for name in ended:
            if name.replace("TURN", "ANSWER").encode() not in everything:
                self._fault(f"{name} was acknowledged, and is in no file of the program")
        if changed := talk.changed_files():
            self._fault(f"not only appended to: {changed}")
        runs = talk.home.project / "runs.txt"
        ran = Counter(runs.read_text().split() if runs.exists() else [])
        for name, count in ran.items():
            if count > 1:
                self._fault(f"the tool of turn {name} ran {count} times")

    def _turn(self) -> str:
        self._number += 1
        name = f"TURN{self._number}"
        self._talk.path.append(name)
        script = turn(self._talk.program, name)
        echo = f"echo result-{self._number}"
        return script.replace(echo, f"echo {self._number} >> runs.txt; {echo}")

    def _names(self, kind: str) -> list[str]:
        """The names of the turns that were started, or that were completed."""
        found: list[str] = []
        name = ""
        for event in self._talk.events("turn.started", "turn.completed"):
            if event["kind"] == "turn.started":
                name = str(event["data"]["prompt"][0]["text"]).split()[0]
            if event["kind"] == kind:
                found.append(name)
        return found

    def _fault(self, what: str) -> None:
        if what not in self._reported:
            self._reported.add(what)
            self.faults.append(what)
            print(f"  {self._talk.program}: {what}", file=sys.stderr, flush=True)


def _prompts(found: list[str]) -> list[str]:
    return [word for word in found if word.startswith(("TURN", "PROBE"))]
