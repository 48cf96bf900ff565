"""Stages seven incidents, one after the other; the last line has the figures.

    just incidents
    just incidents poisoned_conversation

Each starts from a service that works: a server, two workers with `--app`, PostgreSQL and Prometheus
with the alert rules. It waits until the alert fires (the `for` of the rule is left out) and a log
line names the cause. Then it applies the cure of the runbook and sees incident and alert end. At
last, Prometheus answers every query of the dashboard.
"""

import asyncio
import os
import re
import signal
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from proofs.incidents.app import DEADLY, DEFECT, MODEL, POISON
from proofs.incidents.prometheus import PrometheusError, staged_queries
from proofs.incidents.site import IncidentError, Site, is_ready, until
from sapwood import Agent, RefusedError, Sapwood, open
from scripted_model import ModelRequest, Reply, ReplyLike, ScriptedModel
from tools.postgres import Cluster, cluster

_FLOOD = 120


class _Stage:
    """The service, and what the model does now."""

    def __init__(self, site: Site, server: Cluster, db: Sapwood) -> None:
        self.site = site
        self.postgres = server
        self.db = db
        self.is_limited = False

    def answer(self, request: ModelRequest) -> ReplyLike:
        """The reply of the model."""
        if self.is_limited:
            return Reply(status=429, retry_after=3600)
        slow = 4.0 if "slowly" in request.prompt else 0.05
        return Reply.of("Done.", sleep=slow)

    async def agent(self, space: str, name: str = "lead") -> Agent:
        """A new conversation of a tenant."""
        return await self.db.space(space).start(name, model=MODEL)

    async def works(self, space: str = "quiet") -> None:
        """Raises `IncidentError` unless a prompt is answered."""
        await self.answers(await self.agent(space), "Say something.")

    async def answers(self, agent: Agent, prompt: str) -> None:
        """Raises `IncidentError` unless this agent answers the prompt."""
        try:
            async with asyncio.timeout(60):
                said = (await agent.ask(prompt)).text
        except TimeoutError:
            raise IncidentError("a prompt was not answered within 60 s") from None
        if said != "Done.":
            raise IncidentError(f"a prompt was answered with {said!r}")


async def database_down(stage: _Stage) -> None:
    """PostgreSQL stops while a turn runs. Cure: start it; workers continue by themselves."""
    site = stage.site
    agent = await stage.agent("quiet")
    await agent.prompt("Answer slowly.")
    await asyncio.to_thread(stage.postgres.stop)
    try:
        await site.fires("SapwoodDatabaseDown")
        await until("/readyz answers 503", lambda: _status(stage, 503))
        await until(
            "a line says that the database is not responding",
            lambda: [x for x in site.logged() if "database is not responding" in x["message"]],
        )
    finally:
        stage.postgres.start()  # in this thread: Linux stops it when its parent thread ends
    await until("/readyz answers 200", lambda: _status(stage, 200))
    await until("the open turn is completed", lambda: _is_completed(agent))
    await site.calms("SapwoodDatabaseDown")
    await until(
        "a line says that the database is back",
        lambda: [x for x in site.logged() if "database is back" in x["message"]],
    )


async def _status(stage: _Stage, wanted: int) -> bool:
    return await stage.site.workers[0].status() == wanted


async def _is_completed(agent: Agent) -> bool:
    return (await agent.events())[-1].kind == "turn.completed"


async def stuck_worker(stage: _Stage) -> None:
    """A worker stops to answer in a turn. Cure: kill it and start it again."""
    site = stage.site
    agent = await stage.agent("quiet")
    await agent.prompt("Answer slowly.")
    running: list[dict[str, str]] = []

    async def is_running() -> bool:
        running[:] = await site.prometheus.query("sapwood_turns_running > 0")
        return bool(running)

    await until("a worker runs the turn", is_running, 30)
    [stuck] = [each for each in site.workers if each.name == running[0]["instance"]]
    stuck.send(signal.SIGSTOP)
    await site.fires("SapwoodProcessDown", instance=stuck.name)
    [other] = [each for each in site.workers if each is not stuck]
    await until("another worker completes the turn", lambda: _is_completed(agent))
    await until(
        "a line names the worker that does not answer",
        lambda: [x for x in other.lines() if "does not answer" in x["message"]],
    )
    stuck.stop(signal.SIGKILL)
    stuck.start()
    await until("the new worker answers", lambda: is_ready(stuck))
    await site.calms("SapwoodProcessDown", instance=stuck.name)


async def no_worker(stage: _Stage) -> None:
    """All workers are gone, so only the server can say that a turn waits. Cure: start workers."""
    site = stage.site
    for worker in site.workers:
        worker.stop()
    agent = await stage.agent("quiet")
    await agent.prompt("Say something.")
    try:
        await site.fires("SapwoodQueueOld", within=150, space="quiet")
        shown = await site.run("top", "--once", "--spaces", "*")
        if "No worker is running" not in shown:
            raise IncidentError(f"`sapwood top` does not name the cause: {shown}")
    finally:
        for worker in site.workers:
            worker.start()
    await until("the turn is completed", lambda: _is_completed(agent))
    await site.calms("SapwoodQueueOld", space="quiet")
    for worker in site.workers:
        await until("the worker answers", partial(is_ready, worker))


