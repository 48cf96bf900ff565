"""How many questions a person gets for each 100 shell commands of recorded sessions.

Before: every command asks (`sandbox_ask = true`). After: only a command that needs more than the
sandbox. Then commands of each kind really run, in a project with a checkpoint: those that stay
inside get no question, work, and change nothing outside; those that need the network fail with a
message that says how to ask for it, and ask one question with it.
"""

import argparse
import asyncio
import json
import os
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

from bench.kept_figures import figure
from bench.recorded_commands import RecordedCommand, needs_of, recorded_commands
from sapwood.core.content import ToolCall
from sapwood.core.ids import AgentId
from sapwood.core.model_calls import ToolOutcome, ToolUse
from sapwood.core.settings import Workspace
from sapwood.workspace.permissions.permission_decision import ShellAction, decide_permission
from sapwood.workspace.permissions.permission_gate import (
    AllowOnce,
    PermissionAnswer,
    PermissionGate,
    PermissionQuestion,
)
from sapwood.workspace.sandbox import Sandbox, sandbox_problem
from sapwood.workspace.workspace_toolbox import WorkspaceToolbox

SESSIONS = Path(__file__).parents[1] / "evals" / "sessions"
AIM, LIMIT = 0.70, 0.60
"""The share of questions to save, and the least share below which this fails.

The aim is not reached on these sessions: three of them operate clusters and servers, and commands
that act on other machines or as root need more than a sandbox gives. It is reached in all others.
"""
_SHOWN = 3

_INSIDE = (
    "ls -la && cat a.txt",
    "grep -rn one . | head",
    "sed -i 's/one/two/' a.txt && git diff --stat",
    "mkdir -p src && echo 'def f(): return 1' > src/f.py && python3 -m py_compile src/f.py",
    "python3 -m unittest discover -s src",
    "cat >> notes.md <<'EOF'\nmore\nEOF",
    "git add -A && git commit -qm 'Work' && git log --oneline | head -3",
    "git checkout -q -b side && git stash list && git checkout -q -",
    "find . -name '*.py' | xargs wc -l; echo $(date) > stamp && rm stamp",
    "for i in 1 2 3; do echo $i >> n.txt; done; sort -r n.txt | head -1",
    "cp -r src copy && mv copy old && rm -r old && git status --short",
    "git tag v1 && git gc -q && tar cf out.tar src && tar tf out.tar",
    "echo 'echo 1' > /tmp/a.sh && sh /tmp/a.sh",
    "$HOME/.cache/ms-playwright/browser --version",
)


def main(argv: list[str]) -> int:
    """Prints the saved share last; returns 1 if it is too small or a command left the sandbox."""
    parser = argparse.ArgumentParser(prog="bench questions", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="accepted for all benchmarks")
    parser.add_argument("--sessions", type=Path, default=SESSIONS, help="a folder of transcripts")
    parser.add_argument("--show", action="store_true", help="print each command that asks")
    options = parser.parse_args(argv)
    if problem := sandbox_problem():
        print(f"questions: not measured, because {problem}")
        return 0
    commands = list(recorded_commands(options.sessions))
    saved = _saved(commands, options.show)
    faults = asyncio.run(_run_for_real())
    for fault in faults:
        print(f"  WRONG: {fault}")
    verdict = "WRONG" if faults else "ok" if saved >= LIMIT else "TOO MANY"
    figure("questions: share saved", saved, "more")
    print(f"questions: {saved:.0%} fewer (aim {AIM:.0%}, at least {LIMIT:.0%}) {verdict}")
    return int(verdict != "ok")


def _saved(commands: Sequence[RecordedCommand], show: bool) -> float:
    """The share of questions that are saved, by the decision that the tool itself makes."""
    needs: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    before = after = 0
    for command in commands:
        need = needs_of(command)
        needs[need or "nothing more"] += 1
        plain = ShellAction("shell", command.line)
        now = ShellAction("shell", command.line, is_confined=not need, wants=need)
        before += decide_permission(plain, ()).verdict == "ask"
        asks = decide_permission(now, ()).verdict == "ask"
        after += asks
        asked[command.session] += asks
        if show and asks:
            print(f"    {need:9} {command.line.splitlines()[0][:90]}")
    per, listed = 100 / len(commands), needs.most_common()
    print(f"  {len(commands)} commands; for each 100 of them {before * per:.0f} questions before")
    print(f"  and {after * per:.0f} after; " + ", ".join(f"{n} need {w}" for w, n in listed))
    asking = dict(asked.most_common(_SHOWN))
    others = sum(command.session not in asking for command in commands)
    rest = 1 - (after - sum(asking.values())) / others
    print(
        f"  the {_SHOWN} sessions that ask most: {', '.join(asking)}; "
        f"{rest:.0%} fewer in all others"
    )
    return 1 - after / before


