"""The events behind the rows on screen, read from the log in pages and forgotten again."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable

from sapwood.core.events import Recorded
from sapwood.core.ids import AgentId

__all__ = ["NotLoaded", "Read", "Texts"]

Read = Callable[[AgentId, int, int], Awaitable[list[Recorded]]]
"""Reads the events of an agent from one version to another, both included."""

_PAGE = 64


class NotLoaded(Exception):
    """A row is wanted whose event is not at hand: load it and try again."""

    def __init__(self, agent: AgentId, version: int) -> None:
        super().__init__(f"{agent}:{version}")
        self.agent = agent
        self.version = version


class Texts:
    """A cache of pages of logs. What is on screen is always in it."""

    def __init__(self, read: Read, kept: int = 96) -> None:
        self._read = read
        self._kept = kept
        self._pages: OrderedDict[tuple[AgentId, int], dict[int, Recorded]] = OrderedDict()

    def event(self, agent: AgentId, version: int) -> Recorded:
        """The event. Raises `NotLoaded`."""
        key = (agent, version // _PAGE)
        page = self._pages.get(key)
        found = page.get(version) if page else None
        if found is None:
            raise NotLoaded(agent, version)
        self._pages.move_to_end(key)
        return found

    async def load(self, agent: AgentId, version: int) -> None:
        """Reads the page that this event is on."""
        number = version // _PAGE
        found = await self._read(agent, number * _PAGE, number * _PAGE + _PAGE - 1)
        self._keep((agent, number), {recorded.version: recorded for recorded in found})

    def add(self, recorded: Recorded) -> None:
        """Keeps an event that was just committed."""
        key = (recorded.agent, recorded.version // _PAGE)
        page = self._pages.get(key)
        if page is None:
            self._keep(key, {recorded.version: recorded})
        else:
            page[recorded.version] = recorded

    def _keep(self, key: tuple[AgentId, int], page: dict[int, Recorded]) -> None:
        self._pages[key] = page
        self._pages.move_to_end(key)
        while len(self._pages) > self._kept:
            self._pages.popitem(last=False)
