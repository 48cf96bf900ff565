"""A chat of Google's Agent Development Kit, kept in Sapwood.

    python google_adk_chat.py chat.db chat-42

It reads prompts from its standard input, one in each line. It needs
`pip install 'sapwood[google-adk]'` and an API key in GEMINI_API_KEY.
"""

import asyncio
import sys

from google.adk.agents import Agent
from google.adk.runners import Runner
from google.genai.types import Content, GenerateContentConfig, Part, ThinkingConfig

from sapwood_frameworks.google_adk import SapwoodSessionService


def weather(city: str) -> str:
    """Returns the weather of a city."""
    return f"{city}: {len(city) - 7} degrees"


async def main(database: str, chat: str) -> None:
    service = SapwoodSessionService(database)  # instead of DatabaseSessionService(database)
    agent = Agent(
        name="guide",
        model="gemini-3-pro",
        instruction="Answer in one sentence.",
        tools=[weather],
        generate_content_config=GenerateContentConfig(
            thinking_config=ThinkingConfig(include_thoughts=True)
        ),
    )
    runner = Runner(app_name="chats", agent=agent, session_service=service)
    session = {"user_id": "ada", "session_id": chat}
    if await service.get_session(app_name="chats", **session) is None:
        await service.create_session(app_name="chats", **session)
    while prompt := await asyncio.to_thread(sys.stdin.readline):
        content = Content(role="user", parts=[Part(text=prompt.strip())])
        async for event in runner.run_async(**session, new_message=content):
            if event.is_final_response() and event.content and event.content.parts:
                print(
                    "".join(part.text or "" for part in event.content.parts if not part.thought),
                    flush=True,
                )
    await service.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
