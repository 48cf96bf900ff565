"""`/v1/conversations` for OpenAI clients. A conversation is an agent, by the same id."""

from collections.abc import Iterable

from msgspec import Struct

from sapwood.app.removal import eraser_for
from sapwood.core.commands import Archive, TagAgent
from sapwood.core.content import File, Note, PromptPart, Text, Thinking, ToolCall
from sapwood.core.ids import AgentId
from sapwood.core.log_values import AgentSummary
from sapwood.core.tags import Entry, Tags, entries_of
from sapwood.core.turn import Reply, Turn
from sapwood_server.protocols.openai_input import as_type, bad_request, read_input
from sapwood_server.protocols.openai_prompt import record_turns, start_conversation
from sapwood_server.protocols.openai_stream import Fields
from sapwood_server.request_context import RequestContext, Routes

_MAX_BYTES = 25_000_000
_PAGE = 20
_MAX_PAGE = 100


ROUTES = Routes(errors="openai")
_ONE = "/v1/conversations/{agent}"


class _NewConversation(Struct, frozen=True):
    items: list[Fields] | None = None
    metadata: dict[str, str] | None = None


class _NewItems(Struct, frozen=True):
    items: list[Fields]


class _NewMetadata(Struct, frozen=True):
    metadata: dict[str, str] | None = None


@ROUTES.add(
    "POST", "/v1/conversations", "write", "Start a conversation (OpenAI API)", max_bytes=_MAX_BYTES
)
async def create_conversation(call: RequestContext) -> Fields:
    """Starts a conversation, with turns that were before if there are any."""
    body = await call.body()
    asked = as_type(body, _NewConversation, "body")
    given = read_input(asked.items or [])
    system = "\n\n".join(given.system) or None
    tags = Tags(metadata=entries_of(asked.metadata or {}))
    agent = await start_conversation(call, tags, system=system)
    if given.results:
        raise bad_request("items", "Function results must follow their calls.")
    await record_turns(call, agent, given.turns)
    connection = call.space.connection
    summary = await connection.log.summary(connection.space, agent)
    assert summary is not None
    return _conversation(summary)


@ROUTES.add("GET", _ONE, "read", "Show a conversation")
async def show_conversation(call: RequestContext, summary: AgentSummary) -> Fields:
    """One conversation."""
    return _conversation(summary)


@ROUTES.add("POST", _ONE, "write", "Change a conversation's metadata")
async def update_conversation(call: RequestContext, summary: AgentSummary) -> Fields:
    """Changes the metadata: what is not named is removed."""
    asked = as_type(await call.body(), _NewMetadata, "body")
    wanted, now = asked.metadata or {}, _metadata(summary)
    entries = [Entry(name, value) for name, value in sorted(wanted.items())]
    entries += [Entry(name, "") for name in sorted(now) if name not in wanted]
    if entries:
        tag = TagAgent(summary.agent, metadata=tuple(entries))
        await call.service.dispatch(tag, call.principal.actor)
    return _conversation(await call.summary())


@ROUTES.add("DELETE", _ONE, "write", "Erase or archive a conversation")
async def delete_conversation(call: RequestContext, summary: AgentSummary) -> Fields:
    """Erases the conversation for an administrator, and archives it for others.

    An archived one is in no list and can be brought back, so it is not `deleted`.
    """
    erases = "admin" in call.principal.scopes
    if erases:
        eraser = eraser_for(call.space.connection)
        await eraser.erase([summary.agent], by=str(call.principal.actor))
    elif summary.status == "running":
        await call.service.dispatch(Archive(summary.agent), call.principal.actor)
    return {"id": summary.agent, "object": "conversation.deleted", "deleted": erases}


