"""The OpenAI Agents SDK with its own model class, pointed at the server.

Prints `ok …` or `NO …` for each check.
"""

import asyncio
import sys

from agents import (
    Agent,
    OpenAIConversationsSession,
    OpenAIResponsesModel,
    Runner,
    function_tool,
    set_tracing_disabled,
)
from openai import AsyncOpenAI

_MODEL = "claude-sonnet-5-5"


@function_tool
def weather(city: str) -> str:
    """Returns the weather of a city."""
    return f"{city}: {len(city) - 7} degrees"


def check(holds: bool, what: str) -> None:
    """Prints whether something holds."""
    print("ok" if holds else "NO", what, flush=True)


async def main(address: str, token: str) -> None:
    """Runs an agent in a conversation, with its whole history, and with a session."""
    set_tracing_disabled(True)
    client = AsyncOpenAI(base_url=f"{address}/v1", api_key=token, max_retries=0)
    model = OpenAIResponsesModel(_MODEL, client)
    agent = Agent(name="Guide", instructions="Be short.", model=model, tools=[weather])
    cold = 'Cold? [[tool: weather {"city": "Oslo"}]] [[say: Yes.]]'

    conversation = (await client.conversations.create()).id
    result = await Runner.run(agent, cold, conversation_id=conversation)
    check(result.final_output == "Yes.", "a function of the SDK runs in a conversation")
    result = await Runner.run(agent, "And now? [[say: Still.]]", conversation_id=conversation)
    check(result.final_output == "Still.", "the next run sends only what is new")
    items = await client.conversations.items.list(conversation, order="asc")
    kinds = [item.type for item in items.data]
    wanted = ["message", "function_call", "function_call_output", "message", "message", "message"]
    check(kinds == wanted, f"the conversation has both turns: {kinds}")

    result = await Runner.run(agent, cold)
    check(result.final_output == "Yes.", "an agent that sends its whole history gets its answer")

    streamed = Runner.run_streamed(agent, cold, conversation_id=conversation)
    kinds = [event.type async for event in streamed.stream_events()]
    check(streamed.final_output == "Yes.", "a streamed run ends with the answer")
    check("raw_response_event" in kinds, "its events arrive")

    session = OpenAIConversationsSession(openai_client=client)
    await session.add_items(
        [{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Hi."}]
    )
    check(len(await session.get_items()) == 2, "the SDK's own session keeps its items here")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
