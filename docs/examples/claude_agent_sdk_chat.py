"""A chat of the Claude Agent SDK, kept in Sapwood.

    python claude_agent_sdk_chat.py chat.db 0b5f9c3e-7a1d-4c52-9f0e-6a2b8d4e1c37

It reads prompts from its standard input, one in each line. It needs
`pip install 'sapwood[claude-agent-sdk]'` and an API key in ANTHROPIC_API_KEY.
"""

import asyncio
import sys
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, create_sdk_mcp_server, query, tool

from sapwood_frameworks.claude_agent_sdk import SapwoodSessionStore


@tool("weather", "Returns the weather of a city.", {"city": str})
async def weather(args: dict[str, Any]) -> dict[str, Any]:
    text = f"{args['city']}: {len(args['city']) - 7} degrees"
    return {"content": [{"type": "text", "text": text}]}


async def main(database: str, chat: str) -> None:
    store = SapwoodSessionStore(database)
    while prompt := await asyncio.to_thread(sys.stdin.readline):
        known = await store.load({"project_key": "", "session_id": chat})
        options = ClaudeAgentOptions(
            session_store=store,  # the only line that Sapwood needs
            resume=chat if known else None,
            session_id=None if known else chat,
            mcp_servers={"city": create_sdk_mcp_server("city", tools=[weather])},
            allowed_tools=["mcp__city__weather"],
            thinking={"type": "adaptive"},
        )
        async for message in query(prompt=prompt.strip(), options=options):
            if isinstance(message, ResultMessage):
                print(message.result, flush=True)
    await store.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
