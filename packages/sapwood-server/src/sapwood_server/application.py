"""The ASGI application: every route of the table behind the same guard.

The guard checks host, origin, identity, rate and scope, in this order, before a handler runs.
"""

import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from functools import cache
from importlib.resources import files

from starlette.applications import Starlette
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sapwood.core.errors import LogUnavailable, SpaceMoved
from sapwood.metrics import METRICS
from sapwood_server.access.identity import COOKIE, Identities
from sapwood_server.access.pairing import SECONDS as PAIRING_SECONDS
from sapwood_server.access.pairing import PairingCodes
from sapwood_server.access.principal import Principal
from sapwood_server.access.rate_limit import (
    OpenStreams,
    Proxies,
    RequestLimits,
    SignInLimits,
    parse_proxies,
)
from sapwood_server.access.request_checks import (
    SECURITY_HEADERS,
    AllowedHosts,
    check_origin,
    checked_origins,
    is_encrypted,
    is_loopback,
    read_json,
)
from sapwood_server.access.stream_access import StreamAccess
from sapwood_server.answered_requests import KEPT_SECONDS
from sapwood_server.page.api_html import api_html
from sapwood_server.page.page_html import problem_page, sign_in_page
from sapwood_server.page.pages import page_endpoints
from sapwood_server.problems import Problem, problem_of, with_openai_error
from sapwood_server.protocols import openai_conversations
from sapwood_server.protocols.ag_ui_api import ag_ui_endpoints
from sapwood_server.protocols.mcp_api import mcp_endpoints
from sapwood_server.protocols.openai_responses import response_endpoints
from sapwood_server.recent_erasures import erased_within
from sapwood_server.request_context import (
    Endpoint,
    RequestBody,
    RequestContext,
    json_response,
)
from sapwood_server.routes import configuration_api, lifecycle_api
from sapwood_server.routes.command_api import changing_endpoints
from sapwood_server.routes.conversation_api import reading_endpoints
from sapwood_server.routes.dispatch_api import dispatch_endpoints
from sapwood_server.routes.file_api import file_endpoints
from sapwood_server.routes.log_api import log_endpoints
from sapwood_server.routes.openapi import openapi_document
from sapwood_server.served_space import ServedSpaces

_log = logging.getLogger("sapwood.server")

PUBLIC_PATHS = ("/healthz", "/readyz", "/sign-in", "/static/{name}")
"""The only routes without a principal: they show nothing of any conversation."""

_TYPES = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "woff2": "font/woff2",
    "svg": "image/svg+xml",
}
_NOT_FOUND = "There is nothing at this address."
_STREAMS = 4096


PublicHandler = Callable[[Request], Awaitable[Response]]


class Guards:
    """What every request must pass."""

    def __init__(
        self,
        spaces: ServedSpaces,
        identities: Identities,
        hosts: AllowedHosts,
        limits: RequestLimits,
        origins: frozenset[str] = frozenset(),
        proxies: Proxies = (),
    ) -> None:
        self.origins = origins
        self.spaces = spaces
        self.identities = identities
        self.hosts = hosts
        self.limits = limits
        self.streams = StreamAccess(identities)
        self.sign_ins = SignInLimits(proxies)


