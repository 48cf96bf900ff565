"""A session store of the Claude Agent SDK that is kept in Sapwood.

The SDK hands over each row that Claude Code writes to its transcript, and asks for all rows of a
session when it is resumed. The store keeps what was said, and gives back what is in view. It fits
the SDK's protocol `SessionStore` and imports nothing of the SDK.
"""

import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from msgspec import structs

from sapwood.api import Agent, Sapwood
from sapwood.core.content import RecordedReply
from sapwood.core.turn import Reply, Turn
from sapwood.core.view import Message, Request
from sapwood_frameworks.anthropic_blocks import blocks_of, items_of_user, reply_of
from sapwood_frameworks.conversation import Conversation, Database, Item

Row = Mapping[str, object]

_OPEN_ENDS = (None, "tool_use", "pause_turn")
"""How a reply of Claude ends after which more of the turn follows."""
_CLEARED = "[The earlier conversation is out of view.]"


class SapwoodSessionStore:
    """All sessions of a program: `ClaudeAgentOptions(session_store=SapwoodSessionStore("h.db"))`.

    `database` is an address as for `sapwood.open`, or an open `Sapwood`. A session of more than
    `cap` tokens is trimmed at its beginning when it is resumed; 0 trims nothing. The id of a
    session is the id of its agent.
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
        self._conversations: dict[str, Conversation] = {}
        self._seen: set[str] = set()
        self._unfinished: dict[str, list[Row]] = {}

    def conversation(self, session_id: str, subpath: str = "") -> Conversation:
        """The conversation of a session, or of a subagent of it."""
        name = f"{session_id}/{subpath}" if subpath else session_id
        if name not in self._conversations:
            self._conversations[name] = Conversation(self._database, name, cap=self._cap)
        return self._conversations[name]

    async def agent(self, session_id: str) -> Agent:
        """Returns the agent that keeps a session: for marks, rewind, undo, pins and search."""
        return await self.conversation(session_id).agent()

    async def fork(self, session_id: str, mark: str | None = None) -> str:
        """Starts a session with the context of another one, and returns its id."""
        forked = str(uuid.uuid4())
        await self.conversation(session_id).fork(forked, mark)
        return forked

    async def close(self) -> None:
        """Closes the database, if the store opened it."""
        await self._database.close()

    # Keys and rows are `Any` because their types are classes of the SDK.

    async def append(self, key: Any, entries: Sequence[Any]) -> None:
        """Keeps what the user, the model and the tools said in these rows."""
        conversation = self.conversation(key["session_id"], key.get("subpath") or "")
        new: list[Row] = [row for row in entries if self._is_new(row)]
        rows, unfinished = _split([*self._unfinished.get(conversation.id, ()), *new])
        items, is_open = _items(rows)
        if items:
            await conversation.add(items, completes=not is_open)
        self._unfinished[conversation.id] = unfinished
        self._seen.update(str(row["uuid"]) for row in new)

    async def load(self, key: Any) -> list[Any] | None:
        """Returns what is in view, as rows of a transcript; None for a session without turns."""
        conversation = self.conversation(key["session_id"], key.get("subpath") or "")
        opened = await (await conversation.agent()).opened()
        if opened.state.context.tip is None:
            return None
        model = next((name for turn in reversed(opened.live.turns) for name in _models(turn)), "")
        return _rows(await conversation.request(), key["session_id"], model)

    async def list_sessions(self, project_key: str) -> list[Any]:
        """Returns the sessions of the space, whatever their project, newest first."""
        db = await self._database.db()
        return [
            {"session_id": found.agent, "mtime": found.updated // 1_000}
            for found in await db.agents(limit=1_000, status="running")
        ]

    def _is_new(self, row: Row) -> bool:
        name = str(row.get("uuid") or "")
        return row.get("type") in ("user", "assistant") and not (
            name in self._seen or name in {"", _ours(name)}
        )


def _ours(name: str) -> str:
    """The id itself if `_rows` made it: Claude Code makes random ones."""
    try:
        return name if uuid.UUID(name).version == 5 else ""
    except ValueError:
        return ""


def _split(rows: list[Row]) -> tuple[list[Row], list[Row]]:
    """The rows up to the last complete message, and those of a reply that is still arriving."""
    end = len(rows)
    while end and rows[end - 1]["type"] == "assistant" and _stop_reason(rows[end - 1]) is None:
        end -= 1
    return rows[:end], rows[end:]


def _stop_reason(row: Row) -> object:
    return cast("Mapping[str, object]", row.get("message") or {}).get("stop_reason")


def _items(rows: Sequence[Row]) -> tuple[list[Item], bool]:
    """What the rows say, and whether more of the turn follows. One reply may be several rows."""
    items: list[Item] = []
    ended: object = None
    for row in rows:
        message = cast("Mapping[str, object]", row.get("message") or {})
        if row["type"] == "user":
            items += items_of_user(message.get("content"))
            ended = None
            continue
        reply, last = reply_of(message), items[-1] if items else None
        if isinstance(last, RecordedReply):
            items[-1] = structs.replace(reply, parts=(*last.parts, *reply.parts))
        else:
            items.append(reply)
        ended = _stop_reason(row)
    return items, ended in _OPEN_ENDS


def _models(turn: Turn) -> list[str]:
    replies = [item for item in turn.items if isinstance(item, Reply) and item.model]
    return [reply.model.removeprefix("anthropic:") for reply in reversed(replies)]


def _rows(request: Request, session: str, model: str) -> list[dict[str, object]]:
    """A chain of rows. Claude Code sends thinking again only to the model that a row names."""
    rows: list[dict[str, object]] = []
    before: str | None = None
    pins: list[dict[str, object]] = [
        {"type": "text", "text": block.text} for block in request.system if block.text.strip()
    ]
    messages = request.messages or (Message("user", ()),)
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    for number, message in enumerate(messages):
        content = [*pins, *blocks_of(message)] or [{"type": "text", "text": _CLEARED}]
        pins = []
        name = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{session}/{number}/{content}"))
        said: dict[str, object] = {"role": message.role, "content": content}
        if message.role == "assistant":
            said |= {"type": "message", "id": f"msg_{name.replace('-', '')[:24]}", "model": model}
        rows.append(
            {
                "type": message.role,
                "uuid": name,
                "parentUuid": before,
                "sessionId": session,
                "timestamp": now,
                "message": said,
            }
        )
        before = name
    return rows
