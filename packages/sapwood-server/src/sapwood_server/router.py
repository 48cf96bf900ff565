"""The router: sends each request to the cell that has its space, and follows spaces that move.

It knows the cells and reads one header. Servers of a cell answer 421 for a space that was moved
away, with the name of the new cell; then the same request is sent there. A request that a cell
refuses so has changed nothing, and one without an idempotency key gets one, so that nothing is done
twice.

A space that is not in the table is looked for: each cell gets a harmless request with the
credentials of the client, so that nobody learns of a space that they may not use. Only a space
that no cell has gets a new cell.
"""

import asyncio
import hashlib
import logging
import uuid
from collections import OrderedDict
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from enum import Enum
from importlib import metadata
from typing import Protocol, TypeAlias

import httpx2
import msgspec
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from sapwood.core.errors import LogError
from sapwood.metrics import METRICS
from sapwood_server.access.identity import SPACE_HEADER
from sapwood_server.problems import MOVED_HEADER, Problem
from sapwood_server.request_context import json_response

_log = logging.getLogger("sapwood.router")

_HOPS = 5
_STOPPED_SECONDS, _PAUSE = 10.0, 0.05
"""How long a request waits for a space that is stopped."""
_KEPT = 100_000
_MAX_BYTES = 64_000_000
_BODY_SECONDS = 60.0
_OF_CONNECTION = frozenset(
    (
        *(b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"te"),
        *(b"trailer", b"transfer-encoding", b"upgrade", b"content-length"),
    )
)
"""Headers about one connection: they are not passed on."""
_IDEMPOTENCY = b"idempotency-key"
_REFUSED = (401, 403)
_QUESTION = "/v1/agents?limit=1"
_ASK_SECONDS = 10.0
_CONNECT_SECONDS = 10.0
_CHECK_SECONDS = 2.0
_SIGN_IN = "/sign-in"
_NOT_OF_QUESTION = frozenset((b"content-type", _IDEMPOTENCY, b"last-event-id", b"accept"))

_Headers: TypeAlias = list[tuple[bytes, bytes]]
"""As they were received: they may hold bytes that are no ASCII."""


class _Knowledge(Enum):
    """What a cell says about a space to somebody with these credentials."""

    HAS = "it has agents of the space"
    ACCEPTS = "they are valid here, and the space has no agents"
    REFUSES = "they are not valid here"
    UNKNOWN = "it did not say"


class _Agents(msgspec.Struct):
    agents: list[msgspec.Raw] = []


class _Refusal(msgspec.Struct):
    type: str = ""


class _SignIn(msgspec.Struct):
    token: str = ""


class Directory(Protocol):
    """The table of the cells of spaces, which all routers share."""

    async def find(self, space: str) -> str:
        """The cell of a space; empty if it has none yet."""
        ...

    async def add(self, space: str, cell: str) -> str:
        """Gives a space that has no cell to this one. Returns the cell that it has now."""
        ...

    async def move(self, space: str, cell: str) -> None:
        """Says that another cell has the space now."""
        ...


class _CellUnavailable(Problem):
    """A cell does not answer."""

    def __init__(self, detail: str) -> None:
        super().__init__(502, "Cell unavailable", detail, headers={"Retry-After": "2"})


