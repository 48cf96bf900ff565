"""A person's session: the current agent, and what waits for the end of its turn.

Prompts that come while a turn is open are queued in the log. The steps after a prompt wait until
its turn has ended, so that a script runs in the order in which it was written.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable

from msgspec import structs

from sapwood.conversation.answers import ConversationStarted, Prompted
from sapwood.conversation.prompt_files import files_named, names_files, with_named_files
from sapwood.conversation.provider_limit import limit_reset, resets_soon
from sapwood.conversation.script import (
    CommandStep,
    Script,
    TextStep,
    chunks,
    has_prompt,
    is_prompt,
    is_shell,
)
from sapwood.conversation.service import ConversationService, Outcome
from sapwood.core.command_table import TABLE
from sapwood.core.commands import QueuePrompt, UnqueuePrompt
from sapwood.core.errors import RefusedError, SapwoodError, accepted
from sapwood.core.ids import AgentId, CommandId, title_of
from sapwood.core.plural import counted
from sapwood.core.refusals import NoConversation, Refusal, ShellNotHere, TurnIsOpen
from sapwood.core.state import QueuedPrompt, State
from sapwood.turns.clock_and_ids import command_meta, new_nonce, now
from sapwood.workspace.process_identity import process_identity

_LEFT_OUT = (
    "The files that this text names were not attached, because it was queued on another screen. "
    "To attach them, name them again."
)
_NOT_SENDABLE = (
    "The files that this text names were not attached, because one of them cannot be sent now. "
    "To attach them, name them again."
)


class ConversationSession:
    """Carries out what a person sends, one conversation at a time.

    Submissions that come while a turn is open wait in the agent's log, so that every screen shows
    them and sends them, also after a crash. They are sent in the order in which they came: a prompt
    that meets a queue waits behind it. After an interrupt nothing is sent until the person asks for
    it.

    `reset_at` is when the limit of a provider resets at which the last turn failed, while something
    waits for it to ask again; else 0. Until then submissions are queued.

    `may_send` says whether the person may send a text of the queue, which anybody may have put
    there. One that they may not send stays, and so does what is behind it.
    """

    def __init__(
        self,
        service: ConversationService,
        folder: str,
        agent: AgentId | None = None,
        *,
        may_send: Callable[[str], bool] = lambda _: True,
    ) -> None:
        self.service = service
        self.folder = folder
        self.agent = agent
        self._may_send = may_send
        self._rest: deque[Script] = deque()
        self._sending = asyncio.Lock()
        """Held from the first step of a script until its prompt has opened a turn."""
        self._being_sent = ""
        self._queued_here: set[str] = set()
        self._goals: set[str] = set()
        self.reset_at = 0

    async def is_working(self) -> bool:
        """Whether a turn is open."""
        if self.agent is None:
            return False
        opened = await self.service.services.space.dispatcher.open(self.agent)
        return opened.state.open is not None

    async def submit(self, text: str) -> AsyncGenerator[Outcome]:
        """Carries out a submission, or queues it while a turn is open, another text waits or the
        limit of a provider is not reset; an empty one sends the next.

        Yields what came of each step and ends after a refusal. Raises `RefusedError` if the text
        cannot be parsed, `SapwoodError` if a file that it names cannot be sent, and `Failure` if a
        model cannot be called.
        """
        shell = self.service.services.on_this_machine
        script = await self.service.parsed(self.agent, text, folder=self.folder, shell=shell)
        script = await self._with_files(script)
        if script and not has_prompt(script):
            async for outcome in self._play(list(chunks(script))):
                yield outcome
            return
        if script and not await self.has_to_wait():
            async with self._sending:
                async for outcome in self._play(list(chunks(script))):
                    if len(script) == 1 and isinstance(outcome.answer, TurnIsOpen):
                        await self._queue(text)  # a goal, or another screen, was faster
                    else:
                        yield outcome
            return
        if script:
            await self._queue(text)
        if not self._sending.locked() and not (script and self.reset_at):
            async for outcome in self.send_next():  # the turn may have ended in the meantime
                yield outcome

    async def has_to_wait(self) -> bool:
        """Whether a prompt has to be queued: a turn is open, or other texts are sent before it."""
        if self.agent is None:
            return False
        waits = self._rest or self.reset_at or await self.is_working() or await self.queue()
        return bool(waits) or self._sending.locked()

    async def run(self, run: CommandStep) -> AsyncGenerator[Outcome]:
        """Carries out one command."""
        async for outcome in self._play([(run,)]):
            yield outcome

    async def turn_ended(self) -> AsyncGenerator[Outcome]:
        """Sends what waited, then works on the goal.

        It does neither after an interrupt, or before the limit resets at which the turn failed.
        """
        if await self._was_interrupted():
            return
        if resets_soon(await self.limit_reset(), now()):
            return
        async for outcome in self.send_next():
            yield outcome
        async for outcome in self.continue_goal():
            yield outcome

    async def limit_reset(self) -> int:
        """When the limit resets at which the last turn failed, also if that is past; else 0."""
        if self.agent is None:
            return 0
        space = self.service.services.space
        return await limit_reset(space, await space.dispatcher.open(self.agent))

    async def continue_goal(self) -> AsyncGenerator[Outcome]:
        """Does the next step of a goal that was set or continued here, if no turn is open."""
        if self.agent is None or self._rest:
            return
        state = (await self.service.services.space.dispatcher.open(self.agent)).state
        if state.goal is None or state.open is not None or self.goal_waits(state):
            return
        from sapwood.conversation.goals import next_step

        agent = self.agent
        answer = await next_step(self.service.services, agent, self.service.prompt)
        if answer is not None and not isinstance(answer, TurnIsOpen):
            yield Outcome(CommandStep(TABLE["goal"]), answer, agent)

    def goal_waits(self, state: State) -> bool:
        """Whether the agent has a goal that was set elsewhere, and the person has to continue."""
        return state.goal is not None and state.goal.id not in self._goals

    def ends_with_process(self, state: State) -> str:
        """What stops when the program is left: background commands of this process, and a goal."""
        here = process_identity()
        jobs = sum(not job.result and job.holder == here for job in state.jobs)
        verb = "ends" if jobs == 1 else "end"
        words = f" {counted(jobs, 'job')} {verb} with it." if jobs else ""
        return f"{words} The goal waits for /goal continue." if state.goal else words

    async def accept_goal(self) -> None:
        """Continues the goal of the agent by itself from now on: the person typed it here."""
        if self.agent is not None:
            goal = (await self.service.services.space.dispatcher.open(self.agent)).state.goal
            self._goals.update([goal.id] if goal else [])

    async def send_next(self) -> AsyncGenerator[Outcome]:
        """Sends what waited, once no turn is open: first the rest of a script, then the queue."""
        async with self._sending:
            if await self.is_working():
                return
            rest, self._rest = list(self._rest), deque()
            async for outcome in self._play(rest):
                yield outcome
                if isinstance(outcome.answer, Refusal):
                    return
            while not self._rest and not await self.is_working() and (queue := await self.queue()):
                if not self._may_send(queue[0].text):
                    return
                if await self._was_sent(queue[0]):  # and its process ended before it was removed
                    if not await self._unqueue(queue[0]):
                        return
                    continue
                outcome = None
                async for outcome in self._send_queued(queue[0]):
                    yield outcome
                if outcome is None or isinstance(outcome.answer, Refusal):
                    return
                if await self._was_interrupted():
                    return

    async def queue(self) -> tuple[QueuedPrompt, ...]:
        """The texts that wait for the end of the turn, in the order in which they are sent."""
        if self.agent is None:
            return ()
        return (await self.service.services.space.dispatcher.open(self.agent)).state.queue

    async def take_back(self) -> str:
        """Takes the newest text out of the queue and returns it; '' if there is none."""
        for newest in reversed(await self.queue()):
            if newest.entry != self._being_sent and await self._unqueue(newest):
                return newest.text
        return ""

    def drop_rest(self) -> None:
        """Drops what was left of a script."""
        self._rest.clear()

    async def _queue(self, text: str) -> None:
        """Puts a submission into the queue. Raises `RefusedError`."""
        assert self.agent is not None
        command = QueuePrompt(self.agent, new_nonce(), text)
        accepted(await self.service.services.space.dispatcher.dispatch(command, command_meta()))
        self._queued_here.add(command.entry)

    async def _unqueue(self, queued: QueuedPrompt) -> bool:
        """Takes a text out of the queue; returns false if another screen did."""
        assert self.agent is not None
        command = UnqueuePrompt(self.agent, queued.entry)
        done = await self.service.services.space.dispatcher.dispatch(command, command_meta())
        return not isinstance(done, Refusal)

    async def _was_sent(self, queued: QueuedPrompt) -> bool:
        """Whether a turn was opened with a queued text."""
        space = self.service.services.space
        return await space.log.receipt(space.space, CommandId(queued.entry)) is not None

    async def _send_queued(self, queued: QueuedPrompt) -> AsyncGenerator[Outcome]:
        """Sends a queued text once, whatever other screens do.

        A prompt alone opens its turn by a command with the id of the entry: if two screens send it,
        or a process dies before the entry is removed, it opens one turn. A script with commands is
        removed first. Anybody may have queued the text, also on another machine: no shell command
        in it runs, and files are attached only if this session queued it.
        """
        self._being_sent = queued.entry
        try:
            async for outcome in self._send_once(queued):
                yield outcome
        finally:
            self._being_sent = ""

    async def _send_once(self, queued: QueuedPrompt) -> AsyncGenerator[Outcome]:
        try:
            script = await self.service.parsed(self.agent, queued.text)
        except RefusedError:  # a later version wrote it, or its custom command is gone
            await self._unqueue(queued)
            return
        if self.agent is None:
            return
        if len(script) == 1 and isinstance(script[0], TextStep):
            agent = self.agent
            script, left_out = await self._with_queued_files(queued, script)
            step = script[0]
            assert isinstance(step, TextStep)
            # Another screen may attach other files to it: what was asked for is the text.
            answer = await self.service.prompt(
                agent, step.parts, command_id=queued.entry, request=queued.text
            )
            outcome = Outcome(step, answer, agent)
            if not isinstance(answer, Refusal):
                await self._unqueue(queued)
                outcome = _with_note(outcome, answer, left_out)
            yield outcome
        elif await self._unqueue(queued):
            if shell := next((each for each in script if is_shell(each)), None):
                yield Outcome(shell, ShellNotHere(), self.agent)
                return
            script, left_out = await self._with_queued_files(queued, script)
            async for outcome in self._play(list(chunks(script))):
                if left_out and isinstance(outcome.answer, Prompted):
                    outcome = _with_note(outcome, outcome.answer, left_out)
                yield outcome

    async def _with_queued_files(self, queued: QueuedPrompt, script: Script) -> tuple[Script, str]:
        """A queued script with its files, and a sentence about those that are not attached.

        Never raises for a file: what waits behind the text would wait permanently.
        """
        if queued.entry in self._queued_here:
            try:
                return await self._with_files(script), ""
            except SapwoodError:
                return script, _NOT_SENDABLE
        if not self.service.services.on_this_machine or not names_files(script):
            return script, ""
        texts = [step.text for step in script if isinstance(step, TextStep) and not step.goal]
        folder = await self._files_folder()
        named = await asyncio.to_thread(lambda: [files_named(text, folder) for text in texts])
        return script, _LEFT_OUT if any(named) else ""

    async def _with_files(self, script: Script) -> Script:
        """The script with the files that its prompts name, if they are on this machine."""
        services = self.service.services
        if not services.on_this_machine or not names_files(script):
            return script
        folder = await self._files_folder()
        return await asyncio.to_thread(with_named_files, script, folder, services.space.masked)

    async def _files_folder(self) -> str:
        """Where the relative names of files start."""
        services, folder = self.service.services, self.folder
        if self.agent is not None:
            workspace = services.workspace_of(
                (await services.space.dispatcher.open(self.agent)).state
            )
            folder = workspace.worktree or workspace.folder or folder
        return folder

    async def _was_interrupted(self) -> bool:
        """Whether the last turn of the agent was interrupted."""
        if self.agent is None:
            return False
        opened = await self.service.services.space.dispatcher.open(self.agent)
        return any(turn.status == "interrupted" for turn in opened.live.turns[-1:])

    async def _play(self, script: list[Script]) -> AsyncGenerator[Outcome]:
        for number, chunk in enumerate(script):
            step = chunk[-1]
            if self.agent is None and _starts(step):
                words = next((each.text for each in chunk if isinstance(each, TextStep)), "")
                self.agent = await self.service.start(
                    self.folder, name=title_of(words), has_prompt=is_prompt(step)
                )
                yield Outcome(step, ConversationStarted(None, self.agent), self.agent)
            is_goal = works_on_goal(step)
            if is_goal:  # the turn of a goal that is continued may end before the answer
                await self.accept_goal()
            outcome = await self._step(chunk)
            if isinstance(outcome.answer, Refusal):
                self._rest.clear()
                yield outcome
                return
            self.agent = outcome.agent
            if is_goal:
                await self.accept_goal()
            waits = is_prompt(step)
            if waits:
                self._rest.extend(script[number + 1 :])
            yield outcome
            if waits:
                return

    async def _step(self, chunk: Script) -> Outcome:
        step = chunk[-1]
        if (
            self.agent is None
            and isinstance(step, CommandStep)
            and step.command.without_agent == "refused"
        ):
            return Outcome(step, NoConversation(), None)
        return await self.service.step(self.agent, chunk)


def _with_note(outcome: Outcome, answer: Prompted, note: str) -> Outcome:
    """The outcome of a prompt, with one more sentence for the person."""
    message = "\n".join(filter(None, (answer.message, note)))
    return structs.replace(outcome, answer=structs.replace(answer, message=message))


def works_on_goal(step: TextStep | CommandStep) -> bool:
    """Whether the step sets or continues a goal."""
    if not isinstance(step, CommandStep) or step.command is not TABLE["goal"]:
        return False
    return step.args not in ("", "stop")


def _starts(step: TextStep | CommandStep) -> bool:
    """Whether a conversation is started for this step if there is none."""
    if isinstance(step, TextStep):
        return True
    match step.command.without_agent:
        case "starts":
            return True
        case "answers bare":
            return bool(step.args)
        case "answers" | "refused":
            return False
