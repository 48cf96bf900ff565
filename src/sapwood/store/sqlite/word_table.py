"""Statements about the words of replies that are still arriving."""

import sqlite3

from sapwood.core.ids import AgentId, CommandId, Space
from sapwood.core.live_words import LiveWords
from sapwood.store.space_cipher import open_live_words, seal_live_words
from sapwood.store.sqlite.key_table import cipher_of


def save_words(
    connection: sqlite3.Connection,
    space: Space,
    agent: AgentId,
    version: int,
    words: LiveWords,
    before: CommandId | None,
) -> bool:
    """Replaces the words of an agent. Returns false if they or the agent have changed since."""
    data = seal_live_words(cipher_of(connection, space), agent, words)
    if before is not None:
        replaced = connection.execute(
            "UPDATE live_words SET command = ?, data = ?"
            " WHERE space = ? AND agent = ? AND asked = ? AND command = ?",
            (words.command, data, space, agent, words.asked, before),
        )
    else:
        replaced = connection.execute(
            "INSERT INTO live_words (space, agent, asked, command, data)"
            " SELECT ?1, ?2, ?3, ?4, ?5 FROM agents"
            " WHERE space = ?1 AND agent = ?2 AND version = ?6"
            " ON CONFLICT (space, agent) DO UPDATE SET asked = excluded.asked,"
            " command = excluded.command, data = excluded.data"
            " WHERE live_words.asked < excluded.asked",
            (space, agent, words.asked, words.command, data, version),
        )
    return replaced.rowcount == 1


def find_words(connection: sqlite3.Connection, space: Space, agent: AgentId) -> LiveWords | None:
    """The words of an agent."""
    row = connection.execute(
        "SELECT asked, command, data FROM live_words WHERE space = ? AND agent = ?", (space, agent)
    ).fetchone()
    return open_live_words(cipher_of(connection, space), agent, *row) if row else None


def delete_words(
    connection: sqlite3.Connection, space: Space, agent: AgentId, last: CommandId | None
) -> bool:
    """Deletes the words of an agent.

    Returns false if `last` is given and is not the command of the last words; '' is for no words.
    """
    row = connection.execute(
        "DELETE FROM live_words WHERE space = ? AND agent = ? RETURNING command", (space, agent)
    ).fetchone()
    return last is None or (row[0] if row else "") == last


def last_words(connection: sqlite3.Connection) -> dict[tuple[Space, AgentId], CommandId]:
    """The command of the last words of each agent whose reply is arriving."""
    rows = connection.execute("SELECT space, agent, command FROM live_words")
    return {(Space(space), AgentId(agent)): CommandId(command) for space, agent, command in rows}
