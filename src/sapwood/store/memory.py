"""The log in memory: the reference, in plain Python, for what every store does.

For tests and experiments. Its content is lost when the process ends. Use it on one event loop only.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence

from sapwood.core.events import Recorded
from sapwood.core.ids import AgentId, CommandId, Space
from sapwood.core.log_values import (
    AgentSummary,
    Commit,
    Cursor,
    LogError,
    Order,
    Receipt,
    SearchHit,
    Snapshot,
    TailedEvent,
    VersionConflict,
    unknown_cursor,
)
from sapwood.core.search_text import index_terms, query_phrases, snippet_of, text_of

__all__ = ["MemoryLog"]


class MemoryLog:
    """A log that exists as long as this object."""

    def __init__(self) -> None:
        self._spaces: dict[Space, _SpaceData] = {}
        self._committed = asyncio.Event()
        self._closed = False

    async def commit(self, space: Space, commit: Commit) -> Receipt | None:
        """Stores all appends and the receipts, or nothing.

        Returns None, or the earlier receipt if a command was stored before. Raises
        `VersionConflict` if an agent is not at its expected version, and `LogError` after `close`.
        """
        if self._closed:
            raise LogError("The log is closed. Nothing was stored. Open it again to go on.")
        await asyncio.sleep(0)  # lets other tasks run, as a database does
        data = self._data_of(space)
        for receipt in commit.receipts:
            if earlier := data.receipts.get(receipt.command):
                return earlier
        for append in commit.appends:
            if len(data.streams.get(append.agent, ())) != append.expected:
                raise VersionConflict(append.agent, append.expected)
        for append in commit.appends:
            data.streams.setdefault(append.agent, []).extend(append.events)
            data.order.extend(append.events)
            data.facts[append.agent] = append.facts
        data.receipts.update({receipt.command: receipt for receipt in commit.receipts})
        self._wake_followers()
        return None

    async def receipt(self, space: Space, command: CommandId) -> Receipt | None:
        """The receipt of this command, or None if it was never stored."""
        return self._data_of(space).receipts.get(command)

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
        """Events of one agent from version `first` to `last`, newest first if `backward`."""
        await asyncio.sleep(0)  # lets other tasks run, as a database does
        found = self._data_of(space).streams.get(agent, [])[max(first, 1) - 1 : last]
        return (found[::-1] if backward else found)[:limit]

    async def snapshot(
        self, space: Space, agent: AgentId, schema: str, at: int | None = None
    ) -> Snapshot | None:
        """The newest snapshot of this schema, at or before version `at` if given."""
        found = [
            snapshot
            for snapshot in self._data_of(space).snapshots.values()
            if (snapshot.agent, snapshot.schema) == (agent, schema)
            and (at is None or snapshot.version <= at)
        ]
        return max(found, key=lambda snapshot: snapshot.version, default=None)

    async def save_snapshot(self, space: Space, snapshot: Snapshot) -> None:
        """Stores a snapshot. A lost snapshot only slows the next open."""
        key = (snapshot.agent, snapshot.schema, snapshot.version)
        self._data_of(space).snapshots[key] = snapshot

    async def facts(self, space: Space, agent: AgentId) -> AgentSummary | None:
        """The summary of one agent, or None if there is no such agent."""
        return self._data_of(space).facts.get(agent)

    async def agents(
        self,
        space: Space,
        *,
        after: AgentSummary | None = None,
        limit: int = 100,
        parent: AgentId | None = None,
        status: str | None = None,
        owner: str = "",
        label: str = "",
        order: Order = "created",
    ) -> list[AgentSummary]:
        """A page of agents after the last one seen, newest first."""

        def place(facts: AgentSummary) -> tuple[int, str]:
            return (facts.updated if order == "updated" else facts.created, facts.agent)

        found = [
            facts
            for facts in self._data_of(space).facts.values()
            if (after is None or place(facts) < place(after))
            and (parent is None or facts.parent == parent)
            and (status is None or facts.status == status)
            and (not owner or facts.owner == owner)
            and (not label or label in facts.labels)
        ]
        return sorted(found, key=place, reverse=True)[:limit]

    async def conversations(
        self,
        space: Space,
        folder: str,
        *,
        after: AgentSummary | None = None,
        limit: int = 100,
        status: str | None = None,
    ) -> list[AgentSummary]:
        """A page of the root agents of a folder after the last one seen, latest event first."""
        found = [
            facts
            for facts in self._data_of(space).facts.values()
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
    ) -> list[AgentSummary]:
        """A page of the running agents that have work to do, ordered by id."""
        found = [
            facts
            for agent, facts in sorted(self._data_of(space).facts.items())
            if facts.working and facts.status == "running" and (after is None or agent > after)
        ]
        return found[:limit]

    async def working_spaces(self, *, after: Space | None = None, limit: int = 100) -> list[Space]:
        """A page of the spaces in which an agent has work to do, ordered by name."""
        found = [
            space
            for space, data in sorted(self._spaces.items())
            if (after is None or space > after)
            and any(each.working and each.status == "running" for each in data.facts.values())
        ]
        return found[:limit]

    async def find(self, space: Space, name: str, limit: int = 10) -> list[AgentSummary]:
        """The agent with this id, or else agents with this name, or else ids with this prefix."""
        data = self._data_of(space)
        if exact := data.facts.get(AgentId(name)):
            return [exact]
        if not name:
            return []
        known = data.newest_first()
        named = [facts for facts in known if facts.name == name]
        return (named or [facts for facts in known if facts.agent.startswith(name)])[:limit]

    async def ancestors(self, space: Space, agent: AgentId) -> list[AgentId]:
        """The agent's parent, its parent, and so on up to the root."""
        known = self._data_of(space).facts
        found: list[AgentId] = []
        while (facts := known.get(agent)) and facts.parent:
            agent = facts.parent
            found.append(agent)
        return found

    async def descendants(self, space: Space, agent: AgentId) -> list[AgentId]:
        """All children, their children, and so on; parents before their children."""
        children: dict[AgentId, list[AgentId]] = {}
        for facts in self._data_of(space).facts.values():
            if facts.parent:
                children.setdefault(facts.parent, []).append(facts.agent)
        found = list(children.get(agent, ()))
        for each in found:  # the list grows during the loop
            found.extend(children.get(each, ()))
        return found

    async def family(self, space: Space, agent: AgentId) -> list[AgentSummary]:
        """The root of the agent and all its descendants, parents before their children."""
        known = self._data_of(space).facts
        if agent not in known:
            return []
        root = ([agent] + await self.ancestors(space, agent))[-1]
        return [known[root], *(known[each] for each in await self.descendants(space, root))]

    async def follow(self, space: Space, agent: AgentId, after: int = 0) -> AsyncIterator[Recorded]:
        """Every event of one agent after a version, then each new one as it is committed."""
        stream = self._data_of(space).streams.setdefault(agent, [])
        async for index in self._new_indexes(lambda: len(stream), after):
            yield stream[index]

    async def tail(self, space: Space, after: Cursor | None = None) -> AsyncIterator[TailedEvent]:
        """Every event of a space after a cursor, then each new one as it is committed."""
        order = self._data_of(space).order
        seen = (after.position or after.events) if after else 0
        if not 0 <= seen <= len(order):
            raise unknown_cursor()
        async for index in self._new_indexes(lambda: len(order), seen):
            yield TailedEvent(Cursor(index + 1), order[index])

    async def search(
        self,
        space: Space,
        query: str,
        *,
        agents: Sequence[AgentId] | None = None,
        limit: int = 20,
        offset: int = 0,
    ) -> list[SearchHit]:
        """Events that contain these words, best match first."""
        data = self._data_of(space)
        phrases = [f" {' '.join(map(_stem, phrase))} " for phrase in query_phrases(query)]
        hits = [
            _hit(recorded, terms, phrases, query)
            for recorded, terms in data.with_terms()
            if phrases
            and (agents is None or recorded.agent in agents)
            and all(phrase in terms for phrase in phrases)
        ]
        hits.sort(key=lambda hit: (-hit.score, -hit.at, hit.ref.agent, hit.ref.version))
        return hits[offset : offset + limit]

    async def close(self) -> None:
        """Ends every `follow` and `tail`. Later commits raise `LogError`."""
        self._closed = True
        self._wake_followers()

    def _data_of(self, space: Space) -> "_SpaceData":
        return self._spaces.setdefault(space, _SpaceData())

    def _wake_followers(self) -> None:
        committed, self._committed = self._committed, asyncio.Event()
        committed.set()

    async def _new_indexes(self, count: Callable[[], int], seen: int) -> AsyncIterator[int]:
        while True:
            committed = self._committed
            while seen < count():
                yield seen
                seen += 1
            if self._closed:
                return
            await committed.wait()


