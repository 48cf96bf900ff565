"""The log over HTTP, for clients that use the library: `sapwood.open("https://…")`, `--server`.

The calls are those of `client/log_calls.py`. They read one space: that of the principal.
"""

from importlib.metadata import version
from typing import assert_never

import msgspec
from starlette.responses import Response

from sapwood.core.events import Recorded
from sapwood.core.ids import Space
from sapwood.display.json_values import event_value
from sapwood.turns.log import Log
from sapwood_server.client.log_calls import (
    CALLS,
    AncestorsCall,
    ConversationsCall,
    DescendantsCall,
    EndCall,
    FactsCall,
    FamilyCall,
    FindCall,
    ListCall,
    LogCall,
    ReadCall,
    ReceiptCall,
    SearchCall,
    ServerSession,
    SnapshotCall,
    WorkingCall,
)
from sapwood_server.exchange import Endpoint, Exchange, Handler, json_response
from sapwood_server.problems import Problem

_MAX_EVENTS = 500
_MAX_AGENTS = 1_000
_MAX_BYTES = 4_000_000
"""A page of events ends after the event with which it reaches this size."""

_encode = msgspec.json.Encoder(enc_hook=str).encode


async def show_session(call: Exchange) -> Response:
    """Whom the server takes the client for."""
    who = call.principal
    scopes = tuple(sorted(who.scopes))
    return json_response(ServerSession(who.name, who.space, scopes, version("sapwood")))


def _log_call(kind: type[LogCall]) -> Handler:
    async def run(call: Exchange) -> Response:
        body = await call.body()
        try:
            asked = msgspec.convert(body, kind)
        except msgspec.MsgspecError as error:
            raise Problem(422, "Invalid arguments", f"The call cannot be read: {error}.") from None
        connection = call.space.connection
        return await _answer(connection.log, connection.space, asked)

    return run


async def _answer(log: Log, space: Space, call: LogCall) -> Response:
    match call:
        case ReadCall():
            return await _page(log, space, call)
        case FactsCall(agent):
            return json_response(await log.facts(space, agent))
        case ListCall(after, limit, parent, status, owner, label, order):
            found = await log.agents(
                space,
                after=after,
                limit=_few(limit),
                parent=parent,
                status=status,
                owner=owner,
                label=label,
                order=order,
            )
            return json_response(found)
        case ConversationsCall(folder, after, limit, status):
            listed = await log.conversations(
                space, folder, after=after, limit=_few(limit), status=status
            )
            return json_response(listed)
        case WorkingCall(after, limit):
            return json_response(await log.working(space, after=after, limit=_few(limit)))
        case FindCall(name, limit):
            return json_response(await log.find(space, name, _few(limit)))
        case AncestorsCall(agent):
            return json_response(await log.ancestors(space, agent))
        case DescendantsCall(agent):
            return json_response(await log.descendants(space, agent))
        case FamilyCall(agent):
            return json_response(await log.family(space, agent))
        case EndCall():
            return json_response(await log.end(space))
        case SearchCall(query, agents, limit, offset):
            hits = await log.search(
                space, query[:1000], agents=agents, limit=min(limit, 200), offset=offset
            )
            return json_response(hits)
        case ReceiptCall(command):
            return json_response(await log.receipt(space, command))
        case SnapshotCall(agent, schema, at):
            return json_response(await log.snapshot(space, agent, schema, at))
        case _:
            assert_never(call)


async def _page(log: Log, space: Space, call: ReadCall) -> Response:
    """A page of events: as many as were asked for, unless they are too many or too large."""
    limit = _MAX_EVENTS if call.limit is None else max(0, min(call.limit, _MAX_EVENTS))
    found = await log.read(
        space, call.agent, call.first, call.last, limit=limit, backward=call.backward
    )
    pieces: list[bytes] = []
    size = 0
    for recorded in found:
        pieces.append(_encode(event_value(recorded)))
        size += len(pieces[-1])
        if size > _MAX_BYTES:
            break
    cut_short = len(pieces) < len(found)
    wanted = call.limit is None or call.limit > limit
    more = cut_short or (wanted and len(found) == limit and not _is_last(found[-1], call))
    body = b'{"events":[%s],"more":%s}' % (b",".join(pieces), b"true" if more else b"false")
    return Response(body, headers={"Cache-Control": "no-store"}, media_type="application/json")


def _is_last(recorded: Recorded, call: ReadCall) -> bool:
    return recorded.version == (call.first if call.backward else call.last)


def _few(limit: int) -> int:
    return max(0, min(limit, _MAX_AGENTS))


def log_endpoints() -> tuple[Endpoint, ...]:
    """The routes of the calls, and of who is signed in."""
    return (
        Endpoint("GET", "/v1/session", "read", show_session, "Show who is signed in"),
        *(
            Endpoint(
                "POST",
                f"/v1/log/{name}",
                "read",
                _log_call(kind),
                _summary(kind),
                body=dict.fromkeys(kind.__struct_fields__, ""),
            )
            for name, (kind, _) in CALLS.items()
        ),
    )


def _summary(kind: type[LogCall]) -> str:
    return (kind.__doc__ or "").partition("\n")[0].rstrip(".")