class AuthenticatedEndpoint:
    """An endpoint of the table behind its guard, as an ASGI application."""

    def __init__(self, endpoint: Endpoint, guards: Guards) -> None:
        self.endpoint = endpoint
        self._guards = guards

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Checks the request, then answers it."""
        began = time.perf_counter()
        request = Request(scope, receive)
        principal: Principal | None = None
        try:
            principal = await self._admit(request)
            response = await self._answer(request, principal)
        except Exception as error:
            problem = problem_of(error)
            if self.endpoint.errors == "openai":
                problem = with_openai_error(problem)
            if problem.status == 500:
                _log.exception("%s %s failed", request.method, self.endpoint.path)
            response = problem.response()
            if _wants_page(request):
                response = _problem_page(problem)
        METRICS.add(
            "sapwood_http_requests_total", method=request.method, status=str(response.status_code)
        )
        METRICS.observe("sapwood_http_seconds", time.perf_counter() - began)
        if principal is None or not isinstance(response, StreamingResponse):
            await response(scope, receive, send)
        elif not await self._guards.streams.run(
            request, principal, lambda: response(scope, receive, send)
        ):
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _admit(self, request: Request) -> Principal:
        """Who sent a request that may come in. Raises `Problem`."""
        guards = self._guards
        guards.hosts.check(request)
        principal = await guards.identities.of(request)
        check_origin(request, by_cookie=principal.by_cookie, others=guards.origins)
        guards.limits.check(principal)
        principal.require(self.endpoint.scope)
        return principal

    async def _answer(self, request: Request, principal: Principal) -> Response:
        """The answer to a request about a space that is here before and after it.

        A space that moves meanwhile is deleted here, so what was read may not be all of it. What
        was stored is stored.
        """
        spaces = self._guards.spaces
        spaces.read_configuration()
        await spaces.require_here(principal.space)
        try:
            response = await self._answer_once(request, principal)
        except LogUnavailable:
            raise  # asking the database once more would only wait again
        except Exception:
            await spaces.require_here(principal.space)
            raise
        reads = request.method == "GET" and not isinstance(response, StreamingResponse)
        if reads or response.status_code >= 400:
            await spaces.require_here(principal.space)
        return response

    async def _answer_once(self, request: Request, principal: Principal) -> Response:
        """The answer to a request; of one with an id, the first answer to that id."""
        endpoint, spaces = self.endpoint, self._guards.spaces
        exchange = RequestContext(
            request, principal, spaces.get(principal.space), endpoint.max_bytes
        )
        given = await exchange.command_id() if endpoint.is_once else None
        if given is None:
            return await endpoint.handler(exchange)

        async def answer() -> Response:
            try:
                return await endpoint.handler(exchange)
            except Exception as error:
                if (problem := problem_of(error)).status >= 500 or isinstance(error, SpaceMoved):
                    raise
                await spaces.require_here(principal.space)
                return problem.response()

        content = await exchange.content()
        await self._forget_answers_with_erased_words(exchange, given)
        return await spaces.answered.once(principal.space, given, content, answer)

    async def _forget_answers_with_erased_words(self, exchange: RequestContext, id: str) -> None:
        """Forgets the answers of the space if something was erased since the first was kept.

        An answer can have words of any agent of the space, such as what a search found. The time is
        doubled because the clock of a process that erases may be behind.
        """
        answered, connection = self._guards.spaces.answered, exchange.space.connection
        if answered.has(connection.space, id) and await erased_within(
            connection.log, connection.space, 2 * KEPT_SECONDS
        ):
            answered.forget(connection.space)


class PublicEndpoint:
    """One of the few routes without a principal. Host and origin are checked all the same."""

    def __init__(self, handler: PublicHandler, guards: Guards) -> None:
        self._handler = handler
        self._guards = guards

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Checks the request, then answers it."""
        request = Request(scope, receive)
        try:
            self._guards.hosts.check(request)
            check_origin(request, by_cookie=request.method == "POST")
            response = await self._handler(request)
        except Exception as error:
            problem = problem_of(error)
            if problem.status == 500:
                _log.exception("%s failed", request.url.path)
            response = problem.response()
            if _wants_page(request):
                response = _problem_page(problem)
        await response(scope, receive, send)


def create_application(
    spaces: ServedSpaces,
    identities: Identities,
    hosts: Iterable[str],
    *,
    limits: RequestLimits | None = None,
    streams: int = _STREAMS,
    origins: Iterable[str] = (),
    proxies: Iterable[str] = (),
) -> ASGIApp:
    """The application over these spaces, for requests to these host names.

    Pages of `origins` may use it with a bearer token. `proxies` say whom they forward. Raises
    `SapwoodError` if one is no origin or no address.
    """
    hosts = tuple(hosts)
    others, trusted = checked_origins(origins), parse_proxies(proxies)
    allowed, limits = AllowedHosts(hosts), limits or RequestLimits()
    guards = Guards(spaces, identities, allowed, limits, others, trusted)
    table = endpoints(OpenStreams(streams), identities.pairing, hosts)
    routes = [
        Route(
            each.path, AuthenticatedEndpoint(each, guards), methods=[each.method], name=each.summary
        )
        for each in table
    ]
    routes += _public_routes(guards)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        yield
        await guards.limits.close()
        await guards.streams.close()
        await spaces.close()

    async def not_found(request: Request, _: Exception) -> Response:
        problem = Problem(404, "Not found", _NOT_FOUND)
        return _problem_page(problem) if _wants_page(request) else problem.response()

    async def not_allowed(request: Request, _: Exception) -> Response:
        return Problem(
            405, "Method not allowed", "This address does not support that method."
        ).response()

    app = Starlette(
        routes=routes,
        lifespan=lifespan,
        exception_handlers={404: not_found, 405: not_allowed},
    )
    app.router.redirect_slashes = False
    return SecurityHeaders(_for_origins(app, others) if others else app)


def _for_origins(app: ASGIApp, origins: frozenset[str]) -> ASGIApp:
    """The application with the answers that browsers ask for before pages of others may use it."""
    return CORSMiddleware(
        app,
        allow_origins=sorted(origins),
        allow_methods=("GET", "POST", "DELETE"),
        allow_headers=("Authorization", "Content-Type", "Idempotency-Key", "Last-Event-ID"),
        expose_headers=("Idempotency-Replayed", "Retry-After", "WWW-Authenticate"),
    )


