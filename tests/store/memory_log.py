"""A log in plain Python: the reference for what every store does, and a fast log for tests.

Use it on one event loop only.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext

from msgspec import structs

from sapwood.core.erasure import (
    ERASED,
    Erasure,
    ErasureItem,
    Hold,
    OutsideData,
    Senders,
    UnfinishedErasure,
    outside_data,
    quoted_turns,
    text_without_agent,
    turn_has_mail,
    without_agent,
)
from sapwood.core.events import SYSTEM, Recorded, WordsErased
from sapwood.core.ids import AgentId, CommandId, Space
from sapwood.core.live_words import AwaitWatcher, LiveWords, always_watched
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
from sapwood.core.search_query import read_query
from sapwood.core.search_ranking import IN_TURNS, CandidateEvent, search_events
from sapwood.core.turn_numbers import TURN_STARTS


class MemoryLog:
    """A log that exists as long as this object."""

    def __init__(self) -> None:
        self._spaces: dict[Space, _SpaceData] = {}
        self._committed = asyncio.Event()
        self._closed = False
        self._led: set[str] = set()

    async def commit(self, space: Space, commit: Commit) -> Receipt | None:
        """Stores all appends and the receipts, or nothing.

        Returns None, or the earlier receipt if a command was stored before. Raises
        `VersionConflict` if an agent is not at its expected version, and `LogError` after `close`.
        """
        if self._closed:
            raise LogError("The log is closed. Nothing was stored. Open it again to continue.")
        await asyncio.sleep(0)  # lets other tasks run, as a database does
        data = self._data_of(space)
        for receipt in commit.receipts:
            if earlier := data.receipts.get(receipt.command):
                return earlier
        for append in commit.appends:
            words = data.words.get(append.agent)
            is_ended = append.ends_words and append.words is not None
            known = data.summaries.get(append.agent)
            if known and 0 < append.summary.created != known.created > 0:
                raise VersionConflict(append.agent, append.expected)
            if len(data.streams.get(append.agent, ())) != append.expected or (
                is_ended and (words.command if words else "") != append.words
            ):
                raise VersionConflict(append.agent, append.expected)
        for append in commit.appends:
            data.streams.setdefault(append.agent, []).extend(append.events)
            data.order.extend(append.events)
            known, summary = data.summaries.get(append.agent), append.summary
            created = known.created if known else summary.created
            data.summaries[append.agent] = structs.replace(summary, created=created)
            if append.ends_words:
                data.words.pop(append.agent, None)
        data.receipts.update({receipt.command: receipt for receipt in commit.receipts})
        self._wake_followers()
        return None

    async def late_receipt(self, space: Space, command: CommandId) -> Receipt | None:
        return await self.receipt(space, command)

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

    async def save_words(
        self,
        space: Space,
        agent: AgentId,
        version: int,
        words: LiveWords,
        before: CommandId | None,
    ) -> bool:
        """Stores the words of the reply that is arriving, in place of those before."""
        data = self._data_of(space)
        known = data.words.get(agent)
        if before is None:
            is_known = 0 < len(data.streams.get(agent, ())) == version
            fits = is_known and (known is None or known.asked < words.asked)
        else:
            fits = known is not None and (known.asked, known.command) == (words.asked, before)
        if fits:
            data.words[agent] = words
            self._wake_followers()
        return fits

    def watched_words(self, space: Space, agent: AgentId) -> AbstractContextManager[AwaitWatcher]:
        """It does not look who watches."""
        return nullcontext(always_watched)

    async def words(self, space: Space, agent: AgentId) -> LiveWords | None:
        """The words of the reply that is arriving; None if there are none."""
        return self._data_of(space).words.get(agent)

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
        data = self._data_of(space)
        later = data.streams.get(snapshot.agent, [])[snapshot.version :]
        is_outdated = any(isinstance(each.event, WordsErased) for each in later)
        if snapshot.agent in data.summaries and not is_outdated:  # else it was erased, or has words
            data.snapshots[key] = snapshot

    async def summary(self, space: Space, agent: AgentId) -> AgentSummary | None:
        """The summary of one agent, or None if there is no such agent."""
        return self._data_of(space).summaries.get(agent)

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

        def place(summary: AgentSummary) -> tuple[int, str]:
            return (summary.updated if order == "updated" else summary.created, summary.agent)

        found = [
            summary
            for summary in self._data_of(space).summaries.values()
            if (after is None or place(summary) < place(after))
            and (parent is None or summary.parent == parent)
            and (status is None or summary.status == status)
            and (not owner or summary.owner == owner)
            and (not label or label in summary.labels)
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
            summary
            for summary in self._data_of(space).summaries.values()
            if folder
            and summary.folder == folder
            and summary.parent is None
            and (status is None or summary.status == status)
            and (after is None or (summary.updated, summary.agent) < (after.updated, after.agent))
        ]
        found.sort(key=lambda summary: (summary.updated, summary.agent), reverse=True)
        return found[:limit]

    async def working(
        self, space: Space, *, after: AgentId | None = None, limit: int = 100
    ) -> list[AgentSummary]:
        """A page of the running agents that have work to do, ordered by id."""
        found = [
            summary
            for agent, summary in sorted(self._data_of(space).summaries.items())
            if summary.working and summary.status == "running" and (after is None or agent > after)
        ]
        return found[:limit]

    async def working_spaces(self, *, after: Space | None = None, limit: int = 100) -> list[Space]:
        """A page of the spaces in which an agent has work to do, ordered by name."""
        found = [
            space
            for space, data in sorted(self._spaces.items())
            if (after is None or space > after)
            and any(each.working and each.status == "running" for each in data.summaries.values())
        ]
        return found[:limit]

    async def find(self, space: Space, name: str, limit: int = 10) -> list[AgentSummary]:
        """The agent with this id, or else agents with this name, or else ids with this prefix."""
        data = self._data_of(space)
        if exact := data.summaries.get(AgentId(name)):
            return [exact]
        if not name:
            return []
        known = data.newest_first()
        named = [summary for summary in known if summary.name == name]
        return (named or [summary for summary in known if summary.agent.startswith(name)])[:limit]

    async def ancestors(self, space: Space, agent: AgentId) -> list[AgentId]:
        """The agent's parent, its parent, and so on up to the root."""
        known = self._data_of(space).summaries
        found: list[AgentId] = []
        while (summary := known.get(agent)) and summary.parent:
            agent = summary.parent
            found.append(agent)
        return found

    async def descendants(self, space: Space, agent: AgentId) -> list[AgentId]:
        """All children, their children, and so on; parents before their children."""
        children: dict[AgentId, list[AgentId]] = {}
        for summary in self._data_of(space).summaries.values():
            if summary.parent:
                children.setdefault(summary.parent, []).append(summary.agent)
        found = list(children.get(agent, ()))
        for each in found:  # the list grows during the loop
            found.extend(children.get(each, ()))
        return found

    async def family(self, space: Space, agent: AgentId) -> list[AgentSummary]:
        """The root of the agent and all its descendants, parents before their children."""
        known = self._data_of(space).summaries
        if agent not in known:
            return []
        root = ([agent] + await self.ancestors(space, agent))[-1]
        return [known[root], *(known[each] for each in await self.descendants(space, root))]

    async def follow(self, space: Space, agent: AgentId, after: int = 0) -> AsyncIterator[Recorded]:
        """Every event of one agent after a version, then each new one as it is committed."""
        stream = self._data_of(space).streams.setdefault(agent, [])
        async for index in self._new_indexes(lambda: len(stream), after):
            yield stream[index]

    async def watch(
        self, space: Space, agent: AgentId, after: int = 0
    ) -> AsyncIterator[Recorded | LiveWords]:
        """As `follow`, and the words of the reply that is arriving whenever there are more."""
        data, shown = self._data_of(space), ""
        stream = data.streams.setdefault(agent, [])
        while True:
            changed = self._committed
            for recorded in stream[after:]:
                yield recorded
                after = recorded.version
            words = data.words.get(agent)
            if words is not None and words.asked <= after and words.command != shown:
                shown = words.command
                yield words
            if self._closed:
                return
            if len(stream) <= after:
                await changed.wait()

    async def tail(self, space: Space, after: Cursor | None = None) -> AsyncIterator[TailedEvent]:
        """Every event of a space after a cursor, then each new one as it is committed."""
        order = self._data_of(space).order
        seen = (after.position or after.events) if after else 0
        if not 0 <= seen <= len(order):
            raise unknown_cursor()
        async for index in self._new_indexes(lambda: len(order), seen):
            recorded = order[index]
            if recorded is not None:
                yield TailedEvent(Cursor(index + 1), recorded)

    async def end(self, space: Space) -> Cursor:
        """The cursor after all events of a space."""
        return Cursor(len(self._data_of(space).order))

    async def search(
        self,
        space: Space,
        query: str,
        *,
        agents: Sequence[AgentId] | None = None,
        limit: int = 20,
        offset: int = 0,
    ) -> list[SearchHit]:
        """Turns that have words of the query, best first."""
        events = [
            CandidateEvent(each, self._turn_of(space, each))
            for each in self._data_of(space).order
            if each is not None and (agents is None or each.agent in agents)
        ]
        return search_events(read_query(query), events)[offset : offset + limit]

    def _turn_of(self, space: Space, recorded: Recorded) -> int:
        if recorded.kind in IN_TURNS:
            stream = self._data_of(space).streams[recorded.agent]
            for each in reversed(stream[: recorded.version]):
                if each.kind in TURN_STARTS:
                    return each.version
        return recorded.version

    async def begin_erasure(
        self, space: Space, erasure: Erasure, agents: Sequence[AgentId]
    ) -> None:
        """Stores the record of an erasure and the agents that it is about."""
        self._data_of(space).erasures[erasure.id] = erasure
        self._data_of(space).erasing[erasure.id] = {agent: ErasureItem(agent) for agent in agents}

    async def unfinished_erasures(self) -> list[UnfinishedErasure]:
        """The unfinished erasures of all spaces, with their agents."""
        return [
            UnfinishedErasure(space, record, tuple(data.erasing.get(record.id, {}).values()))
            for space, data in self._spaces.items()
            for record in data.erasures.values()
            if not record.finished
        ]

    async def erase_agent(
        self, space: Space, erasure: str, agent: AgentId, archived: Senders | None = None
    ) -> frozenset[AgentId]:
        """Deletes everything of an agent, and plans the erasure of its children.

        Replaces its words in the logs of others, and returns these others. If it is the stub of an
        archived conversation, `archived` has the agents of that, and to whom each sent mail: their
        words are replaced too.
        """
        data = self._data_of(space)
        items = data.erasing[erasure]
        if items[agent].deleted:
            return frozenset()
        for summary in data.summaries.values():
            if summary.parent == agent:
                items.setdefault(summary.agent, ErasureItem(summary.agent))
        outside = outside_data(data.streams.get(agent, ()))
        sources = () if data.erasures[erasure].scope == "archive" else (agent, *(archived or ()))
        command = CommandId(f"erasure-{erasure}")
        at = data.erasures[erasure].at
        events, others, rewritten = data.erase(agent, sources, at, command)
        self._wake_followers()
        items[agent] = ErasureItem(agent, True, outside)
        record = data.erasures[erasure]
        data.erasures[erasure] = structs.replace(
            record,
            agents=record.agents + 1,
            events=record.events + events,
            rewritten=record.rewritten + rewritten,
        )
        return others

    async def replace_agents(
        self, space: Space, erasure: Erasure, expected: Mapping[AgentId, int], commit: Commit
    ) -> None:
        """Deletes agents that are at these versions, and stores a commit, together or not."""
        data = self._data_of(space)
        family = data.with_descendants(set(expected))
        for agent in sorted(family):
            known = data.summaries.get(agent)
            if known is None or known.version != expected.get(agent) or agent in data.words:
                raise VersionConflict(agent, expected.get(agent, 0))
        for append in commit.appends:
            if append.agent not in expected and append.agent in data.summaries:
                raise VersionConflict(append.agent, append.expected)
        await self.begin_erasure(space, erasure, list(expected))
        for agent in expected:
            outside = OutsideData(restored=outside_data(data.streams[agent]).archives)
            await self.erase_agent(space, erasure.id, agent)
            data.erasing[erasure.id][agent] = ErasureItem(agent, True, outside)
        await self.commit(space, commit)

    async def clear_space(self, space: Space, erasure: str) -> None:
        """Deletes what a space has beside its agents."""
        data = self._data_of(space)
        if not data.summaries:
            data.receipts.clear()
            data.snapshots.clear()

    async def erase_words(self, space: Space, erasure: str) -> None:
        """Does nothing: the first search computes the words."""

    async def forget_agents(self, erasure: str) -> None:
        """Deletes the ids of what was erased."""
        for data in self._spaces.values():
            data.erasing.pop(erasure, None)

    async def finish_erasure(self, erasure: str, at: int) -> None:
        """Completes the record of an erasure."""
        for data in self._spaces.values():
            if record := data.erasures.get(erasure):
                data.erasures[erasure] = structs.replace(record, finished=at)

    async def scrub(self, whole: bool = False) -> str:
        """Does nothing: there is no file. Returns an empty text."""
        return ""

    async def erasures(self, space: Space) -> list[Erasure]:
        """The records of all erasures in a space, newest first."""
        found = self._data_of(space).erasures.values()
        return sorted(found, key=lambda each: (-each.at, each.id))

    async def spaces(self, *, after: Space | None = None, limit: int = 100) -> list[Space]:
        """A page of the spaces that have agents, ordered by name."""
        names = sorted(space for space, data in self._spaces.items() if data.summaries)
        return [space for space in names if after is None or space > after][:limit]

    async def try_lead(self, task: str) -> "_MemoryLock | None":
        """The lock of a task that one process at a time does; None if another one has it."""
        if task in self._led:
            return None
        self._led.add(task)
        return _MemoryLock(self._led, task)

    async def add_hold(self, space: Space, hold: Hold) -> None:
        """Stores a legal hold."""
        self._data_of(space).holds[hold.id] = hold

    async def release_hold(self, space: Space, hold: str, by: str, at: int) -> bool:
        """Releases a hold; returns false if there is none in force with this id."""
        holds = self._data_of(space).holds
        if hold not in holds or holds[hold].released:
            return False
        holds[hold] = structs.replace(holds[hold], released=at, released_by=by)
        return True

    async def holds(self, space: Space) -> list[Hold]:
        """The legal holds of a space, newest first; released ones too."""
        found = self._data_of(space).holds.values()
        return sorted(found, key=lambda each: (-each.at, each.id))

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


