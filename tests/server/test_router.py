"""The router sends requests to the cell that has the space, and follows spaces that move."""

import json
from collections.abc import Awaitable, Callable

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp

from sapwood.core.errors import SpaceMoved, SpaceStopped
from sapwood.metrics import METRICS
from sapwood_server.problems import Problem, problem_of
from sapwood_server.router import MemoryDirectory, Router, RouterHealth, create_router


@pytest.fixture(autouse=True)
def no_numbers() -> None:
    for name in ("requests", "refused", "moves"):
        METRICS.clear(f"sapwood_router_{name}_total")


Answer = Callable[[Request], Awaitable[Response]]


class Cells(httpx2.AsyncBaseTransport):
    """Cells that answer as they are told, and remember what they were asked."""

    def __init__(self, **answers: Answer) -> None:
        self.asked: list[tuple[str, str, str, bytes]] = []
        self._apps = {name: self._app(name, answer) for name, answer in answers.items()}

    def close(self, name: str) -> None:
        """The cell answers no more."""
        del self._apps[name]

    def _app(self, name: str, answer: Answer) -> ASGIApp:
        async def respond(request: Request) -> Response:
            key = request.headers.get("idempotency-key", "")
            self.asked.append((name, request.url.path, key, await request.body()))
            return await answer(request)

        app = Starlette()
        app.add_route("/{path:path}", respond, methods=["GET", "POST"])
        return app

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        app = self._apps.get(request.url.host)
        if app is None:
            raise httpx2.ConnectError("no such cell")
        return await httpx2.ASGITransport(app).handle_async_request(request)


async def here(request: Request) -> Response:
    if request.url.query == "limit=1":
        return JSONResponse({"agents": []})
    return JSONResponse({"query": request.url.query}, 201, headers={"x-cell": "yes"})


async def having(request: Request) -> Response:
    if request.url.query == "limit=1":
        return JSONResponse({"agents": [{"agent": "ada"}]})
    return await here(request)


async def refuse(_: Request) -> Response:
    return Response(status_code=401)


async def refuse_scope(_: Request) -> Response:
    return Problem(403, "Scope missing", "This token does not allow 'read'.").response()


def moved(cell: str) -> Answer:
    async def answer(_: Request) -> Response:
        return problem_of(SpaceMoved("acme", cell)).response()

    return answer


def client(router: Router, space: str = "acme") -> httpx2.AsyncClient:
    return httpx2.AsyncClient(
        transport=httpx2.ASGITransport(create_router(router)),
        base_url="http://router",
        headers={"Authorization": "Bearer t"} | ({"Sapwood-Space": space} if space else {}),
    )


def router_of(cells: Cells, *names: str) -> tuple[Router, MemoryDirectory]:
    table = MemoryDirectory()
    return Router({name: f"http://{name}" for name in names}, table, cells), table


async def test_a_request_follows_a_space_that_moved_and_acts_once() -> None:
    stops = iter((True, True, False))

    async def arriving(request: Request) -> Response:
        if next(stops, False):
            return problem_of(SpaceStopped("acme")).response()
        return await here(request)

    cells = Cells(a=moved("b"), b=arriving, c=here)
    router, table = router_of(cells, "a", "b", "c")
    await table.move("acme", "a")
    async with client(router) as to:
        answer = await to.post("/v1/agents?x=1", json={"name": "demo"})
        again = await to.get("/v1/agents")
    assert (answer.status_code, answer.json()) == (201, {"query": "x=1"})
    assert answer.headers["x-cell"] == "yes"
    assert again.status_code == 201
    assert await table.find("acme") == "b"
    assert [cell for cell, *_ in cells.asked] == ["a", "b", "b", "b", "b"]
    sent = cells.asked[:4]
    assert len({(path, key, body) for _, path, key, body in sent}) == 1
    assert sent[0][2].startswith("router-")
    assert json.loads(sent[0][3]) == {"name": "demo"}
    assert cells.asked[4][2] == ""
    numbers = await RouterHealth(table).numbers()
    for line in (
        'sapwood_router_requests_total{cell="a",status="421"} 1',
        'sapwood_router_requests_total{cell="b",status="503"} 2',
        'sapwood_router_requests_total{cell="b",status="201"} 2',
        'sapwood_router_moves_total{cell="b"} 1',
        "sapwood_database_up 1",
    ):
        assert line in numbers.splitlines()


async def test_a_new_space_has_one_cell_and_a_stranger_reserves_none() -> None:
    cells = Cells(a=refuse, b=refuse)
    router, table = router_of(cells, "a", "b")
    async with client(router) as to:
        assert (await to.get("/v1/agents")).status_code == 401
    assert await table.find("acme") == ""
    cells = Cells(a=here, b=here)
    router, table = router_of(cells, "a", "b")
    for number in range(20):
        async with client(router, f"space-{number}") as to:
            assert (await to.get("/v1/agents")).status_code == 201
    assert {cell for cell, *_ in cells.asked} == {"a", "b"}
    other, _ = router_of(cells, "b", "a")
    assert [await table.find(f"space-{n}") for n in range(20)] == [
        other.home_of(f"space-{n}") for n in range(20)
    ]


