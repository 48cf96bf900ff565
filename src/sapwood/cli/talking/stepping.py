"""Scripts played step by step. Commands are carried out here; prompts are for a talk."""

from msgspec import Struct

from sapwood.app.connection import Connection
from sapwood.cli.exits import Exit
from sapwood.cli.talking.face import Face, Left
from sapwood.cli.talking.showing import Show
from sapwood.core.errors import RefusedError, SapwoodError
from sapwood.core.ids import AgentId
from sapwood.core.refusals import Refusal
from sapwood.core.slash import Run, Say, Script
from sapwood.core.slash.chunks import chunks
from sapwood.runtime.submission import Outcome, carry_out

__all__ = ["OK", "Ended", "Steps"]


class Ended(Struct, frozen=True):
    """How a step ended; `problem` is a sentence for stderr."""

    exit: Exit = Exit.OK
    problem: str = ""


OK = Ended()
"""The only end after which a script goes on."""

_LEFT = Ended(Exit.OK)


class Steps:
    """Plays scripts on an agent; `agent` changes with /new and /switch."""

    def __init__(self, connection: Connection, agent: AgentId, face: Face, show: Show) -> None:
        self.connection = connection
        self.agent = agent
        self.show = show
        self._face = face

    async def play(self, script: Script) -> Ended:
        """Plays a script up to its end, or to the first step that does not go well."""
        for chunk in chunks(script):
            match chunk:
                case (Say(text),):
                    ended = await self.say(text)
                case _:
                    ended = await self._command(chunk)
            if ended is not OK:
                return ended
        return OK

    async def say(self, text: str) -> Ended:
        """Gives a prompt, which only a talk can."""
        raise SapwoodError("Text needs a model to answer it. Type: sapwood run --agent AGENT -p …")

    async def _command(self, chunk: Script) -> Ended:
        run = chunk[-1]
        assert isinstance(run, Run)
        if self._face.knows(run):
            return await self.answered(run)
        held, switch = self.connection, self._face.switch_model
        for outcome in await carry_out(
            held.log, held.space, held.dispatcher, self.agent, chunk, switch
        ):
            self._told(outcome)
        return OK

    async def answered(self, run: Run) -> Ended:
        """Shows what a command asks for."""
        answer = await self._face.answer(self.agent, run)
        if isinstance(answer, Left):
            return _LEFT
        self.show.said(_typed(run), answer.text)
        self.agent = answer.agent or self.agent
        return OK

    def _told(self, outcome: Outcome) -> None:
        line = _typed(outcome.step) if isinstance(outcome.step, Run) else ""
        if isinstance(outcome.done, Refusal):
            raise RefusedError(outcome.done)
        if outcome.done is None:
            raise SapwoodError(f"{line} cannot be used on the command line.")
        self.show.said(line, outcome.done.says)
        if isinstance(outcome.step, Run) and outcome.step.command.name == "new":
            self.agent = next(ref.agent for ref in outcome.done.events if ref.agent != self.agent)


def _typed(run: Run) -> str:
    return f"/{run.command.name} {run.args}".rstrip()
