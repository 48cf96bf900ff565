"""A chat of LangGraph's agent, kept in Sapwood.

    python langgraph_chat.py chat.db chat-42

It reads prompts from its standard input, one in each line. It needs
`pip install 'sapwood[langgraph]' langchain-openai` and an API key in OPENAI_API_KEY.
"""

import asyncio
import sys

from langchain.agents import create_agent
from langchain_openai import ChatOpenAI

from sapwood_frameworks.langgraph import SapwoodMiddleware


def weather(city: str) -> str:
    """Returns the weather of a city."""
    return f"{city}: {len(city) - 7} degrees"


async def main(database: str, chat: str) -> None:
    kept = SapwoodMiddleware(database)
    agent = create_agent(
        # Thoughts come back encrypted, so that they can be sent again from the history.
        ChatOpenAI(
            model="gpt-5",
            use_responses_api=True,
            store=False,
            include=["reasoning.encrypted_content"],
        ),
        tools=[weather],
        system_prompt="Answer in one sentence.",
        middleware=[kept],  # instead of checkpointer=…
    )
    thread = {"configurable": {"thread_id": chat}}
    while prompt := await asyncio.to_thread(sys.stdin.readline):
        given = {"messages": [{"role": "user", "content": prompt.strip()}]}
        state = await agent.ainvoke(given, thread)
        print(state["messages"][-1].text, flush=True)
    await kept.aclose()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