class Router:
    """Sends requests to cells. `cells` has the address of each by its name."""

    def __init__(
        self,
        cells: Mapping[str, str],
        directory: Directory,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self._cells = {name: address.rstrip("/") for name, address in cells.items()}
        self._directory = directory
        self._known: OrderedDict[str, str] = OrderedDict()
        self._client = httpx2.AsyncClient(
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=200),
            transport=transport,
            trust_env=False,
        )

    def home_of(self, space: str) -> str:
        """The cell for a new space: the same one for every router that has the same cells."""
        return max(
            self._cells, key=lambda cell: hashlib.blake2b(f"{cell}\0{space}".encode()).digest()
        )

    async def respond(self, request: Request) -> Response:
        """The answer of the cell that has the space. Raises `Problem` if there is none."""
        space = request.headers.get(SPACE_HEADER, "")
        if not space:
            raise Problem(
                400,
                "Space missing",
                f"Name the space in the header {SPACE_HEADER.title()}: the router sends the "
                "request to the cell that has it.",
            )
        body = await _body(request)
        headers = [each for each in request.headers.raw if each[0] not in _OF_CONNECTION]
        names = {name for name, _ in headers}
        if request.method not in ("GET", "HEAD") and _IDEMPOTENCY not in names:
            headers.append((_IDEMPOTENCY, f"router-{uuid.uuid4().hex}".encode()))
        cell = await self._cell_of(space) or await self._found(request, space, headers, body)
        try:
            answer = await self._followed(request, space, cell, headers, body)
        except _CellUnavailable:  # it may have been closed after its spaces were moved
            corrected = await self._corrected(space, cell)
            if not corrected:
                raise
            answer = await self._followed(request, space, corrected, headers, body)
        else:
            if answer.status_code in _REFUSED and (corrected := await self._corrected(space, cell)):
                await answer.aclose()
                answer = await self._followed(request, space, corrected, headers, body)
        return _passed_on(answer)

    async def _corrected(self, space: str, cell: str) -> str:
        """The cell that the table names now, if it is another one; otherwise empty."""
        if self._known.get(space) != cell:
            return ""
        del self._known[space]
        found = await self._cell_of(space)
        return "" if found == cell else found

    async def close(self) -> None:
        """Closes all connections."""
        await self._client.aclose()

    async def _followed(
        self,
        request: Request,
        space: str,
        cell: str,
        headers: _Headers,
        body: bytes,
    ) -> httpx2.Response:
        """The answer to a request, from whichever cell the space has moved to."""
        loop = asyncio.get_running_loop()
        deadline, hops = loop.time() + _STOPPED_SECONDS, 0
        while True:
            answer = await self._send(request, cell, headers, body)
            if answer.status_code == 421 and (moved := answer.headers.get(MOVED_HEADER)):
                await answer.aclose()
                hops += 1
                cell = await self._moved(space, cell, moved, hops)
            elif _is_stopped(answer) and loop.time() < deadline:
                await answer.aclose()
                await asyncio.sleep(_PAUSE)
            else:
                return answer

    async def _moved(self, space: str, before: str, cell: str, hops: int) -> str:
        """Notes where a space is now. Raises `Problem` if this router does not know that cell."""
        if cell not in self._cells:  # the mover did not name it; the table may
            cell = await self._directory.find(space)
        if cell not in self._cells or cell == before or hops > _HOPS:
            raise _unknown_cell(space, "was moved to a cell that")
        _log.info("The space '%s' moved from cell %s to %s", space, before, cell)
        METRICS.add("sapwood_router_moves_total", cell=cell)
        await self._directory.move(space, cell)
        self._keep(space, cell)
        return cell

    async def _send(
        self, request: Request, cell: str, headers: _Headers, body: bytes
    ) -> httpx2.Response:
        url = self._cells[cell] + _target(request)
        sent = _request(request.method, url, headers, body)
        try:
            answer = await self._client.send(sent, stream=True)
        except httpx2.TransportError as error:
            _log.warning("The cell %s does not answer: %s", cell, error)
            raise _CellUnavailable(
                f"The cell '{cell}' does not answer. Try again; a repeated request with the same "
                "Idempotency-Key acts once."
            ) from None
        METRICS.add("sapwood_router_requests_total", cell=cell, status=str(answer.status_code))
        return answer

    async def _cell_of(self, space: str) -> str:
        """The cell of a space by the table; empty if it has none yet."""
        known = self._known.get(space)
        if known is not None:
            self._known.move_to_end(space)
            return known
        cell = await self._directory.find(space)
        if cell:
            self._keep_known(space, cell)
        return cell

    async def _found(self, request: Request, space: str, headers: _Headers, body: bytes) -> str:
        """The cell of a space that the table does not have.

        If no cell accepts the credentials, it is any cell, which refuses them too, and the table
        stays as it is.
        """
        asking = _question_headers(request, headers, body)
        cell = await self._holder(space, asking) if asking else ""
        if not cell:
            return self.home_of(space)
        cell = await self._directory.add(space, cell)
        self._keep_known(space, cell)
        return cell

    async def _holder(self, space: str, headers: _Headers) -> str:
        """The cell that has a space, or is to have it; empty if none accepts the credentials.

        Raises `Problem` if that is not certain: a space must not begin to exist in two cells.
        """
        answers = await asyncio.gather(*(self._ask(cell, headers) for cell in self._cells))
        said = dict(zip(self._cells, answers, strict=True))
        having = [cell for cell, answer in said.items() if answer is _Knowledge.HAS]
        if len(having) > 1:
            raise Problem(
                502,
                "Space in two cells",
                f"The cells {' and '.join(having)} both have a space '{space}'. The operator "
                "decides which one is right: sapwood move SPACE --to ADDRESS --cell NAME "
                "--directory ADDRESS, with the address of the right cell as --database too.",
            )
        if having:
            return having[0]
        moved = {cell: answer for cell, answer in said.items() if isinstance(answer, str)}
        if moved:
            ends = {cell for cell in moved.values() if cell in said and cell not in moved}
            if len(ends) == 1:
                return ends.pop()
            raise _unknown_cell(space, "was moved to a cell that")
        for cell, answer in said.items():
            if answer is _Knowledge.UNKNOWN:
                raise _CellUnavailable(
                    f"The cell '{cell}' does not say whether it has the space '{space}'. Nothing "
                    "was changed. Try again."
                )
        accepting = [cell for cell, answer in said.items() if answer is _Knowledge.ACCEPTS]
        home = self.home_of(space)
        return home if home in accepting else next(iter(accepting), "")

    async def _ask(self, cell: str, headers: _Headers) -> _Knowledge | str:
        """What a cell says about a space; the name of another cell if it was moved there."""
        asked = _request("GET", self._cells[cell] + _QUESTION, headers, seconds=_ASK_SECONDS)
        try:
            answer = await self._client.send(asked)
        except httpx2.TransportError as error:
            _log.warning("The cell %s does not answer: %s", cell, error)
            return _Knowledge.UNKNOWN
        return _knowledge(answer)

    def _keep_known(self, space: str, cell: str) -> None:
        """Remembers the cell. Raises `Problem` if this router does not know it."""
        if cell not in self._cells:
            raise _unknown_cell(space, f"is in the cell '{cell}', which")
        self._keep(space, cell)

    def _keep(self, space: str, cell: str) -> None:
        self._known[space] = cell
        self._known.move_to_end(space)
        while len(self._known) > _KEPT:
            self._known.popitem(last=False)


