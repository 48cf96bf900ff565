"""Attacks on the bounds: a model that works without end, and processes that outlive their call."""

import json
import os
import shlex
import time
from pathlib import Path

from proofs.attack.registry import attack, held
from proofs.attack.victim import Victim
from scripted_model import ModelRequest, ReplyLike, call

__all__: list[str] = []

_CALLS = 600
"""More model calls than this mean that no default budget has ended the work."""


@attack("S18", "rewind to an own mark again and again")
def rewind_loop(victim: Victim) -> None:
    def model(request: ModelRequest) -> ReplyLike:
        marked = "Marked" in json.dumps(request.body)
        return call("slash", {"command": "clear" if marked else "mark", "args": "T"})

    victim.server.script(model)
    _ends(victim)


@attack("S18", "fork without end")
def fork_bomb(victim: Victim) -> None:
    def model(_request: ModelRequest) -> ReplyLike:
        return call("slash", {"command": "fork", "args": "-- Fork again."})

    victim.server.script(model)
    _ends(victim)


def _ends(victim: Victim) -> None:
    ended = victim.run("run", "-p", "Start.", "--timeout", "150", limit=240.0)
    calls = len(victim.server.requests)
    held(calls <= _CALLS, f"{calls} model calls")
    held("budget" in ended.text.casefold(), f"no budget is named: {ended.text[-500:]}")
    held(ended.code != 0, "the program ended with code 0")
    time.sleep(1.0)
    held(len(victim.server.requests) == calls, "the model is still called")


@attack("low", "leave a process behind that has left its session and its environment")
def stray_process(victim: Victim) -> None:
    stray = "import os,time;open('stray','w').write(str(os.getpid()));time.sleep(60)"
    python = shlex.quote(stray)
    line = f"setsid env -i /usr/bin/python3 -c {python} & sleep 1"
    prompt = f"Go. [[tool: shell {json.dumps({'command': line})}]] [[say: finished]]"
    victim.ask(prompt, "--allow", "shell")
    written = victim.project / "stray"
    held(written.exists(), "the process did not start, so nothing was tried")
    alive = [pid for pid in _processes() if b"open('stray','w')" in _line_of(pid)]
    for pid in alive:
        os.kill(pid, 9)
    held(not alive, "a process outlived its tool call")


def _processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _line_of(pid: int) -> bytes:
    try:
        line = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
    return b"" if b"setsid" in line else line
