"""Bells: one row for each agent that was woken and is not done yet.

Waking rings the bell. The first ring hangs it up, together with the drive that will look after the
agent; the others only count. A drive takes the bell before it begins and takes it down at its end,
unless somebody rang meanwhile: then it looks once more. As all of that is decided by the row, no
ring is lost, none piles up, and no two drives hold one agent.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from msgspec import Struct, to_builtins

from sapwood.core.ids import AgentId, Space

__all__ = ["Bell", "Bells"]


class Bell(Struct, frozen=True):
    """An agent that was woken, the drive that looks after it, and what limits count it by."""

    space: Space
    agent: AgentId
    drive: str
    model: str = ""
    user: str = ""


class Bells:
    """The statements, one verb each. They run inside whatever transaction they are given."""

    def __init__(self, prefix: str) -> None:
        table = f"{prefix}bells"
        this = "space = :space AND agent = :agent"
        self._ring = sa.text(
            f"""INSERT INTO {table} AS bell
            (space, agent, drive, model, account, rings, worker, holder)
            VALUES (:space, :agent, :drive, :model, :user, 1, :worker, :holder)
            ON CONFLICT (space, agent) DO UPDATE SET rings = bell.rings + 1
            RETURNING drive"""
        )
        self._take = sa.text(
            f"""UPDATE {table} SET worker = :worker, holder = :holder
            WHERE {this} AND drive = :drive RETURNING rings"""
        )
        self._take_down = sa.text(
            f"DELETE FROM {table} WHERE {this} AND holder = :holder AND rings = :rings"
        )
        self._rings = sa.text(f"SELECT rings FROM {table} WHERE {this} AND holder = :holder")
        self._held = sa.text(f"SELECT holder FROM {table} WHERE worker = :worker")
        self._all = sa.text(f"SELECT space, agent, drive, model, account FROM {table} LIMIT :limit")
        self._pass_on = sa.text(
            f"UPDATE {table} SET drive = :new, worker = NULL, holder = NULL"
            f" WHERE {this} AND drive = :drive"
        )

    def ring(
        self, connection: sa.Connection, bell: Bell, worker: str | None, holder: str | None
    ) -> bool:
        """Rings an agent's bell. True if it had none: then this one now hangs there."""
        values = {**to_builtins(bell), "worker": worker, "holder": holder}
        row = connection.execute(self._ring, values).one()
        return row.drive == bell.drive

    def take(self, connection: sa.Connection, bell: Bell, worker: str, holder: str) -> int | None:
        """Makes `holder` the one that drives; returns the rings so far.

        None if another drive looks after the agent by now, or it is done.
        """
        values = {"space": bell.space, "agent": bell.agent, "drive": bell.drive}
        row = connection.execute(self._take, {**values, "worker": worker, "holder": holder}).first()
        return row.rings if row else None

    def leave(self, connection: sa.Connection, bell: Bell, holder: str, rings: int) -> int | None:
        """Takes the bell down, unless it was rung more than `rings` times: then returns how often.

        None too if somebody else holds it.
        """
        values = {"space": bell.space, "agent": bell.agent, "holder": holder}
        if connection.execute(self._take_down, {**values, "rings": rings}).rowcount:
            return None
        row = connection.execute(self._rings, values).first()
        return row.rings if row else None

    def held(self, connection: sa.Connection, worker: str) -> set[str]:
        """The holders of all bells that were last taken by this worker."""
        return {row.holder for row in connection.execute(self._held, {"worker": worker})}

    def all(self, connection: sa.Connection, limit: int) -> Sequence[Bell]:
        """Every bell, up to a limit."""
        rows = connection.execute(self._all, {"limit": limit})
        return [
            Bell(Space(row.space), AgentId(row.agent), row.drive, row.model, row.account)
            for row in rows
        ]

    def pass_on(self, connection: sa.Connection, bell: Bell, drive: str) -> bool:
        """Gives the bell to another drive, if `bell` is still how it hangs."""
        values = {"space": bell.space, "agent": bell.agent, "drive": bell.drive}
        return bool(connection.execute(self._pass_on, {**values, "new": drive}).rowcount)
