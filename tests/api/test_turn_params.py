"""Parameters of turns: whose count, what each wire format gets of them, and what the log has."""

import asyncio
import json
from dataclasses import dataclass

import msgspec
import pytest

import sapwood
from sapwood import RefusedError, TurnParams
from sapwood.core.events import ModelCalled
from sapwood.testing import FakeModel
from scripted_model import ModelRequest, ReplyLike, ScriptedModel, call
from scripted_model.json_values import Json
from tests.models.conversation import KEYS, every_wire, urls

SENT: dict[str, dict[str, tuple[str, ...]]] = {
    "anthropic": {"max_tokens": ("max_tokens",), "temperature": ("temperature",)},
    "openai": {"max_tokens": ("max_output_tokens",), "temperature": ("temperature",)},
    "openai-chat": {"max_tokens": ("max_completion_tokens",), "temperature": ("temperature",)},
    "google": {
        "max_tokens": ("generationConfig", "maxOutputTokens"),
        "temperature": ("generationConfig", "temperature"),
    },
    "compatible": {"max_tokens": ("max_tokens",), "temperature": ("temperature",)},
}
"""Where the parameters are in the body of a request, by the provider in the model's name."""

FORCED: dict[str, object] = {
    "anthropic": {"type": "any"},
    "openai": "required",
    "openai-chat": "required",
    "google": {"functionCallingConfig": {"mode": "ANY"}},
    "compatible": "required",
}


def weather(city: str) -> str:
    """Says what the weather is."""
    return f"Snow in {city}."


def time(city: str) -> str:
    """Says what time it is."""
    return "Noon."


def answer(request: ModelRequest) -> ReplyLike:
    return "Yes." if request.results else call("weather", city="Oslo")


def at(body: Json, path: tuple[str, ...]) -> Json:
    for name in path:
        body = body.get(name) if isinstance(body, dict) else None
    return body


@every_wire
async def test_parameters_reach_every_wire_format_and_the_log(model: str) -> None:
    provider = model.partition(":")[0]
    with ScriptedModel() as server:
        server.script(answer)
        async with (
            asyncio.timeout(60),
            sapwood.open(":memory:") as db,
            sapwood.runtime(
                db,
                tools=[weather, time],
                models=KEYS,
                urls=urls(server.url),
                params=TurnParams(max_tokens=4000, tools=("weather", "time")),
            ),
        ):
            agent = await db.start("demo", model=model)
            await agent.configure(params=TurnParams(max_tokens=900))
            only = TurnParams(tool_choice="required", tools=("weather",))
            await agent.ask("Is it cold?", params=only)
            await agent.ask("And now?", params=TurnParams(tools=("weather",)))
            events = [each.event for each in await agent.events()]
        bodies = [each.body for each in server.requests]
    assert server.rejections == []
    assert [at(body, SENT[provider]["max_tokens"]) for body in bodies] == [900] * 4
    assert all("weather" in json.dumps(body) for body in bodies)
    assert not any('"time"' in json.dumps(at(body, ("tools",))) for body in bodies)
    choice = "toolConfig" if provider == "google" else "tool_choice"
    assert at(bodies[0], (choice,)) == FORCED[provider]
    assert at(bodies[1], (choice,)) != FORCED[provider], "a forced model would never answer"
    stored = [msgspec.json.decode(each.params) for each in events if isinstance(each, ModelCalled)]
    assert stored == [
        {"max_tokens": 900, "tool_choice": "required"},
        *[{"max_tokens": 900}] * 3,
    ]


@pytest.mark.filterwarnings("ignore:Sampling parameters")
@every_wire
async def test_a_temperature_is_sent_and_stored(model: str) -> None:
    provider = model.partition(":")[0]
    with ScriptedModel() as server:
        async with (
            asyncio.timeout(60),
            sapwood.open(":memory:") as db,
            sapwood.runtime(db, models=KEYS, urls=urls(server.url)),
        ):
            agent = await db.start("demo", model=model)
            turn = agent.ask("Hello?", params=TurnParams(temperature=0.25, effort="none"))
            await turn
            called = [each.event for each in await agent.events()]
        [body] = [each.body for each in server.requests]
    stored = [each.params for each in called if isinstance(each, ModelCalled)]
    assert msgspec.json.decode(stored[0]) == {"temperature": 0.25, "thinking": False}
    assert at(body, SENT[provider]["temperature"]) in (0.25, None)  # some models accept none
    if provider in ("google", "compatible"):
        assert at(body, SENT[provider]["temperature"]) == 0.25


