"""One run on one database: agents work while their workers are killed."""

import asyncio
import os
import random
import secrets
import stat
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from proofs.crash_runtime.check import Findings, check
from proofs.crash_runtime.engines import EngineSetup
from proofs.crash_runtime.evidence import Evidence, appended_in, requests_of, searches_in
from proofs.crash_runtime.model import scripted_team
from proofs.crash_runtime.workers import Workers
from proofs.crash_runtime.workload import Workload
from sapwood.app.connection import Connection, connect
from scripted_model import ScriptedModel

_MODEL = "team:any"
_ENDING = 120.0
"""Seconds after the last kill within which every turn must have ended."""
_UNCOMPILED = "PYTHONDONTWRITEBYTECODE"
"""Left out for workers. Without compiled modules, each needs ten seconds of CPU to start, which is
longer than `_ENDING` on a busy machine."""

_CONFIG = """
permissions = ["allow shell"]
sandbox = "off"
limits.deaths = 0  # the kills are the proof's, not those of a turn
{settings}
[base_urls]
team = "{url}"
"""
_SEARCH = """#!/bin/sh
echo "$(date +%s%N) $*" >> {trace}
sleep 0.02
exit 1
"""


class Plan(Struct, frozen=True):
    """The size of a run. `longest` is the longest life of a working worker, in seconds."""

    agents: int
    workers: int
    kills: int
    longest: float
    seed: int


async def prove(
    address: str, plan: Plan, folder: Path, report: Callable[[str], None], setup: EngineSetup
) -> Findings:
    """Runs agents on this database, kills their workers, and checks everything."""
    chance = random.Random(plan.seed)
    space = f"crash-{secrets.token_hex(8)}"  # not from the seed: runs may share a database
    ledger, trace = folder / "ledger", folder / "searches"
    ledger.touch()
    with scripted_team(ledger, chance) as model:
        environment = _home(folder, address, space, model, trace, setup)
        connection = await connect(address, space)
        engine = setup.engine(address)
        try:
            project = str(folder / "project")
            workload = Workload(connection, engine, _MODEL, plan.agents, project)
            workers = Workers(
                environment,
                folder,
                chance,
                commands=setup.commands,
                kills=plan.kills,
                longest=plan.longest,
                progress=lambda: len(model.requests),
                report=report,
            )
            await _work(workload, workers, plan, report)
            evidence = await _evidence(connection, workload, model, ledger, trace, plan)
        finally:
            await engine.close()
            await connection.close()
        findings = check(evidence)
        for fault in workers.faults:
            findings.note("other", fault)
        for rejection in model.rejections:
            findings.note("other", f"the model refused a request: {rejection.message}")
    return findings


async def _work(
    workload: Workload, workers: Workers, plan: Plan, report: Callable[[str], None]
) -> None:
    await workload.start()
    running = asyncio.create_task(workers.run(plan.workers))
    feeding = asyncio.create_task(workload.run(workers.done_killing))
    await asyncio.wait({running, feeding}, return_when=asyncio.FIRST_COMPLETED)
    await feeding
    report(f"{workers.kills} kills, {len(workload.given)} rounds given; waiting for the last turns")
    if not await workload.wait_until_idle(_ENDING):
        report("not every turn has ended in time")
    workers.leave()
    await running


def _home(
    folder: Path,
    address: str,
    space: str,
    model: ScriptedModel,
    trace: Path,
    setup: EngineSetup,
) -> dict[str, str]:
    """Creates a home for the workers: configuration, a project, and a traced search program."""
    for name in ("project", "bin", "home"):
        (folder / name).mkdir()
    (folder / "project" / "heartwood.txt").write_text("rings\n")
    search = folder / "bin" / "rg"
    search.write_text(_SEARCH.format(trace=trace))
    search.chmod(search.stat().st_mode | stat.S_IXUSR)
    (folder / "config.toml").write_text(
        _CONFIG.format(settings=setup.settings, url=model.openai_url)
    )
    return {
        **{name: each for name, each in os.environ.items() if name != _UNCOMPILED},
        "HOME": str(folder / "home"),
        "XDG_STATE_HOME": str(folder / "home" / "state"),
        "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "SAPWOOD_CONFIG": str(folder / "config.toml"),
        "SAPWOOD_DATABASE": address,
        "SAPWOOD_SPACE": space,
    }


async def _evidence(
    connection: Connection,
    workload: Workload,
    model: ScriptedModel,
    ledger: Path,
    trace: Path,
    plan: Plan,
) -> Evidence:
    log, space = connection.log, connection.space
    team = await workload.team()
    return Evidence(
        labels=workload.labels,
        logs={summary.agent: await log.read(space, summary.agent) for summary in team},
        given=workload.given,
        requests=requests_of(model.requests),
        ledger=appended_in(ledger),
        searches=searches_in(trace),
        agents=plan.agents,
    )
