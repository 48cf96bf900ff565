"""The model may change in the middle of a conversation, and even of a turn."""

from itertools import permutations

import pytest

from sapwood.core.content import Text, Thinking, ToolCall
from sapwood.core.view import ToolResult
from sapwood.models import Models
from scripted_model import ScriptedModel, call, think
from tests.models.conversation import MODELS, Conversation

PAIRS = list(permutations(MODELS.values(), 2))


@pytest.mark.parametrize(("first", "second"), PAIRS)
async def test_a_history_made_by_one_provider_goes_to_another_and_back(
    server: ScriptedModel, models: Models, first: str, second: str
) -> None:
    talk = Conversation(models, first, "Be brief.")
    for model in (first, second, first):
        talk.model = model
        thought = [think(f"{model} thinks."), "I look.", call("weather", city="Oslo")]
        server.replies([thought, f"{model} says it is cold."])
        answer = await talk.say("Is it cold in Oslo?")
        assert answer.parts[-1] == Text(f"{model} says it is cold.")
        assert answer.model == model
    assert server.rejections == []


@pytest.mark.parametrize(("first", "second"), PAIRS)
async def test_a_call_of_one_provider_is_answered_to_another(
    server: ScriptedModel, models: Models, first: str, second: str
) -> None:
    talk = Conversation(models, first)
    server.replies([[think("Hm."), call("weather", city="Oslo")], [think("Ah."), "Cold."]])
    answer = await talk.step(Text("Is it cold?"))
    (made,) = [part for part in answer.parts if isinstance(part, ToolCall)]
    talk.model = second
    answer = await talk.step(ToolResult(made.id, made.name, "-3 degrees"))
    assert answer.parts[-1] == Text("Cold.")
    assert server.rejections == []


async def test_nobody_reads_what_another_thought(server: ScriptedModel, models: Models) -> None:
    talk = Conversation(models, MODELS["messages"])
    for index, model in enumerate(MODELS.values()):
        talk.model = model
        server.replies([[think(f"SECRET-{index}."), f"Answer {index}."]])
        await talk.say("Well?")
    thoughts = [part for m in talk.messages for part in m.parts if isinstance(part, Thinking)]
    assert thoughts
    for index, logged in enumerate(server.requests):
        assert "SECRET" not in str(logged.body), f"request {index}"
    assert server.rejections == []
