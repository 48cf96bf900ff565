"""The routes of the web page: the whole page, and the pieces that it fetches again."""

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, structs
from starlette.responses import HTMLResponse, Response

from sapwood.app.permission_questions import waiting_questions
from sapwood.config.changed_files import READ_AT_START
from sapwood.config.editor import list_settings
from sapwood.conversation.answers import ContextShown
from sapwood.conversation.context_breakdown import ContextBreakdown
from sapwood.conversation.cut_preview import cut_plan, preview_drop
from sapwood.conversation.model_setup import ModelSetup
from sapwood.conversation.open_timeline import RowsPage
from sapwood.conversation.provider_limit import resets_soon
from sapwood.conversation.surroundings import family_of, window_use
from sapwood.core.errors import RefusedError
from sapwood.core.ids import AgentId
from sapwood.core.log_values import AgentSummary, SearchHit
from sapwood.core.refusals import Refusal
from sapwood.core.state import State
from sapwood.core.timeline.row_content import TurnEnd
from sapwood.display.quantities import clock, now
from sapwood.display.text import pieces
from sapwood.programs.registry import program_title, resume_command_for
from sapwood_server.page.composer_html import ComposerFacts, models_html, setup_frame
from sapwood_server.page.context_html import calls_html, context_html, drop_html, tree_html
from sapwood_server.page.export_html import export_html
from sapwood_server.page.html_text import attribute, line, text, time_ago
from sapwood_server.page.list_html import Listed, costs_html, list_html
from sapwood_server.page.page_html import (
    PageParts,
    budget_html,
    chapters_html,
    limit_html,
    notes_html,
    page_html,
    question_html,
    warnings_html,
    work_html,
)
from sapwood_server.page.row_html import RenderedRow, row_html
from sapwood_server.page.settings_html import settings_html
from sapwood_server.page.setup_html import setup_html
from sapwood_server.problems import refusal_problem
from sapwood_server.request_context import (
    Endpoint,
    QueryParameters,
    RequestContext,
    json_response,
)

_LISTED = 400
_NAMED = 5
"""Conversations with the searched name that stand before what was said in others."""
_ROWS = 80
_FOLDERS = 6
_TREE = 40
"""Turns in view that the tree at the side shows."""
_TREE_FOLD = 8
"""Turns of each fold that the tree at the side shows."""


async def start_page(call: RequestContext) -> Response:
    """The conversation that changed last, or the welcome page."""
    agents = await _agents(call)
    running = [each for each in agents if each.status == "running" and each.parent is None]
    newest = max(running, key=lambda each: each.updated, default=None)
    if newest is None or call.query("new"):
        setup = "" if call.query("look") else await _setup_problem(call)
        has_model = bool(call.space.agents.config.model)
        whole = setup_frame(setup if has_model else "") if setup else ""
        return await _page(call, agents, whole)
    return await _conversation(call, newest.agent, agents)


async def setup_page(call: RequestContext) -> Response:
    """The models and programs to choose from."""
    call.require_own_machine()
    return await _page(call, await _agents(call), setup_frame())


async def settings_page(call: RequestContext) -> Response:
    """What this browser does; and for the person at the machine, every setting."""
    found = list_settings() if call.is_own_machine else None
    whole = settings_html(found, call.space.agents.config, READ_AT_START)
    return await _page(call, await _agents(call), whole)


async def _page(call: RequestContext, agents: list[AgentSummary], whole: str = "") -> Response:
    """A page without a conversation."""
    parts = PageParts(
        list_html(await _listed(call, agents)), whole=whole, composer=_composer(call, agents)
    )
    return HTMLResponse(page_html(parts, None), headers={"Cache-Control": "no-store"})


async def conversation_page(call: RequestContext) -> Response:
    """A conversation: its timeline, what fills its window, or its calls."""
    return await _conversation(call, await call.agent(), await _agents(call))


