"""A space of a database, ready for commands: log, dispatcher and counters wired together."""

from pathlib import Path

from sapwood.app.opening import open_log
from sapwood.app.outages import Outages
from sapwood.core.counting import Counter
from sapwood.core.errors import LogError
from sapwood.core.ids import Space, can_be_stored
from sapwood.runtime.dispatch import Dispatcher
from sapwood.runtime.log import Log

__all__ = ["Connection", "connect"]


class Connection:
    """What every face holds on to. Only the owner of a log closes it.

    `address` is where the log is kept, if it was opened here.
    """

    def __init__(
        self,
        log: Log,
        space: Space,
        *,
        owner: bool = True,
        outages: Outages | None = None,
        address: str = "",
    ) -> None:
        self.log = log
        self.space = space
        self.outages = outages
        self.address = address
        self._owner = owner
        self.dispatcher = Dispatcher(log, space, self.counter_for)
        self._counters: dict[str, Counter] = {}

    def counter_for(self, model: str) -> Counter:
        """The best counter there is for a model."""
        counter = self._counters.get(model)
        if counter is None:
            from sapwood.tokens import RememberingCounter, counter_for

            counter = self._counters[model] = RememberingCounter(counter_for(model))
        return counter

    def beside(self, space: str) -> "Connection":
        """Another space, over the same log."""
        return Connection(
            self.log, _space(space), owner=False, outages=self.outages, address=self.address
        )

    async def close(self) -> None:
        """Finishes what is under way and lets go of the database."""
        await self.dispatcher.close()
        if self._owner:
            await self.log.close()
            if self.outages:
                self.outages.close()


async def connect(
    address: str | Path | Log,
    space: str = "local",
    *,
    patience: float = 30.0,
    opening: float | None = None,
) -> Connection:
    """Opens a database, unless it is given as a log that is open, and one space of it.

    `patience` is how many seconds to wait for a server that is away, `opening` how many at first.
    """
    if isinstance(address, str | Path):
        named = _space(space)
        outages = Outages()
        log = await open_log(address, patience=patience, opening=opening, tell=outages.hear)
        return Connection(log, named, outages=outages, address=str(address))
    return Connection(address, _space(space), owner=False)


def _space(name: str) -> Space:
    if not can_be_stored(name):
        raise LogError(f"{name!a} cannot be a space. Nothing was opened. Choose another name.")
    return Space(name)
