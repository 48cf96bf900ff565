"""The real command line in processes of its own: a script on stdin, a prompt, a replay."""

import asyncio
import json
import os
import subprocess
import sys
from typing import Any

from proofs.e2e.house import LONGEST, House
from sapwood.app.toml_edit import encoded
from scripted_model import ModelRequest, ReplyLike, call, think

__all__ = ["play"]

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
    "/undo": "Undone.",
    "/rewind T": "Rewound to 'T'.",
}
LONG = "The heron nests in the tall pine, and nobody knows for how long it has done so. " * 20


def _model(asked: ModelRequest) -> ReplyLike:
    prompt = asked.prompt
    if prompt.startswith("Summarise this conversation"):
        return "They asked what was learnt of the heron."
    if asked.results:
        return LONG if "heron" in prompt else "Reported."
    if "Research the stork" in prompt and "What did you learn" not in prompt:
        return call("slash", command="send", args="parent It nests on the roof.")
    if "Where does the heron" in prompt:
        return [think("A file may tell."), "I look.", call("read_file", path="notes.txt")]
    return "That it nests on the roof."


async def play(house: House) -> None:
    """Plays it."""
    checks, shell = house.checks, _Shell(house)
    house.script(_model)
    ran = await shell("run", "--json", "--agent", "demo", "--new", stdin=SCRIPT)
    checks.same("the script runs to its end", ran.returncode, 0)
    lines: list[dict[str, Any]] = [json.loads(line) for line in ran.stdout.splitlines()]
    kinds = [line["kind"] for line in lines if line["type"] == "event"]
    checks.same("both prompts are answered", kinds.count("turn.completed"), 2)
    pieces = [line for line in lines if line["type"] == "delta"]
    checks.that("answers come in pieces", len(pieces) > 10, len(pieces))
    said = {line["command"]: line["says"] for line in lines if line["type"] == "answer"}
    for command, answer in ANSWERS.items():
        checks.within(f"{command} answers", answer, said.get(command, ""))
    checks.within("the child is forked", "Forked. Child: ", said.get("/fork T", ""))
    checks.within("it reports by mail", "It nests on the roof.", said.get("/check-mail", ""))
    checks.within("the last call replays", "The hash matches.", said.get("/replay", ""))
    checks.same("how it ended is told", (lines[-1]["type"], lines[-1]["exit"]), ("end", 0))
    checks.that("and what it used", lines[-1]["used"]["input"] > 0, lines[-1])
    asked = await shell("run", "-p", "Anything else?", "--agent", "demo")
    checks.same("a prompt is answered", asked.stdout, "That it nests on the roof.\n")
    replayed = await shell("replay", "demo")
    checks.within("and replays", "the hash matches.", replayed.stdout)
    checks.same("nothing is said on stderr", (ran.stderr, asked.stderr, replayed.stderr), ("",) * 3)


class _Shell:
    """A home of its own, with the scripted model configured."""

    def __init__(self, house: House) -> None:
        home = house.folder.parent / "home"
        home.mkdir()
        (home / "config.toml").write_text(
            f"model = {encoded(house.model)}\n"
            "[base_urls]\n"
            + "".join(f"{name} = {encoded(url)}\n" for name, url in house.config.base_urls.items()),
            encoding="utf-8",
        )
        kept = {name: value for name, value in os.environ.items() if name in _KEPT}
        self._folder = house.folder
        self._environment = {
            **kept,
            **house.server.env(),
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
            timeout=LONGEST * 2,
            check=False,
        )


_KEPT = ("PATH", "PYTHONPATH", "LANG", "VIRTUAL_ENV", "COVERAGE_PROCESS_START")