async def _conversation(
    call: RequestContext, agent: AgentId, agents: list[AgentSummary]
) -> Response:
    state = await _state(call, agent)
    parts = PageParts(list_html(await _listed(call, agents, agent)))
    view = call.query("view")
    if view == "context":
        parts = structs.replace(parts, whole=await _context(call, state), view=view)
    elif view == "costs":
        parts = structs.replace(parts, whole=await _costs(call, agents), view=view)
    elif view == "calls":
        parts = structs.replace(parts, whole=await _calls(call, state), view=view)
    else:
        page = await call.space.timeline(agent).page(None, _ROWS)
        parts = structs.replace(
            parts,
            rows="".join(each.html for each in _rendered(page)),
            first=page.first,
            total=page.total,
            version=page.version,
            moved=page.moved,
            complete=page.complete,
            is_open=page.is_open,
        )
    is_open = parts.is_open if parts.version else state.open is not None
    # The side goes over all turns, so a long conversation is painted first without it.
    parts = structs.replace(
        parts,
        side=await _side(call, state) if parts.complete and not parts.whole else "",
        version=parts.version or state.version,
        is_open=is_open,
        composer=_composer(call, agents, state),
        has_side=not parts.whole,
    )
    return HTMLResponse(page_html(parts, state), headers={"Cache-Control": "no-store"})


async def list_piece(call: RequestContext) -> Response:
    """The list of conversations. A page asks for it again and again while it is looked at."""
    current = AgentId(call.query("agent"))
    agents = await _agents(call)
    if call.is_own_machine and await call.space.connection.log.summary(
        call.space.connection.space, current
    ):
        await call.space.session_catch_up.look(await _state(call, current))
    return _piece(list_html(await _listed(call, agents, current or None)))


async def rows_piece(call: RequestContext) -> Response:
    """Rows as HTML. Rows that the page has already come without their HTML."""
    timeline = call.space.timeline(await call.agent())
    limit = call.number("limit", _ROWS, minimum=1, maximum=400)
    if fold := call.query("fold"):
        page = await timeline.fold(fold, call.number("first", 0), limit)
    else:
        first = call.number("first", 0) if call.query("first") else None
        page = await timeline.page(first, limit, around=call.query("around"))
    same = call.query("moved") == str(page.moved)
    known = call.number("known", 0) if same else -1
    rows = [
        {"key": each.key, "html": "" if each.version <= known else each.html}
        for each in _rendered(page)
    ]
    return json_response(
        {
            "rows": rows,
            "first": page.first,
            "total": page.total,
            "version": page.version,
            "moved": page.moved,
            "open": page.is_open,
            "complete": page.complete,
            "target": page.target,
            "fold": page.fold,
            "inside": page.inside,
        }
    )


async def side_piece(call: RequestContext) -> Response:
    """Budget, warnings and the tree of turns."""
    return _piece(await _side(call, await _state(call, await call.agent())))


async def context_piece(call: RequestContext) -> Response:
    """The context page."""
    return _piece(await _context(call, await _state(call, await call.agent())))


async def calls_piece(call: RequestContext) -> Response:
    """The calls page."""
    return _piece(await _calls(call, await _state(call, await call.agent())))


async def drop_piece(call: RequestContext) -> Response:
    """What dropping the picked turns would save and cost."""
    turns = call.query("turns").split()
    found = await preview_drop(call.space.connection, await call.agent(), turns)
    return _piece(drop_html(found, turns))


async def setup_piece(call: RequestContext) -> Response:
    """Programs, providers and servers that can answer."""
    call.require_own_machine()
    config = call.space.agents.config
    options = await ModelSetup(config).options()
    return _piece(setup_html(options, config.model, config.base_urls.get("compatible", "")))


async def models_piece(call: RequestContext) -> Response:
    """The models that a conversation can use, those that are ready first."""
    own = call.space.connection.folder is None
    options = await ModelSetup(call.space.agents.config).options()
    rows = [
        (each.model, each.account.title, "" if each.is_ready else "needs an API key")
        for each in options
        if not each.problem and (own or not each.is_program)
    ]
    current = call.query("model")
    if current and current not in {name for name, _, _ in rows}:
        rows.insert(0, (current, "", ""))
    return _piece(models_html(rows, current))


async def question_piece(call: RequestContext) -> Response:
    """The oldest tool call that waits for approval; nothing if there is none."""
    agent = await call.agent()
    waiting = await waiting_questions(call.space.connection, agent)
    if not waiting:
        return Response(status_code=204)
    state = await _state(call, agent)
    return _piece(question_html(waiting[0], state.name or agent, len(waiting)))