class _SpaceData:
    """Everything stored in one space."""

    def __init__(self) -> None:
        self.streams: dict[AgentId, list[Recorded]] = {}
        self.order: list[Recorded] = []
        self.receipts: dict[CommandId, Receipt] = {}
        self.snapshots: dict[tuple[AgentId, str, int], Snapshot] = {}
        self.facts: dict[AgentId, AgentSummary] = {}
        self._terms: list[str] = []

    def newest_first(self) -> list[AgentSummary]:
        return sorted(
            self.facts.values(), key=lambda facts: (facts.created, facts.agent), reverse=True
        )

    def with_terms(self) -> list[tuple[Recorded, str]]:
        """Every event with its search terms, which the first search computes."""
        for recorded in self.order[len(self._terms) :]:
            terms = index_terms(text_of(recorded.event)).split()
            self._terms.append(f" {' '.join(map(_stem, terms))} ")
        return list(zip(self.order, self._terms, strict=True))


def _hit(recorded: Recorded, terms: str, phrases: list[str], query: str) -> SearchHit:
    count = sum(terms.count(phrase) for phrase in phrases)
    snippet = snippet_of(text_of(recorded.event), query)
    score = count / (100 + len(terms))
    return SearchHit(recorded.ref, recorded.kind, recorded.at, snippet, score)


def _stem(term: str) -> str:
    """The first step of Porter's stemmer: plurals, tenses and a final y."""
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
