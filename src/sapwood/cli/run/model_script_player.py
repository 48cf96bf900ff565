"""Runs scripts with prompts: waits for the turn of each prompt, and stops it on request."""

import asyncio
from collections.abc import AsyncGenerator, Set
from contextlib import aclosing, suppress

from sapwood.app.agent_runner import AgentOutput, AgentRunner
from sapwood.app.permission_questions import (
    PostedQuestion,
    posted_question,
    send_answer,
    waiting_questions,
)
from sapwood.app.prompt_end import PromptEnd, PromptProgress
from sapwood.cli.error_messages import exit_code_for
from sapwood.cli.exit_codes import Exit
from sapwood.cli.run.run_output import RunOutput
from sapwood.cli.run.script_player import OK, ScriptPlayer, StepResult
from sapwood.cli.run.stop_request import StopRequest
from sapwood.cli.run.terminal_approval import TerminalApproval
from sapwood.conversation.answers import Prompted
from sapwood.conversation.script import Script, Step
from sapwood.conversation.service import ConversationService
from sapwood.core.errors import SapwoodError, accepted
from sapwood.core.events import QuestionAsked, Recorded, ToolFinished
from sapwood.core.ids import AgentId
from sapwood.core.model_calls import Delta

_INTERRUPT_SECONDS = 10.0
"""How long an interrupted turn may take to end."""

_POLL_SECONDS = 0.2
"""How often the run checks whether descendants still work."""


