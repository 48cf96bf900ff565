"""Reading conversations over HTTP: agents, rows, context, calls, differences, search, events.

Sessions of Claude Code, Codex and Gemini CLI on the server's machine: listed, and imported.

They belong to the person at the machine, so these routes need the scope `admin`.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing

import msgspec
from starlette.responses import Response, StreamingResponse

from sapwood.app.health_server import PROMETHEUS
from sapwood.conversation.completion import choices, known_names
from sapwood.conversation.cut_preview import cut_plan
from sapwood.conversation.mentions import is_mention, mention_choices
from sapwood.conversation.open_timeline import key_text
from sapwood.conversation.surroundings import family_of
from sapwood.core.events import ModelCalled
from sapwood.core.log_values import Cursor
from sapwood.display.json_values import event_value, listed_value
from sapwood.display.quantities import iso
from sapwood.imports.importer import Importer
from sapwood_server.access.rate_limit import OpenStreams
from sapwood_server.problems import Problem
from sapwood_server.request_context import Endpoint, Handler, RequestContext, json_response

_PAGE = 100
_MAX_PAGE = 500


async def list_agents(call: RequestContext) -> Response:
    """Newest first; `after` is the id of the last agent of the previous page."""
    connection = call.space.connection
    after = None
    if typed := call.query("after"):
        after = (await connection.log.find(connection.space, typed, 1) or [None])[0]
    limit = call.number("limit", _PAGE, minimum=1, maximum=_MAX_PAGE)
    status = call.query("status") or None
    if status not in (None, "running", "archived", "killed"):
        raise Problem(400, "Unknown status", "'status' must be running, archived or killed.")
    found = await connection.log.agents(connection.space, after=after, limit=limit, status=status)
    return json_response({"agents": [listed_value(each) for each in found]})


async def show_agent(call: RequestContext) -> Response:
    """What lists show of one agent, and its family."""
    summary = await call.summary()
    family = await family_of(call.space.connection, summary.agent)
    return json_response(
        {**listed_value(summary), "family": [listed_value(each) for each in family]}
    )


async def show_context(call: RequestContext) -> Response:
    """What fills the window, and where the context begins and ends."""
    agent = await call.agent()
    [outcome] = await call.service.submit(agent, "/context")
    state = (await call.space.connection.dispatcher.open(agent)).state
    return json_response(
        {
            "context": state.context,
            "marks": [{"name": mark.name, "version": mark.version} for mark in state.marks],
            "breakdown": outcome.answer,
            "message": outcome.message,
        }
    )


async def show_cuts(call: RequestContext) -> Response:
    """Every place at which the history can be cut, with what each leaves and costs."""
    return json_response(await cut_plan(call.space.connection, await call.agent()))


async def show_rows(call: RequestContext) -> Response:
    """Rows of the timeline: the last ones, from `first` on, or around a key; or of a fold."""
    timeline = call.space.timeline(await call.agent())
    limit = call.number("limit", _PAGE, minimum=1, maximum=_MAX_PAGE)
    if key := call.query("fold"):
        page = await timeline.fold(key, call.number("first", 0), limit)
    else:
        first = call.number("first", 0) if call.query("first") else None
        page = await timeline.page(first, limit, around=call.query("around"))
    rows = [
        {
            "key": key_text(each.row.key),
            "row": each.row,
            "content": each.content,
            "in_context": not each.dim,
        }
        for each in page.rows
    ]
    return json_response({**msgspec.structs.asdict(page), "rows": rows})


async def list_events(call: RequestContext) -> Response:
    """Events after a version, oldest first."""
    agent = await call.agent()
    connection = call.space.connection
    found = await connection.log.read(
        connection.space,
        agent,
        call.number("after", 0) + 1,
        limit=call.number("limit", _PAGE, minimum=1, maximum=_MAX_PAGE),
    )
    return json_response({"events": [event_value(each) for each in found]})


async def list_calls(call: RequestContext) -> Response:
    """The model calls, newest first."""
    found = await call.service.model_calls(
        await call.agent(), call.number("limit", _PAGE, maximum=_MAX_PAGE)
    )
    return json_response(
        {
            "calls": [
                {"version": each.version, "at": each.when, "model": each.event.model}
                for each in found
                if isinstance(each.event, ModelCalled)
            ]
        }
    )


async def show_call(call: RequestContext) -> Response:
    """What the model saw at a call, rebuilt from the log and compared with the stored hash."""
    typed = call.request.path_params["version"]
    if not typed.isdigit() or len(typed) > 15:
        raise Problem(404, "Unknown call", "Give the call's version in the log.")
    return json_response(await call.service.replay(await call.agent(), int(typed)))


async def show_difference(call: RequestContext) -> Response:
    """What differs between two contexts, each a mark or a turn; or between one and now."""
    agent = await call.agent()
    left, right = call.query("a"), call.query("b") or None
    if not left:
        raise Problem(400, "Point missing", "Name a mark or a turn: ?a=MARK&b=MARK.")
    return json_response(await call.service.compare(agent, left, right))


async def search(call: RequestContext) -> Response:
    """Searches everything ever said in the space."""
    query = call.query("q").strip()
    if not query:
        raise Problem(400, "Search words missing", "Give search words: ?q=WORDS.")
    limit = call.number("limit", 20, minimum=1, maximum=200)
    return json_response(await call.service.search(query[:1000], limit=limit))


async def complete(call: RequestContext) -> Response:
    """What can follow in the composer, from the table of commands and the names that exist."""
    agent = await call.agent()
    connection = call.space.connection
    state = (await connection.dispatcher.open(agent)).state
    line = call.query("line")[:500]
    services = call.service.services
    custom = await services.read_custom_commands(services.workspace_of(state))
    known = await known_names(connection, state, custom)
    word = line.rpartition(" ")[2]
    if is_mention(word) and call.is_own_machine:
        folder = state.workspace.worktree or state.workspace.folder or call.space.agents.folder
        found = mention_choices(word, known, await call.space.workspace_files(folder))
    else:
        found = choices(line, known)
    return json_response({"choices": found[:12], "open": state.open is not None})


async def show_numbers(call: RequestContext) -> Response:
    """Counts and durations of this process, for Prometheus."""
    return Response(await call.space.health.numbers(), media_type=PROMETHEUS)


def _event_stream(streams: OpenStreams) -> Handler:
    async def follow(call: RequestContext) -> Response:
        """Every event after `Last-Event-ID`, then each new one. Words come as `delta` before."""
        agent = await call.agent()
        typed = call.request.headers.get("last-event-id") or call.query("after") or "0"
        place = _numbers(typed)
        if place is None:
            raise Problem(400, "Not a version", "Last-Event-ID must be a version of the log.")
        return _stream(call, streams, call.space.feeds.follow(agent, *place))

    return follow


def _space_stream(streams: OpenStreams) -> Handler:
    async def follow(call: RequestContext) -> Response:
        """Every event of the space after `Last-Event-ID`, by default after now."""
        typed = call.request.headers.get("last-event-id") or call.query("after")
        short = call.query("form") == "agents"
        return _stream(call, streams, call.space.feed.follow(_cursor(typed), short=short))

    return follow


def _numbers(typed: str) -> list[int] | None:
    """One number, or two with a point between them; None for anything else."""
    numbers = typed.split(".")
    fits = all(each.isascii() and each.isdigit() and len(each) <= 15 for each in numbers)
    return list(map(int, numbers)) if fits and len(numbers) <= 2 else None


def _cursor(typed: str) -> Cursor | None:
    if not typed:
        return None
    numbers = _numbers(typed)
    if numbers is None:
        raise Problem(
            400, "Not a cursor", "Last-Event-ID must be the id of an event in this space."
        )
    return Cursor(*numbers)


def _stream(call: RequestContext, streams: OpenStreams, pieces: AsyncGenerator[bytes]) -> Response:
    """A stream of events, counted among those of its principal while it is open."""
    principal = call.principal.id
    streams.enter(principal)

    async def messages() -> AsyncGenerator[bytes]:
        try:
            async with aclosing(pieces):
                async for piece in pieces:
                    yield piece
        finally:
            streams.leave(principal)

    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(messages(), headers=headers, media_type="text/event-stream")


def reading_endpoints(streams: OpenStreams) -> tuple[Endpoint, ...]:
    """The routes that change nothing."""
    agent = "/v1/agents/{agent}"
    paging = {"first": "the position of the first row", "limit": "how many, at most 500"}
    return (
        Endpoint(
            "GET",
            "/v1/agents",
            "read",
            list_agents,
            "List agents, newest first",
            query={"after": "the last agent of the previous page", "limit": "", "status": ""},
        ),
        Endpoint("GET", agent, "read", show_agent, "Show an agent with its parent and children"),
        Endpoint(
            "GET", f"{agent}/context", "read", show_context, "Show what fills the context window"
        ),
        Endpoint(
            "GET",
            f"{agent}/cuts",
            "read",
            show_cuts,
            "Show what each possible cut would keep and cost",
        ),
        Endpoint(
            "GET",
            f"{agent}/rows",
            "read",
            show_rows,
            "Read rows of the timeline",
            query={**paging, "around": "the key of a row", "fold": "the key of a fold"},
        ),
        Endpoint(
            "GET",
            f"{agent}/events",
            "read",
            _event_stream(streams),
            "Follow events (server-sent); Last-Event-ID resumes exactly",
            query={"after": "a version"},
            answers="text/event-stream",
        ),
        Endpoint(
            "GET",
            f"{agent}/log",
            "read",
            list_events,
            "Read events",
            query={"after": "a version", "limit": ""},
        ),
        Endpoint("GET", f"{agent}/calls", "read", list_calls, "List model calls"),
        Endpoint(
            "GET",
            f"{agent}/calls/{{version}}",
            "read",
            show_call,
            "Show what the model saw in a call, verified by its hash",
        ),
        Endpoint(
            "GET",
            f"{agent}/diff",
            "read",
            show_difference,
            "Compare two contexts",
            query={"a": "a mark or a version", "b": "a second one; default: now"},
        ),
        Endpoint(
            "GET",
            f"{agent}/completions",
            "read",
            complete,
            "Complete a line of the composer",
            query={"line": "what was typed"},
        ),
        Endpoint(
            "GET",
            "/v1/events",
            "read",
            _space_stream(streams),
            "Follow the events of all agents",
            query={"after": "an id of this stream", "form": "agents: only what lists need"},
            answers="text/event-stream",
        ),
        Endpoint(
            "GET",
            "/metrics",
            "admin",
            show_numbers,
            "Read this process's counters and timings",
            answers="text/plain",
        ),
        Endpoint(
            "GET",
            "/v1/search",
            "read",
            search,
            "Search all messages",
            query={"q": "words", "limit": ""},
        ),
    )


async def list_sessions(call: RequestContext) -> Response:
    """The sessions that are not imported."""
    call.require_own_machine()
    sessions = [
        {
            "session": each.key,
            "program": each.found.source,
            "title": each.title,
            "folder": each.found.folder,
            "updated": iso(each.found.updated),
            "size": each.found.size,
        }
        for each in await call.space.machine_sessions.unimported(call.space.connection)
    ]
    return json_response({"sessions": sessions})


async def import_session(call: RequestContext) -> Response:
    """Imports a session, or what is new in it. The answer names its agent."""
    call.require_own_machine()
    key = (await call.body()).get("session")
    found = await call.space.machine_sessions.get(key) if isinstance(key, str) else None
    if found is None:
        raise Problem(404, "Unknown session", "GET /v1/sessions lists the sessions.")
    importer = Importer(call.space.connection)
    try:
        done = await importer.bring(found.path, found.source)
    finally:
        await importer.close()
    if done.problem:
        raise Problem(422, "Not imported", f"The session could not be imported: {done.problem}")
    return json_response({"agent": done.agent, "turns": done.turns}, 201)


def session_endpoints() -> tuple[Endpoint, ...]:
    """The routes about sessions of other programs."""
    return (
        Endpoint("GET", "/v1/sessions", "admin", list_sessions, "List sessions of other programs"),
        Endpoint(
            "POST",
            "/v1/sessions/import",
            "admin",
            import_session,
            "Import a session",
            body={"session": "the session, as GET /v1/sessions names it"},
        ),
    )
