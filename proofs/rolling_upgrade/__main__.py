"""The command line of the proof; its last line has the figures."""

import argparse
import asyncio
import os
import sys
import tempfile
import time
from asyncio.subprocess import Process
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import asyncpg
from msgspec import Struct

from proofs.rolling_upgrade.released_wheel import installed_wheel, newest_tag
from sapwood.app.connection import Connection, connect
from sapwood.core.content import Text
from sapwood.core.events import ReplyAdded, TurnCompleted, TurnStarted
from sapwood.core.ids import AgentId
from scripted_model import ModelRequest, ScriptedModel
from tools.postgres import cluster

LAST = "9fb6fd34d75fa1c697ff5e9c7c4d15e0bf9eb0b8"
"""The version to upgrade from while the repository has no tags."""

_SPACE = "upgrade"
_READY = "Running the agents of"
_STARTING, _ENDING = 120.0, 300.0
_TROUBLE = ("Traceback", "Error", "refused", "failed")


class Findings(Struct):
    """What was answered, and a sentence on each fault."""

    prompts: int = 0
    faults: list[str] = []


def main(arguments: list[str]) -> int:
    """Runs the proof and returns 1 if a prompt was lost or doubled, or a process had an error."""
    parser = argparse.ArgumentParser(prog="python -m proofs.rolling_upgrade")
    parser.add_argument("--old", default=newest_tag() or LAST, help="a revision of the repository")
    parser.add_argument("--agents", type=int, default=6, help="of each client")
    parser.add_argument("--seconds", type=float, default=15.0, help="of each of three phases")
    options = parser.parse_args(arguments)
    began = time.monotonic()
    with (
        tempfile.TemporaryDirectory(prefix="sapwood-upgrade-") as name,
        cluster() as server,
        ScriptedModel() as model,
    ):
        model.script(_answer)
        folder = Path(name)
        old = installed_wheel(options.old)
        (folder / "config.toml").write_text(f'[base_urls]\nden = "{model.openai_url}"\n')
        upgrade = _Upgrade(server.dsn, folder, old, options.agents, options.seconds)
        findings = asyncio.run(upgrade.run())
        asked = Counter(str(request.body) for request in model.requests)
    again = sum(asked.values()) - len(asked)
    for fault in findings.faults[:20]:
        print(fault, file=sys.stderr)
    print(
        f"rolling-upgrade: from the wheel of {options.old[:12]}, {upgrade.migration} under load:"
        f" {upgrade.workers} workers of both versions, {findings.prompts} prompts,"
        f" {len(findings.faults)} faults, {again} model calls sent again,"
        f" {time.monotonic() - began:.0f} s"
    )
    return int(bool(findings.faults) or not findings.prompts)


def _answer(asked: ModelRequest) -> str:
    return f"Heard {asked.messages[-1].text}"


