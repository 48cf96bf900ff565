"""A space of a database, ready for commands: log, dispatcher and counters wired together."""

from pathlib import Path

from sapwood.app.opening import open_log
from sapwood.core.counting import Counter
from sapwood.core.ids import Space
from sapwood.runtime.dispatch import Dispatcher
from sapwood.runtime.log import Log

__all__ = ["Connection", "connect"]


class Connection:
    """What every face holds on to. Only the owner of a log closes it."""

    def __init__(self, log: Log, space: Space, *, owner: bool = True) -> None:
        self.log = log
        self.space = space
        self._owner = owner
        self.dispatcher = Dispatcher(log, space, self.counter_for)
        self._counters: dict[str, Counter] = {}

    def counter_for(self, model: str) -> Counter:
        """The best counter there is for a model."""
        counter = self._counters.get(model)
        if counter is None:
            from sapwood.tokens import counter_for

            counter = self._counters[model] = counter_for(model)
        return counter

    def beside(self, space: str) -> "Connection":
        """Another space, over the same log."""
        return Connection(self.log, Space(space), owner=False)

    async def close(self) -> None:
        """Finishes what is under way and lets go of the database."""
        await self.dispatcher.close()
        if self._owner:
            await self.log.close()


async def connect(
    address: str | Path | Log, space: str = "local", *, patience: float = 30.0
) -> Connection:
    """Opens a database, unless it is given as a log that is open, and one space of it."""
    if isinstance(address, str | Path):
        return Connection(await open_log(address, patience=patience), Space(space))
    return Connection(address, Space(space), owner=False)
