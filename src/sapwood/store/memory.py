"""The log in memory: the reference that says in plain Python what every store does.

For tests and for trying things out. It forgets everything when the process ends, and belongs to
the event loop that uses it.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence

from sapwood.core.events import Recorded
from sapwood.core.ids import AgentId, CommandId, Space
from sapwood.core.log import (
    Commit,
    Cursor,
    Facts,
    Hit,
    LogError,
    Receipt,
    Snapshot,
    Tailed,
    VersionConflict,
)
from sapwood.core.searching import index_terms, query_phrases, snippet_of, text_of

__all__ = ["MemoryLog"]


class MemoryLog:
    """A log that lives as long as this object."""

    def __init__(self) -> None:
        self._shelves: dict[Space, _Shelf] = {}
        self._news = asyncio.Event()
        self._closed = False

    async def commit(self, space: Space, commit: Commit) -> Receipt | None:
        """Stores all appends and the receipts, or nothing."""
        if self._closed:
            raise LogError("The log is closed. Nothing was stored. Open it again to go on.")
        await asyncio.sleep(0)  # others get their turn, as they do while a database works
        shelf = self._shelf(space)
        for receipt in commit.receipts:
            if earlier := shelf.receipts.get(receipt.command):
                return earlier
        for append in commit.appends:
            if len(shelf.streams.get(append.agent, ())) != append.expected:
                raise VersionConflict(append.agent, append.expected)
        for append in commit.appends:
            shelf.streams.setdefault(append.agent, []).extend(append.events)
            shelf.order.extend(append.events)
            shelf.facts[append.agent] = append.facts
        shelf.receipts.update({receipt.command: receipt for receipt in commit.receipts})
        self._tell()
        return None

    async def receipt(self, space: Space, command: CommandId) -> Receipt | None:
        """The first answer to this command, if it was given before."""
        return self._shelf(space).receipts.get(command)

    async def read(
        self,
        space: Space,
        agent: AgentId,
        first: int = 1,
        last: int | None = None,
        *,
        limit: int | None = None,
        backward: bool = False,
    ) -> list[Recorded]:
        """Events of one agent, oldest first, or newest if `backward`."""
        await asyncio.sleep(0)  # others get their turn, as they do while a database works
        found = self._shelf(space).streams.get(agent, [])[max(first, 1) - 1 : last]
        return (found[::-1] if backward else found)[:limit]

    async def snapshot(
        self, space: Space, agent: AgentId, schema: str, at: int | None = None
    ) -> Snapshot | None:
        """The newest snapshot of this schema, at or before version `at` if given."""
        found = [
            snapshot
            for snapshot in self._shelf(space).snapshots.values()
            if (snapshot.agent, snapshot.schema) == (agent, schema)
            and (at is None or snapshot.version <= at)
        ]
        return max(found, key=lambda snapshot: snapshot.version, default=None)

    async def save_snapshot(self, space: Space, snapshot: Snapshot) -> None:
        """Keeps a snapshot."""
        key = (snapshot.agent, snapshot.schema, snapshot.version)
        self._shelf(space).snapshots[key] = snapshot

    async def facts(self, space: Space, agent: AgentId) -> Facts | None:
        """What a list shows of one agent."""
        return self._shelf(space).facts.get(agent)

    async def agents(
        self,
        space: Space,
        *,
        after: Facts | None = None,
        limit: int = 100,
        parent: AgentId | None = None,
        status: str | None = None,
    ) -> list[Facts]:
        """A page of agents, newest first, going on after the last one seen."""
        found = [
            facts
            for facts in self._shelf(space).newest_first()
            if (after is None or (facts.created, facts.agent) < (after.created, after.agent))
            and (parent is None or facts.parent == parent)
            and (status is None or facts.status == status)
        ]
        return found[:limit]

    async def conversations(
        self,
        space: Space,
        folder: str,
        *,
        after: Facts | None = None,
        limit: int = 100,
        status: str | None = None,
    ) -> list[Facts]:
        """A page of the root agents of a folder, last written to first."""
        found = [
            facts
            for facts in self._shelf(space).facts.values()
            if folder
            and facts.folder == folder
            and facts.parent is None
            and (status is None or facts.status == status)
            and (after is None or (facts.updated, facts.agent) < (after.updated, after.agent))
        ]
        found.sort(key=lambda facts: (facts.updated, facts.agent), reverse=True)
        return found[:limit]

    async def working(
        self, space: Space, *, after: AgentId | None = None, limit: int = 100
    ) -> list[Facts]:
        """A page of the running agents that have work to do, by their ids."""
        found = [
            facts
            for agent, facts in sorted(self._shelf(space).facts.items())
            if facts.working and facts.status == "running" and (after is None or agent > after)
        ]
        return found[:limit]

    async def find(self, space: Space, name: str, limit: int = 10) -> list[Facts]:
        """The agent with this id; else those with this name; else those whose id starts so."""
        shelf = self._shelf(space)
        if exact := shelf.facts.get(AgentId(name)):
            return [exact]
        if not name:
            return []
        known = shelf.newest_first()
        named = [facts for facts in known if facts.name == name]
        return (named or [facts for facts in known if facts.agent.startswith(name)])[:limit]

    async def ancestors(self, space: Space, agent: AgentId) -> list[AgentId]:
        """The agent's parent, its parent, and so on up to the root."""
        known = self._shelf(space).facts
        found: list[AgentId] = []
        while (facts := known.get(agent)) and facts.parent:
            agent = facts.parent
            found.append(agent)
        return found

    async def descendants(self, space: Space, agent: AgentId) -> list[AgentId]:
        """All children, their children, and so on; parents before their children."""
        children: dict[AgentId, list[AgentId]] = {}
        for facts in self._shelf(space).facts.values():
            if facts.parent:
                children.setdefault(facts.parent, []).append(facts.agent)
        found = list(children.get(agent, ()))
        for each in found:  # grows while it is walked
            found.extend(children.get(each, ()))
        return found

    async def follow(self, space: Space, agent: AgentId, after: int = 0) -> AsyncIterator[Recorded]:
        """Every event of one agent after a version, then each new one as it is committed."""
        stream = self._shelf(space).streams.setdefault(agent, [])
        async for place in self._places(lambda: len(stream), after):
            yield stream[place]

    async def tail(self, space: Space, after: Cursor | None = None) -> AsyncIterator[Tailed]:
        """Every event of a space after a cursor, then each new one as it is committed."""
        order = self._shelf(space).order
        async for place in self._places(lambda: len(order), after.position if after else 0):
            yield Tailed(Cursor(0, place + 1), order[place])

    async def search(
        self,
        space: Space,
        query: str,
        *,
        agents: Sequence[AgentId] | None = None,
        limit: int = 20,
        offset: int = 0,
    ) -> list[Hit]:
        """Where these words stand, best first."""
        shelf = self._shelf(space)
        phrases = [f" {' '.join(map(_stem, phrase))} " for phrase in query_phrases(query)]
        hits = [
            _hit(recorded, terms, phrases, query)
            for recorded, terms in shelf.with_terms()
            if phrases
            and (agents is None or recorded.agent in agents)
            and all(phrase in terms for phrase in phrases)
        ]
        hits.sort(key=lambda hit: (-hit.score, -hit.at, hit.ref.agent, hit.ref.version))
        return hits[offset : offset + limit]

    async def close(self) -> None:
        """Ends whoever follows."""
        self._closed = True
        self._tell()

    def _shelf(self, space: Space) -> "_Shelf":
        return self._shelves.setdefault(space, _Shelf())

    def _tell(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()

    async def _places(self, count: Callable[[], int], seen: int) -> AsyncIterator[int]:
        while True:
            news = self._news
            while seen < count():
                yield seen
                seen += 1
            if self._closed:
                return
            await news.wait()


class _Shelf:
    """What is kept of one space."""

    def __init__(self) -> None:
        self.streams: dict[AgentId, list[Recorded]] = {}
        self.order: list[Recorded] = []
        self.receipts: dict[CommandId, Receipt] = {}
        self.snapshots: dict[tuple[AgentId, str, int], Snapshot] = {}
        self.facts: dict[AgentId, Facts] = {}
        self._terms: list[str] = []

    def newest_first(self) -> list[Facts]:
        return sorted(
            self.facts.values(), key=lambda facts: (facts.created, facts.agent), reverse=True
        )

    def with_terms(self) -> list[tuple[Recorded, str]]:
        """Every event with its terms, made when somebody searches."""
        for recorded in self.order[len(self._terms) :]:
            terms = index_terms(text_of(recorded.event)).split()
            self._terms.append(f" {' '.join(map(_stem, terms))} ")
        return list(zip(self.order, self._terms, strict=True))


def _hit(recorded: Recorded, terms: str, phrases: list[str], query: str) -> Hit:
    count = sum(terms.count(phrase) for phrase in phrases)
    snippet = snippet_of(text_of(recorded.event), query)
    score = count / (100 + len(terms))
    return Hit(recorded.ref, recorded.kind, recorded.at, snippet, score)


def _stem(term: str) -> str:
    """The first step of Porter's rules: enough for plurals, tenses and a final y."""
    if term.endswith(("ies", "sses")):
        term = term[:-2]
    elif term.endswith("s") and not term.endswith("ss"):
        term = term[:-1]
    for suffix in ("ing", "ed"):
        stem = term.removesuffix(suffix)
        if stem != term and any(vowel in stem for vowel in "aeiouy"):
            term = stem
            break
    return f"{term[:-1]}i" if len(term) > 2 and term.endswith("y") else term
