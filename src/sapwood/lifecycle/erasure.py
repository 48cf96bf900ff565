"""Erases conversations: plans, deletes, cleans the raw files, and leaves a record without content.

Every step can be repeated, and the plan is in the database. So an erasure that was interrupted is
finished by `resume_erasures`, at the next start of any process.

The list of what was erased, to erase it again after a backup was restored.

It is a file outside of the database, which would be lost or reset with the database. A line has the
space, the time, and a hash of the agent's id: an id cannot be read from it, but an agent of a
restored database can be recognized.
"""

import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Protocol

import msgspec
from msgspec import Struct

from sapwood.core.erasure import (
    Erasure,
    ErasureItem,
    ErasureScope,
    Hold,
    Senders,
    UnfinishedErasure,
)
from sapwood.core.errors import LogError, RefusedError
from sapwood.core.events import MailSent
from sapwood.core.ids import AgentId, Space
from sapwood.core.log_values import AgentSummary, Commit
from sapwood.core.refusals import ErasureHeld
from sapwood.lifecycle.erasable_log import ErasableLog
from sapwood.private_files import append_line
from sapwood.turns.clock_and_ids import new_record_id, now

_PAGE = 1_000

_log = logging.getLogger("sapwood.erasure")


class ExternalEraser(Protocol):
    """Deletes data of an agent that is outside of the log, such as checkpoints.

    It can be called again for the same agent. Raises `OSError` or `LogError` if it fails; then the
    erasure stays unfinished.
    """

    async def __call__(self, space: Space, item: ErasureItem) -> None:
        """Deletes what this place has of the agent."""
        ...


FindArchived = Callable[[Space, AgentId], Awaitable[Senders]]
"""Returns the agents of the archived conversation of which an agent is the stub; none if it is
no stub. Raises `LogError` if the archive cannot be read."""


RememberErasure = Callable[[Space, AgentId, int], Awaitable[None]]
"""Adds an agent, and the time at which its erasure began, to the list of what was erased."""


DeleteArchive = Callable[[Space, AgentId, str], Awaitable[None]]
"""Deletes the object of an agent at this address. Raises `LogError` if it cannot."""


EraseArchivedWords = Callable[[Space, Collection[AgentId]], Awaitable[None]]
"""Replaces the words of erased agents in the archives of other conversations. Raises `LogError`."""


RefuseRestores = Callable[[Space, Collection[AgentId]], Awaitable[None]]
"""Refuses restores that have read an archive with words of these agents before."""


class ExternalStores(Struct, frozen=True):
    """What erasure needs to know about places outside of the log."""

    erasers: tuple[ExternalEraser, ...] = ()
    archived: FindArchived | None = None
    remember: RememberErasure | None = None
    delete_archive: DeleteArchive | None = None
    erase_archived_words: EraseArchivedWords | None = None
    refuse_restores: RefuseRestores | None = None


class ErasurePreview(Struct, frozen=True):
    """What an erasure would delete, and which other conversations would change.

    `agents` are given with their descendants. `receivers` got mail from them: its text would be
    replaced. `holds` are legal holds that forbid the erasure.
    """

    agents: tuple[AgentSummary, ...]
    events: int
    receivers: tuple[AgentSummary, ...] = ()
    holds: tuple[Hold, ...] = ()


