"""Spaces that move between three cells behind the router, under load, with movers that are killed.

    just cells --spaces 30 --moves 6 --kills 2

Each cell is a database with a server and a worker; the router, the servers, the workers and every
`sapwood move` are real processes. Clients set marks and give prompts through the router, mostly in
spaces that move. Probes ask all servers directly which of them answers for a space, and wake the
agents of copies that are still arriving: no worker may claim those. The last line has the figures.
"""

import argparse
import asyncio
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack, suppress
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import httpx2
import msgspec
from msgspec import Struct, field

from bench.served import ServedProcess
from proofs.service.app import MODEL
from proofs.service.load import percentile
from proofs.service.model import answer, expected
from proofs.service.workers import Workers
from sapwood import Agent, open
from sapwood.core.content import Text
from sapwood.core.errors import SpaceMoved, SpaceStopped
from sapwood.core.events import MarkSet, ReplyAdded, TurnCompleted, TurnStarted
from sapwood.core.ids import AgentId, Space
from sapwood.engine.process_engine import ProcessEngine
from sapwood.store.postgres import PostgresLog
from sapwood.store.postgres.cell_directory import CellDirectory
from sapwood.store.postgres.space_move import MoveReport
from scripted_model import ScriptedModel
from tools.postgres import cluster, dying_with_us

_CELLS = ("a", "b", "c")
_MAX_PAUSE = 2.0
_STEPS = ("Copying", "Comparing", "Stopping", "Handing", "Opening", "Deleting")
"""How the lines begin that `sapwood move` prints before each step."""
_ARRIVING = """
    SELECT space, agent FROM sapwood.agents JOIN sapwood.moves USING (space)
    WHERE moves.state = 'arriving'
"""
_CLAIMED = """
    SELECT count(*) FROM sapwood_engine.bells JOIN sapwood.moves USING (space)
    WHERE moves.state = 'arriving' AND worker IS NOT NULL
"""
_PROMPTS = 0.2
_AGAIN = 0.2
_CLIENT_SECONDS = 90.0


class Tenant(Struct, eq=False):
    """A space with one conversation, and what clients asked of it and were told is stored."""

    space: str
    agent: str
    token: str
    cell: str
    to: str = ""
    moving: bool = False
    asked: set[str] = field(default_factory=set[str])
    stored: set[str] = field(default_factory=set[str])


class Seen(Struct, frozen=True):
    """An answer of a server that was asked directly."""

    space: str
    cell: str
    began: float
    ended: float


