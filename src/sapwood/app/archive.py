"""Archives conversations in object storage: the object, the stub in its place, and the way back."""

from typing import TYPE_CHECKING

from sapwood.app.conversation_service import offline_service
from sapwood.config.config_file import Config
from sapwood.core.commands import Archive, RecordTurn
from sapwood.core.content import Text
from sapwood.core.erasure import ARCHIVE, ArchivedConversation
from sapwood.core.errors import LogError
from sapwood.core.events import SYSTEM
from sapwood.core.ids import AgentId
from sapwood.core.settings import Settings
from sapwood.core.tags import Tags, entries_of
from sapwood.lifecycle.archive import (
    archive_address,
    archive_conversation,
    restore_conversation,
)
from sapwood.lifecycle.erasable_log import erasable

if TYPE_CHECKING:
    from sapwood.app.connection import Connection


async def archive_agent(
    connection: "Connection", root: AgentId, place: str, *, by: str
) -> ArchivedConversation:
    """Moves the conversation of a root to object storage and leaves a stub in its place.

    Raises `RefusedError` if a legal hold covers it, and `LogError` if the object cannot be written.
    """
    log = erasable(connection.log)
    archived, facts, words = await archive_conversation(log, connection.space, root, place, by=by)
    connection.dispatcher.forget([root])
    tags = facts.tags or Tags()
    kept = {each.name: each.value for each in tags.metadata}
    service = offline_service(connection, Config())
    await service.start(
        facts.folder,
        name=facts.name,
        settings=Settings(facts.model),
        agent=root,
        tags=Tags(tags.owner, tags.labels, entries_of({**kept, ARCHIVE: archived.address})),
    )
    note = f"This conversation is in an archive: {archived.address}"
    await service.dispatch(RecordTurn(root, (Text(words or note),), ()), SYSTEM)
    await service.dispatch(Archive(root), SYSTEM)
    return archived


async def restore_agent(
    connection: "Connection", stub: AgentId | None, address: str = "", *, by: str
) -> int:
    """Brings the conversation back of which this agent is the stub. Returns its agents.

    Without a stub, `address` is that of the object. Raises `LogError` if it is no stub, or if its
    object cannot be read.
    """
    log, space = erasable(connection.log), connection.space
    if stub is not None:
        facts = await log.facts(space, stub)
        address = archive_address(facts) if facts is not None else ""
        if not address:
            raise LogError(f"'{stub}' is not archived. Nothing was changed.")
    agents = await restore_conversation(log, space, stub, address, by=by)
    if stub is not None:
        connection.dispatcher.forget([stub])
    return agents
