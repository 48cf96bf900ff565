"""`/v1/responses` with the real client of OpenAI: it sends what is new, the log has the rest."""

import asyncio
import base64
import json
from collections.abc import AsyncGenerator
from typing import Any

import httpx2
import openai
import pytest
from openai import AsyncOpenAI
from openai.types.responses import FunctionToolParam, Response, ResponseFunctionToolCall

from sapwood.core.ids import AgentId
from tests.server.live_server import MODEL, LiveServer

PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0" * 8 + b"\0\0\0\2\0\0\0\1" + b"\0" * 9)
WEATHER: FunctionToolParam = {
    "type": "function",
    "name": "weather",
    "description": "Says what the weather is.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    "strict": False,
}


@pytest.fixture
async def client(live: LiveServer) -> AsyncGenerator[AsyncOpenAI]:
    """The real client, with nothing but another base address."""
    async with AsyncOpenAI(
        base_url=f"{live.address}/v1", api_key=live.token(), max_retries=0
    ) as opened:
        yield opened


def sent(live: LiveServer) -> list[dict[str, Any]]:
    """The messages of the last request that reached the model."""
    return live.body()["messages"]


def calls_of(response: Response) -> list[ResponseFunctionToolCall]:
    return [item for item in response.output if isinstance(item, ResponseFunctionToolCall)]


async def test_a_client_sends_only_what_is_new_and_the_model_sees_all(
    live: LiveServer, client: AsyncOpenAI
) -> None:
    conversation = await client.conversations.create(metadata={"topic": "herons"})
    first = await client.responses.create(
        model=MODEL,
        conversation=conversation.id,
        input="Where do herons nest? [[say: In trees.]]",
        instructions="Be short.",
        max_output_tokens=300,
    )
    second = await client.responses.create(
        model=MODEL, conversation=conversation.id, input="And eat? [[say: Fish.]]"
    )
    assert (first.output_text, first.status) == ("In trees.", "completed")
    assert second.output_text == "Fish."
    assert second.conversation is not None
    assert second.conversation.id == conversation.id
    assert second.usage is not None
    assert second.usage.total_tokens == second.usage.input_tokens + second.usage.output_tokens > 0
    assert [each["role"] for each in sent(live)] == ["user", "assistant", "user"]
    body = live.body(0)
    assert body["max_tokens"] == 300
    assert "Be short." in json.dumps(body["system"])
    assert "You help the user of this computer" not in json.dumps(body["system"])
    assert not body.get("tools")


async def test_a_trim_of_the_conversation_changes_what_the_model_gets(
    live: LiveServer, client: AsyncOpenAI
) -> None:
    first = await client.responses.create(model=MODEL, input="One. [[say: 1]]")
    assert first.conversation is not None
    agent = first.conversation.id
    for word in ("Two", "Three"):
        await client.responses.create(model=MODEL, conversation=agent, input=f"{word}.")
    await client.post(f"/agents/{agent}/commands/clear", body={"args": "1"}, cast_to=object)
    await client.responses.create(model=MODEL, conversation=agent, input="Four.")
    said = json.dumps(sent(live))
    assert "Three." in said
    assert "One." not in said
    items = await client.conversations.items.list(agent, order="asc")
    assert [item.type for item in items.data] == ["message"] * 4


async def test_a_stream_has_the_events_that_the_client_knows(client: AsyncOpenAI) -> None:
    kinds: list[str] = []
    numbers: list[int] = []
    text = ""
    final: Response | None = None
    stream = await client.responses.create(
        model=MODEL, input="Hi. [[think: Hm.]] [[say: Hello there.]]", stream=True
    )
    async for event in stream:
        kinds.append(event.type)
        numbers.append(event.sequence_number)
        if event.type == "response.output_text.delta":
            text += event.delta
        if event.type == "response.completed":
            final = event.response
    assert numbers == sorted(set(numbers))
    others = [kind for kind in kinds if not kind.endswith("_text.delta")]
    assert numbers[-1] == len(others) + len("Hm.") + len("Hello there.") - 1
    assert kinds[:2] == ["response.created", "response.in_progress"]
    assert kinds[-1] == "response.completed"
    for kind in (
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.reasoning_summary_text.delta",
    ):
        assert kind in kinds
    assert final is not None
    assert text == final.output_text == "Hello there."
    assert [item.type for item in final.output] == ["reasoning", "message"]