def _named(agents: Sequence[AgentSummary], query: str) -> str:
    """Conversations whose name or folder has these words, the newest first."""
    words = query.lower()
    found = [each for each in agents if words in f"{each.name}\n{each.folder}".lower()]
    newest = sorted(found, key=lambda each: -each.updated)[: _NAMED if words else _LISTED]
    return "".join(
        f'<li><a href="/c/{attribute(each.agent)}"><b>{line(each.name or each.agent)}</b> '
        f'<span class="num faint">{time_ago(each.updated, now())}</span><br>'
        f'<span class="faint">{line(each.folder)}</span></a></li>'
        for each in newest
    )


def _sentence(hit: SearchHit) -> str:
    return "".join(
        f"<mark>{text(piece)}</mark>" if found else text(piece) for piece, found in pieces(hit)
    )


async def search_piece(call: RequestContext) -> Response:
    """What a search found, with links to the places; first conversations with that name.

    Without words it is the list of conversations.
    """
    query = call.query("q").strip()[:1000]
    named = _named(await _agents(call), query)
    if not query:
        return _piece(f'<ul class="hits">{named}</ul>' if named else "<p>Nothing is here yet.</p>")
    try:
        found = await call.service.search(query, limit=40)
    except RefusedError as refused:
        return _piece(f"<p>{line(refused.refusal.sentence)}</p>")
    rows = named + "".join(
        f'<li><a href="/c/{attribute(hit.ref.agent)}?at={hit.ref.version}"><b>'
        f'{line(hit.name or hit.ref.agent)}</b> <span class="num faint">'
        f"{line(hit.shown_place)} · {clock(hit.at)}</span><br>{_sentence(hit)}</a></li>"
        for hit in found.hits
    )
    return _piece(f'<ul class="hits">{rows}</ul>' if rows else "<p>Nothing was found.</p>")


async def export_file(call: RequestContext) -> Response:
    """The conversation as one HTML file, which needs no script and no network."""
    agent = await call.agent()
    html = await export_html(
        call.space.connection, agent, everything=call.parameters(ExportQuery).everything == "1"
    )
    named = {"Content-Disposition": f'attachment; filename="{agent}.html"'}
    return HTMLResponse(html, headers={"Cache-Control": "no-store", **named})


class ExportQuery(QueryParameters, frozen=True):
    """What the file has."""

    everything: Annotated[str, Meta(description="`1`: also turns that are out of view.")] = ""


def page_endpoints() -> tuple[Endpoint, ...]:
    """The routes of the web page."""
    html = "text/html"
    piece = "/page/{agent}"
    return (
        Endpoint("GET", "/", "read", start_page, "The web page", answers=html),
        Endpoint("GET", "/c/{agent}", "read", conversation_page, "A conversation", answers=html),
        Endpoint(
            "GET",
            "/v1/agents/{agent}/export.html",
            "read",
            export_file,
            "A conversation as a single HTML file",
            query=ExportQuery,
            answers=html,
        ),
        Endpoint("GET", "/setup", "admin", setup_page, "Choose a model or program", answers=html),
        Endpoint("GET", "/settings", "read", settings_page, "The settings", answers=html),
        Endpoint("GET", "/page/setup", "admin", setup_piece, "Models and programs", answers=html),
        Endpoint("GET", "/page/models", "write", models_piece, "Models", answers=html),
        Endpoint("GET", "/page/list", "read", list_piece, "The list", answers=html),
        Endpoint("GET", "/page/search", "read", search_piece, "Search results", answers=html),
        Endpoint("GET", f"{piece}/rows", "read", rows_piece, "Rows as HTML"),
        Endpoint("GET", f"{piece}/side", "read", side_piece, "The side", answers=html),
        Endpoint("GET", f"{piece}/context", "read", context_piece, "The context", answers=html),
        Endpoint("GET", f"{piece}/calls", "read", calls_piece, "The calls", answers=html),
        Endpoint("GET", f"{piece}/drop", "read", drop_piece, "A drop", answers=html),
        Endpoint("GET", f"{piece}/question", "read", question_piece, "A question", answers=html),
    )


async def _agents(call: RequestContext) -> list[AgentSummary]:
    connection = call.space.connection
    return await connection.log.agents(connection.space, limit=_LISTED)