class _Upgrade:
    """One run."""

    def __init__(self, dsn: str, folder: Path, old: Path, agents: int, seconds: float) -> None:
        self._dsn = dsn
        self._folder = folder
        self._old = old
        self._agents = agents
        self._seconds = seconds
        self.workers = 0
        self.migration = ""

    async def run(self) -> Findings:
        """Runs both versions on one database; returns what was answered."""
        stop = self._folder / "stop"
        old = [await self._worker(old=True) for _ in range(2)]
        clients = [await self._client("old", stop)]
        await self._given(clients[0], "old")
        await asyncio.sleep(self._seconds)
        await self._migrate()
        new = [await self._worker(old=False) for _ in range(2)]
        clients.append(await self._client("new", stop))
        await self._given(clients[1], "new")
        await asyncio.sleep(self._seconds)
        for worker in old:
            worker.terminate()
            await worker.wait()
            await asyncio.sleep(self._seconds / 2)
        stop.touch()
        for client in clients:
            await client.wait()
        findings = Findings(faults=[])
        await self._check(findings)
        for worker in new:
            worker.terminate()
            await worker.wait()
        self._look_at_outputs(findings)
        return findings

    def _environment(self) -> Mapping[str, str]:
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        return {
            **kept,
            "HOME": str(self._folder),
            "SAPWOOD_DATA": str(self._folder / "data"),
            "SAPWOOD_CONFIG": str(self._folder / "config.toml"),
            "SAPWOOD_DATABASE": self._dsn,
            "SAPWOOD_SPACE": _SPACE,
        }

    async def _worker(self, *, old: bool) -> Process:
        """Starts a worker and waits until it takes work."""
        self.workers += 1
        output = self._folder / f"worker-{self.workers}.out"
        worker = await self._start(output, old, "-m", "sapwood.cli", "worker")
        async with asyncio.timeout(_STARTING):
            while _READY not in await asyncio.to_thread(output.read_text):
                if worker.returncode is not None:
                    raise RuntimeError(output.read_text())
                await asyncio.sleep(0.1)
        return worker

    async def _client(self, name: str, stop: Path) -> Process:
        script = str(Path(__file__).with_name("client.py"))
        numbers = (self._dsn, _SPACE, str(self._agents), str(stop))
        output = self._folder / f"client-{name}.out"
        return await self._start(output, name == "old", script, *numbers)

    async def _given(self, client: Process, name: str) -> None:
        """Waits until a client has given its first prompt."""
        output = self._folder / f"client-{name}.out"
        async with asyncio.timeout(_STARTING):
            while not await asyncio.to_thread(output.read_text):
                if client.returncode is not None:
                    raise RuntimeError(output.with_suffix(".err").read_text())
                await asyncio.sleep(0.1)

    async def _start(self, output: Path, old: bool, *args: str) -> Process:
        """Starts Python with the wheel of the old version, or with this one."""
        python = str(self._old) if old else sys.executable
        with output.open("wb") as file, output.with_suffix(".err").open("wb") as errors:
            into = errors if output.name.startswith("client") else file
            return await asyncio.create_subprocess_exec(
                *(python, *args), env=self._environment(), cwd="/", stdout=file, stderr=into
            )

    async def _migrate(self) -> None:
        """Migrates the database by the command of this version while the old one works."""
        before = await self._schema()
        arguments = ("-m", "sapwood.cli", "migrate", "--database", self._dsn)
        output = self._folder / "migrate.out"
        command = await self._start(output, False, *arguments)
        if await command.wait() != 0:
            raise RuntimeError(output.read_text())
        self.migration = f"schema {before} to {await self._schema()}"

    async def _schema(self) -> int:
        connection = await asyncpg.connect(self._dsn)
        try:
            return await connection.fetchval("SELECT max(number) FROM sapwood.migrations")
        finally:
            await connection.close()

    async def _check(self, findings: Findings) -> None:
        given = [line.split("\t") for line in self._lines("client-*.out")]
        findings.prompts = len(given)
        connection = await connect(self._dsn, _SPACE)
        try:
            for agent in {AgentId(each[0]) for each in given}:
                wanted = [each[2] for each in given if each[0] == agent]
                async with asyncio.timeout(_ENDING):
                    await _idle(connection, agent)
                log = await connection.log.read(connection.space, agent)
                events = [recorded.event for recorded in log]
                begun = [_text(event.prompt) for event in events if isinstance(event, TurnStarted)]
                ended = sum(isinstance(event, TurnCompleted) for event in events)
                said = [_text(event.parts) for event in events if isinstance(event, ReplyAdded)]
                if begun != wanted or ended != len(wanted):
                    findings.faults.append(f"{agent}: {wanted} given, {begun} begun, {ended} ended")
                if not all(text in reply for text, reply in zip(wanted, said, strict=False)):
                    findings.faults.append(f"{agent}: {wanted} given, {said} answered")
                if len(said) != len(wanted):
                    findings.faults.append(f"{agent}: {len(said)} answers to {len(wanted)} prompts")
        except TimeoutError:
            findings.faults.append(f"a turn was still open after {_ENDING:.0f} s")
        finally:
            await connection.close()

    def _lines(self, pattern: str) -> list[str]:
        outputs = sorted(self._folder.glob(pattern))
        return [line for output in outputs for line in output.read_text().splitlines()]

    def _look_at_outputs(self, findings: Findings) -> None:
        for output in sorted((*self._folder.glob("worker-*.out"), *self._folder.glob("*.err"))):
            text = output.read_text()
            if any(word in text for word in _TROUBLE):
                findings.faults.append(f"{output.name}: {text[-2000:]}")


async def _idle(connection: Connection, agent: AgentId) -> None:
    """Waits until the agent has no open turn."""
    while True:
        summary = await connection.log.summary(connection.space, agent)
        if summary is not None and not summary.working:
            return
        await asyncio.sleep(0.2)


def _text(parts: Sequence[object]) -> str:
    return "".join(part.text for part in parts if isinstance(part, Text))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