class MemoryDirectory:
    """The table of one router. After a restart, cells say again where their spaces went."""

    def __init__(self) -> None:
        self._spaces: dict[str, str] = {}

    async def find(self, space: str) -> str:
        return self._spaces.get(space, "")

    async def add(self, space: str, cell: str) -> str:
        return self._spaces.setdefault(space, cell)

    async def move(self, space: str, cell: str) -> None:
        self._spaces[space] = cell


class RouterHealth:
    """What the health server of a router reports: the numbers, and whether the table answers."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory
        METRICS.set("sapwood_info", 1, version=metadata.version("sapwood"))

    async def numbers(self) -> str:
        """Counts, in the text format of Prometheus."""
        await self.database_answers()
        return METRICS.text()

    async def database_answers(self) -> bool:
        """Whether the table of the cells answers within two seconds."""
        try:
            async with asyncio.timeout(_CHECK_SECONDS):
                await self._directory.find("")
        except (LogError, TimeoutError):
            METRICS.set("sapwood_database_up", 0)
            return False
        METRICS.set("sapwood_database_up", 1)
        return True


def create_router(router: Router) -> ASGIApp:
    """The application: everything is sent to cells but the health of the router itself."""

    async def health(_: Request) -> Response:
        return json_response({"status": "ok"})

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        yield
        await router.close()

    own = [Route(path, health, methods=["GET"]) for path in ("/healthz", "/readyz")]
    app = Starlette(routes=own, lifespan=lifespan)
    app.router.default = _Forwarding(router)
    return app


class _Forwarding:
    """Answers every request that the router does not answer itself."""

    def __init__(self, router: Router) -> None:
        self._router = router

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        try:
            response = await self._router.respond(Request(scope, receive))
        except Problem as problem:
            response = _refused(problem)
        except LogError as error:
            response = _refused(Problem(503, "Directory unavailable", str(error)))
        await response(scope, receive, send)


def _refused(problem: Problem) -> Response:
    METRICS.add("sapwood_router_refused_total", problem=problem.title)
    return problem.response()


async def _body(request: Request) -> bytes:
    """The body, which is kept because it may have to be sent to another cell."""
    body = bytearray()
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            async for piece in request.stream():
                body += piece
                if len(body) > _MAX_BYTES:
                    raise Problem(413, "Body too large", f"At most {_MAX_BYTES:,} bytes.")
    except TimeoutError:
        raise Problem(408, "Body too slow", "The body did not arrive in time.") from None
    except ClientDisconnect:
        raise Problem(400, "Disconnected", "The body did not arrive.") from None
    return bytes(body)


def _unknown_cell(space: str, which: str) -> Problem:
    return Problem(
        502,
        "Cell unknown",
        f"The space '{space}' {which} this router does not know. Start the router with --cell "
        "NAME=URL for it, or correct the name: sapwood move SPACE --to ADDRESS --cell NAME",
    )


def _target(request: Request) -> str:
    """Path and query exactly as the client sent them. Raises `Problem` for anything else."""
    try:
        path: str = request.scope["raw_path"].decode("ascii")
    except UnicodeDecodeError:
        path = ""
    if not path.startswith("/"):
        raise Problem(400, "Invalid address", "The address must be a path in ASCII.")
    return f"{path}?{request.url.query}" if request.url.query else path


def _request(
    method: str, url: str, headers: _Headers, body: bytes = b"", seconds: float | None = None
) -> httpx2.Request:
    """A request with these headers alone. One that the client makes would also have its cookies:
    those that cells have set for other people.
    """
    timeout = httpx2.Timeout(seconds, connect=_CONNECT_SECONDS).as_dict()
    return httpx2.Request(
        method, url, headers=headers, content=body, extensions={"timeout": timeout}
    )


def _question_headers(request: Request, headers: _Headers, body: bytes) -> _Headers:
    """The headers of a question with the credentials of a request; none if it has none."""
    found = [each for each in headers if each[0] not in _NOT_OF_QUESTION]
    if "authorization" in request.headers:
        return found
    if request.method == "POST" and request.url.path == _SIGN_IN:
        with suppress(msgspec.MsgspecError, UnicodeDecodeError):
            token = msgspec.json.decode(body, type=_SignIn).token.strip()
            if token.isascii() and token.isprintable():
                return [*found, (b"authorization", f"Bearer {token}".encode())]
    return found if "cookie" in request.headers else []


def _knowledge(answer: httpx2.Response) -> _Knowledge | str:
    status = answer.status_code
    try:
        if status == 200:
            has = msgspec.json.decode(answer.content, type=_Agents).agents
            return _Knowledge.HAS if has else _Knowledge.ACCEPTS
        if status == 403:
            kind = msgspec.json.decode(answer.content, type=_Refusal).type
            valid = kind == "urn:sapwood:problem:scope-missing"  # for something else in the space
            return _Knowledge.ACCEPTS if valid else _Knowledge.REFUSES
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return _Knowledge.UNKNOWN
    if status == 421 and (moved := answer.headers.get(MOVED_HEADER)):
        return moved
    return _Knowledge.REFUSES if status in (401, 404) else _Knowledge.UNKNOWN


def _is_stopped(answer: httpx2.Response) -> bool:
    """Whether the space is between two cells: it was not changed, and is back in a moment."""
    return answer.status_code == 503 and answer.headers.get(MOVED_HEADER) == "now"


def _passed_on(answer: httpx2.Response) -> Response:
    async def pieces() -> AsyncGenerator[bytes]:
        try:
            async for piece in answer.aiter_raw():
                yield piece
        except httpx2.TransportError:
            if answer.headers.get("content-type", "").startswith("text/event-stream"):
                return  # the cell ended it; the client connects again
            raise
        finally:
            await answer.aclose()

    response = StreamingResponse(pieces(), answer.status_code)
    response.raw_headers = [
        (name.lower(), value)
        for name, value in answer.headers.raw
        if name.lower() not in _OF_CONNECTION - {b"content-length"}
    ]
    return response
