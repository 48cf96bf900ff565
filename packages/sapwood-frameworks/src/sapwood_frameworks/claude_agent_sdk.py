"""A session store of the Claude Agent SDK that is kept in Sapwood.

The SDK hands over each row that Claude Code writes to its transcript, and asks for all rows of a
session when it is resumed. The store keeps what was said, and gives back what is in view. It fits
the SDK's protocol `SessionStore` and imports nothing of the SDK.
"""

import json
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from msgspec import structs

from sapwood.api import Agent, Sapwood
from sapwood.core.content import (
    File,
    RecordedReply,
    RecordedResult,
    ReplyPart,
    Text,
    Thinking,
    ToolCall,
)
from sapwood.core.turn import Reply, Turn
from sapwood.core.view import Message, Request, ToolResult
from sapwood.core.view.frames import EMPTY_RESULT
from sapwood.models.wire.signatures import REDACTED
from sapwood_frameworks.content_files import file_in, not_kept
from sapwood_frameworks.conversation import Conversation, Database, Item, Prompt

Block = dict[str, object]

_PROVIDER = "anthropic"
_TAKEN = ("image/gif", "image/jpeg", "image/png", "image/webp", "application/pdf")


def items_of_user(content: object) -> list[Item]:
    """The tool results and the texts in a message of the user."""
    items: list[Item] = []
    for block in _blocks(content):
        kind = block.get("type")
        if kind == "tool_result":
            text, files = _result(block.get("content"))
            error = bool(block.get("is_error"))
            call = str(block.get("tool_use_id"))
            items.append(RecordedResult(call, text, error, files=files))
        elif kind == "text" and str(block.get("text")).strip():
            items.append(Prompt((Text(str(block.get("text"))),)))
        elif kind != "text":
            items.append(Prompt((file_in(block) or Text(not_kept(kind)),)))
    return items


def reply_of(message: Mapping[str, object]) -> RecordedReply:
    """A message of the model."""
    parts: list[ReplyPart] = []
    for block in _blocks(message.get("content")):
        match block.get("type"):
            case "text" if str(block.get("text")).strip():
                parts.append(Text(str(block.get("text"))))
            case "thinking":
                signature = str(block.get("signature") or "")
                parts.append(Thinking(str(block.get("thinking")), _PROVIDER, signature))
            case "redacted_thinking":
                parts.append(Thinking("", _PROVIDER, f"{REDACTED}{block.get('data')}"))
            case "tool_use":
                args = json.dumps(block.get("input") or {}, ensure_ascii=False)
                parts.append(ToolCall(str(block.get("id")), str(block.get("name")), args))
            case _:
                pass
    model = str(message.get("model") or "")
    return RecordedReply(tuple(parts), f"{_PROVIDER}:{model}" if model else "")


def _blocks(content: object) -> Sequence[Mapping[str, object]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return cast("list[Mapping[str, object]]", content) if isinstance(content, list) else []


def _result(content: object) -> tuple[str, tuple[File, ...]]:
    """The text of a result, and its files."""
    texts: list[str] = []
    files: list[File] = []
    for block in _blocks(content):
        if (file := file_in(block)) is not None:
            files.append(file)
        else:
            texts.append(str(block.get("text") or f"[{block.get('type')}]"))
    return "\n\n".join(texts), tuple(files)


def blocks_of(message: Message) -> list[Block]:
    """The blocks of a message as the API takes them. Thinking of others is left out."""
    blocks: list[Block] = []
    for part in message.parts:
        match part:
            case Text():
                blocks.append({"type": "text", "text": part.text})
            case File():
                blocks.append(_file_block(part))
            case Thinking(provider="anthropic", signature=str(signature)) if signature:
                blocks.append(_thinking(part.text, signature))
            case ToolCall():
                blocks.append(
                    {"type": "tool_use", "id": part.id, "name": part.name, "input": _input(part)}
                )
            case ToolResult():
                result: Block = {
                    "type": "tool_result",
                    "tool_use_id": part.call,
                    "content": _result_content(part),
                }
                blocks.append({**result, "is_error": True} if part.error else result)
            case _:
                pass
    return blocks


def _result_content(result: ToolResult) -> object:
    if not result.files:
        return result.content
    texts = [] if result.content == EMPTY_RESULT else [{"type": "text", "text": result.content}]
    return [*texts, *map(_file_block, result.files)]


def _file_block(file: File) -> Block:
    """An image or a PDF as the API takes it; another file as text."""
    if file.media_type not in _TAKEN:
        return {"type": "text", "text": f"{file.text}\n{file.words}".strip()}
    kind = "image" if file.media_type.startswith("image/") else "document"
    source = {"type": "base64", "media_type": file.media_type, "data": file.data}
    block: Block = {"type": kind, "source": source}
    return {**block, "title": file.name} if file.name and kind == "document" else block


def _thinking(text: str, signature: str) -> Block:
    if signature.startswith(REDACTED):
        return {"type": "redacted_thinking", "data": signature.removeprefix(REDACTED)}
    return {"type": "thinking", "thinking": text, "signature": signature}


def _input(call: ToolCall) -> object:
    try:
        return json.loads(call.args)
    except (ValueError, RecursionError):
        return {"INVALID_JSON": call.args}


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
        rows, unfinished = _split([*await self._arrived(conversation), *new])
        items, is_open = _items(rows)
        if items:
            await conversation.add(items, completes=not is_open)
        if arriving := unfinished[-len(new) :] if new else []:
            await conversation.stream(tuple(part for row in arriving for part in _parts(row)))
        self._unfinished[conversation.id] = unfinished
        self._seen.update(str(row["uuid"]) for row in new)

    async def _arrived(self, conversation: Conversation) -> list[Row]:
        """The rows of the reply that is arriving; as one row if they came in another process."""
        if conversation.id not in self._unfinished:
            said = Message("assistant", await conversation.streamed())
            message = {"content": blocks_of(said), "stop_reason": None}
            row = {"type": "assistant", "message": message}
            self._unfinished[conversation.id] = [row] if said.parts else []
        return self._unfinished[conversation.id]

    async def load(self, key: Any) -> list[Any] | None:
        """Returns what is in view, as rows of a transcript; None for a session without turns."""
        conversation = self.conversation(key["session_id"], key.get("subpath") or "")
        opened = await (await conversation.agent()).opened()
        if opened.state.context.tip is None and opened.live.open is None:
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


def _parts(row: Row) -> tuple[ReplyPart, ...]:
    return reply_of(cast("Mapping[str, object]", row.get("message") or {})).parts


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
