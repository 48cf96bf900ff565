"""What an agent and its turns share: a connection, an id, and a way to give commands."""

from sapwood.app.config import Config
from sapwood.app.connection import Connection
from sapwood.app.conversation_service import offline_service
from sapwood.conversation.service import ConversationService
from sapwood.core.commands import Command
from sapwood.core.events import HUMAN, Actor
from sapwood.core.ids import AgentId
from sapwood.runtime.dispatch import Done
from sapwood.runtime.opening import Opened

__all__ = ["Handle"]


class Handle:
    """One agent of one connection."""

    def __init__(self, connection: Connection, agent: AgentId) -> None:
        self.connection = connection
        self.id = agent

    @property
    def service(self) -> ConversationService:
        """The conversation service of the agent's space, without a model to call."""
        return offline_service(self.connection, Config())

    async def do(
        self,
        command: Command,
        actor: Actor = HUMAN,
        *,
        call: str | None = None,
        command_id: str | None = None,
    ) -> Done:
        """Gives any command of `sapwood.core.commands`.

        `call` is the tool call by which a model gave it. The same `command_id` given twice acts
        once and returns the first answer, so that what timed out can be given again.
        """
        return await self.service.dispatch(command, actor, call=call, command_id=command_id)

    async def opened(self) -> Opened:
        """State and live path, as they are now."""
        return await self.connection.dispatcher.open(self.id)
