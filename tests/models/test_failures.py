"""A failure has a clear message, is retried where that helps, and hides nothing."""

import asyncio
import json
import socket
from collections.abc import Generator

import pytest

from sapwood.core.content import Text, ToolCall
from sapwood.core.model_calls import Answer, Delta, Failure, RetryWait, ToolSpec
from sapwood.core.view import Message, Request, ToolResult
from sapwood.models import Models
from sapwood.models.calls import failure_of
from sapwood.models.model_routes import resolve
from sapwood.models.wire.provider_error import error_of_response
from scripted_model import Reply, ScriptedModel, fail, say
from tests.models.conversation import KEYS, MODELS, TOOLS, ask, collect, every_wire, open_models
from tests.models.relay import open_relay

LONG = "Oslo is the capital of Norway and lies at the end of a fjord, which is long."
TITLES = {
    "messages": "Anthropic",
    "responses": "OpenAI",
    "chat": "OpenAI",
    "gemini": "Google",
}


@pytest.fixture
def guarded() -> Generator[ScriptedModel]:
    """A server that takes another key than ours."""
    with ScriptedModel(key="another") as server:
        yield server


@pytest.fixture
def narrow() -> Generator[ScriptedModel]:
    """A server that has another model than ours."""
    with ScriptedModel(models=["another"]) as server:
        yield server


@pytest.fixture
def small() -> Generator[ScriptedModel]:
    """A server whose models take little."""
    with ScriptedModel(context_limit=100) as server:
        yield server


async def failing(models: Models, request: Request) -> tuple[list[Delta | Answer], Failure]:
    """What came before the failure, and the failure."""
    came: list[Delta | Answer] = []
    with pytest.raises(Failure) as caught:  # noqa: PT012  # what came before it matters too
        async for piece in models.stream(request, TOOLS):
            came.append(piece)  # noqa: PERF401  # it must be there when the next one fails
    return came, caught.value


# Keys


@pytest.mark.parametrize("wire", TITLES)
async def test_without_a_key_nothing_is_sent(server: ScriptedModel, wire: str) -> None:
    async with open_models(server.url, keys={}) as models:
        _, failure = await failing(models, ask(MODELS[wire], "Hello?"))
    assert failure.kind == "no_key"
    assert f"There is no API key for {TITLES[wire]}. Set " in str(failure)
    assert server.requests == []


@every_wire
async def test_a_wrong_key_is_said_to_be_wrong_and_not_repeated(
    guarded: ScriptedModel, model: str
) -> None:
    async with open_models(guarded.url) as models:
        _, failure = await failing(models, ask(model, "Hello?"))
    assert len(guarded.requests) == 1
    assert failure.kind == "bad_key"
    assert "rejected the API key" in str(failure)
    assert not any(key in str(failure) for key in KEYS.values())


@pytest.mark.parametrize("wire", TITLES)
async def test_a_key_from_a_file_may_end_with_a_line(server: ScriptedModel, wire: str) -> None:
    keys = {name: f" {key}\n" for name, key in KEYS.items()}
    async with open_models(server.url, keys=keys) as models:
        await collect(models, ask(MODELS[wire], "Hello?"))
    assert len(server.requests) == 1


def test_a_key_that_a_provider_repeats_is_struck_out() -> None:
    body = json.dumps({"error": {"message": f"What is {KEYS['openai']}?"}}).encode()
    error = error_of_response(418, {}, body)
    failure = failure_of(error, resolve("gpt-5"), KEYS.values())
    assert str(failure) == "OpenAI refused the request: What is [key]?"


# Models


@every_wire
async def test_an_unknown_model_is_said_to_be_unknown(narrow: ScriptedModel, model: str) -> None:
    async with open_models(narrow.url) as models:
        _, failure = await failing(models, ask(model, "Hello?"))
    assert len(narrow.requests) == 1
    assert failure.kind == "no_model"
    assert f"has no model '{model.partition(':')[2]}'" in str(failure)


