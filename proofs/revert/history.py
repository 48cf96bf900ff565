"""One history: turns that change files, people who edit, reverts, and some that are killed."""

import asyncio
import os
import shutil
import signal
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from msgspec import Struct

from proofs.revert.checks import Findings, check_revert, check_same
from proofs.revert.edits import edit, lay_out
from proofs.revert.snapshot import Snapshot, take, take_outside
from sapwood.api import Agent
from sapwood.api import open as open_database
from sapwood.core.commands import Command, CommandMeta
from sapwood.core.errors import RefusedError
from sapwood.core.refusals import Refusal
from sapwood.turns.dispatch import Dispatcher, Done

_STEPS = 14


class _Moment(Struct, frozen=True):
    """The workspace before the turn with the number `turn`."""

    turn: int
    files: Snapshot


def play(seed: int) -> Findings:
    """Plays the history of a seed and returns what was found. Everything it makes is deleted."""
    findings = Findings([], [], [], [])
    base = Path(tempfile.mkdtemp(prefix="sapwood-revert-"))
    before = os.environ.get("SAPWOOD_DATA")
    try:
        (base / "home").mkdir()
        os.environ["SAPWOOD_DATA"] = str(base / "data")
        _History(base, Random(seed), findings, f"seed {seed}").play()
    except Exception as error:
        error.add_note(f"in the history of seed {seed}")
        raise
    finally:
        if before is None:
            os.environ.pop("SAPWOOD_DATA")
        else:
            os.environ["SAPWOOD_DATA"] = before
        _delete(base)
    findings.histories = 1
    return findings


class _History:
    def __init__(self, base: Path, random: Random, findings: Findings, where: str) -> None:
        self._home = base / "home"
        self._database = str(base / "log.db")
        self._random = random
        self._findings = findings
        self._where = where
        self._root = lay_out(self._home, random)
        self._moments: list[_Moment] = []

    def play(self) -> None:
        asyncio.run(self._with_agent(None, start=True))
        for _ in range(self._random.randint(2, 4)):
            self._edit()
            asyncio.run(self._with_agent(self._turn))
            if self._moments and self._random.random() < 0.6:
                self._edit()
                self._revert()

    def _edit(self) -> None:
        for _ in range(self._random.randint(1, 5)):
            edit(self._root, self._random)

    async def _turn(self, agent: Agent) -> None:
        """A turn that changes files, saved before and after as the runtime does it."""
        before = take(self._root)
        async with agent.turn("Change something.") as turn:
            await agent.checkpoint()
            self._edit()
            await turn.reply("Done.")
        await agent.checkpoint()
        self._moments.append(_Moment(len(self._moments) + 1, before))
        self._findings.turns += 1

    def _revert(self) -> None:
        """Reverts, checks, takes the revert back, and checks again."""
        moment = self._random.choice(self._moments)
        now, outside = take(self._root), take_outside(self._home, self._root)
        if self._random.random() < 0.4:
            self._revert_killed(moment.turn)
        else:
            asyncio.run(self._with_agent(lambda agent: self._go(agent, moment.turn)))
        where = f"{self._where}, before turn {moment.turn}"
        check_revert(self._findings, where, moment.files, now, take(self._root))
        asyncio.run(self._with_agent(self._take_back))
        check_same(self._findings, f"{where}, taken back", now, take(self._root))
        if self._random.random() < 0.5:
            asyncio.run(self._with_agent(lambda agent: self._go(agent, moment.turn)))
            again = take(self._root)
            check_revert(self._findings, f"{where}, again", moment.files, now, again)
        changed = {*outside.items()} ^ {*take_outside(self._home, self._root).items()}
        self._findings.outside += [f"{where}: {path} was touched" for path, _ in sorted(changed)]
        self._findings.reverts += 1

    async def _go(self, agent: Agent, turn: int) -> None:
        await agent.revert(turn, anyway=True)

    async def _take_back(self, agent: Agent) -> None:
        await agent.revert("back", anyway=True)

    def _revert_killed(self, turn: int) -> None:
        """Reverts in a process that is killed at a random step; then finishes the revert."""
        child = os.fork()
        if child == 0:
            try:
                _kill_at(self._random.randint(0, _STEPS))
                asyncio.run(self._with_agent(lambda agent: self._go(agent, turn)))
            finally:
                os._exit(0)
        _, status = os.waitpid(child, 0)
        self._findings.killed += os.WIFSIGNALED(status)
        asyncio.run(self._with_agent(lambda agent: self._finish(agent, turn)))

    async def _finish(self, agent: Agent, turn: int) -> None:
        state = await agent.state()
        last = (await agent.events())[-1]
        if state.reverting is not None:
            await agent.revert(anyway=True)
            self._findings.finished += 1
        elif last.kind != "context.reverted":
            await self._go(agent, turn)
        if (await agent.state()).reverting is not None:
            self._findings.other.append(f"{self._where}: the revert did not end")

    async def _with_agent(self, act: Callable[[Agent], Any] | None, *, start: bool = False) -> None:
        async with open_database(self._database) as db:
            if start:
                await db.start(id="lead", folder=str(self._root))
            elif act is not None:
                try:
                    await act(await db.find("lead"))
                except RefusedError as refused:
                    self._findings.other.append(f"{self._where}: {refused}")


def _kill_at(step: int) -> None:
    """Kills this process at a step: a change of a file, or a command for the log."""
    left = step

    def count() -> None:
        nonlocal left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1

    for name in ("replace", "unlink", "mkdir", "symlink", "rmdir"):
        act: Callable[..., Any] = getattr(os, name)

        def counted(*args: Any, _act: Callable[..., Any] = act, **options: Any) -> Any:
            if "dir_fd" in options or "src_dir_fd" in options:
                count()
            return _act(*args, **options)

        setattr(os, name, counted)
    dispatch = Dispatcher.dispatch

    async def counted_dispatch(
        self: Dispatcher, command: Command, meta: CommandMeta
    ) -> Done | Refusal:
        count()
        return await dispatch(self, command, meta)

    Dispatcher.dispatch = counted_dispatch


def _delete(base: Path) -> None:
    for folder, folders, _ in os.walk(base):
        for name in folders:
            if not os.path.islink(os.path.join(folder, name)):
                os.chmod(os.path.join(folder, name), 0o700)
    shutil.rmtree(base, ignore_errors=True)
