"""A chat of the OpenAI Agents SDK, kept in Sapwood.

    python openai_agents_chat.py chat.db chat-42

It reads prompts from its standard input, one in each line. It needs
`pip install 'sapwood[openai-agents]'` and an API key in OPENAI_API_KEY.
"""

import asyncio
import sys

from agents import Agent, ModelSettings, Runner, function_tool

from sapwood_frameworks.openai_agents import SapwoodSession


@function_tool
def weather(city: str) -> str:
    """Returns the weather of a city."""
    return f"{city}: {len(city) - 7} degrees"


async def main(database: str, chat: str) -> None:
    session = SapwoodSession(chat, database)  # instead of SQLiteSession(chat, database)
    agent = Agent(
        name="Guide",
        instructions="Answer in one sentence.",
        model="gpt-5",
        tools=[weather],
        # Thoughts come back encrypted, so that they can be sent again from the history.
        model_settings=ModelSettings(store=False, response_include=["reasoning.encrypted_content"]),
    )
    while prompt := await asyncio.to_thread(sys.stdin.readline):
        result = await Runner.run(agent, prompt.strip(), session=session)
        print(result.final_output, flush=True)
    await session.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
