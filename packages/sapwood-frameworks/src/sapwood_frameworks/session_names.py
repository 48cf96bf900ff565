"""Names of conversations and values that are made of several names, such as app, user and session.

Names without a slash are joined by slashes. If one of them has a slash, all are escaped and joined
by `%%`. So two lists of names never give the same text, and an escaped one has no slash.

Earlier versions joined all names by slashes. What they stored under such a name is found by its own
user: a conversation by its owner, and the values of a user if they are those of no session.
"""

from collections.abc import Sequence

from sapwood.core.ids import AgentId
from sapwood.core.log_values import AgentSummary, Where
from sapwood_frameworks.conversation import Database, StoredValues, agent_id

_ESCAPED = "%%"


def joined_names(*names: str) -> str:
    """One text for several names.

    >>> joined_names("chats", "ada", "main"), joined_names("chats", "org/bob", "main")
    ('chats/ada/main', 'chats%%org%2Fbob%%main')
    """
    if not any("/" in name for name in names):
        return "/".join(names)
    return _ESCAPED.join(name.replace("%", "%25").replace("/", "%2F") for name in names)


def names_of(found: AgentSummary) -> tuple[str, str, str] | None:
    """App, user and session of a conversation in a list; None if it is another agent."""
    if found.agent != agent_id(found.name):
        return None
    if "/" not in found.name:
        escaped = found.name.split(_ESCAPED)
        names = [name.replace("%2F", "/").replace("%25", "%") for name in escaped]
        return (names[0], names[1], names[2]) if len(names) == 3 else None
    owner = found.owner if found.name.startswith(f"{found.owner}/") else ""
    if found.name.count("/") == 2:
        owner = found.name.rpartition("/")[0]
    app, _, user = owner.partition("/")
    return (app, user, found.name[len(owner) + 1 :]) if user else None


def owner_names(app: str, user: str) -> Sequence[str]:
    """The owners under which the conversations of a user may be stored."""
    return tuple(dict.fromkeys((joined_names(app, user), f"{app}/{user}")))


async def conversation_name(database: Database, app: str, user: str, session: str) -> str:
    """The name under which the conversation of a session is stored, or is to be stored."""
    name, earlier = joined_names(app, user, session), f"{app}/{user}/{session}"
    if name == earlier or await _summary(database, agent_id(name)) is not None:
        return name
    found = await _summary(database, agent_id(earlier))
    if found is None or found.status != "running" or "/" in app:
        return name
    return earlier if found.owner == f"{app}/{user}" else name


async def session_values(database: Database, conversation: str) -> StoredValues:
    """The state of the session whose conversation has this name."""
    values, apart = (StoredValues(database, name) for name in (conversation, f"{conversation}/"))
    if "/" not in conversation:
        return values
    if await _summary(database, apart.id) is not None:
        return apart
    # A user of an earlier version may have had this name, and state under it.
    db = await database.db()
    return apart if await db.agents(where=Where(owner=conversation), limit=1) else values


async def user_values(database: Database, app: str, user: str) -> StoredValues:
    """The state that the sessions of a user share."""
    values = StoredValues(database, joined_names(app, user))
    earlier = StoredValues(database, f"{app}/{user}")
    if values.id == earlier.id or await _summary(database, values.id) is not None:
        return values
    if "/" in app or (stored := await _summary(database, earlier.id)) is None:
        return values
    # A session of an earlier version may have had this name; it was started before its state.
    session = await _summary(database, agent_id(f"{app}/{user}"))
    is_users = session is None or session.created > stored.created
    return earlier if is_users else values


async def _summary(database: Database, agent: str) -> AgentSummary | None:
    connection = (await database.db()).connection
    return await connection.log.summary(connection.space, AgentId(agent))
