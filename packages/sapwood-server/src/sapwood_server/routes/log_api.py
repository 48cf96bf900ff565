"""The log over HTTP, for clients that use the library: `sapwood.open("https://…")`, `--server`.

The calls are those of `client/log_calls.py`. They read one space: that of the principal.
"""

from importlib.metadata import version

import msgspec
from msgspec import Struct, structs
from starlette.responses import Response

from sapwood.core.ids import AgentId, Space
from sapwood.display.json_values import event_value
from sapwood.turns.log import Log
from sapwood_server.client.log_calls import CALLS, ServerSession
from sapwood_server.problems import Problem
from sapwood_server.request_context import Endpoint, Handler, RequestContext, Routes, json_response

_MAX_EVENTS = 500
_MAX_LIMITS = {"search": 200}
_MAX_QUERY = 1_000
_MAX_BYTES = 4_000_000
"""A page of events ends after the event with which it reaches this size."""

_encode = msgspec.json.Encoder(enc_hook=str).encode


_ROUTES = Routes()


@_ROUTES.add("GET", "/v1/session", "read", "Show who is signed in")
async def show_session(call: RequestContext) -> ServerSession:
    """Whom the server takes the client for."""
    who = call.principal
    return ServerSession(who.name, who.space, tuple(sorted(who.scopes)), version("sapwood"))


def _handler(name: str, arguments: type[Struct]) -> Handler:
    async def run(call: RequestContext) -> Response:
        body = await call.body()
        try:
            asked = structs.asdict(msgspec.convert(body, arguments))
        except msgspec.MsgspecError as error:
            raise Problem(422, "Invalid arguments", f"The call cannot be read: {error}.") from None
        log, space = call.space.connection.log, call.space.connection.space
        if name == "read":
            return await _page(log, space, **asked)
        if "limit" in asked:
            asked["limit"] = max(0, min(asked["limit"], _MAX_LIMITS.get(name, 1_000)))
        if "query" in asked:
            asked["query"] = asked["query"][:_MAX_QUERY]
        return json_response(await getattr(log, name)(space, **asked))

    return run


async def _page(
    log: Log,
    space: Space,
    agent: AgentId,
    first: int,
    last: int | None,
    limit: int | None,
    backward: bool,
) -> Response:
    """A page of events: as many as were asked for, unless they are too many or too large."""
    few = _MAX_EVENTS if limit is None else max(0, min(limit, _MAX_EVENTS))
    found = await log.read(space, agent, first, last, limit=few, backward=backward)
    pieces: list[bytes] = []
    size = 0
    for recorded in found:
        pieces.append(_encode(event_value(recorded)))
        size += len(pieces[-1])
        if size > _MAX_BYTES:
            break
    wanted = limit is None or limit > few
    is_last = found and found[-1].version == (first if backward else last)
    more = len(pieces) < len(found) or (wanted and len(found) == few and not is_last)
    body = b'{"events":[%s],"more":%s}' % (b",".join(pieces), b"true" if more else b"false")
    return Response(body, headers={"Cache-Control": "no-store"}, media_type="application/json")


def log_endpoints() -> tuple[Endpoint, ...]:
    """The routes of the calls, and of who is signed in."""
    return (
        *_ROUTES.endpoints,
        *(
            Endpoint(
                "POST",
                f"/v1/log/{name}",
                "read",
                _handler(name, each.arguments),
                each.about,
                internal=True,
            )
            for name, each in CALLS.items()
        ),
    )
