"""What needs no worker: putting drives into queues, and looking after those that are there."""

import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa
from dbos import DBOSClient, DBOSPortableJSONSerializer, EnqueueOptions, WorkflowStatus
from msgspec import Struct

from sapwood.engine.dbos.bells import Bell
from sapwood.engine.dbos.pace import Pace
from sapwood.engine.dbos.place import Place
from sapwood.engine.dbos.routes import ALARM, DRIVES, queues, route
from sapwood.engine.limits import Limits

__all__ = ["APPLICATION", "VERSION", "Post", "UnderWay"]

APPLICATION = "sapwood"
VERSION = "1"
"""Of the workflows' arguments. DBOS leaves drives of another version alone, so it must not move."""

_IN_FLIGHT = ["DELAYED", "ENQUEUED", "PENDING"]
_FINISHED = ["SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"]
_MOST = 1000


class UnderWay(Struct, frozen=True):
    """A workflow that some worker has begun."""

    workflow: str
    queue: str
    worker: str


class Post:
    """The queues of a place, seen from outside of any worker."""

    def __init__(self, place: Place, limits: Limits) -> None:
        self._limits = limits
        self._client = DBOSClient(
            system_database_engine=place.database,
            dbos_system_schema=place.schema,
            serializer=DBOSPortableJSONSerializer(),
            application_name=APPLICATION,
            retry_connection_errors=False,
            lazy=True,
        )

    def open_queues(self, pace: Pace) -> None:
        """Makes the queues that a worker needs, before it starts: it looks for new ones seldom."""
        for queue in queues(self._limits):
            self._client.register_queue(
                queue.name,
                worker_concurrency=queue.per_worker,
                partition_concurrency=queue.per_key,
                polling_interval_sec=pace.poll,
            )

    def enqueue(self, connection: sa.Connection, bell: Bell) -> None:
        """Has a bell's drive run by whichever worker is free, if the transaction commits."""
        way = route(self._limits, bell.model, bell.user)
        options = EnqueueOptions(
            workflow_name=way.workflow,
            queue_name=way.queue,
            workflow_id=bell.drive,
            app_version=VERSION,
        )
        if way.key is not None:
            options["queue_partition_key"] = way.key
        self._client.enqueue_in_transaction(
            connection, options, bell.space, bell.agent, bell.drive, bell.model
        )

    def set_alarm(self, connection: sa.Connection, bell: Bell, delay: float) -> None:
        """Has a bell rung later. All alarms of an agent for one second are one."""
        due = int(time.time() + delay) + 1
        options = EnqueueOptions(
            workflow_name=ALARM,
            queue_name=DRIVES,
            workflow_id=f"alarm/{due}/{bell.space}/{bell.agent}",
            app_version=VERSION,
            delay_seconds=due - time.time(),
        )
        self._client.enqueue_in_transaction(
            connection, options, bell.space, bell.agent, bell.model, bell.user
        )

    def under_way(self, worker: str | None = None) -> list[UnderWay]:
        """What a worker has begun and not finished; all workers if none is named."""
        found = self._client.list_workflows(
            status="PENDING", executor_id=worker, load_input=False, load_output=False
        )
        return [_under_way(status) for status in found]

    def hand_back(self, begun: Iterable[UnderWay]) -> None:
        """Puts what was begun back into its queue, for another worker."""
        queues: dict[str, list[str]] = {}
        for each in begun:
            queues.setdefault(each.queue, []).append(each.workflow)
        for queue, workflows in queues.items():
            for some in _pages(workflows):
                self._client.resume_workflows(some, queue_name=queue)

    def unattended(self, bells: Sequence[Bell]) -> list[Bell]:
        """Those bells whose drive neither waits nor runs."""
        attended: set[str] = set()
        for some in _pages([bell.drive for bell in bells]):
            found = self._client.list_workflows(
                workflow_ids=some, status=_IN_FLIGHT, load_input=False, load_output=False
            )
            attended.update(status.workflow_id for status in found)
        return [bell for bell in bells if bell.drive not in attended]

    def delete_finished(self, older_than: float) -> None:
        """Deletes what ended more than so many seconds ago."""
        before = datetime.now(UTC) - timedelta(seconds=older_than)
        while True:
            found = self._client.list_workflows(
                status=_FINISHED,
                completed_before=before.isoformat(),
                limit=_MOST,
                load_input=False,
                load_output=False,
            )
            if found:
                self._client.delete_workflows([status.workflow_id for status in found])
            if len(found) < _MOST:
                return

    def close(self) -> None:
        """Lets go of the client; the database itself is not its own."""
        self._client.destroy()


def _under_way(status: WorkflowStatus) -> UnderWay:
    return UnderWay(status.workflow_id, status.queue_name or DRIVES, status.executor_id or "")


def _pages(ids: list[str]) -> Iterable[list[str]]:
    return (ids[start : start + _MOST] for start in range(0, len(ids), _MOST))