class _MemoryLock:
    """The lock of a task."""

    def __init__(self, led: set[str], task: str) -> None:
        self._led = led
        self._task = task

    async def is_held(self) -> bool:
        """Whether it was not released."""
        return self._task in self._led

    async def release(self) -> None:
        """Lets another one have it."""
        self._led.discard(self._task)


class _SpaceData:
    """Everything stored in one space."""

    def __init__(self) -> None:
        self.streams: dict[AgentId, list[Recorded]] = {}
        self.order: list[Recorded | None] = []  # None: erased
        self.receipts: dict[CommandId, Receipt] = {}
        self.snapshots: dict[tuple[AgentId, str, int], Snapshot] = {}
        self.summaries: dict[AgentId, AgentSummary] = {}
        self.words: dict[AgentId, LiveWords] = {}
        self.erasures: dict[str, Erasure] = {}
        self.erasing: dict[str, dict[AgentId, ErasureItem]] = {}
        self.holds: dict[str, Hold] = {}

    def newest_first(self) -> list[AgentSummary]:
        return sorted(
            self.summaries.values(),
            key=lambda summary: (summary.created, summary.agent),
            reverse=True,
        )

    def erase(
        self, agent: AgentId, sources: Sequence[AgentId], at: int, command: CommandId
    ) -> tuple[int, frozenset[AgentId], int]:
        """Deletes an agent. Returns its events, the agents that were told, and rewritten events."""
        told, rewritten = set[AgentId](), 0
        for source in dict.fromkeys(sources):
            others, count = self._rewrite_others(source, at, command)
            told, rewritten = told | others, rewritten + count
        events = len(self.streams.pop(agent, ()))
        self.summaries.pop(agent, None)
        self.words.pop(agent, None)
        for place, recorded in enumerate(self.order):
            if recorded is not None and recorded.agent == agent:
                self.order[place] = None
        for key in [key for key in self.snapshots if key[0] in {agent, *told}]:
            del self.snapshots[key]
        self._erase_receipts(agent)
        return events, frozenset(told), rewritten

    def _rewrite_others(
        self, agent: AgentId, at: int, command: CommandId
    ) -> tuple[set[AgentId], int]:
        """Replaces what the agent said in the logs of others, and tells them by an event."""
        changed: set[AgentId] = set()
        going = self.with_descendants({agent}) | {
            each.agent
            for items in self.erasing.values()
            for each in items.values()
            if not each.deleted
        }
        rewritten = 0
        for place, recorded in enumerate(self.order):
            if recorded is None or recorded.agent in going:
                continue
            quoted = {
                turn
                for turn in quoted_turns([recorded])
                if turn_has_mail(self.streams.get(turn.agent, [])[turn.version - 1 :], agent)
            }
            event = without_agent(recorded.event, agent, quoted)
            if event is not None:
                new = structs.replace(recorded, event=event)
                self.order[place] = self.streams[recorded.agent][recorded.version - 1] = new
                changed.add(recorded.agent)
                rewritten += 1
                if known := self.receipts.get(recorded.command):
                    self.receipts[recorded.command] = structs.replace(known, digest="")
        told = self.with_descendants(changed) - going
        for other in sorted(told):
            summary = self.summaries[other]
            version = summary.version + 1
            event = Recorded(other, version, WordsErased(agent), at, SYSTEM, command)
            self.streams[other].append(event)
            self.order.append(event)
            self.summaries[other] = structs.replace(summary, version=version)
        return told, rewritten

    def with_descendants(self, agents: set[AgentId]) -> set[AgentId]:
        found = set[AgentId]()
        while agents:
            found |= agents
            agents = {
                each.agent for each in self.summaries.values() if each.parent in agents
            } - found
        return found

    def _erase_receipts(self, agent: AgentId) -> None:
        for command, receipt in list(self.receipts.items()):
            left = tuple(ref for ref in receipt.events if ref.agent != agent)
            if len(left) == len(receipt.events):
                message = text_without_agent(receipt.message, agent)
                self.receipts[command] = structs.replace(receipt, message=message)
                continue
            del self.receipts[command]
            if left:
                self.receipts[command] = Receipt(command, ERASED, left)
