"""Sends commands of the core to a server, which decides. Agents are opened from its log here."""

from collections.abc import Callable, Sequence

from msgspec import structs

from sapwood.core.commands import Command, CommandMeta
from sapwood.core.errors import RefusedError
from sapwood.core.ids import AgentId, Space
from sapwood.core.log_values import Receipt
from sapwood.core.refusals import Refusal
from sapwood.core.token_count import Counter
from sapwood.turns.command_batch import SentCommand
from sapwood.turns.dispatch import Dispatcher, Done
from sapwood.turns.log import Log
from sapwood_server.client.http_session import HttpSession


class RemoteDispatcher(Dispatcher):
    """Carries out commands on the agents of one space of a server.

    The server knows the sender by its token: that name is the actor of the events.
    """

    def __init__(
        self,
        session: HttpSession,
        log: Log,
        space: Space,
        counter_for: Callable[[str], Counter],
    ) -> None:
        super().__init__(log, space, counter_for)
        self._session = session

    async def dispatch(self, command: Command, meta: CommandMeta) -> Done | Refusal:
        """Sends the command. Returns its answer, or the refusal."""
        body = {
            "kind": type(command).__name__,
            "command": structs.asdict(command),
            "id": meta.id,
            "holder": meta.holder,
            "call": meta.call,
            "role": meta.actor.role,
            "request": meta.request,
        }
        try:
            return await self._session.post("/v1/dispatch", body, Done)
        except RefusedError as refused:
            return refused.refusal

    async def dispatch_all(
        self, agent: AgentId, commands: Sequence[SentCommand]
    ) -> tuple[Receipt, ...] | None:
        """Returns None: the caller then sends them one by one."""
        return None