def endpoints(
    streams: OpenStreams, codes: PairingCodes | None = None, hosts: Iterable[str] = ()
) -> tuple[Endpoint, ...]:
    """The table of routes."""
    api = (
        *reading_endpoints(streams),
        *log_endpoints(),
        *file_endpoints(),
        *lifecycle_api.ROUTES.endpoints,
        *configuration_api.ROUTES.endpoints,
        _pairing_endpoint(codes or PairingCodes(), hosts),
        *dispatch_endpoints(),
        *changing_endpoints(),
        *response_endpoints(streams),
        *openai_conversations.ROUTES.endpoints,
        *ag_ui_endpoints(streams),
        *mcp_endpoints(),
    )

    async def openapi(_: RequestContext) -> Response:
        return json_response(described())

    async def page(_: RequestContext) -> Response:
        return HTMLResponse(api_html(described()))

    table = (
        *api,
        Endpoint("GET", "/v1/openapi.json", "read", openapi, "Describe this API", internal=True),
        Endpoint("GET", "/api", "read", page, "The API, described", answers="text/html"),
        *page_endpoints(),
    )
    described = cache(lambda: openapi_document(table))
    return table


def _pairing_endpoint(codes: PairingCodes, hosts: Iterable[str]) -> Endpoint:
    names = [each for each in hosts if not is_loopback(each)]

    async def pair(call: RequestContext) -> Response:
        """A code that signs one other browser in as the same person, without `admin`.

        `names` are those by which other machines can reach the server.
        """
        await call.read(RequestBody)
        code = codes.create(call.principal)
        return json_response({"code": code, "seconds": PAIRING_SECONDS, "names": names}, 201)

    about = "Make a code to sign in another browser"
    return Endpoint("POST", "/v1/pairing", "read", pair, about, internal=True)


def _public_routes(guards: Guards) -> list[Route]:
    identities = guards.identities

    async def health(_: Request) -> Response:
        return json_response({"status": "ok"})

    async def ready(_: Request) -> Response:
        if guards.spaces.draining:
            raise Problem(503, "Draining", "The server is shutting down. Use another one.")
        if not await guards.spaces.health.database_answers():
            raise Problem(503, "Database unavailable", "The database is not responding.")
        return json_response({"status": "ready"})

    async def sign_in(request: Request) -> Response:
        if request.method == "GET":
            return HTMLResponse(sign_in_page())
        address = guards.sign_ins.check(request)
        body = await read_json(request, max_bytes=10_000)
        given = body.get("token")
        token = given.strip() if isinstance(given, str) else ""
        cookie = await identities.exchange(token, by_link="link" in body, address=address)
        response = json_response({"message": "Signed in."})
        response.set_cookie(
            COOKIE,
            cookie,
            max_age=30 * 86_400,
            httponly=True,
            samesite="strict",
            secure=is_encrypted(request),
            path="/",
        )
        return response

    async def static(request: Request) -> Response:
        return _static_file(request.path_params["name"])

    handlers = {
        "/healthz": (health, ["GET"]),
        "/readyz": (ready, ["GET"]),
        "/sign-in": (sign_in, ["GET", "POST"]),
        "/static/{name}": (static, ["GET"]),
    }
    return [
        Route(path, PublicEndpoint(handlers[path][0], guards), methods=handlers[path][1])
        for path in PUBLIC_PATHS
    ]


def _static_file(name: str) -> Response:
    """A file that is a part of this package. Names with a folder or a dot in front have none."""
    kind = _TYPES.get(name.rpartition(".")[2], "")
    folder = files("sapwood_server") / "static"
    if not kind or name.startswith(".") or name not in {each.name for each in folder.iterdir()}:
        raise Problem(404, "Unknown file", "There is no such file.")
    headers = {"Cache-Control": "no-cache"}
    return Response((folder / name).read_bytes(), headers=headers, media_type=kind)


def _wants_page(request: Request) -> bool:
    return "text/html" in request.headers.get("accept", "") and request.method == "GET"


def _problem_page(problem: Problem) -> Response:
    """A problem for a person who opened an address in a browser."""
    if problem.status == 401:
        page = sign_in_page(problem.detail)
    else:  # what a refusal says to type cannot be typed here
        page = problem_page(_NOT_FOUND if problem.status == 404 else problem.detail)
    return HTMLResponse(page, problem.status, headers=problem.headers)


class SecurityHeaders:
    """Adds the headers that every answer has."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._headers = [(k.lower().encode(), v.encode()) for k, v in SECURITY_HEADERS.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes the request on."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *self._headers]
            await send(message)

        await self.app(scope, receive, with_headers)
