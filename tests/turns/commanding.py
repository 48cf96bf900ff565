"""Short words for commands given through a dispatcher."""

from collections.abc import Callable
from itertools import count

from sapwood.core.commands import (
    AddReply,
    CallModel,
    Command,
    CommandMeta,
    CompleteTurn,
    StartAgent,
    StartTurn,
)
from sapwood.core.content import Text
from sapwood.core.events import HUMAN, Actor
from sapwood.core.ids import AgentId, CommandId, Space
from sapwood.core.refusals import Refusal
from sapwood.core.settings import Settings
from sapwood.core.token_count import Counter
from sapwood.core.view import view
from sapwood.core.view.request import digest
from sapwood.testing.core_harness import CharacterCounter
from sapwood.turns.dispatch import Dispatcher, Done
from sapwood.turns.log import Log
from tests.core.speaking import texts_of

SPACE = Space("local")
AGENT = AgentId("lead")
MODEL = Actor("model", "scripted")


def _characters(model: str) -> Counter:
    return CharacterCounter()


class Desk:
    """One process at work on a log: a dispatcher with a memory of its own."""

    numbers = count(1)

    def __init__(
        self,
        log: Log,
        space: Space = SPACE,
        *,
        counter_for: Callable[[str], Counter] = _characters,
        kept_open: int = 256,
    ) -> None:
        self.log = log
        self.space = space
        self.dispatcher = Dispatcher(log, space, counter_for, kept_open=kept_open)

    async def answer(
        self, command: Command, id: str = "", actor: Actor = HUMAN, call: str | None = None
    ) -> Done | Refusal:
        """Whatever is answered to the command."""
        number = next(self.numbers)
        meta = CommandMeta(CommandId(id or f"c{number}"), number * 1_000, actor, call)
        return await self.dispatcher.dispatch(command, meta)

    async def do(self, command: Command, id: str = "", actor: Actor = HUMAN) -> Done:
        """The answer to a command that must be accepted."""
        answer = await self.answer(command, id, actor)
        assert isinstance(answer, Done), answer
        return answer

    async def refused(self, command: Command, actor: Actor = HUMAN) -> Refusal:
        """Why the command was refused."""
        answer = await self.answer(command, "", actor)
        assert isinstance(answer, Refusal), answer
        return answer

    async def start(self, agent: AgentId = AGENT, settings: Settings | None = None) -> AgentId:
        """A new root agent."""
        await self.do(StartAgent(agent, settings=settings or Settings("scripted")))
        return agent

    async def prompt(self, text: str = "ask", agent: AgentId = AGENT) -> None:
        """Opens a turn."""
        await self.do(StartTurn(agent, (Text(text),)))

    async def turn(self, text: str = "ask", reply: str = "answer", agent: AgentId = AGENT) -> None:
        """A completed turn without tools."""
        await self.prompt(text, agent)
        await self.do(AddReply(agent, (Text(reply),)))
        await self.do(CompleteTurn(agent))

    async def call(self, agent: AgentId = AGENT) -> Done:
        """Stores the manifest of the present request."""
        opened = await self.dispatcher.open(agent)
        request = view(opened.state, opened.live)
        return await self.do(CallModel(agent, request.model, digest(request)))

    async def said(self, agent: AgentId = AGENT) -> list[str]:
        """The text of every message that the agent's model would be sent now."""
        opened = await self.dispatcher.open(agent)
        return texts_of(view(opened.state, opened.live))

    async def kinds(self, agent: AgentId = AGENT) -> list[str]:
        """The kinds of the agent's events, oldest first."""
        return [recorded.kind for recorded in await self.log.read(self.space, agent)]
