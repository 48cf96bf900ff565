"""Pages of other origins that a setting names, and the page that shows the API."""

import re

import pytest

from sapwood.core.errors import SapwoodError
from sapwood_server.access.identity import COOKIE
from sapwood_server.application import create_application
from tests.server.answer_schemas import document
from tests.server.serving import ADDRESS, Served

PAGE = "https://app.example"
ASKS = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}


async def test_a_page_of_a_named_origin_uses_the_api_with_a_token_and_no_cookie(
    served: Served,
) -> None:
    app = create_application(served.spaces, served.identities, ("127.0.0.1",), origins=[PAGE])
    cookie = await served.identities.exchange(served.identities.one_time_token)
    served.app = app
    async with served.client() as client, served.plain_client() as nobody:
        before = await nobody.options("/v1/agents", headers={"Origin": PAGE, **ASKS})
        foreign = await nobody.options("/v1/agents", headers={"Origin": "https://evil", **ASKS})
        cross = {"Origin": PAGE, "Sec-Fetch-Site": "cross-site"}
        made = await client.post("/v1/agents", json={}, headers=cross)
        other = await client.get("/v1/agents", headers={"Origin": "https://evil"})
        by_cookie = await nobody.get(
            "/v1/agents", headers={**cross, "Cookie": f"{COOKIE}={cookie}"}
        )
        no_token = await nobody.get("/v1/agents", headers={"Origin": PAGE})
    assert before.headers["access-control-allow-origin"] == PAGE
    assert "access-control-allow-credentials" not in before.headers
    assert "access-control-allow-origin" not in foreign.headers
    assert made.status_code == 201
    assert made.headers["access-control-allow-origin"] == PAGE
    assert (other.status_code, by_cookie.status_code) == (403, 403)
    assert no_token.status_code == 401
    assert no_token.headers["www-authenticate"] == "Bearer"


async def test_by_default_no_other_origin_is_allowed(served: Served) -> None:
    async with served.client() as client:
        before = await client.options("/v1/agents", headers={"Origin": PAGE, **ASKS})
        refused = await client.get("/v1/agents", headers={"Origin": PAGE})
    assert "access-control-allow-origin" not in before.headers
    assert refused.status_code == 403
    assert "access-control-allow-origin" not in refused.headers


@pytest.mark.parametrize("origin", ["*", "app.example", "https://app.example/path", "null", ""])
async def test_what_is_no_origin_is_refused(served: Served, origin: str) -> None:
    with pytest.raises(SapwoodError, match="origin"):
        create_application(served.spaces, served.identities, (), origins=[origin])


async def test_the_page_of_the_api_shows_every_route_and_fetches_nothing(served: Served) -> None:
    async with served.client("read") as client:
        page = await client.get("/api", headers={"Origin": ADDRESS})
    whole = document()
    for methods in whole["paths"].values():
        for operation in methods.values():
            assert f'id="{operation["operationId"]}"' in page.text
    targets = set(re.findall(r'(?:href|src)="([^"]*)"', page.text))
    types = {f"#{name}" for name in whole["components"]["schemas"]}
    others = {"/", "/static/icon.svg", "/static/sapwood.css", "/v1/openapi.json"}
    others.add("/static/start.js")  # it chooses the colours
    assert targets <= types | others
    assert page.text.count("<script") == 1