async def _listed(
    call: RequestContext, agents: list[AgentSummary], current: AgentId | None = None
) -> Listed:
    """The list. List sessions of other programs are shown to who administers this machine."""
    states = await call.space.states.of(agents)
    found = call.space.machine_sessions
    shows = call.is_own_machine
    sessions = await found.unimported(call.space.connection) if shows else ()
    return Listed(agents, states, sessions, now(), current)


async def _state(call: RequestContext, agent: AgentId) -> State:
    return await call.space.connection.dispatcher.state(agent)


async def _breakdown(call: RequestContext, agent: AgentId) -> ContextBreakdown:
    [outcome] = await call.service.submit(agent, "/context")
    if isinstance(outcome.answer, Refusal):
        raise refusal_problem(outcome.answer)
    assert isinstance(outcome.answer, ContextShown)
    return outcome.answer.breakdown


async def _side(call: RequestContext, state: State) -> str:
    connection = call.space.connection
    found = await window_use(connection, state.agent)
    plan = await cut_plan(connection, state.agent, _TREE, priced=False)
    edges = await call.space.timeline(state.agent).left_behind(_TREE_FOLD)
    family = await family_of(connection, state.agent)
    chapters = await call.space.chapters(state)
    return (
        limit_html(await _reset_at(call, state.agent))
        + work_html(
            state,
            call.space.goals.problems.get(state.agent, ""),
            goal_waits=not call.space.goals.runs(state.agent),
        )
        + budget_html(found, plan)
        + warnings_html(found)
        + tree_html(found, plan, edges, family)
        + chapters_html(chapters)
        + notes_html(state.declared)
    )


async def _reset_at(call: RequestContext, agent: AgentId) -> int:
    """When the last turn is asked again, because a limit of its provider resets; 0 if it is not."""
    if not call.space.limits.covers(agent):
        return 0
    rows = (await call.space.timeline(agent).page(None, 1)).rows
    end = rows[-1].content if rows else None
    if not isinstance(end, TurnEnd):
        return 0
    return end.retry_at if resets_soon(end.retry_at, now()) else 0


async def _context(call: RequestContext, state: State) -> str:
    plan = await cut_plan(call.space.connection, state.agent)
    found = await _breakdown(call, state.agent)
    return context_html(found, plan, is_open=state.open is not None)


async def _calls(call: RequestContext, state: State) -> str:
    calls = await call.service.model_calls(state.agent)
    version = call.number("call", 0) or None
    shown = await call.service.replay(state.agent, version)
    left = call.query("a")
    compared = (
        await call.service.compare(state.agent, left, call.query("b") or None) if left else None
    )
    marks = [mark.name for mark in state.marks]
    return calls_html(calls, shown, compared, marks, now(), compares=bool(call.query("compare")))


async def _costs(call: RequestContext, agents: list[AgentSummary]) -> str:
    return costs_html(agents, await call.space.states.of(agents, _LISTED), now())


def _rendered(page: RowsPage) -> list[RenderedRow]:
    at = now()
    return [
        row_html(each, page.first + number, page.total, at) for number, each in enumerate(page.rows)
    ]


async def _setup_problem(call: RequestContext) -> str:
    """Why no model can be called; empty if one can, and for those who cannot choose one."""
    agents = call.space.agents
    return await ModelSetup(agents.config).problem(agents.keys) if call.is_own_machine else ""


def _composer(
    call: RequestContext, agents: Sequence[AgentSummary], state: State | None = None
) -> ComposerFacts:
    facts = ComposerFacts(may_write="write" in call.principal.scopes, sets_up=call.is_own_machine)
    if state is None:
        newest = sorted(agents, key=lambda each: -each.updated)
        folders = dict.fromkeys(each.folder for each in newest if each.folder)
        config = call.space.agents.config
        return structs.replace(
            facts,
            model=config.model,
            mode=config.permission_mode,
            folder=call.space.agents.folder,
            folders=[*folders][:_FOLDERS] if facts.sets_up else (),
        )
    origin = state.origin
    return structs.replace(
        facts,
        model=state.settings.model,
        mode=state.settings.permission_mode,
        folder=state.workspace.folder,
        has_agent=True,
        is_archived=state.status == "archived",
        is_ended=state.status == "killed",
        elsewhere=program_title(origin.source) if origin else "",
        resume=resume_command_for(origin.source, origin.session) if origin else "",
    )


def _piece(html: str) -> Response:
    return HTMLResponse(html, headers={"Cache-Control": "no-store"})
