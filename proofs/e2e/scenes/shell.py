"""The real command line in separate processes: a script on stdin, a prompt, a replay."""

import asyncio
import json
import os
import subprocess
import sys
from typing import Any

from proofs.e2e.system_under_test import TIMEOUT, SystemUnderTest
from sapwood.config.toml_edit import toml_value
from scripted_model import ModelRequest, Reply, ReplyLike, call, think

SCRIPT = """\
Where does the heron nest?
/mark T
Research the stork. Report via /send.
/fork T
/wait 60
/check-mail
What did you learn?
/compact
/undo
/rewind T
/replay
"""
ANSWERS = {
    "/mark T": "Marked 'T'.",
    "/compact": "Compacted 2 turns into a summary.",
    "/undo": "Undone: /compact. 2 turns back in view, the summary removed from view.",
    "/rewind T": "Rewound to 'T'.",
}
LONG = "The heron nests in the tall pine, and nobody knows for how long it has done so. " * 20


def _model(asked: ModelRequest) -> ReplyLike:
    prompt = asked.prompt
    if prompt.startswith("Summarise this conversation"):
        return "They asked what was learnt of the heron."
    if asked.results:
        return Reply.of(LONG, stall=2.0) if "heron" in prompt else "Reported."
    if "Research the stork" in prompt and "What did you learn" not in prompt:
        return call("slash", command="send", args="parent It nests on the roof.")
    if "Where does the heron" in prompt:
        return [think("A file may tell."), "I look.", call("read_file", path="notes.txt")]
    return "That it nests on the roof."


async def play(system: SystemUnderTest) -> None:
    """Runs the scene."""
    checks, shell = system.checks, _Shell(system)
    system.script(_model)
    ran = await shell("run", "--json", "--agent", "demo", "--new", stdin=SCRIPT)
    checks.same("the script runs to its end", ran.returncode, 0)
    lines: list[dict[str, Any]] = [json.loads(line) for line in ran.stdout.splitlines()]
    kinds = [line["kind"] for line in lines if line["type"] == "event"]
    checks.same("both prompts are answered", kinds.count("turn.completed"), 2)
    pieces = [line["text"] for line in lines if line["type"] == "delta"]
    parts = [piece for piece in pieces if piece and piece in LONG]
    checks.that("an answer is printed before it is complete", len(parts) > 1, pieces)
    checks.same("its pieces add up to it", "".join(parts), LONG)
    answers = {line["command"]: line["says"] for line in lines if line["type"] == "answer"}
    for command, answer in ANSWERS.items():
        checks.within(f"{command} answers", answer, answers.get(command, ""))
    checks.within("the child is forked", "Forked. Child: ", answers.get("/fork T", ""))
    checks.within("it reports by mail", "It nests on the roof.", answers.get("/check-mail", ""))
    checks.within("the last call replays", "The hash matches.", answers.get("/replay", ""))
    checks.same(
        "the last line is the exit code", (lines[-1]["type"], lines[-1]["exit"]), ("end", 0)
    )
    checks.that("and what it used", lines[-1]["used"]["input"] > 0, lines[-1])
    asked = await shell("run", "-p", "Anything else?", "--agent", "demo")
    checks.same("a prompt is answered", asked.stdout, "That it nests on the roof.\n")
    replayed = await shell("replay", "demo")
    checks.within("and replays", "the hash matches.", replayed.stdout)
    checks.same("stderr is empty", (ran.stderr, asked.stderr, replayed.stderr), ("",) * 3)


class _Shell:
    """A separate home with the scripted model configured."""

    def __init__(self, system: SystemUnderTest) -> None:
        home = system.folder.parent / "home"
        home.mkdir()
        (home / "config.toml").write_text(
            f"model = {toml_value(system.model)}\n"
            "[base_urls]\n"
            + "".join(
                f"{name} = {toml_value(url)}\n" for name, url in system.config.base_urls.items()
            ),
            encoding="utf-8",
        )
        kept = {name: value for name, value in os.environ.items() if name in _KEPT}
        self._folder = system.folder
        self._environment = {
            **kept,
            **system.server.env(),
            "HOME": str(home),
            "SAPWOOD_CONFIG": str(home / "config.toml"),
            "SAPWOOD_DATABASE": str(home / "sapwood.db"),
        }

    async def __call__(self, *args: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-m", "sapwood.cli", *args],
            input=stdin,
            capture_output=True,
            text=True,
            cwd=self._folder,
            env=self._environment,
            timeout=TIMEOUT * 2,
            check=False,
        )


_KEPT = ("PATH", "PYTHONPATH", "LANG", "VIRTUAL_ENV", "COVERAGE_PROCESS_START")