@ROUTES.add("GET", f"{_ONE}/items", "read", "List what the model sees of a conversation")
async def list_items(call: RequestContext, agent: AgentId) -> Fields:
    """What the model sees of the conversation now, newest first unless the order is `asc`."""
    live = (await call.space.connection.dispatcher.open(agent)).live
    items = [item for turn in live.all_turns for item in _items(turn)]
    if call.query("order", "desc") == "desc":
        items.reverse()
    if after := call.query("after"):
        ids = [item["id"] for item in items]
        if after not in ids:
            raise bad_request("after", f"There is no item '{after[:80]}'.")
        items = items[ids.index(after) + 1 :]
    limit = call.number("limit", _PAGE, minimum=1, maximum=_MAX_PAGE)
    return _listed(items[:limit], has_more=len(items) > limit)


@ROUTES.add("POST", f"{_ONE}/items", "write", "Add earlier turns", max_bytes=_MAX_BYTES)
async def create_items(call: RequestContext, agent: AgentId) -> Fields:
    """Records turns that were before."""
    given = read_input(as_type(await call.body(), _NewItems, "body").items)
    if given.results:
        raise bad_request("items", "Function results must follow their calls.")
    before = len((await call.space.connection.dispatcher.open(agent)).live.turns)
    await record_turns(call, agent, given.turns)
    live = (await call.space.connection.dispatcher.open(agent)).live
    added = [item for turn in live.turns[before:] for item in _items(turn)]
    return _listed(added, has_more=False)


def _conversation(summary: AgentSummary) -> Fields:
    return {
        "id": summary.agent,
        "object": "conversation",
        "created_at": summary.created // 1_000_000,
        "metadata": _metadata(summary),
    }


def _metadata(summary: AgentSummary) -> dict[str, str]:
    """The metadata of the conversation, without what only Sapwood writes."""
    entries = summary.tags.metadata if summary.tags else ()
    return {each.name: each.value for each in entries if not each.is_reserved}


def _listed(items: list[Fields], *, has_more: bool) -> Fields:
    return {
        "object": "list",
        "data": items,
        "first_id": items[0]["id"] if items else None,
        "last_id": items[-1]["id"] if items else None,
        "has_more": has_more,
    }


def _items(turn: Turn) -> Iterable[Fields]:
    """The items of a turn, each with an id by its place."""
    place = f"{turn.agent}_{turn.first}"
    yield {
        "type": "message",
        "id": f"msg_{place}",
        "role": "user",
        "status": "completed",
        "content": [_prompt_part(part) for part in turn.prompt],
    }
    number = 0
    for item in turn.items:
        if not isinstance(item, Reply):
            number += 1
            yield {
                "type": "function_call_output",
                "id": f"out_{place}_{number}",
                "call_id": item.call,
                "output": item.content,
                "status": "completed",
            }
            continue
        for part in item.parts:
            number += 1
            match part:
                case ToolCall(call, name, args):
                    yield {
                        "type": "function_call",
                        "id": f"fc_{place}_{number}",
                        "call_id": call,
                        "name": name,
                        "arguments": args,
                        "status": "completed",
                    }
                case Text(text):
                    yield {
                        "type": "message",
                        "id": f"msg_{place}_{number}",
                        "role": "assistant",
                        "status": "completed",
                        "content": [{"type": "output_text", "text": text, "annotations": []}],
                    }
                case Thinking(text):
                    yield {
                        "type": "reasoning",
                        "id": f"rs_{place}_{number}",
                        "summary": [{"type": "summary_text", "text": text}],
                    }
                case File():
                    yield {
                        "type": "image_generation_call",
                        "id": f"image_{place}_{number}",
                        "status": "completed",
                        "result": part.data,
                    }


def _prompt_part(part: PromptPart) -> Fields:
    match part:
        case Text(text) | Note(text=text):
            return {"type": "input_text", "text": text}
        case File():
            address = part.data_url
            if part.media_type.startswith("image/"):
                return {"type": "input_image", "image_url": address, "detail": "auto"}
            return {"type": "input_file", "file_data": address, "filename": part.name}
