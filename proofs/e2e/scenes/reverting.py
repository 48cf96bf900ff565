"""A model overwrites a file; the user takes file and turn back, and takes that back too."""

import subprocess

from proofs.e2e.house import House
from sapwood.app.checkpointing import revert
from sapwood.runtime.dispatch import Done
from scripted_model import ModelRequest, ReplyLike, call

__all__ = ["play"]

THEIRS = "The heron nests on the roof.\n"


def _model(asked: ModelRequest) -> ReplyLike:
    if asked.results or not asked.prompt.startswith("Correct"):
        return "Done."
    return call("write_file", path="notes.txt", content=THEIRS)


def _git(house: House, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=house.folder, check=True, capture_output=True, text=True
    )
    return done.stdout


async def play(house: House) -> None:
    """Plays it."""
    checks, notes = house.checks, house.folder / "notes.txt"
    _git(house, "init", "--quiet")
    mine = notes.read_text(encoding="utf-8")
    house.script(_model)
    agent = await house.start("editor")
    await house.ask(agent, "Where does the heron nest?")
    request = await agent.request()
    await house.ask(agent, "Correct the notes.")
    later = await agent.request()
    checks.same("the model writes", notes.read_text(encoding="utf-8"), THEIRS)
    kinds = [recorded.kind for recorded in await agent.events()]
    checks.same("files are saved before and after", kinds.count("checkpoint.made"), 2)
    for words, text, seen in (("before turn", mine, request), ("before the revert", THEIRS, later)):
        done = await revert(house.wood.connection, house.config, agent.id)
        says = done.says if isinstance(done, Done) else done.sentence
        checks.within("a revert says where to", f"as they were {words}", says)
        checks.same("the file is as it was", notes.read_text(encoding="utf-8"), text)
        checks.same("and so is the request", await agent.request(), seen)
    checks.same("the user's index knows nothing of it", _git(house, "ls-files"), "")
    notes.write_text(mine, encoding="utf-8")
