"""Requests are sent and answers returned, in every wire format."""

import asyncio

import pytest

from sapwood.core.content import Text, Thinking, ToolCall, Usage
from sapwood.core.model_calls import Delta
from sapwood.core.view import Block, Message, Request, ToolResult
from sapwood.models import Models, price_of
from sapwood.models.wire.signatures import decode_reasoning
from scripted_model import Reply, ScriptedModel, call, think
from tests.models.conversation import MODELS, Conversation, ask, collect, every_wire

LONG = "Oslo is the capital of Norway and lies at the end of a fjord, which is long."


@every_wire
async def test_text_arrives_in_pieces_and_then_as_a_whole(
    server: ScriptedModel, models: Models, model: str
) -> None:
    server.replies([LONG])
    deltas, answer = await collect(models, ask(model, "Where?"))
    assert len(deltas) > 2
    assert all(delta.kind == "text" for delta in deltas)
    assert "".join(delta.text for delta in deltas) == LONG
    assert answer.parts == (Text(LONG),)
    assert answer.ended == "done"
    assert server.rejections == []


@every_wire
async def test_an_answer_names_the_model_that_gave_it(models: Models, model: str) -> None:
    _, answer = await collect(models, ask(model, "Hello?"))
    assert answer.model == model


async def test_a_server_with_an_address_is_asked_by_its_name(
    server: ScriptedModel, models: Models
) -> None:
    _, answer = await collect(models, ask("den:qwen3:8b", "Hello?"))
    assert answer.model == "den:qwen3:8b"
    assert server.requests[0].wire == "chat"


@every_wire
async def test_the_system_prompt_and_pins_arrive_in_order(
    server: ScriptedModel, models: Models, model: str
) -> None:
    seen: list[str] = []
    server.script(lambda asked: seen.append(asked.system))
    system = (Block("system", "", "Be brief."), Block("pin", "style", "No jokes."))
    await collect(models, Request(model, system, (Message("user", (Text("Hi."),)),)))
    (words,) = seen
    assert words.index("Be brief.") < words.index("No jokes.")


@every_wire
async def test_a_call_arrives_in_pieces_with_its_name(
    server: ScriptedModel, models: Models, model: str
) -> None:
    server.replies([["Let me look.", call("weather", city="Oslo")]])
    deltas, answer = await collect(models, ask(model, "Is it cold in Oslo?"))
    text, made = (part for part in answer.parts if not isinstance(part, Thinking))
    assert text == Text("Let me look.")
    assert isinstance(made, ToolCall)
    assert (made.name, made.args.replace(" ", "")) == ("weather", '{"city":"Oslo"}')
    assert made.id
    pieces = [delta for delta in deltas if delta.kind == "call"]
    assert [delta.name for delta in pieces] == ["weather", *[""] * (len(pieces) - 1)]
    assert "".join(delta.text for delta in pieces) == made.args
    assert deltas.index(pieces[0]) > deltas.index(Delta("text", deltas[0].text))


@every_wire
async def test_several_calls_are_answered_together(
    server: ScriptedModel, models: Models, model: str
) -> None:
    server.replies([[call("weather", city="Oslo"), call("weather", city="Rome")], "Both are mild."])
    talk = Conversation(models, model)
    answer = await talk.say("Compare them.")
    assert answer.parts[-1] == Text("Both are mild.")
    assert len(talk.messages[2].parts) == 2
    assert server.rejections == []


@every_wire
async def test_a_result_that_is_an_error_is_taken(
    server: ScriptedModel, models: Models, model: str
) -> None:
    server.replies([call("weather", city="Olso"), "There is no such city."])
    talk = Conversation(models, model)
    answer = await talk.step(Text("And in Olso?"))
    (made,) = [part for part in answer.parts if isinstance(part, ToolCall)]
    await talk.step(ToolResult(made.id, made.name, "no such city", error=True))
    assert "no such city" in str(server.requests[-1].body)
    assert server.rejections == []


