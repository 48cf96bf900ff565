"""Runs a script step by step on the conversation service. A script is commands and prompts."""

from msgspec import Struct

from sapwood.cli.console import columns
from sapwood.cli.exit_codes import Exit
from sapwood.cli.output.answer_text import answer_text
from sapwood.cli.run.run_output import RunOutput
from sapwood.conversation.answers import Answer, ArgumentNeeded, Forked, Left
from sapwood.conversation.script import CommandStep, Script, Step, chunks, is_prompt
from sapwood.conversation.service import ConversationService
from sapwood.core.command_table import TABLE
from sapwood.core.errors import SapwoodError, accepted
from sapwood.core.ids import AgentId
from sapwood.display.quantities import now


class StepResult(Struct, frozen=True):
    """The exit code of a step, and the error message for stderr if it failed."""

    exit: Exit = Exit.OK
    problem: str = ""


OK = StepResult()
"""The only result after which a script continues."""

_LEFT = StepResult(Exit.OK)


async def slash_answer(
    service: ConversationService, agent: AgentId | None, name: str, args: str = ""
) -> Answer:
    """Runs one slash command and returns its answer. Raises `RefusedError`."""
    return accepted(await service.answer(agent, CommandStep(TABLE[name], args)))


class ScriptPlayer:
    """Runs scripts of commands on an agent. A command such as /switch changes `agent`.

    `forked` are the children that the commands made, in order.
    With `by_model`, the commands are those of the agent's model, which may not use all of them.
    """

    def __init__(
        self,
        service: ConversationService,
        agent: AgentId,
        output: RunOutput,
        *,
        by_model: bool = False,
    ) -> None:
        self.service = service
        self.agent = agent
        self.output = output
        self.forked: list[AgentId] = []
        self._by_model = by_model

    async def play(self, script: Script) -> StepResult:
        """Runs a script to its end, or to the first step that fails or leaves."""
        for chunk in chunks(script):
            step = chunk[-1]
            result = await (self.prompt(step) if is_prompt(step) else self.command(chunk))
            if result is not OK:
                return result
        return OK

    async def prompt(self, step: Step) -> StepResult:
        """Raises `SapwoodError`: without a model there is no reply to a prompt."""
        raise SapwoodError(
            f"A prompt needs a model to answer it. Type: sapwood run --agent {self.agent} -p …"
        )

    async def command(self, chunk: Script) -> StepResult:
        """Runs a command and prints its answer. Raises `RefusedError`."""
        outcome = await self.service.step(self.agent, chunk, by_model=self._by_model)
        answer = accepted(outcome.answer)
        if isinstance(answer, ArgumentNeeded):
            raise SapwoodError(answer.message)
        if isinstance(answer, Left):
            return _LEFT
        line = outcome.step.line if isinstance(outcome.step, CommandStep) else ""
        self.output.answer(line, answer_text(answer, columns(), now()))
        self.agent = outcome.agent or self.agent
        if isinstance(answer, Forked):
            self.forked.append(answer.child)
        return OK
