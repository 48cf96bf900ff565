"""The DBOS queues in which drives wait for a free worker, and how DBOS keeps the limits there.

A DBOS queue counts by one key, so a drive passes a queue for each limit: it waits for its user,
then for its model, and last in the queue of all drives, whose key is the space. Workers take drives
from the spaces in turn (`space_turns`), so that a space with many does not keep others waiting.
"""

import time
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa
from dbos import DBOSClient, DBOSPortableJSONSerializer, EnqueueOptions, WorkflowStatus
from msgspec import Struct

from sapwood.engine.dbos.system_database import SystemDatabase
from sapwood.engine.dbos.wake_requests import WakeRequest
from sapwood.engine.limits import DriveLimits, Intervals

__all__ = [
    "ADMIT",
    "ALARM",
    "APPLICATION",
    "BY_SPACE",
    "DRIVE",
    "PASS",
    "VERSION",
    "DriveQueue",
    "QueueRoute",
    "QueueSpec",
    "StartedWorkflow",
    "model_queue_route",
    "queue_options",
    "queue_routes",
    "queue_specs",
]

APPLICATION = "sapwood"
VERSION = "1"
"""Of the workflows' arguments. It must not change: DBOS runs no drives of another version."""

DRIVE, PASS, ALARM = "sapwood.drive", "sapwood.pass", "sapwood.alarm"
"""The workflows: drive an agent, wait for its next queue, wake an agent later."""

ADMIT = "sapwood.admit"
"""What earlier versions queued to wait for the queue of the model."""

DRIVES, BY_SPACE = "sapwood.drives", "sapwood.spaces"
BY_MODEL, BY_USER = "sapwood.models", "sapwood.users"
"""The queues. All but the first count by a key; an entry without one would wait there for ever.

`DRIVES` is for alarms, and for drives that earlier versions queued.
"""

_IN_FLIGHT = ["DELAYED", "ENQUEUED", "PENDING"]
_FINISHED = ["SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"]
_PAGE = 1000
_LOOK_AGAIN = 10.0
"""Seconds after which a process looks again which limits the workers have."""


class QueueRoute(Struct, frozen=True):
    """A queue that a drive passes, and the key that the queue counts by."""

    queue: str
    key: str


class QueueSpec(Struct, frozen=True):
    """A queue and its limits: in each worker, for one key in all workers, and for one in each."""

    name: str
    per_worker: int | None
    per_key: int | None = None
    share: int | None = None


def queue_routes(limited: Collection[str], space: str, model: str, user: str) -> list[QueueRoute]:
    """The queues that a drive passes, in order. `limited` are those with a limit."""
    routes: list[QueueRoute] = []
    if BY_USER in limited:
        routes.append(QueueRoute(BY_USER, f"{space}/{user}"))
    if BY_MODEL in limited:
        routes.append(model_queue_route(model))
    return [*routes, QueueRoute(BY_SPACE, space)]


def model_queue_route(model: str) -> QueueRoute:
    """The queue of a model."""
    return QueueRoute(BY_MODEL, model or "-")


def queue_specs(limits: DriveLimits) -> list[QueueSpec]:
    """All queues that a worker takes drives from."""
    most = limits.per_worker if limits.share is None else min(limits.share, limits.per_worker)
    share = most if limits.per_space is None else min(most, limits.per_space)
    specs = [
        QueueSpec(DRIVES, limits.per_worker),
        QueueSpec(BY_SPACE, limits.per_worker, limits.per_space, share),
    ]
    # What waits in these queues holds a place of its user or model, and none of the worker.
    if limits.per_user:
        specs.append(QueueSpec(BY_USER, None, limits.per_user))
    if limits.per_model:
        specs.append(QueueSpec(BY_MODEL, None, limits.per_model))
    return specs


def queue_options(route: QueueRoute, workflow: str, *, last: bool) -> EnqueueOptions:
    """How a workflow is put into a queue: in the last one it drives, in others it only waits."""
    return EnqueueOptions(
        workflow_name=DRIVE if last else PASS,
        queue_name=route.queue,
        queue_partition_key=route.key,
        workflow_id=workflow,
        app_version=VERSION,
    )


class StartedWorkflow(Struct, frozen=True):
    """A workflow that a worker has started and not finished."""

    workflow: str
    queue: str
    worker: str


