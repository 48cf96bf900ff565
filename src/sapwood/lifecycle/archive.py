"""Archives idle conversations in object storage, and brings them back.

A conversation is one object: JSON Lines, compressed, with the events of the root and of all its
descendants as they were stored. In the log a stub stays in its place. The object is written and
read back first; then the conversation goes and its stub comes in one transaction, and only if
nothing was added meanwhile. The way back is the same, and then the object is deleted. The object of
an encrypted space is encrypted with the key of the space.

It needs the extra `archive`: `pip install 'sapwood[archive]'`. An address is what `obstore` takes,
such as `s3://bucket/prefix` or `file:///folder`; credentials come from the environment.

Encrypts the archive of a conversation with the key of its space, if the space has one.
"""

import asyncio
import gzip
import logging
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable
from urllib.parse import quote

import msgspec
from msgspec import Struct, field

from sapwood.core.erasure import (
    MAX_TURN,
    ArchivedConversation,
    archive_in,
    mail_senders,
    quoted_turns,
)
from sapwood.core.errors import LogError, RefusedError, VersionConflict
from sapwood.core.events import (
    Actor,
    MailSent,
    ModelCalled,
    Recorded,
    TurnCompleted,
    TurnFailed,
    TurnInterrupted,
    TurnLeased,
)
from sapwood.core.events.codec import decode, encode
from sapwood.core.ids import AgentId, CommandId, Space
from sapwood.core.log_values import AgentSummary, Append, Commit, Receipt
from sapwood.core.refusals import (
    ArchivedIdInUse,
    ConversationInUse,
    InArchive,
    StubInUse,
    UnknownAgent,
)
from sapwood.core.token_count import Counter
from sapwood.lifecycle.archive_stub import (
    carried_over,
    shortened,
    sources_in,
    stub_commit,
    was_used,
    words_of,
)
from sapwood.lifecycle.erasable_log import ErasableLog
from sapwood.lifecycle.erasure import Eraser, agents_of
from sapwood.turns.clock_and_ids import new_record_id
from sapwood.turns.log import Log

if TYPE_CHECKING:
    from obstore.store import ObjectStore


_log = logging.getLogger("sapwood.archive")

_OBJECT_NAME = re.compile(r"[0-9a-z]{12,}\.jsonl\.gz")
"""What follows the id of the agent in the name of its object."""

_MISSING = "Archives need a package that is not installed. Type: pip install 'sapwood[archive]'"


class _Event(Struct, frozen=True, array_like=True):
    """One event as a line: the text of its long parts is in it."""

    version: int
    kind: str
    data: str
    contents: dict[str, str]
    at: int
    actor: str
    command: str


class _Agent(Struct, frozen=True):
    """The first line of an agent: its summary, and how many events follow."""

    summary: AgentSummary = field(name="facts")
    events: int


def archive_address(summary: AgentSummary) -> str:
    """The address of the object of which this agent is the stub; empty if it is none."""
    return archive_in(summary.tags)


def is_archive_of(address: str, space: Space, agent: AgentId) -> bool:
    """Whether this is the address of an object that was made of this agent of this space.

    Earlier versions let users write the entry of the metadata that has the address. An object of
    another agent, or any other file, is neither read nor deleted.

    >>> address = "s3://bucket/old/team/a1-4cfa198d2bff4ecc.jsonl.gz"
    >>> is_archive_of(address, Space("team"), AgentId("a1"))
    True
    >>> is_archive_of(address, Space("home"), AgentId("a1"))
    False
    """
    place, _, name = address.rpartition("/")
    begin = f"{quote(agent, safe='')}-"
    return (
        place.endswith(f"/{quote(space, safe='')}")
        and name.startswith(begin)
        and _OBJECT_NAME.fullmatch(name.removeprefix(begin)) is not None
    )


async def archive_conversation(
    eraser: Eraser,
    root: AgentId,
    place: str,
    counter: Counter,
    *,
    by: str,
    members: Sequence[AgentSummary] | None = None,
) -> ArchivedConversation:
    """Writes a conversation to object storage, and leaves a stub in the log in its place.

    `members` are its agents as they were found, if it must not have been used since. Raises
    `RefusedError` if there is no such root, if it is archived already or in use, and `LogError` if
    the object cannot be written and read back; then nothing was changed in the log.
    """
    _from_url()
    log, space = eraser.log, eraser.space
    family = await log.family(space, root)
    if not family or family[0].agent != root:
        raise RefusedError(UnknownAgent(root))
    if archive_address(family[0]):
        raise RefusedError(InArchive(root))
    versions = {each.agent: each.version for each in family}
    if members is not None and {each.agent: each.version for each in members} != versions:
        raise RefusedError(ConversationInUse(root))
    await eraser.require_no_hold([root])
    agents = [
        (summary, await log.read(space, summary.agent, 1, summary.version)) for summary in family
    ]
    if any(_is_running(events) for _, events in agents):
        raise RefusedError(ConversationInUse(root))
    every = [each for _, events in agents for each in events]
    sources = await sources_of(log, space, every) - versions.keys()
    data = await _packed(log, space, agents)
    # Each attempt writes an object of its own: two may be made of one conversation at once.
    name = f"{quote(space, safe='')}/{quote(root, safe='')}-{new_record_id()}.jsonl.gz"
    address = f"{place.rstrip('/')}/{name}"
    stub = stub_commit(family[0], address, shortened(words_of(every)), sources, counter)
    try:
        await _write(place, name, data)
    except BaseException:
        await _discard(address)
        raise
    # If this is cancelled now, it goes on: either the log gets the address, or the object goes.
    await asyncio.shield(_replace_with_stub(eraser, versions, stub, address, by))
    return ArchivedConversation(address, len(data), len(family), sum(versions.values()))


