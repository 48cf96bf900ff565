"""A model overwrites a file; the user reverts file and turn, and then undoes the revert."""

import re
import subprocess

from proofs.e2e.system_under_test import SystemUnderTest
from sapwood.app.conversation_service import offline_service
from sapwood.conversation.script import CommandStep
from sapwood.core.command_table import TABLE
from sapwood.core.refusals import Refusal
from scripted_model import ModelRequest, ReplyLike, call

THEIRS = "The heron nests on the roof.\n"


def _model(asked: ModelRequest) -> ReplyLike:
    if asked.results or not asked.prompt.startswith("Correct"):
        return "Done."
    return call("write_file", path="notes.txt", content=THEIRS)


def _git(system: SystemUnderTest, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=system.folder, check=True, capture_output=True, text=True
    )
    return done.stdout


async def play(system: SystemUnderTest) -> None:
    """Runs the scene."""
    checks, notes = system.checks, system.folder / "notes.txt"
    _git(system, "init", "--quiet")
    mine = notes.read_text(encoding="utf-8")
    system.script(_model)
    agent = await system.start("editor")
    await system.ask(agent, "Where does the heron nest?")
    request = await agent.request()
    await system.ask(agent, "Correct the notes.")
    later = await agent.request()
    checks.same("the model writes", notes.read_text(encoding="utf-8"), THEIRS)
    kinds = [recorded.kind for recorded in await agent.events()]
    checks.same("files are saved before and after", kinds.count("checkpoint.made"), 2)
    number = ""
    for words, text, seen in (
        ("before turn", mine, request),
        ("before the last revert", THEIRS, later),
    ):
        service = offline_service(system.db.connection, system.config)
        done = await service.answer(agent.id, CommandStep(TABLE["revert"], number))
        answer = done.sentence if isinstance(done, Refusal) else done.message
        number = "".join(re.findall(r"/revert (\S+) to undo this", answer))
        checks.within("a revert names its target", f"as they were {words}", answer)
        checks.same("the file is as it was", notes.read_text(encoding="utf-8"), text)
        checks.same("and so is the request", await agent.request(), seen)
    checks.same("the user's index knows nothing of it", _git(system, "ls-files"), "")
    notes.write_text(mine, encoding="utf-8")