class ModelScriptPlayer(ScriptPlayer):
    """Runs scripts of commands and prompts on an agent that a runner drives."""

    def __init__(
        self,
        runner: AgentRunner,
        agent: AgentId,
        service: ConversationService,
        output: RunOutput,
        stop: StopRequest,
        approval: TerminalApproval | None = None,
        asked_here: Set[str] = frozenset(),
    ) -> None:
        super().__init__(service, agent, output)
        self.connection = runner.connection
        self.blocked: list[str] = []
        self._runner = runner
        self._stop = stop
        self._approval = approval
        self._asked_here = asked_here

    async def prompt(self, step: Step) -> StepResult:
        """Starts a turn with this prompt and prints it until it ends. Raises `RefusedError`."""
        if self._stop.code is not None:
            return self._stopped()
        version = (await self.connection.dispatcher.open(self.agent)).state.version
        answer = accepted((await self.service.step(self.agent, (step,))).answer)
        if answer.message:
            self.output.note(answer.message)
        return await self._print_turn(version) if isinstance(answer, Prompted) else OK

    async def command(self, chunk: Script) -> StepResult:
        """Runs a command and prints its answer. A stop request interrupts it."""
        answering = asyncio.ensure_future(super().command(chunk))
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
        """Returns whether the agent has an open turn."""
        return (await self.connection.dispatcher.open(self.agent)).state.open is not None

    async def resume(self) -> StepResult:
        """Continues the open turn and prints it until it ends."""
        version = (await self.connection.dispatcher.open(self.agent)).state.version
        for posted in await waiting_questions(self.connection, self.agent):
            if self._approval is None:
                return self._waits_for_answer(posted)
            await self._answer_question(posted, self._approval)
        await self._runner.wake(self.agent)
        return await self._print_turn(version)

    async def wait_for_descendants(self) -> StepResult:
        """Waits until no descendant has work to do. A stop request interrupts them.

        Names those that were waited for, and the children of this run that had finished before.
        """
        announced: list[AgentId] = []
        waited: dict[AgentId, None] = {}
        while working := await self._working():
            if working != announced:
                self.output.note(f"Waiting for {', '.join(working)}.")
                announced = working
                waited |= dict.fromkeys(working)
            for agent in working if self._approval is None else ():
                for posted in await waiting_questions(self.connection, agent):
                    return self._waits_for_answer(posted)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stop.wait(), _POLL_SECONDS)
                await self._interrupt_all()
                return self._stopped()
        waited |= {child: None for child in self.forked if await self._has_run(child)}
        for agent in waited:
            self.output.note(f"{agent} is done. To read it, type: sapwood show {agent}")
        return OK

    async def _print_turn(self, after: int) -> StepResult:
        async with aclosing(self._runner.watch(self.agent, after)) as shown:
            watching = asyncio.ensure_future(self._print_until_end(shown))
            stopping = asyncio.ensure_future(self._stop.wait())
            try:
                await asyncio.wait({watching, stopping}, return_when=asyncio.FIRST_COMPLETED)
                if watching.done():
                    return watching.result()
                await self._interrupt_all()
                with suppress(TimeoutError):
                    await asyncio.wait_for(watching, _INTERRUPT_SECONDS)
                return self._stopped()
            except OSError:  # stdout is closed
                await self._interrupt_all("the output was closed")
                raise
            finally:
                for task in (watching, stopping):
                    task.cancel()
                await asyncio.gather(watching, stopping, return_exceptions=True)

    async def _print_until_end(self, shown: AsyncGenerator[AgentOutput]) -> StepResult:
        progress = PromptProgress(self.connection, self.agent)
        began_here = False
        async for each in shown:
            match each.what:
                case Delta() as delta:
                    # Words of a call from before may be of a process that died; the call that
                    # takes its place says all again. If it lives, its reply is printed whole.
                    if began_here:
                        self.output.delta(each.agent, delta)
                case Recorded() as recorded:
                    began_here = True
                    if isinstance(recorded.event, ToolFinished) and recorded.event.blocked:
                        self.blocked.append(recorded.event.blocked)
                    self.output.event(recorded)
                    if self._approval is not None:
                        self._approval.note_printed(recorded)
                    posted = _posted(recorded)
                    if posted is not None and self._approval is None:
                        return self._waits_for_answer(posted)
                    if posted is not None and self._approval is not None:
                        await self._answer_question(posted, self._approval)
                case _:
                    pass
            if (end := await progress.end_after(each.what)) is not None:
                return self._result_of(end)
        raise AssertionError("following a log never ends")

    def _waits_for_answer(self, posted: PostedQuestion) -> StepResult:
        """Ends the run: another process asks for approval, and a script has nobody to ask."""
        asks = bool(posted.question.choices)
        waits = "The model asks a question" if asks else f"{posted.question.tool} needs approval"
        waits = (
            f"{waits}, so the turn is on hold. To {'answer' if asks else 'allow'} it, "
            f"type: sapwood answer {posted.id} {'1' if asks else 'yes'}. To see the rest of "
            f"the turn, type: sapwood run --agent {self.agent}"
        )
        return StepResult(Exit.BLOCKED, waits)

    async def _answer_question(self, posted: PostedQuestion, approval: TerminalApproval) -> None:
        """Asks the person about a call of another process. The runner asks about those of here."""
        if posted.id in self._asked_here:
            return
        answer = await approval.ask(posted.question)
        if refused := await send_answer(self.connection, posted, answer):
            self.output.note(refused.sentence)

    def _result_of(self, end: PromptEnd) -> StepResult:
        match end.status:
            case "completed":
                return OK
            case "failed":
                return StepResult(exit_code_for(end.failure), end.message)
            case "interrupted":
                return StepResult(Exit.INTERRUPTED, end.message)
            case "killed":
                return StepResult(Exit.FAILED, end.message)
            case "stuck":
                raise SapwoodError(
                    f"{end.message} To continue it, type: sapwood run --agent {self.agent}"
                )

    async def _interrupt_all(self, reason: str = "") -> None:
        """Interrupts the turns of the agent and its descendants. Partial replies are kept."""
        stopping = [self.agent, *await self._working()]
        while stopping:
            for agent in stopping:
                # A turn that has ended in the meantime refuses; that is fine.
                await self._runner.interrupt(agent, reason or self._stop.reason)
            known = {*stopping}
            stopping = [agent for agent in await self._working() if agent not in known]

    async def _has_run(self, agent: AgentId) -> bool:
        """Whether the last turn that an agent sees is its own: a fork without a goal has none."""
        tip = (await self.connection.dispatcher.open(agent)).state.context.tip
        return tip is not None and tip.agent == agent

    async def _working(self) -> list[AgentId]:
        """The descendants that have work to do, as of one moment: no new child is missed."""
        log, space = self.connection.log, self.connection.space
        below, working = {self.agent}, list[AgentId]()
        for each in await log.family(space, self.agent):  # parents come before their children
            if each.parent in below:
                below.add(each.agent)
                if each.working:
                    working.append(each.agent)
        return working

    def _stopped(self) -> StepResult:
        code = self._stop.code or Exit.INTERRUPTED
        cause = "Interrupted" if code is Exit.INTERRUPTED else "Timed out"
        return StepResult(code, f"{cause}. The partial reply is kept in {self.agent}.")


def _posted(recorded: Recorded) -> PostedQuestion | None:
    """The question that an event asks, if it asks one that can be read."""
    event = recorded.event
    return posted_question(event) if isinstance(event, QuestionAsked) else None
