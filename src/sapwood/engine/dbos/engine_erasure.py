"""Deletes what the durable engine has of an agent: its wake requests, and the inputs of drives."""

import sqlite3
from contextlib import closing

import sqlalchemy as sa
from dbos import DBOSClient, DBOSPortableJSONSerializer

from sapwood.core.ids import AgentId, Space
from sapwood.engine.dbos.dbos_logging import quiet_dbos_logging
from sapwood.engine.dbos.system_database import engine_file, find_system_database

__all__ = ["erase_from_engine", "scrub_engine"]

_PAGE = 1_000


def erase_from_engine(address: str, space: Space, agent: AgentId) -> None:
    """Deletes the agent from the tables of the engine, if there are any.

    A drive that runs finds no work any more, and stores nothing at its end.
    """
    quiet_dbos_logging()
    system = find_system_database(address)
    if system is None:
        return
    client = DBOSClient(
        system_database_engine=system.sql,
        dbos_system_schema=system.schema,
        serializer=DBOSPortableJSONSerializer(),
        retry_connection_errors=False,
        lazy=True,
    )
    of_agent = f"DELETE FROM {system.prefix}bells WHERE space = :space AND agent = :agent"
    try:
        with system.sql.begin() as connection:
            connection.execute(sa.text(of_agent), {"space": space, "agent": agent})
        if workflows := _workflows(client, space, agent):
            client.delete_workflows(workflows)
    finally:
        client.destroy()
        system.sql.dispose()


def scrub_engine(address: str) -> None:
    """Writes an SQLite file of the engine again without deleted rows, and empties its WAL file."""
    file = engine_file(address)
    if file is None or not file.exists():
        return
    with closing(sqlite3.connect(file, timeout=10.0, isolation_level=None)) as connection:
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _workflows(client: DBOSClient, space: Space, agent: AgentId) -> list[str]:
    """The workflows whose first two arguments are the space and the agent."""
    found: list[str] = []
    offset = 0
    while page := client.list_workflows(limit=_PAGE, offset=offset, load_output=False):
        offset += len(page)
        found += [
            each.workflow_id
            for each in page
            if each.input is not None and tuple(each.input["args"][:2]) == (space, agent)
        ]
    return found
