"""Stores that plug-ins add, by entry points of the group `sapwood.stores`: one for each scheme."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol, cast, runtime_checkable

from msgspec import Struct

from sapwood.core.errors import LogError, PluginError
from sapwood.core.ids import Space
from sapwood.core.log_values import AvailabilityListener
from sapwood.core.token_count import Counter
from sapwood.plugins import load_plugin

if TYPE_CHECKING:
    from sapwood.app.agent_runner import AgentRunner
    from sapwood.app.connection import Connection
    from sapwood.conversation.call import Services
    from sapwood.conversation.service import ConversationService
    from sapwood.turns.dispatch import Dispatcher
    from sapwood.turns.log import Log


class StoreOptions(Struct, frozen=True):
    """How a store is opened. A store ignores what it has no use for.

    `patience` is the number of seconds to wait for a database that does not answer, `opening` the
    number of seconds to wait now. `on_availability` is called when it stops answering and when it
    answers again. `token` signs in.
    """

    patience: float = 30.0
    opening: float | None = None
    on_availability: AvailabilityListener | None = None
    token: str = ""


OpenStore = Callable[[str, StoreOptions], "Awaitable[Log]"]
"""What the entry point of a store names: opens the log at an address. Raises `LogError`."""


@runtime_checkable
class ServerLog(Protocol):
    """A log whose server carries out the commands and runs the agents."""

    @property
    def address(self) -> str:
        """The address of the server."""
        ...

    @property
    def space(self) -> Space:
        """The only space that can be used."""
        ...

    def dispatcher(self, space: Space, counter_for: Callable[[str], Counter]) -> "Dispatcher":
        """Returns what sends commands to the server."""
        ...

    def service(self, services: "Services") -> "ConversationService":
        """Returns the conversation service of the server."""
        ...

    def runner(self, connection: "Connection") -> "AgentRunner":
        """Returns what watches and interrupts the agents of the server."""
        ...


def load_store(scheme: str) -> OpenStore:
    """Returns the store for addresses `scheme://…`. Raises `LogError` if there is none."""
    try:
        found = load_plugin("stores", scheme)
    except PluginError as error:
        raise LogError(str(error)) from error
    if found is None:
        raise LogError(
            f"There is no store for '{scheme}://'. "
            "Give a path for SQLite, postgresql://… or :memory:."
        )
    return cast("OpenStore", found)
