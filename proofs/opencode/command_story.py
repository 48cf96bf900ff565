"""Sapwood's commands on a session of opencode: read, changed at rest, resumed, continued."""

import asyncio
import json
import sys

from proofs.opencode.world import OpencodeWorld
from proofs.providers_e2e.act_checks import ActChecks

_SECONDS = 120


class CommandStory:
    """One session, and what its model should see."""

    def __init__(self, world: OpencodeWorld, checks: ActChecks) -> None:
        self._world = world
        self._checks = checks
        self._number = 4

    async def run(self) -> None:
        """Tries every command once."""
        session, _ = await self._world.turns(4)
        await self._world.provider.close(session)
        await self._read(session.id)
        seen = [f"TURN{number}" for number in range(1, 5)]
        await self._sapwood("clear", "2", "--session", session.id)
        kept = await self._goes_on("clear 2", session.id, seen[-2:])
        await self._sapwood("undo", "--session", session.id)
        seen = await self._goes_on("its undo", session.id, [*seen, kept[-1]])
        forked = json.loads(await self._sapwood("fork", "--session", session.id, "--json"))
        self._checks.expect("a fork has another id", forked["session"] != session.id)
        await self._goes_on("a fork", forked["session"], seen)
        await self._goes_on("the source of a fork", session.id, seen)
        said = await self._sapwood("run", "--with", "opencode", "-p", "TURN90 [[say: It is so.]]")
        self._checks.expect("run --with opencode answers", "It is so." in said, said)

    async def _read(self, session: str) -> None:
        said = await self._sapwood("context", "--session", session, "--json")
        self._checks.expect("context reads it", session in said, said)
        said = await self._sapwood("import", "--opencode", "--json")
        rows = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
        turns = [row.get("turns") for row in rows if row["session"] == session]
        self._checks.expect("import records it", turns == [4], said)
        report = json.loads((await self._sapwood("report", "--json")).splitlines()[0])
        self._checks.expect("the report has it", session in json.dumps(report))

    async def _goes_on(self, what: str, session: str, seen: list[str]) -> list[str]:
        """opencode itself continues with one turn; returns the turns that its model saw."""
        self._number += 1
        word = f"TURN{self._number}"
        executable = f"{self._world.root}/bin/opencode"
        await self._run(executable, "run", "--session", session, f"{word} [[say: ok]]")
        expected, received = [*seen, word], self._world.received
        self._checks.expect(
            f"the model sees exactly the path: {what}", received == expected, received
        )
        return expected

    async def _sapwood(self, *words: str) -> str:
        code, said = await self._run(sys.executable, "-m", "sapwood.cli", *words)
        self._checks.expect(f"sapwood {words[0]} succeeds", code == 0, said)
        return said

    async def _run(self, *command: str) -> tuple[int, str]:
        process = await asyncio.create_subprocess_exec(
            *command,
            cwd=self._world.root / "project",
            env=self._world.environ,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        async with asyncio.timeout(_SECONDS):
            said, _ = await process.communicate()
        return process.returncode or 0, said.decode("utf-8", "replace")
