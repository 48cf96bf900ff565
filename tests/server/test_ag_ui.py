"""`/ag-ui`: runs of front ends, event by event. `just protocols` uses the real client."""

import json
from collections.abc import AsyncGenerator
from typing import Any

import httpx2
import pytest

from tests.server.live_server import LiveServer

WEATHER = {"name": "weather", "description": "The weather.", "parameters": {"type": "object"}}
Event = dict[str, Any]


class FrontEnd:
    """A client that keeps all messages and sends them with each run."""

    def __init__(self, client: httpx2.AsyncClient, path: str = "/ag-ui") -> None:
        self._client = client
        self._path = path
        self._runs = 0
        self.messages: list[Event] = []
        self.state: Event = {"page": 3}

    def say(self, content: object, role: str = "user", **fields: object) -> None:
        self.messages.append({"id": f"m{len(self.messages)}", "role": role, "content": content})
        self.messages[-1].update(fields)

    async def run(self, **more: object) -> list[Event]:
        """Sends all messages. Returns the events, and keeps the reply as a message."""
        self._runs += 1
        body = {
            "threadId": "t1",
            "runId": f"r{self._runs}",
            "messages": self.messages,
            "state": self.state,
            "tools": [],
            "context": [],
            "forwardedProps": {},
            **more,
        }
        answer = await self._client.post(self._path, json=body)
        assert answer.status_code == 200, answer.text
        events = [json.loads(line[6:]) for line in answer.text.split("\n") if line[:5] == "data:"]
        text = "".join(each["delta"] for each in events if each["type"] == "TEXT_MESSAGE_CONTENT")
        self.say(text, "assistant")
        return events


@pytest.fixture
async def client(live: LiveServer) -> AsyncGenerator[httpx2.AsyncClient]:
    """A client with a token for everything."""
    headers = {"Authorization": f"Bearer {live.token()}"}
    async with httpx2.AsyncClient(base_url=live.address, headers=headers, timeout=60) as opened:
        yield opened


def kinds(events: list[Event]) -> list[str]:
    return [each["type"] for each in events]


async def test_a_thread_is_a_conversation_and_only_new_messages_are_sent(
    live: LiveServer, client: httpx2.AsyncClient
) -> None:
    front = FrontEnd(client)
    front.say("Be short.", "system")
    front.say("Where do herons nest? [[think: Hm.]] [[say: In trees.]]")
    first = await front.run()
    assert kinds(first) == [
        "RUN_STARTED",
        "STATE_SNAPSHOT",
        "REASONING_START",
        "REASONING_MESSAGE_START",
        "REASONING_MESSAGE_CONTENT",
        "REASONING_MESSAGE_END",
        "REASONING_END",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
        "STATE_SNAPSHOT",
        "RUN_FINISHED",
    ]
    assert first[-1]["outcome"] == {"type": "success"}
    assert first[-1]["usage"][0]["outputTokens"] > 0
    state = first[-2]["snapshot"]
    assert state["page"] == 3
    assert state["sapwood"]["turns"] == 1
    front.say("And in winter?")
    await front.run()
    body = live.body()
    assert [each["role"] for each in body["messages"]] == ["user", "assistant", "user"]
    assert "Be short." in json.dumps(body["system"])


async def test_a_trim_holds_although_the_client_sends_everything(
    live: LiveServer, client: httpx2.AsyncClient
) -> None:
    front = FrontEnd(client)
    for word in ("One", "Two"):
        front.say(f"{word}.")
        events = await front.run()
    agent = events[-2]["snapshot"]["sapwood"]["agent"]
    await client.post(f"/v1/agents/{agent}/commands/clear", json={"args": "1"})
    front.say("Three.")
    await front.run()
    assert "One." not in json.dumps(live.body())
    same = FrontEnd(client, f"/ag-ui/{agent}")
    same.say("Four.")
    await same.run(runId="other")
    assert "Three." in json.dumps(live.body())


async def test_tools_of_the_client_run_in_the_client(
    live: LiveServer, client: httpx2.AsyncClient
) -> None:
    front = FrontEnd(client)
    front.say('Cold? [[tool: weather {"city": "Oslo"}]] [[say: Yes.]]')
    first = await front.run(tools=[WEATHER])
    assert kinds(first)[2:5] == ["TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END"]
    call = first[2]["toolCallId"]
    assert first[-1]["outcome"] == {"type": "success", "pendingToolCallIds": [call]}
    front.say("-3", "tool", toolCallId=call)
    second = await front.run(tools=[WEATHER])
    assert "Yes." in json.dumps(second)
    assert live.model.rejections == []


