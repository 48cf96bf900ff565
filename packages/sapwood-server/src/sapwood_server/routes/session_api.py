"""Sessions of Claude Code, Codex and Gemini CLI on the server's machine: listed, and imported.

They belong to the person at the machine, so these routes need the scope `admin`.
"""

from starlette.responses import Response

from sapwood.display.quantities import iso
from sapwood.imports.importer import Importer
from sapwood_server.exchange import Endpoint, Exchange, json_response
from sapwood_server.problems import Problem


async def list_sessions(call: Exchange) -> Response:
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


async def import_session(call: Exchange) -> Response:
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
