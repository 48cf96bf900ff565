"""Replay: rebuilds every model call of every agent from the log, checks it and sends it again.

A replayed request must equal the original request in every field.
"""

from collections import Counter

import msgspec

from proofs.e2e.system_under_test import SystemUnderTest
from proofs.e2e.wires import KEYS, asked, base_urls
from sapwood.app.assembly import toolbox_for
from sapwood.app.job_log import AgentJobLog
from sapwood.conversation.model_tool import slash_spec
from sapwood.core.events import ModelCalled
from sapwood.core.view import Request
from sapwood.models import Models
from sapwood.workspace.background_jobs import BackgroundJobs
from scripted_model import ScriptedModel


async def play(system: SystemUnderTest) -> None:
    """Runs the scene."""
    checks, requests = system.checks, list[Request]()
    for agent in await system.everyone():
        for recorded in await agent.events():
            if isinstance(recorded.event, ModelCalled):
                seen = await agent.replay(recorded.version)
                checks.that(f"{recorded.ref} replays", seen.matches)
                requests.append(seen.request)
    system.calls += len(requests)
    sent = _sent(system.server)
    again = await _sent_again(system, requests)
    checks.same("as many requests came as calls are in the log", sent.total(), again.total())
    missing, further = sent - again, again - sent
    checks.that("a replayed request is sent as it was", not missing, next(iter(missing), ""))
    checks.that("and no other", not further, next(iter(further), ""))


async def _sent_again(system: SystemUnderTest, requests: list[Request]) -> Counter[bytes]:
    connection = system.db.connection
    jobs = BackgroundJobs(AgentJobLog(connection))
    offered = toolbox_for(system.config, None, space=connection.space, jobs=jobs)
    tools = (slash_spec(), *await offered.specs())
    with ScriptedModel() as server:
        server.script(lambda _: "Heard again.")
        async with Models(KEYS, urls=base_urls(server)) as models:
            for request in requests:
                async for _ in models.stream(request, tools):
                    pass
        return _sent(server)


def _sent(server: ScriptedModel) -> Counter[bytes]:
    """The received requests for an answer, by path and body."""
    return Counter(
        msgspec.json.encode((logged.path, asked(logged.body)), order="sorted")
        for logged in server.requests
        if not logged.counts
    )
