"""Deletes what DBOS has of an agent: the inputs of its drives."""

import sqlalchemy as sa
from dbos import DBOSClient, DBOSPortableJSONSerializer

from sapwood.core.ids import AgentId, Space
from sapwood.engine.dbos.dbos_logging import quiet_dbos_logging
from sapwood.engine.dbos.system_database import find_system_database

_PAGE = 1_000


def erase_workflows(address: str, space: Space, agent: AgentId) -> None:
    """Deletes the agent from the tables of DBOS, if there are any.

    A drive that runs finds no work any more, and stores nothing at its end.
    """
    quiet_dbos_logging()
    system = find_system_database(address)
    if system is None:
        return
    if not sa.inspect(system.sql).has_table("workflow_status", schema=system.schema):
        system.sql.dispose()  # only processes without DBOS have used it
        return
    client = DBOSClient(
        system_database_engine=system.sql,
        dbos_system_schema=system.schema,
        serializer=DBOSPortableJSONSerializer(),
        retry_connection_errors=False,
        lazy=True,
    )
    try:
        if workflows := _workflows(client, space, agent):
            client.delete_workflows(workflows)
    finally:
        client.destroy()
        system.sql.dispose()


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