@dataclass
class Forecast:
    city: str
    degrees: int


@every_wire
async def test_an_answer_of_a_type_comes_as_its_value(model: str) -> None:
    with ScriptedModel() as server:
        server.script(lambda _: '{"city": "Oslo", "degrees": -3}')
        async with (
            asyncio.timeout(60),
            sapwood.open(":memory:") as db,
            sapwood.runtime(db, tools=[weather], models=KEYS, urls=urls(server.url)),
        ):
            agent = await db.start("demo", model=model)
            result = await agent.ask("Is it cold?", output=Forecast)
        [body] = [each.body for each in server.requests]
    assert result.value == Forecast("Oslo", -3)
    assert "degrees" in json.dumps(body), "the model gets the schema"
    assert server.rejections == []


async def test_an_answer_that_does_not_fit_the_type_is_an_error() -> None:
    model = FakeModel(lambda _, __: "It is cold.")
    async with (
        asyncio.timeout(60),
        sapwood.open(":memory:") as db,
        sapwood.runtime(db, models=model),
    ):
        agent = await db.start("demo", model="planned")
        with pytest.raises(sapwood.TurnError, match="does not match the requested type"):
            await agent.ask("Is it cold?", output=Forecast)
        with pytest.raises(RefusedError, match="a dataclass"):
            agent.ask("Is it cold?", output=int)


async def test_a_turn_makes_no_more_calls_than_its_parameter_allows() -> None:
    with ScriptedModel() as server:
        server.script(lambda _: call("weather", city="Oslo"))
        async with (
            asyncio.timeout(60),
            sapwood.open(":memory:") as db,
            sapwood.runtime(db, tools=[weather], models={}, urls=urls(server.url)),
        ):
            agent = await db.start("demo", model="den:qwen3")
            with pytest.raises(sapwood.TurnError, match="3"):
                await agent.ask("Is it cold?", params=TurnParams(calls=3))
        assert len(server.requests) == 3


async def test_a_tool_that_is_not_offered_is_not_run() -> None:
    with ScriptedModel() as server:
        server.script(
            lambda asked: asked.results[0].content if asked.results else call("time", city="Oslo")
        )
        async with (
            asyncio.timeout(60),
            sapwood.open(":memory:") as db,
            sapwood.runtime(db, tools=[weather, time], models={}, urls=urls(server.url)),
        ):
            agent = await db.start("demo", model="den:qwen3")
            said = await agent.ask("What time is it?", params=TurnParams(tools=("weather",)))
    assert "not offered" in said.text


@pytest.mark.parametrize(
    "params",
    [
        TurnParams(temperature=-1),
        TurnParams(max_tokens=0),
        TurnParams(calls=0),
        TurnParams(tool_choice=""),
        TurnParams(output_schema="[1]"),
    ],
)
async def test_parameters_that_are_not_valid_are_refused_everywhere(params: TurnParams) -> None:
    async with sapwood.open(":memory:") as db:
        agent = await db.start("demo", model="planned")
        with pytest.raises(RefusedError):
            await agent.prompt("Hello!", params=params)
        with pytest.raises(RefusedError):
            await agent.configure(params=params)
        with pytest.raises(RefusedError):
            sapwood.runtime(db, params=params)
        assert (await agent.state()).settings.params == TurnParams()


async def test_a_person_sets_the_parameters_of_an_agent() -> None:
    async with sapwood.open(":memory:") as db:
        agent = await db.start("demo", model="planned")
        [done] = await agent.run_command('/config params {"temperature": 0.2}')
        assert '{"temperature":0.2}' in done.message
        [shown] = await agent.run_command("/config")
        assert 'params {"temperature":0.2}' in shown.message
        [refused] = await agent.run_command("/config params warm")
        assert "JSON" in refused.message
        assert (await agent.state()).settings.params == TurnParams(temperature=0.2)
