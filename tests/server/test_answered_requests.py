"""The same id gives the first answer to what was carried out, and a refusal does not use it up."""

import asyncio
import hashlib
from collections.abc import AsyncGenerator

import pytest
from starlette.responses import Response, StreamingResponse

from sapwood.api import open
from sapwood.core.events import MarkSet, Recorded
from sapwood.core.ids import AgentId, CommandId
from sapwood_server.answered_requests import AnsweredRequests, RequestContent
from tests.server.serving import Served, record
from tests.store.contract import append, commit_of

CONTENT = RequestContent("POST /v1/agents")


async def test_a_refused_command_can_be_carried_out_later_unless_a_part_of_it_was(
    served: Served,
) -> None:
    agent = await record(served.connection, ("Hello.", "Hi."))
    async with served.client() as client:
        path = f"/v1/agents/{agent}"
        body = {"args": "LATER", "id": "one"}
        partly = {"text": "/mark NOW\n/rewind LATER", "id": "two"}
        first = await client.post(f"{path}/commands/rewind", json=body)
        script = await client.post(f"{path}/submissions", json=partly)
        await client.post(f"{path}/commands/mark", json={"args": "LATER"})
        again = await client.post(f"{path}/commands/rewind", json=body)
        repeated = await client.post(f"{path}/submissions", json=partly)
    assert first.status_code == script.status_code == 404
    assert again.is_success
    assert "idempotency-replayed" not in again.headers
    assert repeated.json() == script.json()
    assert repeated.headers["content-type"] == "application/problem+json"
    assert repeated.headers["idempotency-replayed"] == "true"


async def test_the_first_answer_is_given_whole(served: Served) -> None:
    agent = await record(served.connection, ("Hello.", "Hi."))
    async with served.client() as client:
        path = f"/v1/agents/{agent}"
        first = await client.post(f"{path}/commands/fork", json={"id": "f"})
        again = await client.post(f"{path}/commands/fork", json={"id": "f"})
        starts = [await client.post("/v1/agents", json={"id": "s"}) for _ in range(2)]
    assert again.json() == first.json()
    assert starts[0].json() == starts[1].json()
    assert await _count(served) == 3


async def test_a_server_that_was_restarted_still_carries_a_command_out_once(
    served: Served,
) -> None:
    agent = await record(served.connection, ("Hello.", "Hi."))
    async with served.client() as client:
        path = f"/v1/agents/{agent}/commands/fork"
        first = await client.post(path, json={"id": "f"})
        served.spaces.answered.forget("local")
        again = await client.post(path, json={"id": "f"})
    assert again.json()["message"] == first.json()["message"]
    assert again.json()["answer"]["type"] == "Changed"
    assert await _count(served) == 2


@pytest.mark.parametrize("restarted", [False, True])
async def test_the_same_id_for_anything_else_is_refused(served: Served, restarted: bool) -> None:
    one = await record(served.connection, ("Hello.", "Hi."))
    two = await record(served.connection, ("Hello.", "Hi."))
    others = (
        (f"/v1/agents/{two}/commands/mark", {"args": "A"}),
        (f"/v1/agents/{one}/commands/mark", {"args": "B"}),
        (f"/v1/agents/{one}/commands/rename", {"args": "A"}),
        ("/v1/dispatch", {"kind": "SetMark", "command": {"agent": one, "name": "A"}}),
    )
    async with served.client() as client:
        path = f"/v1/agents/{one}/commands/mark"
        await client.post(path, json={"args": "A", "id": "m"})
        before = await _events(served, one, two)
        for path, body in others:
            if restarted:
                served.spaces.answered.forget("local")
            answer = await client.post(path, json={**body, "id": "m"})
            assert answer.status_code == 409, path
            assert answer.json()["refusal"] == "CommandIdUsed"
            assert ("mark.set" if restarted else "commands/mark") in answer.json()["detail"]
    assert await _events(served, one, two) == before


async def test_an_id_that_an_earlier_version_gave_to_one_conversation_is_still_known(
    served: Served,
) -> None:
    agent = await record(served.connection, ("Hello.", "Hi."))
    log, space = served.connection.log, served.connection.space
    hashed = hashlib.sha256(f"ada\n{agent}\nm".encode()).hexdigest()
    old = CommandId(f"http-{hashed[:40]}")
    summary = await log.summary(space, agent)
    assert summary is not None
    stored = append(agent, MarkSet("A"), expected=summary.version, command=old)
    await log.commit(space, commit_of(stored, command=old, message="Marked 'A'."))
    async with served.client() as client:
        before = await _events(served, agent)
        path = f"/v1/agents/{agent}/commands/mark"
        again = await client.post(path, json={"args": "A", "id": "m"})
    assert again.json()["message"] == "Marked 'A'."
    assert await _events(served, agent) == before


