"""Statements about the words of replies that are still arriving."""

from sapwood.core.ids import AgentId, CommandId, Space
from sapwood.core.live_words import LiveWords
from sapwood.store.postgres.connections import Reader, ReaderPool
from sapwood.store.space_cipher import SpaceCipher, open_live_words, seal_live_words

# The lock waits for a commit that ends the reply, and lets such a commit wait.
_FIRST = """
    INSERT INTO sapwood.live_words AS known (space, agent, asked, command, data)
    SELECT $1, $2, $3, $4, $5 FROM sapwood.agents
    WHERE space = $1 AND agent = $2 AND version = $6 FOR SHARE
    ON CONFLICT (space, agent) DO UPDATE
    SET asked = excluded.asked, command = excluded.command, data = excluded.data
    WHERE known.asked < excluded.asked
    RETURNING true
"""
_NEXT = """
    UPDATE sapwood.live_words SET command = $4, data = $5
    WHERE space = $1 AND agent = $2 AND asked = $3 AND command = $6
    RETURNING true
"""
_FIND = "SELECT asked, command, data FROM sapwood.live_words WHERE space = $1 AND agent = $2"


async def save_words(
    readers: ReaderPool,
    space: Space,
    agent: AgentId,
    version: int,
    words: LiveWords,
    before: CommandId | None,
    cipher: SpaceCipher | None,
) -> bool:
    """Replaces the words of an agent. Returns false if they or the agent have changed since."""
    data = seal_live_words(cipher, agent, words)
    row = (space, agent, words.asked, words.command, data)
    if before is None:
        return bool(await readers.fetch(_FIRST, *row, version))
    return bool(await readers.fetch(_NEXT, *row, before))


async def find_words(
    reader: Reader, space: Space, agent: AgentId, cipher: SpaceCipher | None
) -> LiveWords | None:
    """The words of an agent."""
    row = await reader.fetchrow(_FIND, space, agent)
    return open_live_words(cipher, agent, *row) if row else None