async def test_a_person_may_go_on_without_the_result(
    live: LiveServer, client: httpx2.AsyncClient
) -> None:
    front = FrontEnd(client)
    front.say('Cold? [[tool: weather {"city": "Oslo"}]]')
    await front.run(tools=[WEATHER])
    front.say("Never mind. [[say: Fine.]]")
    assert "Fine." in json.dumps(await front.run())
    assert live.model.rejections == []


async def test_a_repeated_run_acts_once(live: LiveServer, client: httpx2.AsyncClient) -> None:
    front = FrontEnd(client)
    front.say("Hello. [[say: Hi.]]")
    first = await front.run(runId="same")
    again = await front.run(runId="same")
    assert [each for each in again if each["type"] != "STATE_SNAPSHOT"] == [
        each for each in first if each["type"] != "STATE_SNAPSHOT"
    ]
    assert len(live.model.requests) == 1


async def test_surroundings_are_pinned_and_replaced(
    live: LiveServer, client: httpx2.AsyncClient
) -> None:
    front = FrontEnd(client)
    for page in ("Invoices", "Orders"):
        front.say("Where am I?")
        await front.run(context=[{"description": "page", "value": page}])
    said = json.dumps(live.body())
    assert "Orders" in said
    assert "Invoices" not in said


async def test_a_failed_turn_is_an_error_of_the_run(client: httpx2.AsyncClient) -> None:
    front = FrontEnd(client)
    front.say("Hello. [[status: 400]]")
    last = (await front.run())[-1]
    assert last["type"] == "RUN_ERROR"
    assert last["message"]


async def test_a_tool_that_needs_approval_interrupts_the_run(
    live: LiveServer, client: httpx2.AsyncClient
) -> None:
    started = (await client.post("/v1/agents", json={})).json()
    front = FrontEnd(client, f"/ag-ui/{started['agent']}")
    front.say('Go. [[tool: shell {"command": "touch made"}]] [[say: Done.]]')
    first = await front.run()
    outcome = first[-1]["outcome"]
    assert outcome["type"] == "interrupt"
    [asked] = outcome["interrupts"]
    schema = asked["responseSchema"]["properties"]
    answer = {"key": "y", "hash": schema["hash"]["const"]}
    entry = {"interruptId": asked["id"], "status": "resolved", "payload": answer}
    reader = {"Authorization": f"Bearer {live.token('read', 'write')}"}
    body = {"threadId": "t1", "runId": "x", "messages": [], "resume": [entry]}
    denied = await client.post(f"/ag-ui/{started['agent']}", json=body, headers=reader)
    assert denied.status_code == 403
    second = await front.run(resume=[entry])
    assert "TOOL_CALL_RESULT" in kinds(second)
    assert "Done." in json.dumps(second)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"threadId": "t", "runId": "r", "messages": "no"},
        {
            "threadId": "t",
            "runId": "r",
            "messages": [
                {
                    "role": "user",
                    "content": [
                        {"type": "image", "source": {"type": "url", "value": "http://127.0.0.1/"}}
                    ],
                }
            ],
        },
    ],
)
async def test_what_does_not_fit_is_refused(client: httpx2.AsyncClient, body: Event) -> None:
    answer = await client.post("/ag-ui", json=body)
    assert answer.status_code == 400
    assert answer.json()["detail"]


async def test_a_token_that_may_not_read_follows_no_answer_to_somebody_else(
    live: LiveServer, client: httpx2.AsyncClient
) -> None:
    agent = (await client.post("/v1/agents", json={})).json()["agent"]
    await client.post(f"/v1/agents/{agent}/turns", json={"text": "Hi. [[sleep: 60]]"})
    writer = {"Authorization": f"Bearer {live.token('write', 'approve', name='bot')}"}
    run: Event = {"threadId": "t", "runId": "r", "messages": []}
    answered = [{"interruptId": "elsewhere", "status": "resolved"}]
    for body in (run, {**run, "resume": answered}):
        refused = await client.post(f"/ag-ui/{agent}", json=body, headers=writer)
        assert (refused.status_code, refused.json()["scope"]) == (403, "read")
    front = FrontEnd(client)
    front.say("Hello. [[say: Hi.]]")
    assert kinds(await front.run())[-1] == "RUN_FINISHED"
