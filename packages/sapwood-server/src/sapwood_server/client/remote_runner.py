"""The agents of a server, as the faces of another machine see them: they run there."""

from collections.abc import Mapping

from msgspec import Struct

from sapwood.app.agent_runner import AgentRunner
from sapwood.app.connection import Connection
from sapwood.core.commands import CommandMeta
from sapwood.core.errors import RefusedError, SapwoodError
from sapwood.core.ids import AgentId, EventRef
from sapwood.core.refusals import Refusal
from sapwood.turns.dispatch import Done
from sapwood_server.client.http_session import HttpSession, path_of


class _Interrupted(Struct, frozen=True):
    message: str
    events: tuple[EventRef, ...] = ()


class RemoteRunner(AgentRunner):
    """Watches and interrupts agents of a server. It drives none."""

    def __init__(self, connection: Connection, session: HttpSession) -> None:
        self.connection = connection
        self.programs = None
        self._session = session
        self._listeners = set()

    async def start(self) -> None:
        """Does nothing: the server or its workers run the agents."""

    async def close(self) -> None:
        """Does nothing."""

    def use_keys(self, keys: Mapping[str, str], urls: Mapping[str, str]) -> None:
        """Does nothing: the server has its own keys."""

    async def wake(self, agent: AgentId) -> None:
        """Does nothing: the server or its workers wake agents."""

    async def assume(self, agent: AgentId) -> None:
        """Does nothing: sessions of programs are on the machine of the server."""

    async def interrupt(self, agent: AgentId, reason: str = "") -> Done | Refusal:
        """Stops the open turn. The words received so far become the reply of the model."""
        path = path_of("v1", "agents", agent, "interrupt")
        try:
            done = await self._session.post(path, {}, _Interrupted)
        except RefusedError as refused:
            return refused.refusal
        return Done(done.message, done.events)

    async def compact(
        self, agent: AgentId, keep: int = 0, anyway: bool = False, why: CommandMeta | None = None
    ) -> Done | Refusal:
        """Raises `SapwoodError`: the command /compact is carried out by the server."""
        raise SapwoodError("Summaries are written on the server. Type: /compact")
