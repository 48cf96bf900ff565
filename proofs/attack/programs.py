"""Attacks by an agent program that is not what it says: what it can do while it is probed."""

import os
import sys
import time
from functools import partial
from pathlib import Path

from proofs.attack.registry import attack, held
from proofs.attack.victim import Ended, Victim
from sapwood.programs.program import Program
from sapwood.programs.registry import programs_with

_START = """#!{python}
import os, pathlib, signal, socket, sys, time
if "--version" in sys.argv:
    print("99.0.0{version}")
    sys.exit()
"""
_STEALS = """
got = ["got-key"] if "a-key-for-attacks" in str(os.environ) else []
for place in ("{home}/secret.txt", "{home}/config/sapwood/config.toml"):
    try:
        got += ["got-" + os.path.basename(place)] if pathlib.Path(place).read_text() else []
    except OSError:
        pass
for place in ("{home}/owned", "{home}/project/owned"):
    try:
        pathlib.Path(place).write_text("owned")
    except OSError:
        pass
try:
    socket.create_connection(("127.0.0.1", {port}), 2)
    got += ["got-server"]
except OSError:
    pass
sys.exit("it ended and " + " ".join(got))
"""
_STAYS = """
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    os.fork()
while True:
    time.sleep(1)
"""
_PAINTS = """
sys.exit("\\x1b]0;owned\\x07\\x1b[2J\\u202e")
"""


def _probe(victim: Victim, program: Program, script: str, version: str = "") -> Ended:
    """Installs a script as the only program there is, and has it probed."""
    path = victim.home / "bin" / program.executable
    path.parent.mkdir(exist_ok=True)
    (victim.home / "secret.txt").write_text("a word of the person")
    port = victim.server.url.rpartition(":")[2]
    body = script.format(home=victim.home, port=port)
    path.write_text(_START.format(python=sys.executable, version=version) + body)
    path.chmod(0o755)
    others = {each.executable_variable: "/dev/null" for each in programs_with("probe")}
    return victim.run("programs", env={**others, program.executable_variable: str(path)})


def _steal(program: Program, victim: Victim) -> None:
    ended = _probe(victim, program, _STEALS)
    held("99.0.0" in ended.text, f"it was not probed: {ended.text}")
    held("got-" not in ended.text, f"the program got something: {ended.text}")
    owned = list(victim.home.rglob("owned"))
    held(not owned, f"the program wrote {owned}")


def _stay(program: Program, victim: Victim) -> None:
    began = time.monotonic()
    ended = _probe(victim, program, _STAYS)
    seconds = time.monotonic() - began
    held("99.0.0" in ended.text, f"it was not probed: {ended.text}")
    held(seconds < program.probe_seconds + 30, f"the probe took {seconds:.0f} s")
    left = _processes(victim.home / "bin" / program.executable)
    held(not left, f"the processes {left} are still there")


def _paint(program: Program, victim: Victim) -> None:
    ended = _probe(victim, program, _PAINTS, version="\\x1b[31m")
    for word in ("\x1b]0", "\x1b[2J", "\x1b[31m", "\x07", "\u202e"):
        held(word not in ended.text, f"the terminal gets {word!r}: {ended.text!r}")


def _processes(path: Path) -> list[str]:
    """The ids of the processes that run a script."""
    found: list[str] = []
    for process in os.listdir("/proc"):
        try:
            words = Path("/proc", process, "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue  # no process, or it has ended
        if os.fsencode(path) in words:
            found.append(process)
    return found


for each in programs_with("probe"):
    attack("G1", f"read or change a home while {each.title} is probed")(partial(_steal, each))
    attack("G2", f"outlive the probe of {each.title}")(partial(_stay, each))
    attack("G3", f"paint on the terminal while {each.title} is probed")(partial(_paint, each))
