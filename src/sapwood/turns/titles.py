"""Has a model write the title of a conversation after its first answer, in the background.

A setting, off by default. If anything fails, the title stays the beginning of the first prompt.
"""

import logging
from collections.abc import Callable

from sapwood.core.commands import Rename
from sapwood.core.content import Text
from sapwood.core.errors import LogError
from sapwood.core.events import SYSTEM
from sapwood.core.ids import AgentId, title_of
from sapwood.core.model_calls import Answer, Failure
from sapwood.core.turn import Turn
from sapwood.core.view.request import Message, Request
from sapwood.turns.clock_and_ids import command_meta
from sapwood.turns.commit_tasks import TurnEndTasks
from sapwood.turns.dispatch import Dispatcher
from sapwood.turns.model_access import ModelAccess

_log = logging.getLogger("sapwood.turns")

OWN_MODEL = "same"
"""The setting by which the model of a conversation writes its title."""

_INSTRUCTION = (
    "Write a title of at most six words for this conversation, in the language of the user. "
    "Answer with the title alone: no quotation marks, no full stop."
)
_MAX_QUOTED = 2_000


class TitleTasks:
    """Starts the title of each conversation whose first turn was answered, once.

    `model` writes it; `is_program` says whether a name is that of an agent program, which has its
    own titles.
    """

    def __init__(
        self,
        dispatcher: Dispatcher,
        models: ModelAccess,
        model: str,
        is_program: Callable[[str], bool],
    ) -> None:
        self._dispatcher = dispatcher
        self._models = models
        self._model = model
        self._is_program = is_program
        self.tasks = TurnEndTasks(self._run)

    async def _run(self, agent: AgentId, _: int) -> None:
        try:
            await self._write(agent)
        except (Failure, LogError) as problem:
            _log.info("no title was written for '%s': %s", agent, problem)

    async def _write(self, agent: AgentId) -> None:
        opened = await self._dispatcher.open(agent)
        state, turns = opened.state, opened.live.turns
        model = state.settings.model if self._model == OWN_MODEL else self._model
        is_first = state.named_by_prompt and state.turns == 1 and len(turns) == 1
        if not is_first or self._is_program(model):
            return
        written = await self._answer(Request(model, (), (_question(turns[0]),)))
        if title := title_of(_text_of(written).strip().strip("\"'.")):
            command = Rename(agent, title, written_by=model, usage=written.usage)
            await self._dispatcher.dispatch(command, command_meta(SYSTEM))

    async def _answer(self, request: Request) -> Answer:
        async for each in self._models.stream(request):
            if isinstance(each, Answer):
                return each
        raise Failure("cut", "The answer was cut off.")


def _question(turn: Turn) -> Message:
    prompt = "\n".join(part.text for part in turn.prompt if isinstance(part, Text))
    said = f"User: {prompt[:_MAX_QUOTED]}\n\nAssistant: {turn.answer[:_MAX_QUOTED]}"
    return Message("user", (Text(f"<conversation>\n{said}\n</conversation>\n\n{_INSTRUCTION}"),))


def _text_of(answer: Answer) -> str:
    return " ".join(part.text for part in answer.parts if isinstance(part, Text))
