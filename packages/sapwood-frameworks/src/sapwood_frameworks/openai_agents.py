"""A session of the OpenAI Agents SDK that is kept in Sapwood.

The session has the four methods of the SDK's protocol `Session` and imports nothing of the SDK.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sapwood.api import Agent, Sapwood
from sapwood_frameworks.conversation import Conversation, Database
from sapwood_frameworks.response_items import is_answered, items_from, response_items


class SapwoodSession:
    """One conversation: `Runner.run(agent, "Hello!", session=SapwoodSession("chat-42", "h.db"))`.

    `database` is an address as for `sapwood.open`, or an open `Sapwood`. `space` is the space of
    the database. A history of more than `cap` tokens is trimmed at its beginning; 0 trims nothing.

    >>> import asyncio
    >>> async def main() -> None:
    ...     session = SapwoodSession("chat-42")
    ...     await session.add_items([{"role": "user", "content": "What is 6 x 7?"}])
    ...     await session.add_items([{"role": "assistant", "content": "42"}])
    ...     agent = await session.agent()
    ...     await agent.mark("EASY")
    ...     await session.clear_session()
    ...     print(len(await session.get_items()))
    ...     await agent.undo()
    ...     print(len(await session.get_items()))
    ...     await session.close()
    >>> asyncio.run(main())
    0
    2
    """

    def __init__(
        self,
        session_id: str,
        database: str | Path | Sapwood = ":memory:",
        *,
        space: str = "local",
        cap: int = 0,
        session_settings: Any = None,  # a class of the SDK, which this module does not import
    ) -> None:
        self.session_id = session_id
        self.session_settings = session_settings
        self.conversation = Conversation(Database(database, space=space), session_id, cap=cap)

    async def agent(self) -> Agent:
        """Returns the agent that keeps this session: for marks, rewind, undo, pins and search."""
        return await self.conversation.agent()

    # Items are `Any` because their type is a class of the SDK, which this module does not import.

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """Returns the items of the context, oldest first, or the last `limit` of them."""
        if limit is None:
            limit = getattr(self.session_settings, "limit", None)
        items = response_items(await self.conversation.request())
        if limit is None:
            return items
        return items[-limit:] if limit > 0 else []

    async def add_items(self, items: Sequence[Any]) -> None:
        """Adds items: a message of the user starts a turn, an answer completes it."""
        given: Sequence[Mapping[str, object]] = items
        await self.conversation.add(items_from(given), completes=is_answered(given))

    async def pop_item(self) -> Any:
        """Takes the newest item out of the context and returns it; None if there is none."""
        items = await self.get_items(1)
        return items[0] if items and await self.conversation.pop() else None

    async def clear_session(self) -> None:
        """Takes all items out of the context. `(await session.agent()).undo()` brings them back."""
        await self.conversation.clear()

    async def fork(self, session_id: str, mark: str | None = None) -> "SapwoodSession":
        """Starts a session with the context of this one, or with what came after `mark`."""
        forked = await self.conversation.fork(session_id, mark)
        session = SapwoodSession(session_id, session_settings=self.session_settings)
        session.conversation = forked
        return session

    async def close(self) -> None:
        """Closes the database, if the session opened it."""
        await self.conversation.database.close()
