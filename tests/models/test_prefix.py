"""Between context events each request extends the one before it, byte for byte."""

import json
import re
from itertools import pairwise

import msgspec
import pytest
from msgspec import Raw

from sapwood.core.content import Text, ToolCall
from sapwood.core.view import Message, Request, ToolResult
from sapwood.models import Models
from scripted_model import ScriptedModel, call, think
from tests.models.conversation import MODELS, Conversation, collect, every_wire, open_models
from tests.models.relay import open_relay

HISTORY = ("messages", "input", "contents")
RULES = "Be brief. " * 600
TURNS = 6


def parts(body: bytes) -> tuple[dict[str, bytes], list[bytes]]:
    """A body as its fields without the history, and the history item by item, as raw bytes."""
    fields = msgspec.json.decode(body, type=dict[str, Raw])
    (name,) = [name for name in HISTORY if name in fields]
    items = msgspec.json.decode(fields.pop(name), type=list[Raw])
    return {name: bytes(value) for name, value in fields.items()}, [bytes(item) for item in items]


def extends(earlier: bytes, later: bytes) -> bool:
    """Whether the later body says all that the earlier one said, in the same bytes, and goes on."""
    fields, items = parts(earlier)
    later_fields, later_items = parts(later)
    return fields == later_fields and later_items[: len(items)] == items


async def converse(talk: Conversation, server: ScriptedModel) -> None:
    for turn in range(TURNS):
        asked = [think(f"Thought {turn}."), "I look.", call("weather", city=f"City {turn}")]
        server.replies([asked, f"It is {turn} degrees."])
        await talk.say(f"What of city {turn}?")


@every_wire
async def test_every_request_extends_the_one_before_it(server: ScriptedModel, model: str) -> None:
    async with open_relay(server.url) as relay, open_models(relay.url) as models:
        await converse(Conversation(models, model, RULES, "A pin."), server)
    assert server.rejections == []
    assert len(relay.bodies) == 2 * TURNS
    hits = [extends(earlier, later) for earlier, later in pairwise(relay.bodies)]
    assert hits == [True] * (2 * TURNS - 1)
    for earlier, later in pairwise(relay.bodies):
        assert earlier.endswith(b"]}")
        assert later.startswith(earlier[:-2])


@every_wire
async def test_a_history_that_was_sent_before_is_sent_as_if_it_were_new(
    server: ScriptedModel, model: str
) -> None:
    async with open_relay(server.url) as relay, open_models(relay.url) as models:
        talk = Conversation(models, model, RULES, "A pin.")
        await converse(talk, server)
        talk.messages.append(Message("user", (Text("And now?"),)))
        await collect(models, talk.request)
        async with open_models(relay.url) as strangers:
            await collect(strangers, talk.request)
    warm, cold = relay.bodies[-2:]
    assert parts(warm) == parts(cold)
    assert json.loads(warm) == json.loads(cold)


@every_wire
async def test_ids_of_calls_that_repeat_are_sent_as_ids_of_their_own(
    server: ScriptedModel, model: str
) -> None:
    messages: list[Message] = []
    async with open_relay(server.url) as relay, open_models(relay.url) as models:
        for turn in range(3):
            calls = tuple(ToolCall("call_0", "weather", f'{{"city":"{n}"}}') for n in range(turn))
            results = tuple(ToolResult("call_0", "weather", f"{turn}, {n}") for n in range(turn))
            messages += [
                Message("user", (Text(f"{turn}?"),)),
                Message("assistant", (*calls, Text("Hm."))),
            ]
            messages += [
                Message("user", (*results, Text("And?"))),
                Message("assistant", (Text("Yes."),)),
            ]
            asked = (*messages, Message("user", (Text("Go on."),)))
            await collect(models, Request(model, (), asked))
    assert server.rejections == []
    for earlier, later in pairwise(parts(body)[1] for body in relay.bodies):
        assert later[: len(earlier) - 1] == earlier[:-1]
    ids: list[str] = re.findall(r'"(call_0[^"]*)"', relay.bodies[-1].decode())
    assert len(ids) == 6
    assert sorted(ids) == sorted([*set(ids)] * 2)


@every_wire
async def test_calls_share_a_connection(server: ScriptedModel, model: str) -> None:
    async with open_relay(server.url) as relay, open_models(relay.url) as models:
        await converse(Conversation(models, model), server)
    assert relay.connections == 1


@pytest.mark.parametrize("changed", ["system", "head", "middle"])
@every_wire
async def test_a_context_event_changes_the_past_and_nothing_old_comes_back(
    server: ScriptedModel, models: Models, model: str, changed: str
) -> None:
    talk = Conversation(models, model, "Be brief.")
    await converse(talk, server)
    messages = [*talk.messages, Message("user", (Text("And now?"),))]
    system = talk.system
    match changed:
        case "system":
            system = (msgspec.structs.replace(system[0], text="Be long."),)
        case "head":
            messages = messages[4:]
        case _:
            messages[3] = Message("assistant", (Text("It was masked."),))
    await collect(models, Request(model, system, tuple(messages)))
    async with open_models(server.url) as strangers:
        await collect(strangers, Request(model, system, tuple(messages)))
    warm, cold = (logged.body for logged in server.requests[-2:])
    assert warm == cold
    assert server.rejections == []


async def test_a_model_that_binds_its_thinking_to_the_past_takes_another_past(
    server: ScriptedModel, models: Models
) -> None:
    talk = Conversation(models, "anthropic:claude-sonnet-5-5", "Be brief.")
    await converse(talk, server)
    messages = (*talk.messages[4:], Message("user", (Text("And now?"),)))
    await collect(models, Request(talk.model, talk.system, messages))
    assert "drop_block" in str(server.requests[-1].body)
    assert server.rejections == []
    assert len(server.requests) == 2 * TURNS + 1


@pytest.mark.parametrize("wire", ["messages", "responses", "chat", "gemini"])
async def test_the_provider_reads_the_past_from_its_cache(
    server: ScriptedModel, models: Models, wire: str
) -> None:
    talk = Conversation(models, MODELS[wire], RULES)
    await converse(talk, server)
    usages = [answer.usage for answer in talk.answers]
    for earlier, later in pairwise(usages):
        assert earlier is not None
        assert later is not None
        assert later.input > later.cache_read
        assert later.cache_read >= earlier.input - 256  # caches work in steps


async def test_anthropic_reads_all_that_it_was_sent_before(
    server: ScriptedModel, models: Models
) -> None:
    talk = Conversation(models, MODELS["messages"], RULES)
    await converse(talk, server)
    usages = [answer.usage for answer in talk.answers if answer.usage]
    for earlier, later in pairwise(usages):
        assert later.cache_read == earlier.cache_read + earlier.cache_write
        assert later.input - later.cache_read - later.cache_write <= 1  # the server rounds up


@every_wire
async def test_many_results_at_once_are_one_step(
    server: ScriptedModel, models: Models, model: str
) -> None:
    talk = Conversation(models, model, RULES)
    server.replies([[call("weather", city=f"City {i}") for i in range(30)], "All are mild."])
    await talk.say("Compare thirty cities.")
    assert len([p for p in talk.messages[1].parts if isinstance(p, ToolCall)]) == 30
    assert len([p for p in talk.messages[2].parts if isinstance(p, ToolResult)]) == 30
    assert server.rejections == []
