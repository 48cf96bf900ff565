"""One proof on one database: a team works while its workers are killed."""

import asyncio
import os
import random
import stat
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from proofs.crash_runtime.check import Findings, check
from proofs.crash_runtime.evidence import Evidence, appended_in, requests_of, searches_in
from proofs.crash_runtime.feeding import Feeder
from proofs.crash_runtime.model import scripted_team
from proofs.crash_runtime.workers import Workers
from sapwood.app.connection import Connection, connect
from sapwood.engine.dbos import DbosEngine
from scripted_model import ScriptedModel

__all__ = ["Plan", "prove"]

_MODEL = "team:any"
_ENDING = 120.0
"""Seconds after the last kill within which every turn must have ended."""

_CONFIG = """
permissions = ["allow shell"]

[base_urls]
team = "{url}"
"""
_SEARCH = """#!/bin/sh
echo "$(date +%s%N) $*" >> {trace}
sleep 0.02
exit 1
"""


class Plan(Struct, frozen=True):
    """How large a proof is. `longest` is how many seconds a worker lives at most once it works."""

    agents: int
    workers: int
    kills: int
    longest: float
    seed: int


async def prove(address: str, plan: Plan, folder: Path, tell: Callable[[str], None]) -> Findings:
    """Has a team work on this database, kills its workers, and checks everything."""
    chance = random.Random(plan.seed)
    space = f"crash-{chance.getrandbits(64):016x}"
    ledger, trace = folder / "ledger", folder / "searches"
    ledger.touch()
    with scripted_team(ledger, chance) as model:
        environment = _home(folder, address, space, model, trace)
        connection = await connect(address, space)
        engine = DbosEngine(address)
        try:
            project = str(folder / "project")
            feeder = Feeder(connection, engine, _MODEL, plan.agents, project)
            workers = Workers(
                environment,
                folder,
                chance,
                kills=plan.kills,
                longest=plan.longest,
                progress=lambda: len(model.requests),
                tell=tell,
            )
            await _work(feeder, workers, plan, tell)
            evidence = await _evidence(connection, feeder, model, ledger, trace, plan)
        finally:
            await engine.close()
            await connection.close()
        findings = check(evidence)
        for fault in workers.faults:
            findings.note("other", fault)
        for rejection in model.rejections:
            findings.note("other", f"the model refused a request: {rejection.message}")
    return findings


async def _work(feeder: Feeder, workers: Workers, plan: Plan, tell: Callable[[str], None]) -> None:
    await feeder.found()
    running = asyncio.create_task(workers.run(plan.workers))
    feeding = asyncio.create_task(feeder.feed(workers.done_killing))
    await asyncio.wait({running, feeding}, return_when=asyncio.FIRST_COMPLETED)
    await feeding
    tell(f"{workers.kills} kills, {len(feeder.given)} rounds given; the last turns end")
    if not await feeder.rest(_ENDING):
        tell("not every turn has ended in time")
    workers.leave()
    await running


def _home(
    folder: Path, address: str, space: str, model: ScriptedModel, trace: Path
) -> dict[str, str]:
    """A home for the workers: configuration, a project, and a search program that is traced."""
    for name in ("project", "bin", "home"):
        (folder / name).mkdir()
    (folder / "project" / "heartwood.txt").write_text("rings\n")
    search = folder / "bin" / "rg"
    search.write_text(_SEARCH.format(trace=trace))
    search.chmod(search.stat().st_mode | stat.S_IXUSR)
    (folder / "config.toml").write_text(_CONFIG.format(url=model.openai_url))
    return {
        **os.environ,
        "HOME": str(folder / "home"),
        "XDG_STATE_HOME": str(folder / "home" / "state"),
        "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "SAPWOOD_CONFIG": str(folder / "config.toml"),
        "SAPWOOD_DATABASE": address,
        "SAPWOOD_SPACE": space,
    }


async def _evidence(
    connection: Connection,
    feeder: Feeder,
    model: ScriptedModel,
    ledger: Path,
    trace: Path,
    plan: Plan,
) -> Evidence:
    log, space = connection.log, connection.space
    team = await feeder.team()
    return Evidence(
        labels=feeder.labels,
        logs={facts.agent: await log.read(space, facts.agent) for facts in team},
        given=feeder.given,
        requests=requests_of(model.requests),
        ledger=appended_in(ledger),
        searches=searches_in(trace),
        agents=plan.agents,
    )