async def test_an_unknown_model_comes_with_the_nearest_names(narrow: ScriptedModel) -> None:
    async with open_models(narrow.url) as models:
        _, failure = await failing(models, ask("anthropic:claude-sonet-4-6", "Hello?"))
    assert "Did you mean claude-sonnet-4-6" in str(failure)


async def test_a_name_that_leads_nowhere_is_not_sent_anywhere(
    server: ScriptedModel, models: Models
) -> None:
    _, failure = await failing(models, ask("gtp-5", "Hello?"))
    assert failure.kind == "no_model"
    assert server.requests == []


# The network


@every_wire
async def test_a_closed_door_is_knocked_at_a_few_times(model: str) -> None:
    waits: list[RetryWait] = []
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))  # taken, but nobody listens
        address = f"http://127.0.0.1:{door.getsockname()[1]}"
        async with open_models(address, tries=3, on_wait=waits.append) as models:
            _, failure = await failing(models, ask(model, "Hello?"))
    assert failure.kind == "no_network"
    assert failure.again
    assert "cannot be reached. Check the network" in str(failure)
    assert [(each.attempt, each.unreachable) for each in waits] == [(2, True), (3, True)]


@every_wire
async def test_a_server_that_falls_silent_is_given_up(server: ScriptedModel, model: str) -> None:
    server.replies([Reply.of("Never.", sleep=30)])
    async with open_models(server.url, tries=1, silence=0.2) as models:
        _, failure = await failing(models, ask(model, "Hello?"))
    assert failure.kind == "no_network"
    assert failure.again
    assert "is not responding" in str(failure)


@every_wire
async def test_an_answer_that_breaks_off_is_no_answer(
    server: ScriptedModel, models: Models, model: str
) -> None:
    server.replies([Reply.of(LONG, cut=40), "Not this one."])
    came, failure = await failing(models, ask(model, "Where?"))
    assert failure.kind == "cut"
    assert failure.again
    said = "".join(piece.text for piece in came if isinstance(piece, Delta))
    assert said
    assert LONG.startswith(said)
    assert len(server.requests) == 1


@every_wire
async def test_an_answer_that_breaks_off_before_the_first_word_is_asked_for_again(
    server: ScriptedModel, models: Models, model: str
) -> None:
    server.replies([Reply.of(LONG, cut=0), "Here it is."])
    _, answer = await collect(models, ask(model, "Where?"))
    assert answer.parts == (Text("Here it is."),)
    assert len(server.requests) == 2


# Overload


@every_wire
@pytest.mark.parametrize("status", [429, 500, 503, 529])
async def test_an_overloaded_provider_is_asked_again(
    server: ScriptedModel, models: Models, model: str, status: int
) -> None:
    server.replies([fail(status, retry_after=0), fail(status, retry_after=0), "At last."])
    deltas, answer = await collect(models, ask(model, "Hello?"))
    assert answer.parts == (Text("At last."),)
    assert "".join(delta.text for delta in deltas) == "At last."
    assert len(server.requests) == 3


@every_wire
async def test_a_provider_that_stays_overloaded_is_given_up(
    server: ScriptedModel, models: Models, model: str
) -> None:
    server.script(lambda asked: fail(529, retry_after=0))
    _, failure = await failing(models, ask(model, "Hello?"))
    assert failure.kind == "overloaded"
    assert failure.again
    assert len(server.requests) == 5


@every_wire
async def test_a_provider_that_asks_for_too_long_is_not_waited_for(
    server: ScriptedModel, models: Models, model: str
) -> None:
    server.replies([fail(429, retry_after=120)])
    _, failure = await failing(models, ask(model, "Hello?"))
    assert (failure.kind, failure.again, failure.after) == ("overloaded", True, 120.0)
    assert "Try again in 120 s." in str(failure)
    assert len(server.requests) == 1


