"""Reading conversations over HTTP: agents, rows, context, calls, differences, search, events.

Sessions of Claude Code, Codex and Gemini CLI on the server's machine: listed, and imported.

They belong to the person at the machine, so these routes need the scope `admin`.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import datetime
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, structs
from starlette.responses import Response, StreamingResponse

from sapwood.app.health_server import PROMETHEUS
from sapwood.conversation import answers
from sapwood.conversation.completion import Choice, choices, known_names
from sapwood.conversation.cut_preview import CutPlan, cut_plan
from sapwood.conversation.mentions import is_mention, mention_choices, with_tokens
from sapwood.conversation.open_timeline import key_text
from sapwood.conversation.surroundings import family_of
from sapwood.core.context import Context
from sapwood.core.ids import AgentId
from sapwood.core.log_values import AgentSummary, Cursor
from sapwood.core.model_calls import Delta
from sapwood.core.refusals import Refusal
from sapwood.core.timeline.row_content import RowContent
from sapwood.core.timeline.rows import TimelineRow
from sapwood.display.json_values import AgentValue, EventValue, agent_value, event_value
from sapwood.display.quantities import iso
from sapwood.imports.importer import Importer
from sapwood_server.access.rate_limit import OpenStreams
from sapwood_server.problems import Problem, refusal_problem
from sapwood_server.request_context import (
    Endpoint,
    QueryParameters,
    RequestBody,
    RequestContext,
    Routes,
)
from sapwood_server.space_feed import AgentGone

_PAGE = 100
_MAX_PAGE = 500

Limit = Annotated[int, Meta(ge=0, description=f"How many; more than {_MAX_PAGE} count as that.")]


_ROUTES = Routes()
_AGENT = "/v1/agents/{agent}"


class AgentsQuery(QueryParameters, frozen=True):
    """Which agents are listed."""

    after: Annotated[str, Meta(description="`next` of the previous page.")] = ""
    limit: Limit = _PAGE
    status: Literal["running", "archived", "killed"] | None = None
    owner: Annotated[str, Meta(description="Only agents of this owner.")] = ""
    label: Annotated[str, Meta(description="Only agents with this label.")] = ""


class AgentList(Struct, frozen=True):
    """A page of agents. `next` is `after` of the next page; null on the last one."""

    agents: tuple[AgentValue, ...]
    next: str | None


@_ROUTES.add("GET", "/v1/agents", "read", "List agents, newest first")
async def list_agents(call: RequestContext, asked: AgentsQuery) -> AgentList:
    """Newest first; `after` is the id of the last agent of the previous page."""
    connection = call.space.connection
    after = None
    if asked.after:
        after = await connection.log.summary(connection.space, AgentId(asked.after))
        if after is None:
            raise Problem(400, "Unknown cursor", "'after' must be `next` of an earlier page.")
    limit = _bounded(asked.limit)
    found = await connection.log.agents(
        connection.space,
        after=after,
        limit=limit + 1,
        status=asked.status,
        owner=asked.owner,
        label=asked.label,
    )
    shown = found[:limit]
    following = shown[-1].agent if len(found) > limit else None
    return AgentList(tuple(map(agent_value, shown)), following)


def _bounded(limit: int) -> int:
    return max(1, min(limit, _MAX_PAGE))


class AgentWithFamily(AgentValue, frozen=True, kw_only=True):
    """What lists show of an agent, and of its root with all that descend from it."""

    family: tuple[AgentValue, ...]


@_ROUTES.add("GET", _AGENT, "read", "Show an agent with its parent and children")
async def show_agent(call: RequestContext, summary: AgentSummary) -> AgentWithFamily:
    """What lists show of one agent, and its family."""
    family = await family_of(call.space.connection, summary.agent)
    shown = structs.asdict(agent_value(summary))
    return AgentWithFamily(**shown, family=tuple(map(agent_value, family)))


class MarkValue(Struct, frozen=True):
    """A mark, and the version of the log at which it was set."""

    name: str
    version: int


class ContextReport(Struct, frozen=True):
    """Where the context of an agent begins and ends, its marks, and what fills the window."""

    context: Context
    marks: tuple[MarkValue, ...]
    breakdown: answers.ContextShown
    message: str


@_ROUTES.add("GET", f"{_AGENT}/context", "read", "Show what fills the context window")
async def show_context(call: RequestContext, agent: AgentId) -> ContextReport:
    """What fills the window, and where the context begins and ends."""
    [outcome] = await call.service.submit(agent, "/context")
    if isinstance(outcome.answer, Refusal):
        raise refusal_problem(outcome.answer)
    assert isinstance(outcome.answer, answers.ContextShown)
    state = (await call.space.connection.dispatcher.open(agent)).state
    marks = tuple(MarkValue(mark.name, mark.version) for mark in state.marks)
    return ContextReport(state.context, marks, outcome.answer, outcome.message)


@_ROUTES.add("GET", f"{_AGENT}/cuts", "read", "Show what each possible cut would keep and cost")
async def show_cuts(call: RequestContext, agent: AgentId) -> CutPlan:
    """Every place at which the history can be cut, with what each leaves and costs."""
    return await cut_plan(call.space.connection, agent)


class RowsQuery(QueryParameters, frozen=True):
    """Which rows are read: the last ones unless another place is named."""

    first: Annotated[int, Meta(ge=0, description="The position of the first row.")] | None = None
    limit: Limit = _PAGE
    around: Annotated[str, Meta(description="The key of a row.")] = ""
    fold: Annotated[str, Meta(description="The key of a fold.")] = ""


class RowValue(Struct, frozen=True):
    """A row with its content, and whether the model sees it."""

    key: str
    row: TimelineRow
    content: RowContent
    in_context: bool


class RowList(Struct, frozen=True):
    """Some rows of a conversation. `first` is the place of the first of them among `total`.

    `moved` counts the changes of the context: if it differs from before, rows may have other
    places. `complete` is false while the beginning is still being read. If a row was asked for,
    `target` is its key, and `fold` the key of the fold that it is in, as its row number `inside`.
    """

    rows: tuple[RowValue, ...]
    first: int
    total: int
    version: int
    moved: int
    is_open: bool
    complete: bool
    target: str
    fold: str
    inside: int


@_ROUTES.add("GET", f"{_AGENT}/rows", "read", "Read rows of the timeline")
async def show_rows(call: RequestContext, asked: RowsQuery, agent: AgentId) -> RowList:
    """Rows of the timeline: the last ones, from `first` on, or around a key; or of a fold."""
    timeline = call.space.timeline(agent)
    if asked.fold:
        page = await timeline.fold(asked.fold, asked.first or 0, _bounded(asked.limit))
    else:
        page = await timeline.page(asked.first, _bounded(asked.limit), around=asked.around)
    rows = tuple(
        RowValue(key_text(each.row.key), each.row, each.content, not each.dim) for each in page.rows
    )
    shown: dict[str, Any] = {**structs.asdict(page), "rows": rows}
    return RowList(**shown)


class EventsQuery(QueryParameters, frozen=True):
    """Which events are read."""

    after: Annotated[
        int, Meta(ge=0, le=10**15, description="A version; the events after it are read.")
    ] = 0
    limit: Limit = _PAGE


class EventList(Struct, frozen=True):
    """A page of events. `next` is `after` of the next page; null if there are no more yet."""

    events: tuple[EventValue, ...]
    next: int | None


@_ROUTES.add("GET", f"{_AGENT}/log", "read", "Read events")
async def list_events(call: RequestContext, asked: EventsQuery, agent: AgentId) -> EventList:
    """Events after a version, oldest first."""
    connection, limit = call.space.connection, _bounded(asked.limit)
    found = await connection.log.read(connection.space, agent, asked.after + 1, limit=limit + 1)
    shown = found[:limit]
    following = shown[-1].version if len(found) > limit else None
    return EventList(tuple(map(event_value, shown)), following)


class CallsQuery(QueryParameters, frozen=True):
    """How many model calls are listed."""

    limit: Limit = _PAGE


class CallValue(Struct, frozen=True):
    """A model call: its version in the log, its time, and the model."""

    version: int
    at: datetime
    model: str


class CallList(Struct, frozen=True):
    """The model calls of an agent, newest first."""

    calls: tuple[CallValue, ...]


@_ROUTES.add("GET", f"{_AGENT}/calls", "read", "List model calls")
async def list_calls(call: RequestContext, asked: CallsQuery, agent: AgentId) -> CallList:
    """The model calls, newest first."""
    found = await call.service.model_calls(agent, min(asked.limit, _MAX_PAGE))
    calls = (
        CallValue(each.recorded.version, each.recorded.when, each.called.model) for each in found
    )
    return CallList(tuple(calls))


@_ROUTES.add(
    "GET",
    f"{_AGENT}/calls/{{version}}",
    "read",
    "Show what the model saw in a call, verified by its hash",
)
async def show_call(call: RequestContext, version: str) -> answers.RequestReplayed:
    """What the model saw at a call, rebuilt from the log and compared with the stored hash."""
    if not version.isdigit() or len(version) > 15:
        raise Problem(404, "Unknown call", "Give the call's version in the log.")
    return await call.service.replay(await call.agent(), int(version))


class DifferenceQuery(QueryParameters, frozen=True):
    """The contexts that are compared."""

    a: Annotated[str, Meta(description="A mark or a turn.")] = ""
    b: Annotated[str, Meta(description="Another mark or turn; default: the current context.")] = ""


@_ROUTES.add("GET", f"{_AGENT}/diff", "read", "Compare two contexts")
async def show_difference(
    call: RequestContext, asked: DifferenceQuery, agent: AgentId
) -> answers.ContextsCompared:
    """What differs between two contexts, each a mark or a turn; or between one and now."""
    if not asked.a:
        raise Problem(400, "Point missing", "Name a mark or a turn: ?a=MARK&b=MARK.")
    return await call.service.compare(agent, asked.a, asked.b or None)


class SearchParameters(QueryParameters, frozen=True):
    """What is searched for."""

    q: Annotated[str, Meta(description="Words.")] = ""
    limit: Annotated[int, Meta(ge=0, description="How many; more than 200 count as that.")] = 20


@_ROUTES.add("GET", "/v1/search", "read", "Search all messages")
async def search(call: RequestContext, asked: SearchParameters) -> answers.SearchResults:
    """Searches everything ever said in the space."""
    query = asked.q.strip()
    if not query:
        raise Problem(400, "Search words missing", "Give search words: ?q=WORDS.")
    limit = max(1, min(asked.limit, 200))
    return await call.service.search(query[:1000], limit=limit)


class Completions(Struct, frozen=True):
    """What can follow in the composer, and whether a turn is open."""

    choices: tuple[Choice, ...]
    open: bool


@_ROUTES.add(
    "GET", f"{_AGENT}/completions", "read", "Complete a line of the composer", internal=True
)
async def complete(call: RequestContext, agent: AgentId) -> Completions:
    """What can follow in the composer, from the table of commands and the names that exist."""
    connection = call.space.connection
    state = (await connection.dispatcher.open(agent)).state
    line = call.query("line")[:500]
    services = call.service.services
    custom = await services.read_custom_commands(services.workspace_of(state))
    known = await known_names(connection, state, custom)
    word = line.rpartition(" ")[2]
    if is_mention(word) and call.is_own_machine:
        folder = state.workspace.worktree or state.workspace.folder or call.space.agents.folder
        named = mention_choices(word, known, await call.space.workspace_files(folder))
        found = await asyncio.to_thread(with_tokens, named[:12], folder)
    else:
        found = choices(line, known)
    return Completions(tuple(found[:12]), state.open is not None)


@_ROUTES.add(
    "GET",
    "/metrics",
    "admin",
    "Read this process's counters and timings",
    answers="text/plain",
    internal=True,
)
async def show_numbers(call: RequestContext) -> Response:
    """Counts and durations of this process, for Prometheus."""
    health = call.space.health
    if health is None:
        raise Problem(
            403,
            "Not available here",
            "Metrics name every space, so they need a token of the server's own space.",
        )
    return Response(await health.numbers(), media_type=PROMETHEUS)


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


class FollowQuery(QueryParameters, frozen=True):
    """Where a stream of one agent begins."""

    after: Annotated[str, Meta(description="A version, if there is no Last-Event-ID.")] = "0"


class SpaceFollowQuery(QueryParameters, frozen=True):
    """Where a stream of all agents begins, and what it has."""

    after: Annotated[str, Meta(description="An id of this stream, without Last-Event-ID.")] = ""
    form: Annotated[str, Meta(description="`agents`: only what lists need.")] = ""


def reading_endpoints(streams: OpenStreams) -> tuple[Endpoint, ...]:
    """The routes that change nothing."""
    routes = Routes(answers="text/event-stream")

    @routes.add(
        "GET",
        f"{_AGENT}/events",
        "read",
        "Follow events (server-sent); Last-Event-ID resumes exactly",
        messages={"delta": (Delta,), "": (EventValue,)},
    )
    async def follow(call: RequestContext, agent: AgentSummary, asked: FollowQuery) -> Response:
        """Every event after `Last-Event-ID`, then each new one. Words come as `delta` before.

        A reply that is complete comes whole as `reply.added`: show it in place of its deltas. After
        `reply.lost` its deltas are void, and the model is asked again.
        """
        place = _numbers(call.request.headers.get("last-event-id") or asked.after)
        if place is None:
            raise Problem(400, "Not a version", "Last-Event-ID must be a version of the log.")
        pieces = call.space.feeds.follow(agent.agent, *place, created=agent.created)
        return _stream(call, streams, pieces)

    @routes.add(
        "GET",
        "/v1/events",
        "read",
        "Follow the events of all agents",
        messages={"agent": (AgentValue, AgentGone), "": (EventValue,)},
    )
    async def follow_all(call: RequestContext, asked: SpaceFollowQuery) -> Response:
        """Every event of the space after `Last-Event-ID`, by default after now."""
        typed = call.request.headers.get("last-event-id") or asked.after
        short = asked.form == "agents"
        return _stream(call, streams, call.space.feed.follow(_cursor(typed), short=short))

    return (*_ROUTES.endpoints, *routes.endpoints)


class SessionValue(Struct, frozen=True):
    """A session of another program on the server's machine. `size` is that of its file."""

    session: str
    program: str
    title: str
    folder: str
    updated: str
    size: int


