"""A person's session: the current agent, and what waits for the end of its turn.

Prompts that come while a turn is open are queued. The steps after a prompt wait until its turn has
ended, so that a script runs in the order in which it was written.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator

from sapwood.conversation.answers import ConversationStarted
from sapwood.conversation.prompt_files import with_named_files
from sapwood.conversation.script import CommandStep, Script, TextStep, chunks, has_prompt, parse
from sapwood.conversation.service import ConversationService, Outcome
from sapwood.core.errors import RefusedError
from sapwood.core.ids import AgentId, title_of
from sapwood.core.refusals import NoConversation, Refusal

__all__ = ["ConversationSession"]


class ConversationSession:
    """Carries out what a person sends, one conversation at a time.

    `queue` holds submissions that wait for the end of the turn. `paused` is true after an
    interrupt with a full queue: nothing more is sent until the person asks for it.
    """

    def __init__(
        self, service: ConversationService, folder: str, agent: AgentId | None = None
    ) -> None:
        self.service = service
        self.folder = folder
        self.agent = agent
        self.queue: deque[str] = deque()
        self.paused = False
        self._rest: deque[Script] = deque()

    async def is_working(self) -> bool:
        """Whether a turn is open."""
        if self.agent is None:
            return False
        opened = await self.service.services.space.dispatcher.open(self.agent)
        return opened.state.open is not None

    async def submit(self, text: str) -> AsyncGenerator[Outcome]:
        """Carries out a submission, or queues it while a turn is open; an empty one sends the next.

        Yields what came of each step and ends after a refusal. Raises `RefusedError` if the text
        cannot be parsed, `SapwoodError` if a file that it names cannot be sent, and `Failure` if a
        model cannot be called.
        """
        script = parse(text)
        if isinstance(script, Refusal):
            raise RefusedError(script)
        if "@" in text:
            script = await asyncio.to_thread(with_named_files, script)
        if not script:
            async for outcome in self.send_next():
                yield outcome
        elif has_prompt(script) and (self._rest or await self.is_working()):
            self.queue.append(text)
        else:
            async for outcome in self._play(list(chunks(script))):
                yield outcome

    async def run(self, run: CommandStep) -> AsyncGenerator[Outcome]:
        """Carries out one command."""
        async for outcome in self._play([(run,)]):
            yield outcome

    async def turn_ended(self) -> AsyncGenerator[Outcome]:
        """Sends what waited, unless the session is paused."""
        if not self.paused:
            async for outcome in self.send_next():
                yield outcome

    async def send_next(self) -> AsyncGenerator[Outcome]:
        """Sends what waited, once no turn is open: first the rest of a script, then the queue."""
        if await self.is_working():
            return
        self.paused = False
        rest, self._rest = list(self._rest), deque()
        async for outcome in self._play(rest):
            yield outcome
            if isinstance(outcome.answer, Refusal):
                return
        if self.queue and not self._rest and not await self.is_working():
            async for outcome in self.submit(self.queue.popleft()):
                yield outcome

    def pause(self) -> None:
        """Keeps what is queued back, and drops what was left of a script."""
        self.paused = bool(self.queue)
        self._rest.clear()

    def drop_rest(self) -> None:
        """Drops what was left of a script."""
        self._rest.clear()

    async def _play(self, script: list[Script]) -> AsyncGenerator[Outcome]:
        for number, chunk in enumerate(script):
            step = chunk[-1]
            if self.agent is None and _starts(step):
                words = next((each.text for each in chunk if isinstance(each, TextStep)), "")
                has_prompt = isinstance(step, TextStep)
                self.agent = await self.service.start(
                    self.folder, name=title_of(words), has_prompt=has_prompt
                )
                yield Outcome(step, ConversationStarted(None, self.agent), self.agent)
            outcome = await self._step(chunk)
            if isinstance(outcome.answer, Refusal):
                self._rest.clear()
                yield outcome
                return
            self.agent = outcome.agent
            waits = isinstance(step, TextStep)
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
