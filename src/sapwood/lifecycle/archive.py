"""Archives idle conversations in object storage, and brings them back.

A conversation is one object: JSON Lines, compressed, with the events of the root and of all its
descendants as they were stored. In the log a stub stays in its place: an archived agent with the
same id, name, owner and labels, whose one turn has the beginnings of the prompts, so that search
finds it. The object is written and read back before anything leaves the log. The object of an
encrypted space is encrypted with the key of the space.

It needs the extra `archive`: `pip install 'sapwood[archive]'`. An address is what `obstore` takes,
such as `s3://bucket/prefix` or `file:///folder`; credentials come from the environment.

Encrypts the archive of a conversation with the key of its space, if the space has one.
"""

import gzip
import hashlib
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable
from urllib.parse import quote

import msgspec
from msgspec import Struct, field

from sapwood.core.erasure import ARCHIVE, ArchivedConversation
from sapwood.core.errors import LogError, RefusedError
from sapwood.core.event_texts import event_texts
from sapwood.core.events import Actor, MailSent, Recorded, TurnRecorded, TurnStarted
from sapwood.core.events.codec import decode, encode
from sapwood.core.ids import AgentId, CommandId, Space
from sapwood.core.log_values import AgentSummary, Append, Commit, Receipt
from sapwood.core.refusals import ConversationInUse, UnknownAgent
from sapwood.lifecycle.erasable_log import ErasableLog
from sapwood.lifecycle.erasure import Eraser
from sapwood.turns.clock_and_ids import new_record_id
from sapwood.turns.log import Log

if TYPE_CHECKING:
    from obstore.store import ObjectStore


_MAX_WORDS = 2_000
"""Characters of prompts that a stub keeps for search."""

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
    if summary.tags is None:
        return ""
    return next((each.value for each in summary.tags.metadata if each.name == ARCHIVE), "")


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


CloseConversation = Callable[[Sequence[AgentSummary]], Awaitable[bool]]
"""Sees to it that nothing more is added to the agents of a conversation. Returns false, and changes
nothing, if one of them was used since these summaries were read."""


async def archive_conversation(
    log: ErasableLog,
    space: Space,
    root: AgentId,
    place: str,
    close: CloseConversation,
    *,
    by: str,
) -> tuple[ArchivedConversation, AgentSummary, str]:
    """Writes a conversation to object storage and takes it out of the log.

    Returns the archive, the summary of the root, and the text for its stub. Raises `RefusedError`
    if there is no such root or if it is in use, and `LogError` if the object cannot be written and
    read back; then nothing was changed in the log.
    """
    family = await log.family(space, root)
    if not family or family[0].agent != root:
        raise RefusedError(UnknownAgent(root))
    eraser = Eraser(log, space)
    await eraser.require_no_hold([root])
    lines: list[bytes] = []
    words: list[str] = []
    for summary in family:
        events = await log.read(space, summary.agent, 1, summary.version)
        lines.append(msgspec.json.encode(_Agent(summary, len(events))))
        lines += [msgspec.json.encode(_line(each)) for each in events]
        words += [
            event_texts(each.event).search
            for each in events
            if isinstance(each.event, TurnStarted | TurnRecorded)
        ]
    data = await sealed(log, space, gzip.compress(b"\n".join(lines), mtime=0))
    digest = hashlib.sha256(data).hexdigest()
    name = f"{quote(space, safe='')}/{quote(root, safe='')}-{digest[:16]}.jsonl.gz"
    await _write(place, name, data)
    address = f"{place.rstrip('/')}/{name}"
    if not await close(family):
        await delete_object(address)
        raise RefusedError(ConversationInUse(root))
    await eraser.erase([root], by=by, scope="archive")
    count = sum(summary.version for summary in family)
    archived = ArchivedConversation(address, len(data), len(family), count)
    return archived, family[0], _shortened(words)


async def restore_conversation(
    log: ErasableLog, space: Space, stub: AgentId | None, address: str, *, by: str
) -> int:
    """Brings an archived conversation back in place of its stub. Returns the number of agents.

    The object stays. Raises `LogError` if it cannot be read; then the stub stays. Without a stub,
    for example after a crash, raises `VersionConflict` if one of the agents exists.
    """
    agents = await read_archive(log, space, address)
    if stub is not None:
        await Eraser(log, space).erase([stub], by=by, scope="archive")
    appends = tuple(
        Append(summary.agent, 0, tuple(events), summary) for summary, events in agents if events
    )
    command = CommandId(f"restore-{new_record_id()}")
    await log.commit(space, Commit(appends, Receipt(command, "Restored from an archive.")))
    return len(appends)


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


def _shortened(words: list[str]) -> str:
    room = _MAX_WORDS // max(1, len(words))
    return "\n".join(text[: max(40, room)] for text in words)[:_MAX_WORDS]


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
    try:
        from obstore.store import from_url
    except ModuleNotFoundError as error:
        raise LogError(_MISSING) from error
    return from_url(place)


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