class DriveQueue:
    """The queues of a database, used through DBOS's client, which needs no worker.

    The limits are those of the workers: a process that only wakes agents finds in the database
    which queues the workers have made.
    """

    def __init__(self, system: SystemDatabase, limits: DriveLimits) -> None:
        self._limits = limits
        self._limited: frozenset[str] = frozenset()
        self._looked = -_LOOK_AGAIN
        self._client = DBOSClient(
            system_database_engine=system.sql,
            dbos_system_schema=system.schema,
            serializer=DBOSPortableJSONSerializer(),
            application_name=APPLICATION,
            retry_connection_errors=False,
            lazy=True,
        )

    def create_queues(self, intervals: Intervals) -> None:
        """Creates the queues that a worker needs.

        Call it before the worker starts, because DBOS rarely looks for new queues.
        """
        specs = queue_specs(self._limits)
        for name in {BY_USER, BY_MODEL} - {spec.name for spec in specs}:
            if self._client.retrieve_queue(name) is not None:  # of workers that had other limits
                specs.append(QueueSpec(name, None))
        for spec in specs:
            self._client.register_queue(
                spec.name,
                worker_concurrency=spec.per_worker,
                partition_concurrency=spec.per_key,
                partition_worker_concurrency=spec.share,
                polling_interval_sec=intervals.poll,
            )

    def enqueue(self, connection: sa.Connection, request: WakeRequest) -> None:
        """Queues the request's drive for any free worker, if the transaction commits."""
        limited = self._limited_by()
        first, *rest = queue_routes(limited, request.space, request.model, request.user)
        options = queue_options(first, request.drive, last=not rest)
        further = [[route.queue, route.key] for route in rest]
        self._client.enqueue_in_transaction(
            connection, options, request.space, request.agent, request.drive, further or ""
        )

    def _limited_by(self) -> frozenset[str]:
        """The queues with a limit per user or model, as the workers made them."""
        if time.monotonic() - self._looked > _LOOK_AGAIN:
            found = [self._client.retrieve_queue(name) for name in (BY_USER, BY_MODEL)]
            self._limited = frozenset(
                queue.name for queue in found if queue and queue.partition_concurrency
            )
            self._looked = time.monotonic()
        return self._limited

    def schedule_wake(self, connection: sa.Connection, request: WakeRequest, delay: float) -> None:
        """Schedules a wake of the agent. All wakes of an agent in the same second are one."""
        due = int(time.time() + delay) + 1
        options = EnqueueOptions(
            workflow_name=ALARM,
            queue_name=DRIVES,
            workflow_id=f"alarm/{due}/{request.space}/{request.agent}",
            app_version=VERSION,
            delay_seconds=due - time.time(),
        )
        self._client.enqueue_in_transaction(
            connection, options, request.space, request.agent, request.model, request.user
        )

    def started(self, worker: str | None = None) -> list[StartedWorkflow]:
        """The workflows that a worker has started and not finished; of all workers without one."""
        found = self._client.list_workflows(
            status="PENDING", executor_id=worker, load_input=False, load_output=False
        )
        return [_started_workflow(status) for status in found]

    def requeue(self, started: Iterable[StartedWorkflow]) -> None:
        """Puts started workflows back into their queues, for another worker."""
        by_queue: dict[str, list[str]] = {}
        for each in started:
            by_queue.setdefault(each.queue, []).append(each.workflow)
        for queue, workflows in by_queue.items():
            for page in _pages(workflows):
                self._client.resume_workflows(page, queue_name=queue)

    def without_drive(self, requests: Sequence[WakeRequest]) -> list[WakeRequest]:
        """Those requests whose drive neither waits in a queue nor runs."""
        in_flight: set[str] = set()
        for page in _pages([request.drive for request in requests]):
            found = self._client.list_workflows(
                workflow_ids=page, status=_IN_FLIGHT, load_input=False, load_output=False
            )
            in_flight.update(status.workflow_id for status in found)
        return [request for request in requests if request.drive not in in_flight]

    def delete_finished(self, older_than: float) -> None:
        """Deletes the workflows that ended more than so many seconds ago."""
        before = datetime.now(UTC) - timedelta(seconds=older_than)
        while True:
            found = self._client.list_workflows(
                status=_FINISHED,
                completed_before=before.isoformat(),
                limit=_PAGE,
                load_input=False,
                load_output=False,
            )
            if found:
                self._client.delete_workflows([status.workflow_id for status in found])
            if len(found) < _PAGE:
                return

    def close(self) -> None:
        """Closes the client. The database connections belong to `SystemDatabase`."""
        self._client.destroy()


def _started_workflow(status: WorkflowStatus) -> StartedWorkflow:
    queue, worker = status.queue_name or DRIVES, status.executor_id or ""
    return StartedWorkflow(status.workflow_id, queue, worker)


def _pages(ids: list[str]) -> Iterable[list[str]]:
    return (ids[start : start + _PAGE] for start in range(0, len(ids), _PAGE))