class Cells:
    """One run."""

    def __init__(
        self, options: argparse.Namespace, addresses: dict[str, str], folder: Path
    ) -> None:
        self._options = options
        self._addresses = addresses
        self._folder = folder
        self._chance = random.Random(options.seed)
        self._tenants: list[Tenant] = []
        self._reports: list[MoveReport] = []
        self._waits: list[float] = []
        self._seen: list[Seen] = []
        self._faults: list[str] = []
        self._failed = Counter[str]()
        self._kills = 0
        self._moved = 0
        self._wakes = 0
        self._claims = 0
        self._done = asyncio.Event()

    async def run(self, router: str, servers: dict[str, str]) -> int:
        """Moves spaces under load, then checks every log. Returns 1 if something is wrong."""
        began = time.monotonic()
        await self._start()
        print(f"{len(self._tenants)} spaces: {time.monotonic() - began:.0f} s", flush=True)
        limits = httpx2.Limits(max_connections=None)
        async with httpx2.AsyncClient(base_url=router, timeout=30, limits=limits) as client:
            working = [asyncio.create_task(self._client(client)) for _ in range(6)]
            working.append(asyncio.create_task(self._probe(servers)))
            working += [asyncio.create_task(self._wake_arriving(cell)) for cell in _CELLS]
            moves = self._chance.sample(self._tenants, self._options.moves)
            killed = set(range(0, len(moves), max(1, len(moves) // max(1, self._options.kills))))
            queue = [(tenant, number in killed) for number, tenant in enumerate(moves)]
            await asyncio.gather(*(self._mover(queue) for _ in range(2)))
            self._done.set()
            await asyncio.gather(*working)
        print(f"moved: {time.monotonic() - began:.0f} s", flush=True)
        findings = await self._check()
        return self._report(findings, time.monotonic() - began)

    async def _start(self) -> None:
        directory = await CellDirectory.open(self._addresses["directory"])
        for number in range(self._options.spaces):
            cell = _CELLS[number % len(_CELLS)]
            space = f"tenant-{number:03}"
            await directory.add(space, cell)
            self._tenants.append(Tenant(space, "", "", cell))
        await directory.close()
        await asyncio.gather(*(self._start_cell(cell) for cell in _CELLS))

    async def _start_cell(self, cell: str) -> None:
        log = await PostgresLog.open(self._addresses[cell])
        async with open(self._addresses[cell]) as db:
            for tenant in self._tenants:
                if tenant.cell == cell:
                    agent = await db.space(tenant.space).start("chat", model=MODEL)
                    tenant.agent = agent.id
                    scopes = ("read", "write")
                    tenant.token, _ = await log.tokens.create("client", tenant.space, scopes)
        await log.close()

    # Clients

    async def _client(self, client: httpx2.AsyncClient) -> None:
        while not self._done.is_set():
            moving = [each for each in self._tenants if each.moving]
            busy = moving if moving and self._chance.random() < 0.7 else self._tenants
            tenant = self._chance.choice(busy)
            name = f"m{len(tenant.asked)}x{self._chance.getrandbits(40):x}"
            if self._chance.random() < _PROMPTS:
                token = f"{tenant.space}/{self._chance.getrandbits(32):x}"
                await self._ask(client, tenant, token, "turns", {"text": token})
            else:
                await self._ask(client, tenant, name, "commands/mark", {"args": name})
            await asyncio.sleep(self._chance.random() * self._options.pause)

    async def _ask(
        self, client: httpx2.AsyncClient, tenant: Tenant, id: str, what: str, body: dict[str, str]
    ) -> None:
        """Sends a request until it is answered, with the same id each time."""
        tenant.asked.add(id)
        began, was_moving = time.monotonic(), tenant.moving
        path = f"/v1/agents/{tenant.agent}/{what}"
        while time.monotonic() < began + _CLIENT_SECONDS:
            try:
                answer = await client.post(path, json={**body, "id": id}, headers=_headers(tenant))
            except httpx2.TransportError as error:
                self._failed[type(error).__name__] += 1
            else:
                if answer.status_code < 300:
                    tenant.stored.add(id)
                    if was_moving or tenant.moving:
                        self._waits.append(time.monotonic() - began)
                    return
                if answer.status_code == 409:  # a turn is open
                    return
                self._failed[f"{answer.status_code} {answer.text[:150]}"] += 1
                if answer.status_code < 500:
                    self._faults.append(f"{tenant.space}: {answer.status_code} {answer.text[:200]}")
                    return
            await asyncio.sleep(_AGAIN)
        self._faults.append(f"{tenant.space}: not answered in {_CLIENT_SECONDS:g} s")

    async def _probe(self, servers: dict[str, str]) -> None:
        """Asks each server directly for the conversations of spaces that move."""
        async with httpx2.AsyncClient(timeout=30) as client:
            while not self._done.is_set():
                moving = [each for each in self._tenants if each.moving]
                for tenant in moving:
                    for cell in (tenant.to, tenant.cell, tenant.to):
                        await self._look(client, servers[cell], cell, tenant)
                await asyncio.sleep(0.02)

    async def _look(
        self, client: httpx2.AsyncClient, server: str, cell: str, tenant: Tenant
    ) -> None:
        began = time.monotonic()
        path = f"{server}/v1/agents/{tenant.agent}"
        try:
            answer = await client.get(path, headers=_headers(tenant))
        except httpx2.TransportError:
            return
        if answer.status_code == 200:
            self._seen.append(Seen(tenant.space, cell, began, time.monotonic()))

    async def _wake_arriving(self, cell: str) -> None:
        """Wakes what has not arrived in a cell yet, and counts the claims of its worker."""
        session = await asyncpg.connect(self._addresses[cell])
        engine = ProcessEngine(self._addresses[cell])
        while not self._done.is_set():
            for space, agent in await session.fetch(_ARRIVING):
                await engine.wake(Space(space), AgentId(agent))
                self._wakes += 1
            self._claims += await session.fetchval(_CLAIMED)
            await asyncio.sleep(0.05)
        await engine.close()
        await session.close()

    # Moves

    async def _mover(self, queue: list[tuple[Tenant, bool]]) -> None:
        while queue:
            tenant, is_killed = queue.pop()
            tenant.to = self._chance.choice([cell for cell in _CELLS if cell != tenant.cell])
            tenant.moving = True
            if is_killed:
                step = _STEPS[self._kills % len(_STEPS)]
                self._kills += 1
                await self._move(tenant, step)
            if await self._move(tenant):
                self._moved += 1
                print(f"{self._moved} moved", flush=True)
            await asyncio.sleep(0.3)  # clients meet it at its new place
            tenant.moving = False

    async def _move(self, tenant: Tenant, killed_at: str = "") -> bool:
        """Moves a space by the command. With `killed_at`, kills it in that step."""
        command = [sys.executable, "-m", "sapwood.cli", "move", tenant.space, "--cell", tenant.to]
        command += ["--database", self._addresses[tenant.cell], "--to", self._addresses[tenant.to]]
        if not killed_at:
            command.append("--json")
        process = await asyncio.create_subprocess_exec(
            *dying_with_us(),
            *command,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        assert process.stdout is not None
        assert process.stderr is not None
        if killed_at:
            async for line in process.stderr:
                if line.decode().startswith(killed_at):
                    await asyncio.sleep(self._chance.random() * 0.02)
                    process.kill()
                    break
            await process.wait()
            return False
        output, errors = await process.communicate()
        if process.returncode != 0:
            self._faults.append(f"{tenant.space}: the move failed: {errors.decode()[-500:]}")
            return False
        self._reports.append(msgspec.json.decode(output, type=MoveReport))
        return True

    # Checks

    async def _check(self) -> Counter[str]:
        """Reads all logs of all cells."""
        found = Counter[str]()
        logs = {cell: await PostgresLog.open(self._addresses[cell], patience=5) for cell in _CELLS}
        await self._await_turns()
        for tenant in self._tenants:
            holders: list[str] = []
            for cell, log in logs.items():
                if await _has(log, tenant):
                    holders.append(cell)
                    async with open(log, space=tenant.space) as db:
                        await self._check_log(tenant, await db.get(tenant.agent), found)
            if len(holders) != 1:
                found["owners"] += 1
                self._faults.append(f"{tenant.space} is in the cells {holders}")
            elif tenant.to and holders != [tenant.to]:
                self._faults.append(f"{tenant.space} should be in {tenant.to}: {holders}")
        for log in logs.values():
            await log.close()
        found["both"] = self._answered_by_both()
        return found

    async def _await_turns(self) -> None:
        """Waits until the workers have answered every prompt. None has a copy that is arriving."""
        query = (
            "SELECT count(*) FROM sapwood.agents WHERE working AND NOT EXISTS"
            " (SELECT FROM sapwood.moves WHERE moves.space = agents.space AND state = 'arriving')"
        )
        async with asyncio.timeout(self._options.minutes * 60):
            for cell in _CELLS:
                session = await asyncpg.connect(self._addresses[cell])
                while await session.fetchval(query):  # noqa: ASYNC110 # of other processes
                    await asyncio.sleep(0.5)
                await session.close()

    async def _check_log(self, tenant: Tenant, agent: Agent, found: Counter[str]) -> None:
        events = await agent.events()
        if [each.version for each in events] != list(range(1, len(events) + 1)):
            self._faults.append(f"{tenant.space} has gaps")
        done, said, ends = Counter[str](), Counter[str](), 0
        for recorded in events:
            match recorded.event:
                case MarkSet(name=name):
                    done[name] += 1
                case TurnStarted(prompt=prompt):
                    done["".join(part.text for part in prompt if isinstance(part, Text))] += 1
                case ReplyAdded(parts=parts):
                    said["".join(part.text for part in parts if isinstance(part, Text))] += 1
                case TurnCompleted():
                    ends += 1
                case _:
                    pass
        prompts = [each for each in done if "/" in each]
        wanted = {expected(token, tenant.space) for token in prompts}
        found["lost"] += len(tenant.stored - set(done)) + len(wanted - set(said))
        found["doubled"] += sum(count - 1 for count in done.values())
        found["doubled"] += sum(said[each] - 1 for each in wanted & set(said))
        found["turns"] += ends
        if ends != len(prompts):
            self._faults.append(f"{tenant.space}: {len(prompts)} prompts, {ends} ends")
        if strangers := set(done) - tenant.asked:
            self._faults.append(f"{tenant.space}: nobody asked for {strangers}")
        if prompts:
            found["replays"] += 1
            if not (await agent.replay()).matches:
                self._faults.append(f"{tenant.space}: the last request is not rebuilt as it was")

    def _answered_by_both(self) -> int:
        """How often the place before answered after the new place had answered."""
        by_space: dict[str, list[Seen]] = {}
        for each in self._seen:
            by_space.setdefault(each.space, []).append(each)
        wrong = 0
        for tenant in self._tenants:
            seen = by_space.get(tenant.space, [])
            first = min((each.ended for each in seen if each.cell == tenant.to), default=None)
            wrong += sum(
                first is not None and each.cell == tenant.cell and each.began > first
                for each in seen
            )
        return wrong

    def _report(self, found: Counter[str], took: float) -> int:
        for sentence in self._faults[:20]:
            print(sentence, file=sys.stderr)
        pauses = [each.pause for each in self._reports if each.outcome == "moved"]
        p99 = percentile(pauses, 0.99) if pauses else 0.0
        stored = sum(len(each.stored) for each in self._tenants)
        again = sum(each.stops - 1 for each in self._reports if each.outcome == "moved")
        print(
            f"clients of moving spaces waited p50/p99/max {percentile(self._waits, 0.5):.2f}/"
            f"{percentile(self._waits, 0.99):.2f}/{max(self._waits, default=0.0):.2f} s in "
            f"{len(self._waits)} requests; {sum(self._failed.values())} requests were sent again; "
            f"{again} stops were given up; load of the machine {os.getloadavg()[2]:.1f}"
        )
        for reason, count in self._failed.most_common(3):
            print(f"  sent again {count} times: {reason}")
        wrong = found["lost"] + found["doubled"] + found["owners"] + found["both"] + self._claims
        is_short = len(pauses) > 0 and p99 <= _MAX_PAUSE
        print(
            f"cells: {len(self._tenants)} spaces, {self._moved} moved, {self._kills} moves killed, "
            f"{stored} requests stored, {found['turns']} turns, {found['replays']} requests "
            f"rebuilt: {found['lost']} lost, {found['doubled']} doubled, {found['owners']} spaces "
            f"without one owner, {found['both']} of {len(self._seen)} direct answers by two "
            f"cells, {self._claims} claims in {self._wakes} wakes of spaces that had not arrived, "
            f"{len(self._faults)} other faults, pause p50/p99 "
            f"{percentile(pauses, 0.5):.2f}/{p99:.2f} s (at most {_MAX_PAUSE:g}), {took:.0f} s"
        )
        whole = self._moved == self._options.moves and self._kills >= min(1, self._options.kills)
        return int(bool(wrong or self._faults) or not is_short or not whole)


def _headers(tenant: Tenant) -> dict[str, str]:
    return {"Authorization": f"Bearer {tenant.token}", "Sapwood-Space": tenant.space}


async def _has(log: PostgresLog, tenant: Tenant) -> bool:
    """Whether a cell answers for a space."""
    with suppress(SpaceMoved, SpaceStopped):
        await log.require_here(Space(tenant.space))
        return await log.summary(Space(tenant.space), AgentId(tenant.agent)) is not None
    return False


async def _databases(dsn: str) -> dict[str, str]:
    """Three databases with tables, made of one, and the database of the directory."""
    addresses = {"directory": dsn}
    session = await asyncpg.connect(dsn)
    first = ""
    for cell in _CELLS:
        template = f" TEMPLATE {first}" if first else ""
        await session.execute(f"CREATE DATABASE cell_{cell}{template}")
        addresses[cell] = urlsplit(dsn)._replace(path=f"/cell_{cell}").geturl()
        if not first:
            await (await PostgresLog.open(addresses[cell])).close()
            first = f"cell_{cell}"
    await session.close()
    return addresses


def _start_router(servers: dict[str, str], directory: str, log: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "sapwood.cli", "route", "--port", "0"]
    for cell, address in servers.items():
        command += ["--cell", f"{cell}={address}"]
    with log.open("wb") as file:
        return subprocess.Popen(
            [*dying_with_us(), *command, "--directory", directory],
            stdout=file,
            stderr=file,
        )


def _router_address(log: Path) -> str:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if found := re.search(r"Routing on (http://\S+)\. ", log.read_text()):
            return found[1]
        time.sleep(0.05)
    raise RuntimeError(f"The router did not start: {log.read_text()}")


async def _run(options: argparse.Namespace, dsn: str, folder: Path, model: str) -> int:
    addresses = await _databases(dsn)
    workers: list[Workers] = []
    with ExitStack() as stack:
        servers: dict[str, str] = {}
        for cell in _CELLS:
            home = folder / cell
            (home / "config" / "sapwood").mkdir(parents=True)
            configured = home / "config" / "sapwood" / "config.toml"
            configured.write_text(f'[base_urls]\nden = "{model}"\n')
            server = ServedProcess(home, addresses[cell])
            stack.enter_context(server)
            servers[cell] = server.address
            environment = {
                **os.environ,
                "SAPWOOD_DATA": str(home / "worker"),
                "SAPWOOD_SERVICE_MODEL": model,
            }
            database, chance = [addresses[cell]], random.Random(options.seed)
            workers.append(Workers(environment, home, 1, chance, database.__getitem__))
        router = _start_router(servers, dsn, folder / "router")
        stack.callback(router.wait)
        stack.callback(router.terminate)
        try:
            await asyncio.gather(*(each.start() for each in workers))
            run = Cells(options, addresses, folder)
            async with asyncio.timeout(options.minutes * 60):
                return await run.run(_router_address(folder / "router"), servers)
        finally:
            for each in workers:
                for sentence in await each.stop():
                    print(sentence, file=sys.stderr)


def main(arguments: list[str]) -> int:
    """Runs the proof; returns 1 if something was lost, doubled, answered twice, or too slow."""
    parser = argparse.ArgumentParser(prog="python -m proofs.cells", description=__doc__)
    parser.add_argument("--spaces", type=int, default=300)
    parser.add_argument("--moves", type=int, default=50)
    parser.add_argument("--kills", type=int, default=15, help="moves that are killed and repeated")
    parser.add_argument("--pause", type=float, default=0.05, help="of a client, in seconds")
    parser.add_argument("--minutes", type=float, default=30.0, help="the longest it may take")
    parser.add_argument("--seed", type=int, default=time.time_ns(), help="to repeat the chances")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(1))
    print(f"seed {options.seed}", flush=True)
    with (
        tempfile.TemporaryDirectory(prefix="sapwood-cells-") as name,
        cluster() as server,
        ScriptedModel() as model,
    ):
        model.script(answer)
        folder = Path(name)
        os.environ["HOME"] = name
        os.environ["XDG_CONFIG_HOME"] = str(folder / "config")
        os.environ["XDG_DATA_HOME"] = str(folder / "data")
        try:
            return asyncio.run(_run(options, server.dsn, folder, model.openai_url))
        except TimeoutError:
            print(f"cells: not done after {options.minutes:g} minutes", file=sys.stderr)
            return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