@every_wire
async def test_arguments_that_are_no_json_do_not_break_the_conversation(
    server: ScriptedModel, models: Models, model: str
) -> None:
    talk = Conversation(models, model)
    talk.messages = [
        Message("user", (Text("Look."),)),
        Message("assistant", (ToolCall("call_1", "weather", '{"city": "Os'),)),
        Message("user", (ToolResult("call_1", "weather", "invalid arguments", error=True),)),
        Message("assistant", (Text("Sorry."),)),
    ]
    await talk.say("Again.")
    assert server.rejections == []


@pytest.mark.parametrize(
    "model",
    ["anthropic:claude-haiku-5-5", "anthropic:claude-sonnet-5-5", MODELS["responses"]],
)
async def test_thinking_is_signed_and_goes_back_to_who_signed_it(
    server: ScriptedModel, models: Models, model: str
) -> None:
    server.replies([[think("Oslo is north."), call("weather", city="Oslo")], "It is cold."])
    talk = Conversation(models, model)
    await talk.say("Is it cold?")
    thought = talk.answers[0].parts[0]
    assert isinstance(thought, Thinking)
    assert thought.provider == model.partition(":")[0]
    assert thought.signature
    assert _carried(thought) in str(server.requests[-1].body)
    assert server.rejections == []


def _carried(thought: Thinking) -> str:
    """What of a signature a provider sees again."""
    reasoning = decode_reasoning(thought.signature)
    return reasoning.data if reasoning else thought.signature


async def test_openai_tells_what_it_thought_if_it_is_asked_to(
    server: ScriptedModel, models: Models
) -> None:
    server.replies([[think("Oslo is north."), "Yes."]])
    deltas, answer = await collect(
        models, ask(MODELS["responses"], "Is it cold?"), openai_reasoning_summary="auto"
    )
    assert isinstance(answer.parts[0], Thinking)
    assert answer.parts[0].text == "Oslo is north."
    assert "".join(d.text for d in deltas if d.kind == "thinking") == "Oslo is north."


async def test_google_gets_the_signature_of_a_call_back(
    server: ScriptedModel, models: Models
) -> None:
    server.replies([[think("Oslo is north."), call("weather", city="Oslo")], "It is cold."])
    talk = Conversation(models, MODELS["gemini"])
    await talk.say("Is it cold?")
    assert "thoughtSignature" in str(server.requests[-1].body)
    assert "skip_thought" not in str(server.requests[-1].body)
    assert server.rejections == []


@every_wire
async def test_usage_counts_everything_that_was_sent(
    server: ScriptedModel, models: Models, model: str
) -> None:
    server.replies([Reply.of("Yes.", usage=5_000, out=7)])
    _, answer = await collect(models, ask(model, "Hello?"))
    assert answer.usage is not None
    assert (answer.usage.input, answer.usage.output) == (5_000, 7)


async def test_usage_holds_the_cost_where_the_price_is_known(
    server: ScriptedModel, models: Models
) -> None:
    server.replies([Reply.of("Yes.", usage=5_000, out=7)])
    _, answer = await collect(models, ask(MODELS["messages"], "Hello?"))
    assert answer.usage is not None
    price = price_of(answer.model, Usage(answer.usage.input, answer.usage.output))
    assert price is not None
    assert answer.usage.cost == price.millionths > 0


@every_wire
async def test_an_answer_that_ran_into_its_limit_says_so(
    server: ScriptedModel, models: Models, model: str
) -> None:
    server.replies([LONG])
    _, answer = await collect(models, ask(model, "Where?"), max_tokens=16)
    (text,) = answer.parts
    assert isinstance(text, Text)
    assert LONG.startswith(text.text)
    assert answer.ended == "length"


@every_wire
async def test_parameters_are_taken(server: ScriptedModel, models: Models, model: str) -> None:
    params = {"max_tokens": 100, "parallel_tool_calls": False, "stop_sequences": ["STOP"]}
    await collect(models, ask(model, "Hello?"), **params)
    assert server.rejections == []


@every_wire
async def test_many_calls_go_on_at_once(server: ScriptedModel, models: Models, model: str) -> None:
    answers = await asyncio.gather(
        *(collect(models, ask(model, f"[[sleep: 0.05]] [[say: number {i}]]")) for i in range(8))
    )
    assert [answer.parts for _, answer in answers] == [(Text(f"number {i}"),) for i in range(8)]
    assert server.peak > 1
