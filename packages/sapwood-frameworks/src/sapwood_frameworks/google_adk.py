# pyright: basic, reportMissingImports=false
# The framework is not installed beside the others, as their requirements exclude each other.
"""A session service of Google's Agent Development Kit that is kept in Sapwood."""

import uuid
from pathlib import Path
from typing import Any

from sapwood.api import Agent, Sapwood
from sapwood.core.content import RecordedReply, ToolCall
from sapwood.core.log_values import AgentSummary, Where
from sapwood.core.view import Request
from sapwood_frameworks.conversation import (
    Conversation,
    Database,
    StoredValues,
    framework_missing,
)
from sapwood_frameworks.gemini_parts import items_of_user, parts_of, reply_of
from sapwood_frameworks.session_names import (
    conversation_name,
    joined_names,
    names_of,
    owner_names,
    session_values,
    user_values,
)

try:
    from google.adk.errors.already_exists_error import AlreadyExistsError
    from google.adk.events import Event
    from google.adk.sessions import BaseSessionService, Session
    from google.adk.sessions.base_session_service import GetSessionConfig, ListSessionsResponse
    from google.genai.types import Content
except ModuleNotFoundError as missing:
    raise framework_missing("google-adk", missing) from missing


_APP, _USER, _TEMP = "app:", "user:", "temp:"
_AUTHOR = "author"