class _World:
    """A home with a project, and the toolbox with a person who says yes and counts."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.project = home / "project"
        self.project.mkdir()
        (self.project / "a.txt").write_text("one\n")
        (home / ".bashrc").write_text("mine\n")
        (home / ".cache" / "ms-playwright").mkdir(parents=True)
        shutil.copy2("/bin/echo", home / ".cache" / "ms-playwright" / "browser")
        (home / "other").mkdir()
        (home / "other" / "file").write_text("mine\n")
        who = ["-c", "user.name=B", "-c", "user.email=b@example.com"]
        for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "One"]):
            subprocess.run(["git", *who, *words], cwd=self.project, check=True)
        self.questions: list[PermissionQuestion] = []
        names = {f"GIT_{role}_NAME": "B" for role in ("AUTHOR", "COMMITTER")}
        mails = {f"GIT_{role}_EMAIL": "b@example.com" for role in ("AUTHOR", "COMMITTER")}
        self.box = WorkspaceToolbox(
            PermissionGate((), self._approve),
            environment={**os.environ, "HOME": str(home), **names, **mails},
            sandbox=Sandbox(home=str(home), state=str(home / "state")),
        )

    async def _approve(self, question: PermissionQuestion) -> PermissionAnswer:
        self.questions.append(question)
        return AllowOnce()

    async def run(self, command: str, *needs: str) -> ToolOutcome:
        arguments = json.dumps({"command": command, "needs": needs})
        use = ToolUse(
            AgentId("bench"),
            Workspace(folder=str(self.project)),
            ToolCall("1", "shell", arguments),
            is_saved=True,
        )
        return await self.box.run(use)

    def outside(self) -> dict[str, bytes]:
        """Every file of the home outside the project and Sapwood's own folder."""
        files = (path for path in self.home.rglob("*") if path.is_file())
        own = (self.project, self.home / "state")
        return {
            str(path): path.read_bytes()
            for path in files
            if not any(path.is_relative_to(each) for each in own)
        }


async def _run_for_real() -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        world = _World(Path(folder))
        before = world.outside()
        faults: list[str] = []
        for command in _INSIDE:
            outcome = await world.run(command)
            if outcome.error or world.questions:
                faults.append(f"{command!r} asked or failed: {outcome.content[-200:]}")
        tries = [f"echo x > {world.home}/other/new", f"rm -rf {world.home}/other /etc/hostname"]
        for command in (*tries, f"echo x >> {world.home}/.bashrc"):
            await world.run(command)
        if world.questions or world.outside() != before:
            faults.append("a command without a question changed something outside")
        print(f"  {len(_INSIDE)} commands ran inside without a question; outside nothing changed")
        return faults + await _with_network(world)


async def _with_network(world: _World) -> list[str]:
    """A command that needs the network fails without it, names the way, and asks with it."""
    server = HTTPServer(("127.0.0.1", 0), _Answer)
    Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/"
    fetch = f"import urllib.request as u; print(u.urlopen('{address}').read())"
    faults: list[str] = []
    tried = (f'python3 -c "{fetch}"', f"git ls-remote {address}x.git", f"git fetch {address}x.git")
    for command in tried:
        outcome = await world.run(command)
        if not outcome.error or '"network"' not in outcome.content or world.questions:
            faults.append(f"{command!r} did not say that it needs the network: {outcome.content}")
    outcome = await world.run(tried[0], "network")
    asked = [question.why for question in world.questions]
    if outcome.error or asked != ["It needs the network."]:
        faults.append(f"with the network it asked {asked}: {outcome.content[-200:]}")
    server.shutdown()
    print(f"  {len(tried)} commands without network failed and named the way; with it, 1 question")
    return faults


class _Answer(BaseHTTPRequestHandler):
    """Answers every request."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"reached")

    def log_message(self, format: str, *args: object) -> None:
        """Prints nothing."""