@every_wire
async def test_an_overload_in_the_middle_of_an_answer_is_not_tried_again(
    server: ScriptedModel, models: Models, model: str
) -> None:
    server.replies([Reply((say(LONG),), status=529, at=40), "Not this one."])
    came, failure = await failing(models, ask(model, "Where?"))
    assert came
    assert failure.again
    assert failure.kind in ("overloaded", "cut")
    assert len(server.requests) == 1


# The request itself


@every_wire
async def test_a_request_that_is_too_long_is_told_apart(small: ScriptedModel, model: str) -> None:
    async with open_models(small.url) as models:
        _, failure = await failing(models, ask(model, "long " * 200))
    assert len(small.requests) == 1
    assert failure.kind == "too_long"
    assert not failure.again
    assert "too long" in str(failure)


@every_wire
async def test_a_request_that_a_provider_refuses_says_why(
    server: ScriptedModel, models: Models, model: str
) -> None:
    server.replies([fail(400)])
    _, failure = await failing(models, ask(model, "Hello?"))
    assert (failure.kind, failure.again) == ("refused", False)
    assert "refused the request" in str(failure)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "messages",
    [
        (),
        (Message("assistant", (Text("I begin."),)),),
        (Message("user", (Text("a"),)), Message("user", (Text("b"),))),
        (
            Message("user", (Text("a"),)),
            Message("assistant", (ToolCall("1", "weather"),)),
            Message("user", (Text("never mind"),)),
        ),
        (Message("user", (ToolResult("1", "weather", "cold"),)),),
    ],
    ids=["nothing", "the model first", "twice the user", "no result", "no call"],
)
async def test_a_broken_history_is_not_sent(
    server: ScriptedModel, models: Models, messages: tuple[Message, ...]
) -> None:
    _, failure = await failing(models, Request(MODELS["messages"], (), messages))
    assert failure.kind == "refused"
    assert "Nothing was sent. This is a bug in Sapwood" in str(failure)
    assert server.requests == []


async def test_an_unknown_parameter_is_not_sent(server: ScriptedModel, models: Models) -> None:
    with pytest.raises(Failure, match="no parameter 'heat'") as caught:
        await collect(models, ask(MODELS["chat"], "Hello?"), heat=1)
    assert caught.value.kind == "refused"
    assert server.requests == []


async def test_what_no_library_understands_is_told_too(
    server: ScriptedModel, models: Models
) -> None:
    broken = ToolSpec("weather", "Tells it.", "{not json")
    with pytest.raises(Failure, match="DecodeError") as caught:
        await anext(models.stream(ask(MODELS["messages"], "Hello?"), [broken]))
    assert caught.value.kind == "other"
    assert server.requests == []


# Stopping


@every_wire
async def test_cancelling_closes_the_connection_at_once(server: ScriptedModel, model: str) -> None:
    server.replies([Reply.of(LONG, stall=300)])
    begun = asyncio.Event()
    async with open_relay(server.url) as relay, open_models(relay.url) as models:

        async def listen() -> None:
            async for _ in models.stream(ask(model, "Where?")):
                begun.set()

        task = asyncio.create_task(listen())
        await asyncio.wait_for(begun.wait(), 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(relay.open[0], 60)


@every_wire
async def test_closing_the_stream_closes_the_connection_at_once(
    server: ScriptedModel, model: str
) -> None:
    server.replies([Reply.of(LONG, stall=300)])
    async with open_relay(server.url) as relay, open_models(relay.url) as models:
        stream = models.stream(ask(model, "Where?"))
        await anext(stream)
        await stream.aclose()
        await asyncio.wait_for(relay.open[0], 60)


async def test_cancelling_while_waiting_to_try_again_ends_the_wait(
    server: ScriptedModel,
) -> None:
    server.script(lambda asked: fail(529, retry_after=1))
    async with open_models(server.url) as models:
        task = asyncio.create_task(collect(models, ask(MODELS["messages"], "Hello?")))
        await asyncio.to_thread(server.wait_for, 1, answered=True)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert len(server.requests) == 1