async def test_the_clients_own_reader_of_streams_gets_the_same(client: AsyncOpenAI) -> None:
    async with client.responses.stream(model=MODEL, input="Hi. [[say: Hello there.]]") as stream:
        async for _ in stream:
            pass
        final = await stream.get_final_response()
    assert final.output_text == "Hello there."


async def test_a_stream_is_resumed_at_any_event(client: AsyncOpenAI) -> None:
    stream = await client.responses.create(
        model=MODEL, input="Hi. [[say: Hello there, it is me.]]", stream=True
    )
    events = [event async for event in stream]
    assert events[0].type == "response.created"
    name = events[0].response.id
    for place in (0, 3, len(events) - 2):
        after = events[place].sequence_number
        again = await client.responses.retrieve(name, stream=True, starting_after=after)
        rest = [event async for event in again]
        assert rest == events[place + 1 :]
    whole = await client.responses.retrieve(name)
    assert whole.output_text == "Hello there, it is me."
    assert whole.status == "completed"


async def test_a_stream_is_resumed_inside_of_words_that_came_in_other_pieces(
    client: AsyncOpenAI,
) -> None:
    stream = await client.responses.create(
        model=MODEL, input="Hi. [[say: Hello there, it is me.]]", stream=True
    )
    events = [event async for event in stream]
    assert events[0].type == "response.created"
    *_, words = [each for each in events if each.type == "response.output_text.delta"]
    again = await client.responses.retrieve(
        events[0].response.id, stream=True, starting_after=words.sequence_number - 2
    )
    rest = [event async for event in again]
    assert rest[0].type == "response.output_text.delta"
    assert rest[0].delta == "e."
    assert rest[1:] == events[events.index(words) + 1 :]


async def test_functions_of_the_client_run_in_the_client(
    live: LiveServer, client: AsyncOpenAI
) -> None:
    prompt = 'Cold? [[tools: weather {"city": "Oslo"} weather {"city": "Rome"}]] [[say: Yes.]]'
    first = await client.responses.create(model=MODEL, input=prompt, tools=[WEATHER])
    calls = calls_of(first)
    assert [(call.name, json.loads(call.arguments)["city"]) for call in calls] == [
        ("weather", "Oslo"),
        ("weather", "Rome"),
    ]
    assert first.conversation is not None
    agent = first.conversation.id
    with pytest.raises(openai.BadRequestError, match="No tool output found for function call"):
        await client.responses.create(model=MODEL, conversation=agent, input="Never mind.")
    outputs: Any = [
        {"type": "function_call_output", "call_id": call.call_id, "output": f"-{n} degrees"}
        for n, call in enumerate(calls)
    ]
    with pytest.raises(openai.BadRequestError, match=calls[1].call_id):
        await client.responses.create(model=MODEL, conversation=agent, input=outputs[:1])
    second = await client.responses.create(
        model=MODEL, previous_response_id=first.id, input=outputs, tools=[WEATHER]
    )
    assert second.output_text == "Yes."
    results = json.dumps(sent(live))
    assert "-0 degrees" in results
    assert "-1 degrees" in results
    assert live.model.rejections == []
    [tool] = live.body(0)["tools"]
    assert tool["name"] == "weather"
    again = await client.responses.retrieve(first.id)
    assert calls_of(again) == calls, "a later result does not change the first response"


async def test_functions_are_streamed_and_called_one_at_a_time(
    live: LiveServer, client: AsyncOpenAI
) -> None:
    stream = await client.responses.create(
        model=MODEL,
        input='Cold? [[tool: weather {"city": "Oslo"}]] [[say: Yes.]]',
        tools=[WEATHER],
        parallel_tool_calls=False,
        stream=True,
    )
    events = [event async for event in stream]
    [done] = [event for event in events if event.type == "response.function_call_arguments.done"]
    assert json.loads(done.arguments) == {"city": "Oslo"}
    assert events[-1].type == "response.completed"
    assert events[-1].response.parallel_tool_calls is False
    assert live.body(0)["tool_choice"]["disable_parallel_tool_use"] is True


