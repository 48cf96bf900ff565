"""Plays scripts step by step. The conversation service carries the steps out."""

from msgspec import Struct

from sapwood.cli.display.answers import answer_text
from sapwood.cli.exits import Exit
from sapwood.cli.helping import columns
from sapwood.cli.talking.showing import Show
from sapwood.conversation.answers import ArgumentNeeded, Left
from sapwood.conversation.script import CommandStep, Script, TextStep, chunks
from sapwood.conversation.service import ConversationService
from sapwood.core.errors import RefusedError, SapwoodError
from sapwood.core.ids import AgentId
from sapwood.core.refusals import Refusal
from sapwood.display.times import now

__all__ = ["OK", "Ended", "Steps"]


class Ended(Struct, frozen=True):
    """How a step ended; `problem` is a sentence for stderr."""

    exit: Exit = Exit.OK
    problem: str = ""


OK = Ended()
"""The only end after which a script goes on."""

_LEFT = Ended(Exit.OK)


class Steps:
    """Plays scripts on an agent; `agent` changes with the answers."""

    def __init__(self, service: ConversationService, agent: AgentId, show: Show) -> None:
        self.service = service
        self.agent = agent
        self.show = show

    async def play(self, script: Script) -> Ended:
        """Plays a script up to its end, or to the first step that does not go well."""
        for chunk in chunks(script):
            match chunk:
                case (TextStep(text),):
                    ended = await self.say(text)
                case _:
                    ended = await self.command(chunk)
            if ended is not OK:
                return ended
        return OK

    async def say(self, text: str) -> Ended:
        """Refuses a prompt: only a talk has a model that answers it."""
        raise SapwoodError("Text needs a model to answer it. Type: sapwood run --agent AGENT -p …")

    async def command(self, chunk: Script) -> Ended:
        """Carries out a command and shows its answer. Raises `RefusedError`."""
        outcome = await self.service.step(self.agent, chunk)
        answer = outcome.answer
        if isinstance(answer, Refusal):
            raise RefusedError(answer)
        if isinstance(answer, ArgumentNeeded):
            raise SapwoodError(answer.message)
        if isinstance(answer, Left):
            return _LEFT
        line = outcome.step.line if isinstance(outcome.step, CommandStep) else ""
        self.show.said(line, answer_text(answer, columns(), now()))
        self.agent = outcome.agent or self.agent
        return OK
