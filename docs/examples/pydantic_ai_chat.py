"""A chat of pydantic-ai, kept in Sapwood.

    python pydantic_ai_chat.py chat.db chat-42

It reads prompts from its standard input, one in each line. It needs
`pip install 'sapwood[pydantic-ai]'` and an API key in OPENAI_API_KEY.
"""

import asyncio
import sys

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIResponsesModelSettings

from sapwood_frameworks.pydantic_ai import SapwoodCapability


def weather(city: str) -> str:
    """Returns the weather of a city."""
    return f"{city}: {len(city) - 7} degrees"


async def main(database: str, chat: str) -> None:
    kept = SapwoodCapability[object](database)
    agent = Agent(
        "openai-responses:gpt-5",
        instructions="Answer in one sentence.",
        tools=[weather],
        capabilities=[kept],  # the only line that Sapwood needs
        model_settings=OpenAIResponsesModelSettings(openai_store=False),
    )
    while prompt := await asyncio.to_thread(sys.stdin.readline):
        result = await agent.run(prompt.strip(), conversation_id=chat)
        print(result.output, flush=True)
    await kept.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