async def test_a_client_that_sends_the_whole_history_gets_its_answer(
    live: LiveServer, client: AsyncOpenAI
) -> None:
    history: Any = [
        {"role": "system", "content": "Be short."},
        {"role": "user", "content": "Hello."},
        {"role": "assistant", "content": "Hi."},
        {"role": "user", "content": "Cold?"},
        {"type": "function_call", "call_id": "a", "name": "weather", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": "-3"},
    ]
    response = await client.responses.create(model=MODEL, input=history, tools=[WEATHER])
    assert response.output_text == "ok"
    roles = [each["role"] for each in sent(live)]
    assert roles == ["user", "assistant", "user", "assistant", "user"]
    assert live.model.rejections == []


async def test_an_earlier_response_can_be_gone_on_from_again(
    live: LiveServer, client: AsyncOpenAI
) -> None:
    first = await client.responses.create(model=MODEL, input="One. [[say: 1]]")
    await client.responses.create(model=MODEL, previous_response_id=first.id, input="Two.")
    other = await client.responses.create(model=MODEL, previous_response_id=first.id, input="Or?")
    said = json.dumps(sent(live))
    assert "One." in said
    assert "Two." not in said
    assert first.conversation is not None
    assert other.conversation is not None
    assert other.conversation.id != first.conversation.id
    with pytest.raises(openai.NotFoundError):
        await client.responses.create(model=MODEL, previous_response_id="resp_no_1", input="Hm.")


async def test_an_image_reaches_the_model(live: LiveServer, client: AsyncOpenAI) -> None:
    url = f"data:image/png;base64,{PIXEL.decode()}"
    parts: Any = [
        {"type": "input_text", "text": "What is it? [[say: A dot.]]"},
        {"type": "input_image", "image_url": url, "detail": "auto"},
    ]
    response = await client.responses.create(
        model=MODEL, input=[{"role": "user", "content": parts}]
    )
    assert response.output_text == "A dot."
    assert PIXEL.decode() in json.dumps(sent(live))
    parts[1]["image_url"] = "https://example.com/a.png"
    with pytest.raises(openai.BadRequestError, match="data URLs"):
        await client.responses.create(model=MODEL, input=[{"role": "user", "content": parts}])


async def test_a_repeated_request_acts_once(live: LiveServer, client: AsyncOpenAI) -> None:
    key = {"Idempotency-Key": "one"}
    first = await client.responses.create(model=MODEL, input="Hi.", extra_headers=key)
    again = await client.responses.create(model=MODEL, input="Hi.", extra_headers=key)
    assert again == first
    assert len(live.model.requests) == 1


async def test_a_response_in_the_background_is_fetched_later(client: AsyncOpenAI) -> None:
    begun = await client.responses.create(model=MODEL, input="Hi. [[say: Hello.]]", background=True)
    assert begun.status == "queued"
    stream = await client.responses.retrieve(begun.id, stream=True)
    assert [event.type async for event in stream][-1] == "response.completed"
    assert (await client.responses.retrieve(begun.id)).output_text == "Hello."


async def test_a_response_is_cancelled(live: LiveServer, client: AsyncOpenAI) -> None:
    begun = await client.responses.create(
        model=MODEL, input="Hi. [[sleep: 60]] [[say: Hello.]]", background=True
    )
    await live.asked()
    ended = await client.responses.cancel(begun.id)
    assert ended.status == "cancelled"


async def test_errors_have_the_form_that_the_client_reads(
    live: LiveServer, client: AsyncOpenAI
) -> None:
    with pytest.raises(openai.BadRequestError) as unknown:
        await client.responses.create(model="no-such-model", input="Hi.")
    assert unknown.value.code == "model_not_found"
    assert unknown.value.param == "model"
    with pytest.raises(openai.NotFoundError, match="There is no conversation 'nobody'"):
        await client.responses.create(model=MODEL, conversation="nobody", input="Hi.")
    with pytest.raises(openai.APIStatusError) as failed:
        await client.responses.create(model=MODEL, input="Hi. [[status: 400]]")
    assert failed.value.status_code in (400, 502)
    assert failed.value.response.headers["x-should-retry"] == "false"
    with pytest.raises(openai.AuthenticationError, match="Ask the operator of the server for one"):
        await client.with_options(api_key="sw_wrong").models.list()
    reader = client.with_options(api_key=live.token("read"))
    assert (await reader.models.list()).data[0].id == MODEL
    with pytest.raises(openai.PermissionDeniedError, match="does not allow 'write'"):
        await reader.responses.create(model=MODEL, input="Hi.")
    other = client.with_options(api_key=live.token(space="other"))
    mine = await client.responses.create(model=MODEL, input="Hi.")
    assert mine.conversation is not None
    with pytest.raises(openai.NotFoundError):
        await other.responses.retrieve(mine.id)
    with pytest.raises(openai.NotFoundError):
        await other.conversations.retrieve(mine.conversation.id)


async def test_conversations_are_made_read_changed_and_archived(
    live: LiveServer, client: AsyncOpenAI
) -> None:
    made = await client.conversations.create(
        items=[
            {"type": "message", "role": "user", "content": "Hello."},
            {"type": "message", "role": "assistant", "content": "Hi."},
        ],
        metadata={"topic": "herons"},
    )
    assert made.metadata == {"topic": "herons"}
    changed = await client.conversations.update(made.id, metadata={"user": "ada"})
    assert changed.metadata == {"user": "ada"}
    more: Any = [{"type": "message", "role": "user", "content": "More."}]
    added = await client.conversations.items.create(made.id, items=more)
    assert len(added.data) == 1
    listed = [item async for item in client.conversations.items.list(made.id, limit=1)]
    assert len(listed) == 3
    writer = client.with_options(api_key=live.token("read", "write"))
    archived = await writer.conversations.delete(made.id)
    assert not archived.deleted, "it can be brought back"
    summary = await live.connection.log.summary(live.connection.space, AgentId(made.id))
    assert summary is not None
    assert summary.status == "archived"
    owner = client.with_options(api_key=live.token("read", "write", "admin"))
    assert (await owner.conversations.delete(made.id)).deleted
    assert await live.connection.log.summary(live.connection.space, AgentId(made.id)) is None


async def test_a_server_that_stops_says_where_the_turn_goes_on(
    live: LiveServer, client: AsyncOpenAI
) -> None:
    asking = asyncio.ensure_future(
        client.responses.create(model=MODEL, input="Hi. [[sleep: 60]] [[say: Hello.]]")
    )
    await live.asked()
    live.stop.set()
    with pytest.raises(openai.InternalServerError, match="GET /v1/responses/resp_") as stopped:
        await asking
    assert stopped.value.status_code == 503
    assert stopped.value.response.headers["x-should-retry"] == "false"


async def test_a_response_that_is_not_stored_leaves_nothing(
    live: LiveServer, client: AsyncOpenAI
) -> None:
    log = live.connection.log
    whole = await client.responses.create(
        model=MODEL, input="Hello, heron. [[say: Hi.]]", store=False, metadata={"a": "1"}, user="u7"
    )
    assert whole.output_text == "Hi."
    assert whole.to_dict()["store"] is False
    assert (whole.metadata, whole.user) == ({"a": "1"}, "u7")
    stream = await client.responses.create(
        model=MODEL, input="Hello, heron. [[say: Hi.]]", store=False, stream=True
    )
    kinds = [event.type async for event in stream]
    assert kinds[-1] == "response.completed"
    asked = await client.responses.create(
        model=MODEL, input='[[tool: weather {"city": "Oslo"}]]', store=False, tools=[WEATHER]
    )
    assert calls_of(asked)
    assert await log.agents(live.connection.space) == []
    assert await log.search(live.connection.space, "heron") == []
    with pytest.raises(openai.NotFoundError):
        await client.responses.retrieve(whole.id)


async def test_what_would_have_no_effect_is_refused_and_the_rest_is_kept(
    live: LiveServer, client: AsyncOpenAI
) -> None:
    first = await client.responses.create(
        model=MODEL,
        input="Hello. [[say: Hi.]]",
        user="u7",
        truncation="auto",
        top_p=1,
        prompt_cache_key="k",
        service_tier="auto",
        parallel_tool_calls=True,
        max_tool_calls=None,
    )
    then = await client.responses.create(
        model=MODEL,
        input="And? [[say: No.]]",
        previous_response_id=first.id,
        metadata={"b": "2"},
    )
    assert (then.metadata, then.user) == ({"b": "2"}, "u7")
    wrong: dict[str, dict[str, Any]] = {
        "truncation": {"truncation": "disabled"},
        "top_p": {"top_p": 0.5},
        "store": {"store": False, "previous_response_id": first.id},
        "user": {"user": "u8", "previous_response_id": first.id},
        "max_tool_calls": {"max_tool_calls": 3},
        "tempreature": {"extra_body": {"tempreature": 0.5}},
    }
    for param, given in wrong.items():
        with pytest.raises(openai.BadRequestError) as refused:
            await client.responses.create(model=MODEL, input="No. [[say: No.]]", **given)
        assert refused.value.param == param
    assert len(live.model.requests) == 2


async def test_a_label_does_not_let_a_writer_erase_a_conversation(
    live: LiveServer, client: AsyncOpenAI
) -> None:
    first = await client.responses.create(model=MODEL, input="Hello. [[say: Hi.]]")
    assert first.conversation is not None
    agent = first.conversation.id
    token = live.token("write", name="bot")
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}) as tagger:
        change = {"add": ["not-stored"]}
        tagged = await tagger.post(f"{live.address}/v1/agents/{agent}/tags", json=change)
    assert tagged.status_code == 204
    writer = client.with_options(api_key=token)
    whole = await writer.responses.create(model=MODEL, conversation=agent, input="[[say: No.]]")
    stream = await writer.responses.create(
        model=MODEL, conversation=agent, input="[[say: Never.]]", stream=True
    )
    _ = [event async for event in stream]
    assert whole.output_text == "No."
    assert [each.agent for each in await live.connection.log.agents(live.connection.space)] == [
        agent
    ]


