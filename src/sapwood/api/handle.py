"""What an agent and its turns share: a connection, an id, and a way to give commands."""

from sapwood.app.connection import Connection
from sapwood.core.commands import Command
from sapwood.core.errors import RefusedError
from sapwood.core.events import HUMAN, Actor
from sapwood.core.ids import AgentId
from sapwood.core.refusals import Refusal
from sapwood.runtime.dispatch import Done
from sapwood.runtime.fresh import given
from sapwood.runtime.opening import Opened

__all__ = ["Handle"]


class Handle:
    """One agent of one connection."""

    def __init__(self, connection: Connection, agent: AgentId) -> None:
        self.connection = connection
        self.id = agent

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
        why = given(actor, call=call, command=command_id)
        answer = await self.connection.dispatcher.dispatch(command, why)
        if isinstance(answer, Refusal):
            raise RefusedError(answer)
        return answer

    async def opened(self) -> Opened:
        """State and live path, as they are now."""
        return await self.connection.dispatcher.open(self.id)