async def flooding_tenant(stage: _Stage) -> None:
    """A tenant has very many open turns. Others are answered. Cure: interrupt what waits."""
    site = stage.site
    agents = [await stage.agent("flood", f"loop-{number}") for number in range(_FLOOD)]
    await asyncio.gather(*[agent.prompt("Answer slowly.") for agent in agents])

    await site.fires("SapwoodTenantFloods", space="flood")
    began = time.monotonic()
    await stage.works("quiet")
    print(f"  a quiet tenant was answered in {time.monotonic() - began:.1f} s", flush=True)
    if await site.prometheus.fires("SapwoodQueueOld", space="quiet"):
        raise IncidentError("the queue of a quiet tenant is old")
    await until("lines name the space", lambda: site.logged(event="turn.completed", space="flood"))
    for agent in agents:
        with suppress(RefusedError):  # its turn has ended by itself
            await agent.interrupt("a loop of this tenant")

    await site.calms("SapwoodTenantFloods", space="flood")


async def refusing_provider(stage: _Stage) -> None:
    """The provider refuses by a rate limit. Cure: wait for it, then the user continues."""
    site = stage.site
    stage.is_limited = True
    agent = await stage.agent("quiet")
    asking = asyncio.create_task(_ask_on(stage))
    try:
        await agent.prompt("Say something.")
        await site.fires("SapwoodModelFailing", outcome="overloaded")
        await until(
            "lines name the provider's reason",
            lambda: [x for x in site.logged(event="turn.failed") if "3600" in x["reason"]],
        )
    finally:
        asking.cancel()
        stage.is_limited = False
    await stage.answers(agent, "Continue.")
    await site.calms("SapwoodModelFailing")


async def _ask_on(stage: _Stage) -> None:
    """Users go on asking while the provider refuses."""
    while True:
        await (await stage.agent("quiet")).prompt("Say something.")
        await asyncio.sleep(1)


async def poisoned_conversation(stage: _Stage) -> None:
    """A prompt meets a defect again and again. Cure: interrupt it and clear the context."""
    site = stage.site
    agent = await stage.agent("quiet")
    await agent.prompt(f"Read {POISON}.")

    await site.fires("SapwoodTurnErrors")
    named = {"event": "turn.error", "space": "quiet", "agent": agent.id, "reason": DEFECT}
    await until("a line names agent and defect", lambda: site.logged(**named))
    await stage.works("quiet")
    await site.run("interrupt", agent.id, space="quiet")
    await agent.run_command("/clear")
    await stage.answers(agent, "Go on without it.")


async def deadly_conversation(stage: _Stage) -> None:
    """A prompt ends every process that runs it. Cure: none; its turn fails after four of them."""
    site = stage.site
    agent = await stage.agent("quiet")
    supervising = asyncio.create_task(site.restart_ended())
    try:
        await agent.prompt(f"Read {DEADLY}.")
        await until("the turn fails", lambda: _has_failed(agent), 180)
    finally:
        supervising.cancel()
    named = {"space": "quiet", "agent": agent.id}
    await until(
        "a line names the agent before it is given up",
        lambda: [x for x in site.logged(**named) if "may end processes" in x["message"]],
    )
    await until(
        "a line says why its turn failed", lambda: site.logged(event="turn.failed", **named)
    )
    for worker in site.workers:
        await until("the worker answers", partial(is_ready, worker))
    await stage.works("quiet")
    await agent.run_command("/clear")
    await stage.answers(agent, "Go on without it.")


async def _has_failed(agent: Agent) -> bool:
    return (await agent.events())[-1].kind == "turn.failed"


INCIDENTS: tuple[Callable[[_Stage], Awaitable[None]], ...] = (
    database_down,
    stuck_worker,
    no_worker,
    flooding_tenant,
    refusing_provider,
    poisoned_conversation,
    deadly_conversation,
)


async def _look_at_dashboard(site: Site) -> None:
    """Asks Prometheus for all that the dashboard shows. Raises `PrometheusError`."""
    shown = staged_queries()
    empty = [each for each in shown if not await site.prometheus.query(each)]
    named = sorted({name for each in empty for name in re.findall(r"sapwood_\w+", each)})
    left = f", no data of {', '.join(named)}" if named else ""
    print(f"dashboard: {len(shown)} queries answered{left}")


async def _run(names: list[str], folder: Path, server: Cluster, model: ScriptedModel) -> int:
    site, failed = Site(folder, server.dsn, model.openai_url), 0
    chosen = [each for each in INCIDENTS if not names or each.__name__ in names]
    os.environ.update({name: site.environ[name] for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME")})
    try:
        await site.start()
        async with open(server.dsn) as db:
            stage = _Stage(site, server, db)
            model.script(stage.answer)
            for incident in chosen:
                began = time.monotonic()
                try:
                    await stage.works()
                    await incident(stage)
                    await stage.works()
                except IncidentError as problem:
                    failed += 1
                    print(f"NO {incident.__name__}: {problem}", flush=True)
                    print(
                        "".join(f"  {each.name}: {each.last_words()}\n" for each in site.processes)
                    )
                else:
                    print(f"ok {incident.__name__}: {time.monotonic() - began:.1f} s", flush=True)
            await _look_at_dashboard(site)
    except PrometheusError as problem:
        failed += 1
        print(f"NO {problem}")
    finally:
        site.stop()
    print(f"incidents: {len(chosen) - failed} of {len(chosen)} seen, named and ended")
    return int(failed > 0 or not chosen)


def main(names: list[str]) -> int:
    """Stages the named incidents, or all; returns 1 if one did not go as the runbook says."""
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(1))  # so that all is stopped
    with (
        tempfile.TemporaryDirectory(prefix="sapwood-incidents-") as folder,
        cluster(volatile=True) as server,
        ScriptedModel() as model,
    ):
        return asyncio.run(_run(names, Path(folder), server, model))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
