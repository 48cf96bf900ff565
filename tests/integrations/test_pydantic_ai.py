"""Runs of pydantic-ai are kept as turns, and get what is in view as their history."""

from collections.abc import AsyncIterator

import pytest
from pydantic_ai import Agent, ModelRetry
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from sapwood import Text, ToolCall
from sapwood_frameworks.pydantic_ai import SapwoodCapability, SapwoodHistory


class Model:
    """Calls the tool twice for a prompt with 'cold', and answers everything else."""

    def __init__(self) -> None:
        self.seen: list[list[ModelMessage]] = []
        self.instructions: list[str | None] = []
        self.function = FunctionModel(self.answer)

    def answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.seen.append(messages)
        self.instructions.append(info.instructions)
        last = messages[-1].parts[-1]
        if getattr(last, "content", "") == "Is it cold?":
            cities = ("Oslo", "Rome")
            return ModelResponse([ToolCallPart("weather", {"city": city}) for city in cities])
        return ModelResponse([TextPart("Noted.")])


@pytest.fixture
async def kept() -> AsyncIterator[SapwoodCapability[object]]:
    capability = SapwoodCapability[object](":memory:")
    yield capability
    await capability.close()


def weather(city: str) -> str:
    if city == "Rome":
        raise ModelRetry("There is no weather in Rome.")
    return "-3 degrees"


async def test_each_message_of_a_run_is_in_one_turn(kept: SapwoodCapability[object]) -> None:
    model = Model()
    agent = Agent(model.function, tools=[weather], capabilities=[kept])
    await agent.run("Is it cold?", conversation_id="chat-42")
    opened = await (await kept.conversation("chat-42").agent()).opened()
    [turn] = opened.live.turns
    assert [type(item).__name__ for item in turn.items] == ["Reply", "Result", "Result", "Reply"]
    assert [call.name for call in turn.calls.values()] == ["weather", "weather"]
    assert all(isinstance(call, ToolCall) for call in turn.calls.values())
    results = [item for item in turn.items if type(item).__name__ == "Result"]
    assert [getattr(item, "error", None) for item in results] == [False, True]


async def test_the_next_run_gets_what_is_in_view(kept: SapwoodCapability[object]) -> None:
    model = Model()
    agent = Agent(model.function, tools=[weather], capabilities=[kept], system_prompt="Be brief.")
    for prompt in ("Is it cold?", "Then I stay."):
        await agent.run(prompt, conversation_id="chat-42")
    kinds = [part.part_kind for message in model.seen[-1] for part in message.parts]
    assert kinds == [
        "system-prompt",
        "user-prompt",
        *["tool-call"] * 2,
        *["tool-return"] * 2,
        "text",
        "user-prompt",
    ]
    stored = await kept.conversation("chat-42").agent()
    await stored.clear()
    await stored.pin("style", "Answer in verse.")
    await agent.run("Anything new?", conversation_id="chat-42")
    assert len(model.seen[-1]) == 1
    assert "Answer in verse." in (model.instructions[-1] or "")


async def test_an_image_of_a_prompt_and_of_a_tool_is_kept(
    kept: SapwoodCapability[object],
) -> None:
    model, pond = Model(), BinaryContent(b"GIF89a\x02\x00\x01\x00", media_type="image/gif")

    def weather(city: str) -> list[str | BinaryContent]:
        return [f"A picture of {city}.", pond]

    agent = Agent(model.function, tools=[weather], capabilities=[kept])
    await agent.run(["Where is this?", pond, "Is it cold?"], conversation_id="chat-43")
    await agent.run("Is it cold?", conversation_id="chat-43")
    await agent.run("Thanks.", conversation_id="chat-43")
    images = [
        each.data
        for message in model.seen[-1]
        for part in message.parts
        if isinstance(part, UserPromptPart) and not isinstance(part.content, str)
        for each in part.content
        if isinstance(each, BinaryContent)
    ]
    assert images == [pond.data] * 3


async def test_a_run_that_fails_leaves_its_turn_ended(kept: SapwoodCapability[object]) -> None:
    def fail(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        raise RuntimeError("no network")

    with pytest.raises(RuntimeError, match="no network"):
        await Agent(FunctionModel(fail), capabilities=[kept]).run("Hi", conversation_id="chat-42")
    state = await (await kept.conversation("chat-42").agent()).state()
    assert state.open is None
    assert state.context.tip is not None


async def test_a_history_by_hand_gives_back_what_it_got() -> None:
    model, history = Model(), SapwoodHistory("chat-42")
    agent = Agent(model.function, tools=[weather])
    result = await agent.run("Is it cold?")
    await history.add(result.new_messages(), model.function)
    loaded = await history.load(model.function)
    await agent.run("Then I stay.", message_history=loaded)
    given = [part for message in result.new_messages() for part in message.parts]
    kinds = [part.part_kind for message in loaded for part in message.parts]
    assert kinds == [part.part_kind for part in given]
    [turn] = (await (await history.agent()).opened()).live.turns
    assert turn.prompt == (Text("Is it cold?"),)
    await history.close()
