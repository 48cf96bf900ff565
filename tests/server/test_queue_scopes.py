"""A queued message is a command that runs later: it needs the scopes of a command that runs now."""

import pytest

from sapwood.core.commands import QueuePrompt, SetGoal
from sapwood.core.errors import accepted
from sapwood.core.ids import AgentId
from sapwood.core.state import State
from sapwood.turns.clock_and_ids import command_meta
from tests.engine.eventually import eventually
from tests.server.serving import Served, record

GUARDED = (
    "/permissions all",
    "/config budget_cost 100000",
    "/goal It is done.",
    "/shell ls",
    "/mark A\n/permissions all",
    "/unknown\n/permissions all",
)


@pytest.fixture
async def agent(served: Served) -> AgentId:
    return await record(served.connection, ("Hello.", "Hi."))


async def state_of(served: Served, agent: AgentId) -> State:
    return (await served.connection.dispatcher.open(agent)).state


async def stored(served: Served, agent: AgentId, *texts: str) -> None:
    """Stores messages in the queue as a program does that has the database."""
    for text in texts:
        command = QueuePrompt(agent, text, text)
        accepted(await served.connection.dispatcher.dispatch(command, command_meta()))


@pytest.mark.parametrize("text", GUARDED)
async def test_a_command_is_queued_only_with_the_scope_to_run_it(
    served: Served, agent: AgentId, text: str
) -> None:
    given = {"agent": agent, "entry": "e", "text": text}
    async with served.client("read", "write") as writer, served.client() as person:
        path = f"/v1/agents/{agent}/queue"
        by_route = await writer.post(path, json={"text": text})
        by_core = await writer.post("/v1/dispatch", json={"kind": "QueuePrompt", "command": given})
        assert not (await state_of(served, agent)).queue
        allowed = await person.post(path, json={"text": text})
    for refused in (by_route, by_core):
        assert (refused.status_code, refused.json()["scope"]) == (403, "approve")
    assert allowed.status_code == 202


@pytest.mark.parametrize("text", ["Hello.", "!ls", "/mark A", "/config cap 50k", "@notes.md says?"])
async def test_a_message_that_needs_no_more_than_write_is_queued_by_a_writer(
    served: Served, agent: AgentId, text: str
) -> None:
    given = {"agent": agent, "entry": "e", "text": text}
    async with served.client("read", "write") as writer:
        by_route = await writer.post(f"/v1/agents/{agent}/queue", json={"text": text})
        by_core = await writer.post("/v1/dispatch", json={"kind": "QueuePrompt", "command": given})
    assert (by_route.status_code, by_core.status_code) == (202, 200)
    assert [each.text for each in (await state_of(served, agent)).queue] == [text, text]


async def test_a_queued_command_is_sent_only_by_somebody_who_may_run_it(
    served: Served, agent: AgentId
) -> None:
    await stored(served, agent, "/permissions all")
    path = f"/v1/agents/{agent}/queue/next"
    async with served.client("read", "write") as writer, served.client() as person:
        refused = await writer.post(path, json={})
        before = await state_of(served, agent)
        sent = await person.post(path, json={})
        after = await state_of(served, agent)
    assert (refused.status_code, refused.json()["scope"]) == (403, "approve")
    assert (len(before.queue), before.settings.permission_mode) == (1, "ask")
    assert sent.is_success
    assert (len(after.queue), after.settings.permission_mode) == (0, "all")


async def test_a_prompt_sends_nothing_before_it_that_its_sender_may_not_run(
    served: Served, agent: AgentId
) -> None:
    await stored(served, agent, "/mark A", "/permissions all")
    async with served.client("read", "write") as writer:
        body = {"text": "Hello.", "waits": True}
        answer = await writer.post(f"/v1/agents/{agent}/submissions", json=body)
    state = await state_of(served, agent)
    assert answer.json()["prompt"] == "queued"
    assert [mark.name for mark in state.marks] == ["A"]
    assert state.settings.permission_mode == "ask"
    assert [each.text for each in state.queue] == ["/permissions all", "Hello."]


async def test_a_goal_sends_nothing_that_only_a_person_may_run(
    served: Served, agent: AgentId
) -> None:
    await stored(served, agent, "/mark A", "/permissions all", "/mark B")
    goal = SetGoal(agent, "g1", "It is done.")
    accepted(await served.connection.dispatcher.dispatch(goal, command_meta()))
    goals = served.spaces.get("local").goals
    await goals.start(agent)
    await eventually(lambda: not goals.runs(agent))
    state = await state_of(served, agent)
    assert [mark.name for mark in state.marks] == ["A"]
    assert state.settings.permission_mode == "ask"
    assert [each.text for each in state.queue] == ["/permissions all", "/mark B"]


async def test_a_goal_sends_a_queued_message_with_a_command_that_only_reads(
    served: Served, agent: AgentId
) -> None:
    await stored(served, agent, "/agents\n/mark A", "/mark B")
    goal = SetGoal(agent, "g1", "It is done.")
    accepted(await served.connection.dispatcher.dispatch(goal, command_meta()))
    goals = served.spaces.get("local").goals
    await goals.start(agent)
    await eventually(lambda: not goals.runs(agent))
    state = await state_of(served, agent)
    assert [mark.name for mark in state.marks] == ["A", "B"]
    assert not state.queue