async def test_requests_at_the_same_time_are_carried_out_once() -> None:
    answered = AnsweredRequests()
    calls: list[int] = []
    go = asyncio.Event()

    async def answer() -> Response:
        calls.append(1)
        await go.wait()
        return Response(b"done", media_type="text/plain")

    waiting = [
        asyncio.ensure_future(answered.once("local", "a", CONTENT, answer)) for _ in range(5)
    ]
    await asyncio.sleep(0)
    go.set()
    found = await asyncio.gather(*waiting)
    assert len(calls) == 1
    assert {bytes(each.body) for each in found} == {b"done"}


@pytest.mark.parametrize("status", [409, 424])
async def test_a_request_that_waits_gets_the_refusal_of_the_first_one(status: int) -> None:
    answered = AnsweredRequests()
    calls: list[int] = []
    go = asyncio.Event()

    async def answer() -> Response:
        calls.append(1)
        await go.wait()
        return Response(b"{}", status, media_type="application/problem+json")

    waiting = [
        asyncio.ensure_future(answered.once("local", "a", CONTENT, answer)) for _ in range(5)
    ]
    await asyncio.sleep(0)
    go.set()
    found = await asyncio.gather(*waiting)
    assert len(calls) == 1
    assert {each.status_code for each in found} == {status}
    await answered.once("local", "a", CONTENT, answer)
    assert len(calls) == 2  # nothing was done, so a later request is carried out


async def test_a_failure_of_the_server_is_tried_again() -> None:
    answered = AnsweredRequests()
    statuses = iter((503, 429, 200))

    async def answer() -> Response:
        return Response(b"{}", next(statuses), media_type="application/json")

    got = [(await answered.once("local", "a", CONTENT, answer)).status_code for _ in range(4)]
    assert got == [503, 429, 200, 200]


async def test_a_stream_is_not_kept() -> None:
    answered = AnsweredRequests()

    async def words() -> AsyncGenerator[bytes]:
        yield b"word"

    async def answer() -> Response:
        return StreamingResponse(words())

    first = await answered.once("local", "a", CONTENT, answer)
    again = await answered.once("local", "a", CONTENT, answer)
    assert first is not again
    assert isinstance(again, StreamingResponse)


async def _count(served: Served) -> int:
    found: list[AgentId] = [
        each.agent for each in await served.connection.log.agents(served.connection.space)
    ]
    return len(found)


async def _events(served: Served, *agents: AgentId) -> list[Recorded]:
    log, space = served.connection.log, served.connection.space
    return [each for agent in agents for each in await log.read(space, agent)]


@pytest.mark.parametrize("elsewhere", [False, True])
async def test_an_answer_with_words_of_an_erased_agent_is_not_given_again(
    served: Served, elsewhere: bool
) -> None:
    erased = await record(served.connection, ("The heron is blue.", "It is."))
    other = await record(served.connection, ("Hello.", "Hi."))
    own = (f"/v1/agents/{erased}/commands/context", {"id": "one"})
    found = (f"/v1/agents/{other}/commands/recall", {"args": "heron", "id": "two"})
    async with served.client() as client:
        first = [await client.post(path, json=body) for path, body in (own, found)]
        again = [await client.post(path, json=body) for path, body in (own, found)]
        if elsewhere:
            async with open(served.connection.log) as db:
                await (await db.get(erased)).erase()
        else:
            await client.delete(f"/v1/agents/{erased}")
        later = [await client.post(path, json=body) for path, body in (own, found)]
    assert [each.json() for each in again] == [each.json() for each in first]
    assert "heron" in first[1].text
    assert later[0].status_code == 404
    assert later[1].is_success
    assert "The heron" not in later[1].text


async def test_an_erasure_makes_no_command_act_twice(served: Served) -> None:
    erased = await record(served.connection, ("Hello.", "Hi."))
    agent = await record(served.connection, ("Hello.", "Hi."))
    async with served.client() as client:
        path = f"/v1/agents/{agent}/commands/fork"
        first = await client.post(path, json={"id": "f"})
        await client.delete(f"/v1/agents/{erased}")
        again = await client.post(path, json={"id": "f"})
    assert again.json()["message"] == first.json()["message"]
    assert await _count(served) == 2
