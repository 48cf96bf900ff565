"""A conversation held from a shell: each prompt is attended to until its turn has ended."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress

from sapwood.app.running import Running, Shown, Trouble
from sapwood.cli.exits import Exit
from sapwood.cli.failing import code_of
from sapwood.cli.talking.face import Face
from sapwood.cli.talking.showing import Show
from sapwood.cli.talking.stepping import OK, Ended, Steps
from sapwood.cli.talking.stopping import Stop
from sapwood.core.calling import Delta
from sapwood.core.commands import StartTurn
from sapwood.core.content import Text
from sapwood.core.errors import RefusedError, SapwoodError
from sapwood.core.events import (
    AgentKilled,
    Recorded,
    ReplyAdded,
    ToolFinished,
    TurnCompleted,
    TurnFailed,
    TurnInterrupted,
)
from sapwood.core.ids import AgentId
from sapwood.core.refusals import Refusal
from sapwood.core.slash import Run
from sapwood.runtime.fresh import given

__all__ = ["Talk"]

_TROUBLES = 4
"""So often an agent is driven in vain before a person is told to look after it."""

_SETTLING = 10.0
_GLANCE = 0.2


class Talk(Steps):
    """Plays scripts. Whatever it sets going it waits for, or stops when it is told to."""

    def __init__(
        self, running: Running, agent: AgentId, face: Face, show: Show, stop: Stop
    ) -> None:
        super().__init__(running.connection, agent, face, show)
        self._running = running
        self._stop = stop

    async def say(self, text: str) -> Ended:
        """Gives a prompt and attends to the turn until it ends."""
        if self._stop.code is not None:
            return self._stopped()
        dispatcher = self.connection.dispatcher
        version = (await dispatcher.open(self.agent)).state.version
        answer = await dispatcher.dispatch(StartTurn(self.agent, (Text(text),)), given())
        if isinstance(answer, Refusal):
            raise RefusedError(answer)
        return await self._attend(version)

    async def answered(self, run: Run) -> Ended:
        """Shows what a command asks for, unless the run is stopped meanwhile."""
        answering = asyncio.ensure_future(super().answered(run))
        stopping = asyncio.ensure_future(self._stop.wait())
        try:
            await asyncio.wait({answering, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if answering.done():
                return answering.result()
            await self._interrupt_all()
            return self._stopped()
        finally:
            for task in (answering, stopping):
                task.cancel()
            await asyncio.gather(answering, stopping, return_exceptions=True)

    async def has_open_turn(self) -> bool:
        """Whether the agent has work to do."""
        return (await self.connection.dispatcher.open(self.agent)).state.open is not None

    async def resume(self) -> Ended:
        """Goes on with the turn that is open."""
        version = (await self.connection.dispatcher.open(self.agent)).state.version
        await self._running.wake(self.agent)
        return await self._attend(version)

    async def rest(self) -> Ended:
        """Waits until no descendant has work to do."""
        told: list[AgentId] = []
        waited: dict[AgentId, None] = {}
        while working := await self._working():
            if working != told:
                self.show.note(f"Waiting for {', '.join(working)}.")
                told = working
                waited |= dict.fromkeys(working)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stop.wait(), _GLANCE)
                await self._interrupt_all()
                return self._stopped()
        for agent in waited:
            self.show.note(f"{agent} is done. To read it, type: sapwood show {agent}")
        return OK

    async def _attend(self, after: int) -> Ended:
        async with aclosing(self._running.watch(self.agent, after)) as shown:
            watching = asyncio.ensure_future(self._watch(shown))
            stopping = asyncio.ensure_future(self._stop.wait())
            try:
                await asyncio.wait({watching, stopping}, return_when=asyncio.FIRST_COMPLETED)
                if watching.done():
                    return watching.result()
                await self._interrupt_all()
                with suppress(TimeoutError):
                    await asyncio.wait_for(watching, _SETTLING)
                return self._stopped()
            except OSError:  # nothing can be shown any more
                await self._interrupt_all("nobody reads the answer")
                raise
            finally:
                for task in (watching, stopping):
                    task.cancel()
                await asyncio.gather(watching, stopping, return_exceptions=True)

    async def _watch(self, shown: AsyncGenerator[Shown]) -> Ended:
        troubles = 0
        async for each in shown:
            match each.what:
                case Delta() as delta:
                    self.show.delta(each.agent, delta)
                case Recorded() as recorded:
                    if isinstance(recorded.event, ReplyAdded | ToolFinished):
                        troubles = 0
                    self.show.event(recorded)
                    if (ended := self._end(recorded)) is not None:
                        return ended
                case Trouble(sentence):
                    troubles += 1
                    if troubles >= _TROUBLES:
                        raise SapwoodError(
                            f"{sentence} The turn of {self.agent} is still open; "
                            f"to go on, type: sapwood run --agent {self.agent}"
                        )
        raise AssertionError("a log is followed for ever")

    def _end(self, recorded: Recorded) -> Ended | None:
        match recorded.event:
            case TurnCompleted():
                return OK
            case TurnFailed(_, error, failure):
                return Ended(code_of(failure), error)
            case TurnInterrupted(_, reason):
                return Ended(Exit.INTERRUPTED, f"The turn was interrupted: {reason or 'stopped'}.")
            case AgentKilled():
                return Ended(Exit.FAILED, f"{self.agent} was killed.")
            case _:
                return None

    async def _interrupt_all(self, reason: str = "") -> None:
        """Stops every turn that this run set going. What was there is kept."""
        for agent in (self.agent, *await self._working()):
            # It is refused where the turn has ended meanwhile.
            await self._running.interrupt(agent, reason or self._stop.reason)

    async def _working(self) -> list[AgentId]:
        log, space = self.connection.log, self.connection.space
        below = await log.descendants(space, self.agent)
        facts = [await log.facts(space, agent) for agent in below]
        return [each.agent for each in facts if each is not None and each.working]

    def _stopped(self) -> Ended:
        code = self._stop.code or Exit.INTERRUPTED
        words = "Interrupted" if code is Exit.INTERRUPTED else "The time is up"
        return Ended(code, f"{words}. What was there is kept in {self.agent}.")
