"""The workflow of an agent: it waits for wakes and lets a worker drive the agent after each.

Temporal replays workflows, so this code must make the same decisions from the same history. A
change of what it asks Temporal to do needs `workflow.patched`; the stored histories of
`tests/engine/temporal_histories` are replayed with every version.
"""

import math
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, is_cancelled_exception

from sapwood_temporal.limit_workflow import Slots
from sapwood_temporal.workflow_values import (
    AGENT,
    DRIVE,
    GRANTED,
    LIMITS,
    WAKE,
    AgentRun,
    DriveOrder,
    Limit,
    LimitQuery,
    Wake,
)

_MAX_DRIVE = timedelta(days=7)
_MAX_QUERY = timedelta(seconds=10)
_MAX_DRIVES = 200
"""After so many drives a workflow continues as a new run, so that its history stays short."""

_RETRIES = RetryPolicy(
    initial_interval=timedelta(seconds=0.2),
    backoff_coefficient=1.5,
    maximum_interval=timedelta(seconds=5),
)
"""For drives that lost their worker; without a limit. A drive that fails says itself when it is
tried again, and how often."""


@workflow.defn(name=AGENT, sandboxed=False)
class AgentWorkflow:
    """Drives one agent after each wake, and ends when none is left."""

    @workflow.init
    def __init__(self, start: AgentRun) -> None:
        self._start = start
        self._wake = start.wake
        self._due: set[int] = set(start.due)
        self._signalled = bool(start.wake or start.due)
        self._slots = Slots(start.queue)
        self._newest = start.wake or Wake()

    @workflow.run
    async def run(self, start: AgentRun) -> None:
        """Drives the agent until nothing is left to do."""
        drives = 0
        await workflow.wait_condition(lambda: self._signalled)
        while await self._next_wake():
            await self._drive()
            drives += 1
            if drives >= _MAX_DRIVES or workflow.info().is_continue_as_new_suggested():
                if self._wake is None and not self._due:
                    return
                left = replace(start, wake=self._wake, due=sorted(self._due))
                workflow.continue_as_new(left)

    @workflow.signal(name=WAKE)
    def wake(self, wake: Wake) -> None:
        """The agent was woken, or is to be woken after a delay, rounded up to whole seconds."""
        self._signalled = True
        self._newest = wake
        if wake.delay > 0:
            self._due.add(math.ceil(workflow.time() + wake.delay))
        else:
            self._wake = wake

    @workflow.signal(name=GRANTED)
    def granted(self, number: int) -> None:
        """A slot was given."""
        self._slots.granted(number)

    async def _next_wake(self) -> bool:
        """Waits until the agent is to be driven. False if it has not been woken again."""
        while self._wake is None:
            if not self._due:
                return False
            first = min(self._due)
            pause = first - workflow.time()
            if pause <= 0:
                self._due = {due for due in self._due if due > workflow.time()}
                self._wake = Wake(0.0, self._newest.model, self._newest.user)
            else:
                with suppress(TimeoutError):
                    await workflow.wait_condition(
                        lambda: self._wake is not None or min(self._due) < first,  # noqa: B023
                        timeout=timedelta(seconds=pause),
                    )
        return True

    async def _drive(self) -> None:
        """Drives the agent. If every try fails, it rests until the next wake.

        A workflow that is only dropped from memory releases nothing: Python may delete it in the
        middle of another workflow, which would send the release.
        """
        is_dropped = False
        try:
            await self._slots.acquire(await self._limits())
            self._wake = None  # the drive that starts now reads the log
            await workflow.execute_activity(
                DRIVE,
                DriveOrder(self._start.space, self._start.agent),
                start_to_close_timeout=_MAX_DRIVE,
                heartbeat_timeout=timedelta(seconds=self._start.dead_after),
                retry_policy=_RETRIES,
            )
        except ActivityError as problem:
            if is_cancelled_exception(problem):
                raise
        except GeneratorExit:
            is_dropped = True
            raise
        finally:
            if not is_dropped:
                await self._slots.release()

    async def _limits(self) -> list[Limit]:
        """The limits that hold for the next drive. The workers have them, not who wakes agents."""
        query = LimitQuery(self._start.space, self._newest.model, self._newest.user)
        return await workflow.execute_local_activity(
            LIMITS,
            query,
            result_type=list[Limit],
            start_to_close_timeout=_MAX_QUERY,
        )