@pytest.mark.parametrize(
    "wrong",
    [
        [{"role": "assistant", "content": "I see."}],
        [{"type": "function_call", "call_id": "c1", "name": "weather", "arguments": "{}"}],
        [
            {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": "{}"},
            {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": "{}"},
            {"role": "user", "content": "And?"},
        ],
    ],
)
@pytest.mark.parametrize("stream", [False, True])
async def test_a_refused_response_that_is_not_stored_leaves_nothing(
    live: LiveServer, client: AsyncOpenAI, wrong: list[Any], stream: bool
) -> None:
    log = live.connection.log
    given: list[Any] = [{"role": "user", "content": "Hello, heron."}, *wrong]
    with pytest.raises(openai.APIStatusError):
        await client.responses.create(model=MODEL, input=given, store=False, stream=stream)
    assert await log.agents(live.connection.space) == []
    assert await log.search(live.connection.space, "heron") == []


async def test_input_that_cannot_be_answered_starts_no_conversation(
    live: LiveServer, client: AsyncOpenAI
) -> None:
    with pytest.raises(openai.BadRequestError, match="must end with a user message"):
        await client.responses.create(
            model=MODEL,
            input=[{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}],
        )
    assert await live.connection.log.agents(live.connection.space) == []


async def test_a_token_that_may_not_read_gets_no_words_by_cancelling(
    live: LiveServer, client: AsyncOpenAI
) -> None:
    done = await client.responses.create(
        model=MODEL, input="The code? [[say: It is 7-7-7.]]", instructions="Be secretive."
    )
    begun = await client.responses.create(
        model=MODEL, input="Say it. [[sleep: 60]] [[say: It is 7-7-7.]]", background=True
    )
    writer = client.with_options(api_key=live.token("write", name="bot"))
    for each, status in ((done, "completed"), (begun, "cancelled")):
        fields = (await writer.responses.cancel(each.id)).to_dict()
        assert fields.keys() == {"id", "object", "created_at", "status"}
        assert (fields["id"], fields["status"]) == (each.id, status)