async def _replace_with_stub(
    eraser: Eraser, versions: Mapping[AgentId, int], stub: Commit, address: str, by: str
) -> None:
    """Puts a stub in the place of a conversation. If it cannot, deletes the object of the stub."""
    root = stub.appends[0].agent
    try:
        await eraser.replace(versions, stub, by=by)
    except (RefusedError, LogError) as error:
        summary = await eraser.log.summary(eraser.space, root)  # an answer may have been lost
        if summary is not None and archive_address(summary) == address:
            return
        await _discard(address)
        if isinstance(error, VersionConflict):
            raise RefusedError(ConversationInUse(root)) from None
        raise


async def _discard(address: str) -> None:
    """Deletes an object that no stub needs. Logs a warning if it cannot."""
    try:
        await delete_object(address)
    except LogError as error:
        _log.warning("%s No conversation needs this object. Delete it.", error)


def _is_running(events: Sequence[Recorded]) -> bool:
    """Whether a program works on the open turn, and not only a prompt waits for an answer."""
    running = False
    for each in events:
        match each.event:
            case TurnLeased() | ModelCalled():
                running = True
            case TurnCompleted() | TurnInterrupted() | TurnFailed():
                running = False
            case _:
                pass
    return running


async def restore_conversation(
    eraser: Eraser, stub: AgentSummary | None, address: str, *, by: str
) -> int:
    """Brings an archived conversation back in place of its stub. Returns the number of agents.

    The object is deleted then: everything of it is in the log. Without a stub it stays, because a
    stub in another space or database may need it. Raises `LogError` if it cannot be read, and
    `RefusedError` if one of the agents exists or if somebody worked in the stub; then nothing was
    changed.
    """
    log, space = eraser.log, eraser.space
    agents = await read_archive(log, space, address)
    if stub is not None:
        await _require_no_erasure(log, space, stub)
        added = await log.read(space, stub.agent, 1, stub.version)
        if was_used(added) or len(await log.family(space, stub.agent)) > 1:
            raise RefusedError(StubInUse(stub.agent, address))
        agents = [
            carried_over(added, *each) if each[0].agent == stub.agent else each for each in agents
        ]
    for summary, _ in agents:
        is_other = stub is None or summary.agent != stub.agent
        if is_other and await log.summary(space, summary.agent) is not None:
            raise RefusedError(ArchivedIdInUse(summary.agent, address))
    appends = tuple(
        Append(summary.agent, 0, tuple(events), summary) for summary, events in agents if events
    )
    receipt = Receipt(CommandId(f"restore-{new_record_id()}"), "Restored from an archive.")
    if stub is not None:
        try:
            await eraser.replace({stub.agent: stub.version}, Commit(appends, receipt), by=by)
        except VersionConflict as conflict:
            raise LogError(
                f"The log of '{conflict.agent}' was changed while the archive was read. The "
                "conversation was not restored. Try again."
            ) from conflict
    else:
        await log.commit(space, Commit(appends, receipt))
    return len(appends)


async def _require_no_erasure(log: ErasableLog, space: Space, stub: AgentSummary) -> None:
    """Raises `LogError` if words that the archive of a stub has are just being erased."""
    sources = sources_in(stub)
    for each in await log.unfinished_erasures() if sources else ():
        if each.space != space or each.record.scope == "archive":
            continue
        if sources & await agents_of(log, each):
            raise LogError(
                f"The archive of '{stub.agent}' has mail or quotations that are being erased. The "
                "conversation was not restored. Try again when the erasure is finished. Sapwood "
                "continues an interrupted one the next time the database is opened."
            )


async def _packed(
    log: Log, space: Space, agents: Iterable[tuple[AgentSummary, Sequence[Recorded]]]
) -> bytes:
    """The bytes of the object that has these agents."""
    lines: list[bytes] = []
    for summary, events in agents:
        lines.append(msgspec.json.encode(_Agent(summary, len(events))))
        lines += [msgspec.json.encode(_line(each)) for each in events]
    return await sealed(log, space, gzip.compress(b"\n".join(lines), mtime=0))


async def write_again(
    log: Log,
    space: Space,
    address: str,
    agents: Iterable[tuple[AgentSummary, Sequence[Recorded]]],
) -> None:
    """Writes an object in place of the one at this address. Raises `LogError`."""
    place, _, name = address.rpartition("/")
    place, _, folder = place.rpartition("/")
    await _write(place, f"{folder}/{name}", await _packed(log, space, agents))


