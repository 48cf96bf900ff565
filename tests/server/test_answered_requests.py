"""The same id gives the first answer: of what was carried out, and of what was refused."""

import asyncio
from collections.abc import AsyncGenerator

from starlette.responses import Response, StreamingResponse

from sapwood.core.ids import AgentId
from sapwood.server.answered_requests import AnsweredRequests
from tests.server.serving import Served, record


async def test_a_refused_command_is_refused_again_although_it_could_be_carried_out_now(
    served: Served,
) -> None:
    agent = await record(served.connection, ("Hello.", "Hi."))
    async with served.client() as client:
        path = f"/v1/agents/{agent}/commands"
        body = {"args": "LATER", "id": "one"}
        first = await client.post(f"{path}/rewind", json=body)
        await client.post(f"{path}/mark", json={"args": "LATER"})
        again = await client.post(f"{path}/rewind", json=body)
        other = await client.post(f"{path}/rewind", json={"args": "LATER", "id": "two"})
    assert first.status_code == again.status_code == 404
    assert again.json() == first.json()
    assert again.headers["content-type"] == "application/problem+json"
    assert again.headers["idempotency-replayed"] == "true"
    assert other.is_success


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
        served.spaces.answered.forget()
        again = await client.post(path, json={"id": "f"})
    assert again.json()["message"] == first.json()["message"]
    assert again.json()["answer"]["type"] == "Changed"
    assert await _count(served) == 2


async def test_the_same_id_of_another_agent_is_another_command(served: Served) -> None:
    one = await record(served.connection, ("Hello.", "Hi."))
    two = await record(served.connection, ("Hello.", "Hi."))
    async with served.client() as client:
        for agent in (one, two):
            answer = await client.post(
                f"/v1/agents/{agent}/commands/mark", json={"args": "A", "id": "m"}
            )
            assert "idempotency-replayed" not in answer.headers
            assert answer.is_success


async def test_requests_at_the_same_time_are_carried_out_once() -> None:
    answered = AnsweredRequests()
    calls: list[int] = []
    go = asyncio.Event()

    async def answer() -> Response:
        calls.append(1)
        await go.wait()
        return Response(b"done", media_type="text/plain")

    waiting = [asyncio.ensure_future(answered.once("local", "a", answer)) for _ in range(5)]
    await asyncio.sleep(0)
    go.set()
    found = await asyncio.gather(*waiting)
    assert len(calls) == 1
    assert {bytes(each.body) for each in found} == {b"done"}


async def test_a_failure_of_the_server_is_tried_again() -> None:
    answered = AnsweredRequests()
    statuses = iter((503, 429, 200))

    async def answer() -> Response:
        return Response(b"", next(statuses), media_type="text/plain")

    got = [(await answered.once("local", "a", answer)).status_code for _ in range(4)]
    assert got == [503, 429, 200, 200]


async def test_a_stream_is_not_kept() -> None:
    answered = AnsweredRequests()

    async def words() -> AsyncGenerator[bytes]:
        yield b"word"

    async def answer() -> Response:
        return StreamingResponse(words())

    first = await answered.once("local", "a", answer)
    again = await answered.once("local", "a", answer)
    assert first is not again
    assert isinstance(again, StreamingResponse)


async def _count(served: Served) -> int:
    found: list[AgentId] = [
        each.agent for each in await served.connection.log.agents(served.connection.space)
    ]
    return len(found)