class Eraser:
    """Erases in one space. `outside` are the places outside of the log.

    `forget` is called with every agent that this process must not keep in memory.
    """

    def __init__(
        self,
        log: ErasableLog,
        space: Space,
        outside: ExternalStores = ExternalStores(),  # noqa: B008 (it is frozen)
        forget: Callable[[frozenset[AgentId]], None] | None = None,
    ) -> None:
        self._log = self.log = log
        self._space = self.space = space
        self._outside = outside
        self._forget = forget

    async def preview(self, agents: Sequence[AgentId]) -> ErasurePreview:
        """What `erase` would do with these agents and their descendants."""
        found = await self._with_descendants(agents)
        receivers = await self._receivers(found)
        events = sum(summary.version for summary in found.values())
        return ErasurePreview(tuple(found.values()), events, receivers, await self.holds_on(agents))

    async def erase(
        self, agents: Sequence[AgentId], *, by: str, scope: ErasureScope = "conversation"
    ) -> Erasure:
        """Erases agents with their descendants. Returns the record.

        Raises `RefusedError` if a legal hold covers one of them.
        """
        await self.require_no_hold(agents)
        planned = dict.fromkeys(agents)
        if self._outside.archived is not None and scope != "archive":
            for agent in agents:
                planned |= dict.fromkeys(await self._outside.archived(self._space, agent))
        record = Erasure(new_record_id(), now(), by, scope)
        await self._log.begin_erasure(self._space, record, list(planned))
        return await self._finished(record.id)

    async def replace(self, expected: Mapping[AgentId, int], commit: Commit, *, by: str) -> None:
        """Takes agents at these versions out of the log, and stores a commit in their place.

        Nothing is lost by it: an archive has them, or the commit. Raises `RefusedError` if a legal
        hold covers one of them, and `VersionConflict` if something was added to one. Logs a warning
        if it is stored and something of the old agents cannot be deleted yet.
        """
        await self.require_no_hold(list(expected))
        record = Erasure(new_record_id(), now(), by, "archive")
        await self._log.replace_agents(self._space, record, expected, commit)
        if self._forget is not None:
            self._forget(frozenset(expected))
        try:
            await self._finished(record.id)
        except (LogError, OSError) as error:
            _log.warning("What an archive or a restore replaced is not deleted yet: %s", error)

    async def erase_space(self, *, by: str) -> Erasure:
        """Erases everything in the space. Returns the record; it and the legal holds stay."""
        return await self.erase(await self.roots(), by=by, scope="space")

    async def erase_owner(self, owner: str, *, by: str) -> Erasure:
        """Erases all agents of an owner, with their descendants. Returns the record."""
        return await self.erase(await self.owned(owner), by=by, scope="owner")

    async def roots(self) -> list[AgentId]:
        """All root agents of the space."""
        return [summary.agent for summary in await self._listed("") if summary.parent is None]

    async def owned(self, owner: str) -> list[AgentId]:
        """All agents of an owner; none without a name, which all agents of the space would have."""
        return [summary.agent for summary in await self._listed(owner)] if owner else []

    async def _listed(self, owner: str) -> list[AgentSummary]:
        found: list[AgentSummary] = []
        page = await self._log.agents(self._space, limit=_PAGE, owner=owner)
        while page:
            found += page
            page = await self._log.agents(self._space, after=page[-1], limit=_PAGE, owner=owner)
        return found

    async def _finished(self, erasure: str) -> Erasure:
        """Does what is left of an erasure, and returns its record."""
        unfinished = await self._log.unfinished_erasures()
        for each in unfinished:
            if each.record.id == erasure:
                await finish(self._log, each, self._outside, self._forget)
        found = await self._log.erasures(self._space)
        return next(each for each in found if each.id == erasure)

    async def _with_descendants(self, agents: Sequence[AgentId]) -> dict[AgentId, AgentSummary]:
        found: dict[AgentId, AgentSummary] = {}
        for agent in agents:
            for each in (agent, *await self._log.descendants(self._space, agent)):
                summary = await self._log.summary(self._space, each)
                if summary is not None:
                    found[each] = summary
        return found

    async def _receivers(self, found: dict[AgentId, AgentSummary]) -> tuple[AgentSummary, ...]:
        """Agents outside of the erasure that got mail from it."""
        receivers: set[AgentId] = set()
        for agent in found:
            for recorded in await self._log.read(self._space, agent):
                if isinstance(recorded.event, MailSent):
                    receivers.add(recorded.event.to)
        others = [await self._log.summary(self._space, each) for each in receivers - found.keys()]
        return tuple(summary for summary in others if summary is not None)

    async def require_no_hold(self, agents: Sequence[AgentId]) -> None:
        """Raises `RefusedError` if a legal hold forbids the erasure of one of these agents."""
        if held := await self.holds_on(agents):
            raise RefusedError(ErasureHeld(held[0].id, held[0].reason))

    async def holds_on(self, agents: Sequence[AgentId]) -> tuple[Hold, ...]:
        """The legal holds that forbid the erasure of these agents."""
        holds = [hold for hold in await self._log.holds(self._space) if not hold.released]
        if not holds:
            return ()
        families = [await self._log.family(self._space, agent) for agent in agents]
        members = [summary for family in families for summary in family]
        agents_held = {summary.agent for summary in members}
        owners_held = {summary.tags.owner for summary in members if summary.tags is not None}
        return tuple(
            hold
            for hold in holds
            if hold.scope == "space"
            or (hold.scope == "agent" and hold.subject in agents_held)
            or (hold.scope == "owner" and hold.subject in owners_held)
        )


async def resume_erasures(
    log: ErasableLog,
    outside: ExternalStores = ExternalStores(),  # noqa: B008 (it is frozen)
) -> int:
    """Finishes the erasures that were interrupted, in all spaces. Returns how many there were.

    One that fails does not keep the others waiting. Raises the first `LogError` or `OSError`.
    """
    unfinished = await log.unfinished_erasures()
    problem: LogError | OSError | None = None
    for each in unfinished:
        try:
            await finish(log, each, outside, None)
        except (LogError, OSError) as error:
            problem = problem or error
    if problem is not None:
        raise problem
    return len(unfinished)


