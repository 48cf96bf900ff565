"""Commands of the core over HTTP: a principal gives what a person may give, and no more."""

from pathlib import Path
from typing import get_args

import httpx2
import pytest
from msgspec import structs, to_builtins

from sapwood.api import open
from sapwood.core import commands as core
from sapwood.core.command_table import TABLE
from sapwood.core.commands import Command
from sapwood.core.content import Text
from sapwood.core.ids import AgentId
from sapwood.core.lease import Lease
from sapwood.core.settings import BUDGET, Settings, SettingsChange, Workspace, typed_name
from sapwood_server.routes.dispatch_api import dispatch_endpoints
from tests.server.serving import Served, record


@pytest.fixture
async def agent(served: Served) -> AgentId:
    return await record(served.connection, ("Hello.", "Hi."))


async def give(client: httpx2.AsyncClient, command: Command, **more: str) -> httpx2.Response:
    body = {"kind": type(command).__name__, "command": to_builtins(command), **more}
    return await client.post("/v1/dispatch", json=body)


async def test_the_principal_is_the_actor_whatever_the_request_says(
    served: Served, agent: AgentId
) -> None:
    async with served.client("write") as client:
        done = await give(client, core.SetMark(agent, "A"), role="system")
    assert done.json()["message"] == "Marked 'A'."
    last = (await served.connection.log.read(served.connection.space, agent))[-1]
    assert str(last.actor) == "human:ada"


async def test_commands_of_sapwood_itself_are_not_taken(served: Served, agent: AgentId) -> None:
    async with served.client() as client:
        own = [kind.__name__ for kind in get_args(Command) if not TABLE.is_remote(kind)]
        assert {"RecordSync", "MakeCheckpoint", "StartRevert", "AskQuestion"} <= set(own)
        for kind in own:
            answer = await client.post(
                "/v1/dispatch", json={"kind": kind, "command": {"agent": agent}}
            )
            assert answer.status_code == 422, kind
            assert "reserved for Sapwood itself" in answer.json()["detail"]
        for body in ({}, {"kind": "SetMark"}, {"kind": "SetMark", "command": {"agent": 1}}):
            assert (await client.post("/v1/dispatch", json=body)).status_code == 422


async def test_permissions_need_their_scope(served: Served, agent: AgentId) -> None:
    every = core.Configure(agent, SettingsChange(permission_mode="all"))
    started = core.StartAgent(AgentId("fresh"), settings=Settings(permission_mode="all"))
    answered = core.AnswerQuestion(agent, "q", "h", True, "{}")
    change = SettingsChange(permission_mode="all")
    forked = core.Fork(agent, AgentId("child"), change=change)
    async with served.client("read", "write") as writer, served.client() as person:
        for command in (every, started, answered, forked):
            refused = await give(writer, command)
            assert refused.status_code == 403, command
            assert refused.json()["scope"] == "approve"
        assert (await give(person, every)).is_success
        assert (await give(person, answered)).json()["refusal"] == "NoQuestion"


async def test_budgets_need_the_scope_for_approvals(served: Served, agent: AgentId) -> None:
    path = f"/v1/agents/{agent}"
    names = [name for name in Settings.__struct_fields__ if name.startswith(BUDGET)]
    async with served.client("read", "write") as writer, served.client() as person:
        for name in names:
            typed = f"{typed_name(name)} 0"
            change = structs.replace(SettingsChange(), **{name: 0})
            settings = structs.replace(Settings(), **{name: 0})
            for refused in (
                await writer.post(f"{path}/commands/config", json={"args": typed}),
                await writer.post(f"{path}/submissions", json={"text": f"/config {typed}"}),
                await give(writer, core.Configure(agent, change)),
                await give(writer, core.Fork(agent, AgentId("child"), change=change)),
                await give(writer, core.StartAgent(AgentId("fresh"), settings=settings)),
            ):
                assert refused.status_code == 403, (name, refused.text)
            assert (await give(person, core.Configure(agent, change))).is_success
        fresh = core.StartAgent(AgentId("fresh"), settings=Settings(budget_cost=1.0))
        assert (await give(writer, fresh)).is_success
    assert names


async def test_other_folders_of_the_machine_are_for_who_administers_it(
    served: Served, agent: AgentId
) -> None:
    inside, outside = Path.cwd() / "inside", Path.cwd().parent / "outside"
    started = core.StartAgent(AgentId("one"), workspace=Workspace(str(outside)))
    forked = core.Fork(agent, AgentId("child"), workspace=Workspace(f"{inside}/../.."))
    async with served.client("read", "write", "approve") as writer, served.client() as person:
        by_route = await writer.post("/v1/agents", json={"folder": str(outside)})
        for refused in (by_route, await give(writer, started), await give(writer, forked)):
            assert refused.status_code == 403, refused.text
            assert refused.json()["scope"] == "admin"
        fit = core.StartAgent(AgentId("two"), workspace=Workspace(str(inside)))
        assert (await give(writer, fit)).is_success
        assert (await give(person, started)).is_success


async def test_the_permission_mode_needs_that_scope_by_every_route(
    served: Served, agent: AgentId
) -> None:
    path, args = f"/v1/agents/{agent}", "permission_mode all"
    async with served.client("read", "write") as writer, served.client() as person:
        command = await writer.post(f"{path}/commands/config", json={"args": args})
        typed = await writer.post(f"{path}/submissions", json={"text": f"/config {args}"})
        other = await writer.post(f"{path}/commands/config", json={"args": "cap 50k"})
        allowed = await person.post(f"{path}/commands/config", json={"args": args})
    assert (command.status_code, typed.status_code) == (403, 403)
    assert other.is_success
    assert allowed.is_success


async def test_a_reply_is_recorded_only_by_who_has_the_lease(
    served: Served, agent: AgentId
) -> None:
    reply = core.AddReply(agent, (Text("42"),))
    async with served.client(name="ada") as ada, served.client(name="bob") as bob:
        start = core.StartTurn(agent, (Text("What is 6 x 7?"),), lease=Lease("mine", _soon()))
        assert (await give(ada, start)).is_success
        stolen = await give(bob, reply, holder="mine", role="system")
        nameless = await give(ada, reply, role="system")
        own = await give(ada, reply, holder="mine", role="system")
    assert stolen.json()["refusal"] == nameless.json()["refusal"] == "TurnHeld"
    assert own.is_success


async def test_a_turn_of_a_worker_cannot_be_written_by_a_client(
    served: Served, agent: AgentId
) -> None:
    async with open(served.connection.log) as db:
        await (await db.get(agent)).prompt("What is 6 x 7?")
    async with served.client() as client:
        answer = await give(client, core.AddReply(agent, (Text("43"),)), holder="x", role="system")
    assert answer.json()["refusal"] == "TurnHeld"


async def test_nothing_of_another_space_is_changed(served: Served) -> None:
    hidden = await record(served.connection, ("Hello.", "Hi."), space="other")
    async with served.client() as client:
        answer = await give(client, core.SetMark(hidden, "A"))
    assert answer.status_code == 404


def test_there_is_one_route() -> None:
    assert [(each.path, each.scope) for each in dispatch_endpoints()] == [("/v1/dispatch", "write")]


def _soon() -> int:
    import time

    return (int(time.time()) + 60) * 1_000_000