async def sources_of(log: ErasableLog, space: Space, events: Sequence[Recorded]) -> set[AgentId]:
    """The agents whose words these events have: senders of mail, and those that are quoted."""
    found = mail_senders(events)
    for turn in quoted_turns(events):
        found.add(turn.agent)
        found |= mail_senders(await log.read(space, turn.agent, turn.version, limit=MAX_TURN))
    return found


async def read_archive(
    log: ErasableLog, space: Space, address: str
) -> list[tuple[AgentSummary, list[Recorded]]]:
    """The agents of an object with their events. Raises `LogError`."""
    data = await unsealed(log, space, await _read(address), address)
    try:
        lines = iter(gzip.decompress(data).split(b"\n"))
        found: list[tuple[AgentSummary, list[Recorded]]] = []
        for line in lines:
            agent = msgspec.json.decode(line, type=_Agent)
            events = [_recorded(agent.summary.agent, next(lines)) for _ in range(agent.events)]
            found.append((agent.summary, events))
    except (OSError, EOFError, StopIteration, msgspec.MsgspecError, ValueError) as error:
        raise LogError(f"The archive {address} cannot be read: {error}.") from error
    return found


async def read_senders(
    log: ErasableLog, space: Space, address: str
) -> dict[AgentId, frozenset[AgentId]]:
    """The agents of an object, and to whom each sent mail. An object that is gone has none.

    Raises `LogError` if it cannot be read.
    """
    try:
        agents = await read_archive(log, space, address)
    except LogError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return {}
        raise
    return {
        summary.agent: frozenset(
            each.event.to for each in events if isinstance(each.event, MailSent)
        )
        for summary, events in agents
    }


async def delete_object(address: str) -> None:
    """Deletes an object; one that is gone already is no error. Raises `LogError`."""
    place, _, name = address.rpartition("/")
    place, _, folder = place.rpartition("/")
    try:
        await _store(place).delete_async(f"{folder}/{name}")
    except FileNotFoundError:
        return
    except Exception as error:
        raise LogError(f"The archive {address} cannot be deleted: {error}.") from error


def _line(recorded: Recorded) -> _Event:
    encoded = encode(recorded.event)
    return _Event(
        recorded.version,
        encoded.kind,
        encoded.data,
        dict(encoded.contents),
        recorded.at,
        str(recorded.actor),
        recorded.command,
    )


def _recorded(agent: AgentId, line: bytes) -> Recorded:
    row = msgspec.json.decode(line, type=_Event)
    event = decode(row.kind, row.data, row.contents or None)
    return Recorded(
        agent, row.version, event, row.at, Actor.parse(row.actor), CommandId(row.command)
    )


async def _write(place: str, name: str, data: bytes) -> None:
    """Writes an object and reads it back. Raises `LogError`."""
    try:
        store = _store(place)
        await store.put_async(name, data)
        found = await (await store.get_async(name)).bytes_async()
    except LogError:
        raise
    except Exception as error:  # each kind of storage has errors of its own
        raise LogError(f"{place} cannot be written: {error}. Nothing was archived.") from error
    if bytes(found) != data:
        raise LogError(f"{place}/{name} was not stored correctly. Nothing was archived.")


async def _read(address: str) -> bytes:
    place, _, name = address.rpartition("/")
    place, _, folder = place.rpartition("/")
    try:
        return bytes(await (await _store(place).get_async(f"{folder}/{name}")).bytes_async())
    except Exception as error:
        raise LogError(f"The archive {address} cannot be read: {error}.") from error


def _store(place: str) -> "ObjectStore":
    return _from_url()(place)


def _from_url() -> "Callable[[str], ObjectStore]":
    """What opens a storage. Raises `LogError` if the package is not installed."""
    try:
        from obstore.store import from_url
    except ModuleNotFoundError as error:
        raise LogError(_MISSING) from error
    return from_url


_GZIP = b"\x1f\x8b"


@runtime_checkable
class SealingLog(Protocol):
    """A log whose spaces can be encrypted."""

    async def seal(self, space: Space, data: bytes) -> bytes:
        """The bytes of an archive, encrypted if the space is."""
        ...

    async def unseal(self, space: Space, data: bytes) -> bytes | None:
        """What `seal` was given; None if it cannot be decrypted with the key of the space."""
        ...


async def sealed(log: Log, space: Space, data: bytes) -> bytes:
    """The bytes of an object as they are stored."""
    return await log.seal(space, data) if isinstance(log, SealingLog) else data


async def unsealed(log: Log, space: Space, data: bytes, address: str) -> bytes:
    """The bytes of an object as they were archived.

    An object from before the encryption is as it is. Raises `LogError` if the key does not fit.
    """
    if data.startswith(_GZIP):
        return data
    plain = await log.unseal(space, data) if isinstance(log, SealingLog) else None
    if plain is None:
        raise LogError(
            f"The archive {address} cannot be read: the space '{space}' does not have the key with "
            "which it was encrypted. Nothing was changed."
        )
    return plain