async def finish(
    log: ErasableLog,
    unfinished: UnfinishedErasure,
    outside: ExternalStores,
    forget: Callable[[frozenset[AgentId]], None] | None,
) -> None:
    """Does what is left of an erasure, in an order in which every step may be the last one."""
    space, record = unfinished.space, unfinished.record
    items = unfinished.items
    known = {item.agent: item for item in items}
    erased = set(known)
    moved = record.scope == "archive"
    if outside.refuse_restores is not None and not (moved or all(each.deleted for each in items)):
        await outside.refuse_restores(space, await agents_of(log, unfinished))
    while waiting := [item.agent for item in items if not item.deleted]:
        for agent in waiting:
            inside: Senders = {}
            if outside.archived is not None and not moved:
                inside = await outside.archived(space, agent)
                erased |= inside.keys()
            changed = await log.erase_agent(space, record.id, agent, inside)
            if forget is not None:
                forget(frozenset({agent, *changed}))
        items = await _items_of(log, record.id)  # none, if another process has just finished it
        known |= {item.agent: item for item in items}
    erased |= known.keys()
    for item in known.values() if not moved else ():
        if outside.remember is not None:
            await outside.remember(space, item.agent, record.at)
        for place in outside.erasers:
            await place(space, item)
    if record.scope == "space":
        await log.clear_space(space, record.id)
    await log.erase_words(space, record.id)  # somebody may have begun anew in the space
    problems = await _erase_in_storage(unfinished, known.values(), erased, outside)
    if not problems:
        await log.forget_agents(record.id)
    if not moved:  # what moved elsewhere need not leave the raw files at once
        await log.scrub()
    if problems:
        raise LogError(
            f"{' '.join(map(str, problems))} Everything else is done. Sapwood tries it again the "
            "next time the database is opened."
        ) from problems[0]
    await log.finish_erasure(record.id, now())


async def _erase_in_storage(
    unfinished: UnfinishedErasure,
    items: Iterable[ErasureItem],
    erased: Collection[AgentId],
    outside: ExternalStores,
) -> list[LogError]:
    """Deletes objects, and words in those of others. Returns what failed: nothing else waits."""
    space, moved = unfinished.space, unfinished.record.scope == "archive"
    problems: list[LogError] = []
    for item in items:
        for address in item.outside.restored if moved else item.outside.archives:
            try:
                if outside.delete_archive is not None:
                    await outside.delete_archive(space, item.agent, address)
            except LogError as error:
                problems.append(error)
    if outside.erase_archived_words is not None and not moved:
        try:
            await outside.erase_archived_words(space, erased)
        except LogError as error:
            problems.append(error)
    return problems


async def agents_of(log: ErasableLog, unfinished: UnfinishedErasure) -> set[AgentId]:
    """The agents that an unfinished erasure is about, with their descendants."""
    found: set[AgentId] = set()
    for item in unfinished.items:
        found |= {item.agent, *await log.descendants(unfinished.space, item.agent)}
    return found


async def _items_of(log: ErasableLog, erasure: str) -> tuple[ErasureItem, ...]:
    unfinished = await log.unfinished_erasures()
    return next((each.items for each in unfinished if each.record.id == erasure), ())


class ErasedAgent(Struct, frozen=True):
    """One line: the hash of an agent's id, its space, and when its erasure began."""

    agent: str
    space: Space
    at: int


def id_hash(space: Space, agent: AgentId) -> str:
    """The hash of an id.

    >>> id_hash(Space("local"), AgentId("demo")) == id_hash(Space("team"), AgentId("demo"))
    False
    """
    return blake2b(f"{space}\0{agent}".encode(), digest_size=20).hexdigest()


def append_erased(file: Path, space: Space, agent: AgentId, at: int) -> None:
    """Adds an agent to the list, durably. Raises `OSError`."""
    line = msgspec.json.encode(ErasedAgent(id_hash(space, agent), space, at))
    append_line(file, line, durable=True)


def read_erased(files: Iterable[Path]) -> dict[Space, dict[str, int]]:
    """What the lists of one or more machines have: by space, the newest time of each hash.

    A line that was cut off by a crash at the end of a file is passed over: its erasure was not
    finished, and wrote another one. Raises `LogError`.
    """
    found: dict[Space, dict[str, int]] = {}
    for file in files:
        try:
            lines = file.read_bytes().split(b"\n")
        except OSError as error:
            raise LogError(f"'{file}' cannot be read: {error.strerror}.") from error
        for number, line in enumerate(lines, 1):
            try:
                each = msgspec.json.decode(line, type=ErasedAgent) if line else None
            except msgspec.MsgspecError as error:
                if number == len(lines):
                    continue
                raise LogError(
                    f"Line {number} of '{file}' is not a valid entry in a list of erasures: "
                    f"{error}. Nothing was erased."
                ) from error
            if each is not None:
                times = found.setdefault(each.space, {})
                times[each.agent] = max(each.at, times.get(each.agent, 0))
    return found


def is_erased(times: dict[str, int], space: Space, summary: AgentSummary) -> bool:
    """Whether the list has this agent, and not only an earlier one with the same id."""
    return summary.created <= times.get(id_hash(space, summary.agent), -1)