class SapwoodSessionService(BaseSessionService):
    """All sessions of an app: `Runner(…, session_service=SapwoodSessionService("chats.db"))`.

    `database` is an address as for `sapwood.open`, or an open `Sapwood`. A session of more than
    `cap` tokens is trimmed at its beginning; 0 trims nothing. The events of a session are what is
    in view. State with the prefixes `app:` and `user:` is shared as ADK does it.
    """

    def __init__(
        self,
        database: str | Path | Sapwood = ":memory:",
        *,
        space: str = "local",
        cap: int = 0,
    ) -> None:
        self._database = Database(database, space=space)
        self._cap = cap

    async def conversation(self, app_name: str, user_id: str, session_id: str) -> Conversation:
        """Returns the conversation of a session; its id is made of all three names."""
        name = await conversation_name(self._database, app_name, user_id, session_id)
        owner = joined_names(app_name, user_id)
        return Conversation(self._database, name, cap=self._cap, owner=owner)

    async def agent(self, app_name: str, user_id: str, session_id: str) -> Agent:
        """Returns the agent that keeps a session: for marks, rewind, undo, pins and search."""
        return await (await self.conversation(app_name, user_id, session_id)).agent()

    async def fork(
        self, app_name: str, user_id: str, session_id: str, new_id: str, mark: str | None = None
    ) -> None:
        """Starts the session `new_id` with the context of another one."""
        conversation = await self.conversation(app_name, user_id, session_id)
        name = await conversation_name(self._database, app_name, user_id, new_id)
        await conversation.fork(name, mark)

    async def close(self) -> None:
        """Closes the database, if the service opened it."""
        await self._database.close()

    # The methods of ADK's base class

    async def create_session(
        self,
        *,
        app_name: str,
        user_id: str,
        state: dict[str, Any] | None = None,
        session_id: str | None = None,
    ) -> Session:
        """Starts a session. Raises `AlreadyExistsError` if there is one with this id."""
        name = (session_id or "").strip() or str(uuid.uuid4())
        if await self._exists(app_name, user_id, name):
            raise AlreadyExistsError(f"Session with id {name} already exists.")
        await self._start(app_name, user_id, name)
        await self._update_state(app_name, user_id, name, state or {})
        session = await self.get_session(app_name=app_name, user_id=user_id, session_id=name)
        assert session is not None
        return session

    async def _start(self, app_name: str, user_id: str, session_id: str) -> None:
        """Starts the agent of a session; one of a deleted session starts afresh."""
        agent = await self.agent(app_name, user_id, session_id)
        state = await agent.state()
        if state.status == "running":
            return
        await agent.unarchive()  # before anything is stored: a killed agent is refused here
        for pin in state.pins:
            await agent.unpin(pin.name)
        conversation = await self.conversation(app_name, user_id, session_id)
        await conversation.clear()
        await (await session_values(self._database, conversation.session)).clear()

    async def get_session(
        self,
        *,
        app_name: str,
        user_id: str,
        session_id: str,
        config: GetSessionConfig | None = None,
    ) -> Session | None:
        """Returns a session with the events in view; None if there is none."""
        if not await self._exists(app_name, user_id, session_id):
            return None
        conversation = await self.conversation(app_name, user_id, session_id)
        updated = (await (await conversation.agent()).state()).updated / 1_000_000
        own = await (await session_values(self._database, conversation.session)).read()
        author = await self._author(app_name, user_id, session_id) or "model"
        events = _events(await conversation.request(), author, updated)
        recent = config.num_recent_events if config else None
        if recent is not None:
            events = events[-recent:] if recent else []
        return Session(
            id=session_id,
            app_name=app_name,
            user_id=user_id,
            state=await self._state(app_name, user_id, own),
            events=events,
            last_update_time=updated,
        )

    async def list_sessions(
        self, *, app_name: str, user_id: str | None = None
    ) -> ListSessionsResponse:
        """Returns the sessions of a user, or of all users, without events, oldest first."""
        owners = [""] if user_id is None else owner_names(app_name, user_id)
        found: list[Session] = []
        for each in [each for owner in owners for each in await self._running(owner)]:
            names = names_of(each)
            if names is None or names[0] != app_name or user_id not in (None, names[1]):
                continue
            updated = each.updated / 1_000_000
            _, user, session = names
            found.append(
                Session(id=session, app_name=app_name, user_id=user, last_update_time=updated)
            )
        found.sort(key=lambda each: (each.last_update_time, each.user_id, each.id))
        return ListSessionsResponse(sessions=found)

    async def _running(self, owner: str) -> list[AgentSummary]:
        db = await self._database.db()
        where = Where(owner=owner, status="running")
        found = page = await db.agents(where=where, limit=500)
        while page:
            page = await db.agents(where=where, limit=500, after=page[-1])
            found += page
        return found

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Archives the session: it is listed no more. Its log stays; `sapwood erase` removes it."""
        if await self._exists(app_name, user_id, session_id):
            await (await self.agent(app_name, user_id, session_id)).archive()

    async def get_user_state(self, *, app_name: str, user_id: str) -> dict[str, Any]:
        """Returns the state that all sessions of a user share, without its prefix."""
        return await (await user_values(self._database, app_name, user_id)).read()

    async def append_event(self, session: Session, event: Event) -> Event:
        """Stores an event. What is partial is not stored."""
        if event.partial:
            return event
        names = session.app_name, session.user_id, session.id
        delta = event.actions.state_delta if event.actions else {}
        await self._update_state(*names, delta)
        parts = [part.model_dump(exclude_none=True) for part in _parts_of(event)]
        if parts and event.author == "user":
            await (await self.conversation(*names)).add(items_of_user(parts))
        elif parts:
            await self._add_reply(names, event, parts)
        return await super().append_event(session, event)

    async def _add_reply(
        self, names: tuple[str, str, str], event: Event, parts: list[dict[str, Any]]
    ) -> None:
        conversation = await self.conversation(*names)
        if any("function_response" in part for part in parts):
            await conversation.add(items_of_user(parts))
            return
        if await self._author_of(conversation.session) != event.author:
            await self._authors(conversation.session).update({_AUTHOR: event.author})
        reply: RecordedReply = reply_of(parts, event.model_version or "")
        calls = any(isinstance(part, ToolCall) for part in reply.parts)
        await conversation.add([reply], completes=not calls)

    # State

    async def _author(self, app_name: str, user_id: str, session_id: str) -> str:
        """Who answered last in a session, or in those that it was forked from; empty if nobody did.

        ADK tells an agent its own words from those of others. Databases of earlier versions have
        one author for all sessions of an app.
        """
        conversation = await self.conversation(app_name, user_id, session_id)
        if author := await self._author_of(conversation.session):
            return author
        connection = (await self._database.db()).connection
        for above in await connection.log.ancestors(connection.space, conversation.id):
            parent = await connection.log.summary(connection.space, above)
            if parent is not None and (author := await self._author_of(parent.name)):
                return author
        return await self._author_of(app_name)

    async def _author_of(self, name: str) -> str:
        return str((await self._authors(name).read()).get(_AUTHOR) or "")

    def _authors(self, name: str) -> StoredValues:
        """Who answered last in the conversation with this name."""
        return StoredValues(self._database, f"author/{name}")

    async def _update_state(
        self, app_name: str, user_id: str, session_id: str, changes: dict[str, Any]
    ) -> None:
        """Stores a change of the state, each value with those that share it; none of `temp:`."""
        app, user, own = {}, {}, {}
        for key, value in changes.items():
            if key.startswith(_APP):
                app[key.removeprefix(_APP)] = value
            elif key.startswith(_USER):
                user[key.removeprefix(_USER)] = value
            elif not key.startswith(_TEMP):
                own[key] = value
        await self._app_values(app_name).update(app)
        if user:
            await (await user_values(self._database, app_name, user_id)).update(user)
        if own:
            name = await conversation_name(self._database, app_name, user_id, session_id)
            await (await session_values(self._database, name)).update(own)

    def _app_values(self, app_name: str) -> StoredValues:
        return StoredValues(self._database, joined_names(app_name))

    async def _state(self, app_name: str, user_id: str, own: dict[str, Any]) -> dict[str, Any]:
        app = await self._app_values(app_name).read()
        user = await self.get_user_state(app_name=app_name, user_id=user_id)
        return {
            **own,
            **{_APP + key: value for key, value in app.items()},
            **{_USER + key: value for key, value in user.items()},
        }

    async def _exists(self, app_name: str, user_id: str, session_id: str) -> bool:
        conversation = await self.conversation(app_name, user_id, session_id)
        agent = Agent((await self._database.db()).connection, conversation.id)
        return (await agent.state()).status == "running"


def _parts_of(event: Event) -> list[Any]:
    return list(event.content.parts or ()) if event.content else []


def _events(request: Request, author: str, at: float) -> list[Event]:
    """The request as events; pins are in front of the first message."""
    pins = [{"text": block.text} for block in request.system if block.text.strip()]
    events: list[Event] = []
    for message in request.messages:
        by_user = message.role == "user"
        parts = parts_of(message)
        answers = [part for part in parts if "function_response" in part]
        said = [*pins, *(part for part in parts if "function_response" not in part)]
        pins = []
        for group, name in ((answers, author), (said, "user" if by_user else author)):
            if group:
                role = "user" if by_user else "model"
                content = Content.model_validate({"role": role, "parts": group})
                events.append(
                    Event(author=name, content=content, invocation_id="sapwood", timestamp=at)
                )
    return events
