"""The workflow of a limit: it counts the drives of one model or user, in all workers together.

Temporal limits how much one worker does and how much a task queue starts in a second. It has no
limit on how many activities with a key run at once. So one workflow for each key gives out the
slots, in the order in which they were asked for. It exists only while one of its slots is in use.
"""

import itertools
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta

from temporalio import workflow
from temporalio.exceptions import ApplicationError, WorkflowAlreadyStartedError

from sapwood_temporal.workflow_values import (
    GRANTED,
    LIMIT,
    RELEASE,
    REQUEST,
    Limit,
    LimitRun,
    SlotRequest,
    limit_workflow_id,
)

_LOOK_AFTER = timedelta(seconds=60)
_MAX_GRANTS = 500


@workflow.defn(name=LIMIT, sandboxed=False)
class LimitWorkflow:
    """Gives out the slots of one key, and ends when nobody has or wants one."""

    @workflow.init
    def __init__(self, start: LimitRun) -> None:
        self._limit = start.limit
        self._holders = list(start.holders)
        self._waiting = list(start.waiting)
        self._grants = 0

    @workflow.run
    async def run(self, start: LimitRun) -> None:
        """Gives slots to those who wait, as long as there are any."""
        while self._holders or self._waiting:
            if self._has_free_slot():
                await self._grant(self._waiting.pop(0))
            elif self._grants >= _MAX_GRANTS or workflow.info().is_continue_as_new_suggested():
                workflow.continue_as_new(LimitRun(self._limit, self._holders, self._waiting))
            else:
                await self._until_something_changes()

    @workflow.signal(name=REQUEST)
    def request(self, request: SlotRequest, limit: Limit) -> None:
        """A workflow asks for a slot. The newest request says how many there are."""
        self._limit = limit
        if request not in self._holders and request not in self._waiting:
            self._waiting.append(request)

    @workflow.signal(name=RELEASE)
    def release(self, request: SlotRequest) -> None:
        """A workflow gives its slot back, or wants none any more."""
        self._holders = [each for each in self._holders if each != request]
        self._waiting = [each for each in self._waiting if each != request]

    def _has_free_slot(self) -> bool:
        return bool(self._waiting) and len(self._holders) < self._limit.at_most

    async def _grant(self, request: SlotRequest) -> None:
        self._holders.append(request)
        self._grants += 1
        if not await self._told(request):
            self.release(request)

    async def _until_something_changes(self) -> None:
        """Waits. If slots are wanted for long, those are taken back whose workflow has ended."""
        wanted, holders = bool(self._waiting), list(self._holders)
        try:
            await workflow.wait_condition(
                lambda: (
                    self._has_free_slot()
                    or not (self._holders or self._waiting)
                    or bool(self._waiting) != wanted
                ),
                timeout=_LOOK_AFTER if wanted else None,
            )
        except TimeoutError:
            for holder in holders:
                if not await self._told(holder):
                    self.release(holder)

    async def _told(self, request: SlotRequest) -> bool:
        """Tells a workflow that it has its slot. False if that workflow has ended."""
        asking = workflow.get_external_workflow_handle(request.workflow, run_id=request.run)
        try:
            await asking.signal(GRANTED, request.number)
        except ApplicationError:
            return False
        return True


class Slots:
    """The slots that the workflow of an agent asks for and holds."""

    def __init__(self, queue: str) -> None:
        self._queue = queue
        self._numbers = itertools.count(1)
        self._granted: set[int] = set()
        self._asked: list[tuple[str, SlotRequest]] = []

    def granted(self, number: int) -> None:
        """The request with this number was granted."""
        self._granted.add(number)

    async def acquire(self, limits: Sequence[Limit]) -> None:
        """Waits for a slot of each limit, one after the other."""
        info = workflow.info()
        for limit in limits:
            request = SlotRequest(info.workflow_id, info.run_id, next(self._numbers))
            counter = limit_workflow_id(self._queue, limit.key)
            self._asked.append((counter, request))
            await _ask(counter, request, limit)
            await workflow.wait_condition(lambda: request.number in self._granted)  # noqa: B023

    async def release(self) -> None:
        """Gives all slots back, also those that were only asked for."""
        asked, self._asked = self._asked, []
        for counter, request in reversed(asked):
            self._granted.discard(request.number)
            with suppress(ApplicationError):  # its workflow has ended, so nobody else waits
                await workflow.get_external_workflow_handle(counter).signal(RELEASE, request)


async def _ask(counter: str, request: SlotRequest, limit: Limit) -> None:
    """Asks the workflow of the limit for a slot, and starts it if it does not run."""
    while True:
        try:
            handle = workflow.get_external_workflow_handle(counter)
            await handle.signal(REQUEST, args=[request, limit])
            return
        except ApplicationError:
            with suppress(WorkflowAlreadyStartedError):
                await workflow.start_child_workflow(
                    LIMIT,
                    LimitRun(limit, waiting=[request]),
                    id=counter,
                    parent_close_policy=workflow.ParentClosePolicy.ABANDON,
                )
                return
