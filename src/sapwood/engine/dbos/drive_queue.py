"""What DBOS stores for us: the wakes that come later, and the drives that earlier versions queued.

Deletes what DBOS has of an agent: the inputs of its workflows.
"""

import time
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa
from dbos import DBOSClient, DBOSPortableJSONSerializer, EnqueueOptions
from msgspec import Struct

from sapwood.core.ids import AgentId, Space
from sapwood.engine.dbos.system_database import (
    SystemDatabase,
    find_system_database,
    quiet_dbos_logging,
)
from sapwood.engine.limits import Intervals
from sapwood.engine.wake_requests import WakeRequest

APPLICATION = "sapwood"
VERSION = "1"
"""Of the workflows' arguments. It must not change: DBOS runs no drives of another version."""

ALARM = "sapwood.alarm"
"""The workflow that wakes an agent later."""

QUEUED_BEFORE = ("sapwood.drive", "sapwood.pass", "sapwood.admit")
"""Drives that earlier versions queued: at once, or for the queue of a model or a user."""

_ALARMS = "sapwood.drives"
"""The queue of alarms. Drives wait as wake requests, not in a queue of DBOS."""

_FINISHED = ["SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"]
_PAGE = 1000
_ALARMS_AT_ONCE = 500


class StartedWorkflow(Struct, frozen=True):
    """A workflow that a worker has started and not finished."""

    workflow: str
    name: str
    worker: str


class DriveQueue:
    """The workflows of a database, through DBOS's client, which needs no worker."""

    def __init__(self, system: SystemDatabase) -> None:
        self._client = DBOSClient(
            system_database_engine=system.sql,
            dbos_system_schema=system.schema,
            serializer=DBOSPortableJSONSerializer(),
            application_name=APPLICATION,
            retry_connection_errors=False,
            lazy=True,
        )

    def create_queues(self, intervals: Intervals) -> None:
        """Creates the queue that a worker needs.

        Call it before the worker starts, because DBOS rarely looks for new queues.
        """
        self._client.register_queue(
            _ALARMS,
            worker_concurrency=_ALARMS_AT_ONCE,
            polling_interval_sec=intervals.poll,
        )

    def schedule_wake(self, connection: sa.Connection, request: WakeRequest, delay: float) -> None:
        """Schedules a wake of the agent. All wakes of an agent in the same second are one."""
        due = int(time.time() + delay) + 1
        options = EnqueueOptions(
            workflow_name=ALARM,
            queue_name=_ALARMS,
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
        return [
            StartedWorkflow(each.workflow_id, each.name or "", each.executor_id or "")
            for each in found
        ]

    def end(self, started: Iterable[StartedWorkflow]) -> None:
        """Ends workflows whose worker does not run them. Other workers run the alarms again.

        A drive is not run again: its wake request is released, and gets another drive.
        """
        alarms: list[str] = []
        drives: list[str] = []
        for each in started:
            (alarms if each.name == ALARM else drives).append(each.workflow)
        for page in _pages(alarms):
            self._client.resume_workflows(page, queue_name=_ALARMS)
        for page in _pages(drives):
            self._client.cancel_workflows(page)

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


def _pages(ids: list[str]) -> Iterable[list[str]]:
    return (ids[start : start + _PAGE] for start in range(0, len(ids), _PAGE))


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
