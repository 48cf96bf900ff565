"""Wake requests: one row for each agent that was woken and is not finished.

The first wake of an agent inserts the row, together with the drive that will serve it; further
wakes only raise the row's count. A drive claims the row before it starts and deletes it at its
end, unless the count rose meanwhile: then it drives the agent once more. Because the row decides
all of this, no wake is lost, wakes do not pile up, and no two drives serve one agent.
"""

import uuid
from collections.abc import Sequence

import sqlalchemy as sa
from msgspec import Struct, to_builtins

from sapwood.core.ids import AgentId, Space

__all__ = ["WakeRequest", "WakeRequestTable", "new_drive_id"]


class WakeRequest(Struct, frozen=True):
    """An agent that was woken, the id of its drive, and the model and user that limits count."""

    space: Space
    agent: AgentId
    drive: str
    model: str = ""
    user: str = ""


def new_drive_id() -> str:
    """A unique id for a drive."""
    return uuid.uuid4().hex


class WakeRequestTable:
    """The SQL statements, one method each. They run inside the caller's transaction.

    The table is named `bells` and its count `rings`, because workers of other versions may share
    the database.
    """

    def __init__(self, prefix: str) -> None:
        table = f"{prefix}bells"
        this = "space = :space AND agent = :agent"
        self._add = sa.text(
            f"""INSERT INTO {table} AS bell
            (space, agent, drive, model, account, rings, worker, holder)
            VALUES (:space, :agent, :drive, :model, :user, 1, :worker, :holder)
            ON CONFLICT (space, agent) DO UPDATE SET rings = bell.rings + 1
            RETURNING drive"""
        )
        self._claim = sa.text(
            f"""UPDATE {table} SET worker = :worker, holder = :holder
            WHERE {this} AND drive = :drive RETURNING rings"""
        )
        self._delete = sa.text(
            f"DELETE FROM {table} WHERE {this} AND holder = :holder AND rings = :rings"
        )
        self._count = sa.text(f"SELECT rings FROM {table} WHERE {this} AND holder = :holder")
        self._holders = sa.text(f"SELECT holder FROM {table} WHERE worker = :worker")
        self._all = sa.text(f"SELECT space, agent, drive, model, account FROM {table} LIMIT :limit")
        self._reassign = sa.text(
            f"UPDATE {table} SET drive = :new, worker = NULL, holder = NULL"
            f" WHERE {this} AND drive = :drive"
        )

    def add(
        self,
        connection: sa.Connection,
        request: WakeRequest,
        worker: str | None,
        holder: str | None,
    ) -> bool:
        """Inserts the request, or counts one more wake if the agent has one.

        Returns True if it was inserted; then it is claimed by `holder`, if one is given.
        """
        values = {**to_builtins(request), "worker": worker, "holder": holder}
        row = connection.execute(self._add, values).one()
        return row.drive == request.drive

    def claim(
        self, connection: sa.Connection, request: WakeRequest, worker: str, holder: str
    ) -> int | None:
        """Makes `holder` the one attempt that drives; returns the count of wakes so far.

        Returns None if the agent is finished or has another drive by now.
        """
        values = {"space": request.space, "agent": request.agent, "drive": request.drive}
        values |= {"worker": worker, "holder": holder}
        row = connection.execute(self._claim, values).first()
        return row.rings if row else None

    def finish(
        self, connection: sa.Connection, request: WakeRequest, holder: str, wakes: int
    ) -> int | None:
        """Deletes the request, unless there were more than `wakes` wakes: then returns how many.

        Returns None if the request was deleted, or another attempt claimed it.
        """
        values = {"space": request.space, "agent": request.agent, "holder": holder}
        if connection.execute(self._delete, {**values, "rings": wakes}).rowcount:
            return None
        row = connection.execute(self._count, values).first()
        return row.rings if row else None

    def holders(self, connection: sa.Connection, worker: str) -> set[str]:
        """The attempts of this worker that hold a claim."""
        return {row.holder for row in connection.execute(self._holders, {"worker": worker})}

    def all(self, connection: sa.Connection, limit: int) -> Sequence[WakeRequest]:
        """The requests of all agents, at most `limit`."""
        rows = connection.execute(self._all, {"limit": limit})
        return [
            WakeRequest(Space(row.space), AgentId(row.agent), row.drive, row.model, row.account)
            for row in rows
        ]

    def reassign(self, connection: sa.Connection, request: WakeRequest, drive: str) -> bool:
        """Gives the request to another drive. Returns False if it changed in the meantime."""
        values = {"space": request.space, "agent": request.agent, "drive": request.drive}
        return bool(connection.execute(self._reassign, {**values, "new": drive}).rowcount)
