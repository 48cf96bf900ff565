"""The DBOS queues in which drives wait for a free worker, and how DBOS keeps the limits there.

A DBOS queue counts by one key. With a limit per model and one per user, a drive passes two queues:
it waits for its user first and, while it holds that slot, for its model.
"""

import time
from collections.abc import Iterable, Sequence
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
    "DRIVE",
    "VERSION",
    "DriveQueue",
    "QueueRoute",
    "QueueSpec",
    "StartedWorkflow",
    "model_queue_route",
    "queue_route",
    "queue_specs",
]

APPLICATION = "sapwood"
VERSION = "1"
"""Of the workflows' arguments. It must not change: DBOS runs no drives of another version."""

DRIVE, ADMIT, ALARM = "sapwood.drive", "sapwood.admit", "sapwood.alarm"
"""The workflows: drive an agent, wait for its model's queue, wake an agent later."""

DRIVES, BY_MODEL, BY_USER = "sapwood.drives", "sapwood.models", "sapwood.users"
"""The queues. The last two count by a key; an entry without one would wait there for ever."""

_IN_FLIGHT = ["DELAYED", "ENQUEUED", "PENDING"]
_FINISHED = ["SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"]
_PAGE = 1000


class QueueRoute(Struct, frozen=True):
    """The workflow to run, the queue it waits in, and the key that the queue counts by."""

    workflow: str
    queue: str
    key: str | None = None


class QueueSpec(Struct, frozen=True):
    """A queue, its limit in each worker, and its limit for one key in all workers together."""

    name: str
    per_worker: int | None
    per_key: int | None = None


def queue_route(limits: DriveLimits, model: str, user: str) -> QueueRoute:
    """The first queue of a drive."""
    if limits.per_user is None:
        return model_queue_route(model) if limits.per_model else QueueRoute(DRIVE, DRIVES)
    return QueueRoute(ADMIT if limits.per_model else DRIVE, BY_USER, user or "-")


def model_queue_route(model: str) -> QueueRoute:
    """The queue of a model, which comes after the queue of the user."""
    return QueueRoute(DRIVE, BY_MODEL, model or "-")


def queue_specs(limits: DriveLimits) -> list[QueueSpec]:
    """All queues that a worker takes drives from."""
    # DBOS refuses a limit per worker that is larger than the limit per key; smaller is harmless.
    specs = [QueueSpec(DRIVES, limits.per_worker)]
    if limits.per_user:
        only_waits = limits.per_model is not None
        specs.append(QueueSpec(BY_USER, None if only_waits else limits.per_worker, limits.per_user))
    if limits.per_model:
        specs.append(QueueSpec(BY_MODEL, limits.per_worker, limits.per_model))
    return specs


class StartedWorkflow(Struct, frozen=True):
    """A workflow that a worker has started and not finished."""

    workflow: str
    queue: str
    worker: str


class DriveQueue:
    """The queues of a database, used through DBOS's client, which needs no worker."""

    def __init__(self, system: SystemDatabase, limits: DriveLimits) -> None:
        self._limits = limits
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
        for spec in queue_specs(self._limits):
            self._client.register_queue(
                spec.name,
                worker_concurrency=spec.per_worker,
                partition_concurrency=spec.per_key,
                polling_interval_sec=intervals.poll,
            )

    def enqueue(self, connection: sa.Connection, request: WakeRequest) -> None:
        """Queues the request's drive for any free worker, if the transaction commits."""
        route = queue_route(self._limits, request.model, request.user)
        options = EnqueueOptions(
            workflow_name=route.workflow,
            queue_name=route.queue,
            workflow_id=request.drive,
            app_version=VERSION,
        )
        if route.key is not None:
            options["queue_partition_key"] = route.key
        self._client.enqueue_in_transaction(
            connection, options, request.space, request.agent, request.drive, request.model
        )

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