class SessionList(Struct, frozen=True):
    """The sessions that are not imported."""

    sessions: tuple[SessionValue, ...]


@_ROUTES.add("GET", "/v1/sessions", "admin", "List sessions of other programs")
async def list_sessions(call: RequestContext) -> SessionList:
    """The sessions that are not imported."""
    call.require_own_machine()
    sessions = tuple(
        SessionValue(
            each.key,
            each.found.source,
            each.title,
            each.found.folder,
            iso(each.found.updated),
            each.found.size,
        )
        for each in await call.space.machine_sessions.unimported(call.space.connection)
    )
    return SessionList(sessions)


class ImportBody(RequestBody, frozen=True):
    """The session to import, as the list of sessions names it."""

    session: str


class SessionImported(Struct, frozen=True):
    """The agent of an imported session, and how many turns it gained."""

    agent: AgentId
    turns: int


@_ROUTES.add(
    "POST",
    "/v1/sessions/import",
    "admin",
    "Import a session",
    request=ImportBody,
    statuses=(201,),
)
async def import_session(call: RequestContext) -> SessionImported:
    """Imports a session, or what is new in it. The answer names its agent."""
    call.require_own_machine()
    found = await call.space.machine_sessions.get((await call.read(ImportBody)).session)
    if found is None:
        raise Problem(404, "Unknown session", "GET /v1/sessions lists the sessions.")
    importer = Importer(call.space.connection)
    try:
        done = await importer.bring(found.path, found.source)
    finally:
        await importer.close()
    if done.problem:
        raise Problem(422, "Not imported", f"The session could not be imported: {done.problem}")
    return SessionImported(done.agent, done.turns)