@pytest.mark.parametrize(
    ("answers", "cell"),
    [
        ({"a": here, "b": having, "c": here}, "b"),
        ({"a": refuse, "b": refuse, "c": having}, "c"),
        ({"a": refuse, "b": here, "c": refuse}, "b"),
        ({"a": refuse, "b": refuse_scope, "c": refuse}, "b"),
        ({"a": moved("b"), "b": here, "c": here}, "b"),
        ({"a": moved("b"), "b": moved("c"), "c": having}, "c"),
        ({"a": having, "c": here}, "a"),  # b does not answer
        ({"a": having, "b": having, "c": here}, ""),
        ({"a": here, "b": here}, ""),  # c does not answer
        ({"a": refuse, "b": refuse, "c": refuse}, ""),
    ],
)
async def test_a_space_that_a_cell_has_is_found_there(
    answers: dict[str, Answer], cell: str
) -> None:
    for number in range(6):  # new ones would get different cells
        cells = Cells(**answers)
        router, table = router_of(cells, "a", "b", "c")
        space = f"space-{number}"
        async with client(router, space) as to:
            answer = await to.post("/v1/agents", json={})
        assert await table.find(space) == cell
        changed = {name for name, _, key, _ in cells.asked if key}
        assert changed <= ({cell} if cell else {router.home_of(space)})
        assert (answer.status_code >= 400) == (not cell or answers[cell] is refuse_scope)


async def test_without_credentials_no_cell_is_asked_and_a_corrected_table_is_read() -> None:
    cells = Cells(a=refuse, b=having)
    router, table = router_of(cells, "a", "b")
    async with client(router) as to:
        del to.headers["Authorization"]
        await to.get("/v1/agents")
        assert len(cells.asked) == 1
        assert await table.find("acme") == ""
        await table.move("acme", "a")
        assert (await to.get("/v1/agents")).status_code == 401
        await table.move("acme", "b")
        assert (await to.get("/v1/agents")).status_code == 201
        for number in range(6):
            to.headers["Sapwood-Space"] = f"space-{number}"
            signed = await to.post("/sign-in", json={"token": "t"})
            assert (signed.status_code, await table.find(f"space-{number}")) == (201, "b")


async def test_a_closed_cell_is_not_asked_when_the_table_names_another() -> None:
    cells = Cells(a=here, b=here)
    router, table = router_of(cells, "a", "b")
    await table.move("acme", "a")
    async with client(router) as to:
        assert (await to.get("/v1/agents")).status_code == 201
        cells.close("a")
        assert (await to.get("/v1/agents")).status_code == 502
        await table.move("acme", "b")
        assert (await to.post("/v1/agents", json={})).status_code == 201
        cells.asked.clear()
        assert (await to.get("/v1/agents")).status_code == 201
        assert [name for name, *_ in cells.asked] == ["b"]


async def test_a_cell_gets_what_the_client_sent_and_nothing_of_others() -> None:
    seen: list[tuple[bytes, str, list[tuple[bytes, bytes]]]] = []

    async def answer(request: Request) -> Response:
        scope = request.scope
        seen.append((scope["raw_path"], scope["query_string"], request.headers.raw))
        return Response(headers={"set-cookie": "sapwood_session=ada", "x-name": "J\xf6rg"})

    router, table = router_of(Cells(a=answer), "a")
    await table.move("acme", "a")
    await table.move("bolt", "a")
    async with client(router) as ada, client(router, "bolt") as bob:
        signed_in = await ada.post("/sign-in", json={"token": "t"})
        bob.headers.clear()
        headers = [(b"sapwood-space", b"bolt"), (b"x-user", b"J\xf6rg")]
        await bob.get("/v1/owners/a%2540b.com/team%2Fada?q=%41", headers=headers)
    assert signed_in.cookies["sapwood_session"] == "ada"
    assert signed_in.headers["x-name"] == "J\xf6rg"
    path, query, sent = seen[1]
    assert (path, query) == (b"/v1/owners/a%2540b.com/team%2Fada", b"q=%41")
    assert dict(sent) == {b"host": b"router", **dict(headers)}


@pytest.mark.parametrize("path", [b"@other.example/x", b"http://other.example/", b"/\xff", b""])
async def test_an_address_that_is_no_path_is_refused(path: bytes) -> None:
    cells = Cells(a=here)
    router, table = router_of(cells, "a")
    await table.move("acme", "a")
    scope = {"type": "http", "method": "GET", "path": "/", "raw_path": path, "query_string": b""}
    with pytest.raises(Problem, match="must be a path"):
        await router.respond(Request({**scope, "headers": [(b"sapwood-space", b"acme")]}, nothing))
    assert cells.asked == []


async def nothing() -> dict[str, object]:
    return {"type": "http.request", "body": b"", "more_body": False}


@pytest.mark.parametrize(
    ("answers", "space", "status", "kind"),
    [
        ({"a": moved("z")}, "acme", 502, "cell-unknown"),
        ({"a": moved("")}, "acme", 502, "cell-unknown"),
        ({"a": moved("a")}, "acme", 502, "cell-unknown"),
        ({}, "acme", 502, "cell-unavailable"),
        ({"a": here}, "", 400, "space-missing"),
    ],
)
async def test_what_cannot_be_routed_is_a_problem(
    answers: dict[str, Answer], space: str, status: int, kind: str
) -> None:
    router, _ = router_of(Cells(**answers), "a")
    async with client(router, space) as to:
        answer = await to.get("/v1/agents")
        assert (await to.get("/healthz")).status_code == 200
    assert answer.status_code == status
    assert answer.json()["type"] == f"urn:sapwood:problem:{kind}"
    title = answer.json()["title"]
    assert f'sapwood_router_refused_total{{problem="{title}"}} 1' in METRICS.text().splitlines()
