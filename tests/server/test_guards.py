"""No route lacks a guard: every one asks for a principal, its scope, and checks host and origin."""

import re

import pytest
from starlette.applications import Starlette
from starlette.routing import Route

from sapwood.config.server_tokens import MAX_SESSIONS, SCOPES, TokenScope
from sapwood.core.command_table import TABLE
from sapwood_server.access.identity import COOKIE
from sapwood_server.access.rate_limit import OpenStreams, RateLimit
from sapwood_server.access.request_checks import SECURITY_HEADERS
from sapwood_server.application import (
    PUBLIC_PATHS,
    AuthenticatedEndpoint,
    PublicEndpoint,
    SecurityHeaders,
    endpoints,
)
from sapwood_server.problems import Problem
from tests.server.serving import ADDRESS, Served, record

TABLE_OF_ROUTES = endpoints(OpenStreams(1))
JSON = {"Content-Type": "application/json"}


def filled(path: str) -> str:
    """An address with something in place of each parameter."""
    return re.sub(r"\{\w+\}", "1", path)


def routes(served: Served) -> list[Route]:
    assert isinstance(served.app, SecurityHeaders)
    app = served.app.app
    assert isinstance(app, Starlette)
    found = [route for route in app.routes if isinstance(route, Route)]
    assert len(found) == len(app.routes)
    return found


async def test_every_route_is_guarded_or_one_of_the_few_public_ones(served: Served) -> None:
    public = [route.path for route in routes(served) if isinstance(route.app, PublicEndpoint)]
    others = [route for route in routes(served) if not isinstance(route.app, PublicEndpoint)]
    assert sorted(public) == sorted(PUBLIC_PATHS)
    assert others
    assert all(isinstance(route.app, AuthenticatedEndpoint) for route in others)


async def test_no_route_answers_without_a_token(served: Served) -> None:
    async with served.plain_client() as client:
        for each in TABLE_OF_ROUTES:
            answer = await client.request(
                each.method, filled(each.path), headers=JSON, content="{}"
            )
            assert answer.status_code == 401, each.path
            assert answer.json()["detail"].startswith("Sign in with the address")


async def test_no_route_answers_a_token_without_its_scope(served: Served) -> None:
    for scope in SCOPES:
        others: list[TokenScope] = [each for each in SCOPES if each != scope]
        async with served.client(*others) as client:
            for each in TABLE_OF_ROUTES:
                if each.scope == scope:
                    answer = await client.request(
                        each.method, filled(each.path), headers=JSON, content="{}"
                    )
                    assert answer.status_code == 403, each.path
                    assert answer.json()["scope"] == scope
    assert {each.scope for each in TABLE_OF_ROUTES} == {*SCOPES}


async def test_each_command_of_the_table_has_a_route_with_its_scope() -> None:
    found = {
        each.path.rpartition("/")[2]: each.scope
        for each in TABLE_OF_ROUTES
        if "/commands/" in each.path
    }
    assert found == {row.name: row.scope for row in TABLE.rows}


async def test_another_host_name_is_refused(served: Served) -> None:
    async with served.client() as client:
        for host in ("evil.example", "127.0.0.1.evil.example", "[::2]", "localhost.:80"):
            answer = await client.get("/v1/agents", headers={"Host": host})
            assert answer.status_code == 421, host
        assert (await client.get("/v1/agents", headers={"Host": "localhost:8420"})).is_success


async def test_a_page_of_another_origin_is_refused(served: Served) -> None:
    async with served.client() as client:
        for origin in ("http://evil.example", "null", "http://127.0.0.1:9999"):
            answer = await client.get("/v1/agents", headers={"Origin": origin})
            assert answer.status_code == 403, origin
        cross = await client.get("/v1/agents", headers={"Sec-Fetch-Site": "cross-site"})
        assert cross.status_code == 403
        assert (await client.get("/v1/agents", headers={"Origin": ADDRESS})).is_success


async def test_a_browser_must_name_its_origin_to_change_something(served: Served) -> None:
    agent = await record(served.connection, ("Hello.", "Hi."))
    cookie = await served.identities.exchange(served.identities.one_time_token)
    async with served.plain_client({"Cookie": f"{COOKIE}={cookie}"}) as client:
        path = f"/v1/agents/{agent}/commands/mark"
        bare = await client.post(path, json={"args": "A"})
        named = await client.post(path, json={"args": "A"}, headers={"Origin": ADDRESS})
    assert bare.status_code == 403
    assert named.is_success


async def test_a_form_of_another_page_cannot_change_anything(served: Served) -> None:
    agent = await record(served.connection, ("Hello.", "Hi."))
    async with served.client() as client:
        for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
            answer = await client.post(
                f"/v1/agents/{agent}/commands/mark",
                content='{"args": "A"}',
                headers={"Content-Type": kind},
            )
            assert answer.status_code == 415, kind


async def test_an_unknown_address_is_a_page_in_a_browser_and_a_problem_elsewhere(
    served: Served,
) -> None:
    async with served.client() as client:
        for path in ("/c/nosuch", "/v1/agents/nosuch", "/nowhere"):
            program = await client.get(path)
            browser = await client.get(path, headers={"Accept": "text/html,*/*;q=0.8"})
            assert program.headers["content-type"] == "application/problem+json"
            assert browser.headers["content-type"] == "text/html; charset=utf-8"
            assert browser.status_code == program.status_code == 404
            assert "There is nothing at this address." in browser.text


async def test_every_answer_has_the_headers_that_keep_a_page_to_its_origin(served: Served) -> None:
    async with served.client() as client, served.plain_client() as nobody:
        answers = [
            await client.get("/v1/agents"),
            await client.get("/nowhere"),
            await nobody.get("/", headers={"Accept": "text/html"}),
            await nobody.get("/healthz"),
        ]
    for answer in answers:
        for name, value in SECURITY_HEADERS.items():
            assert answer.headers[name] == value, answer.url
    assert "unsafe" not in SECURITY_HEADERS["Content-Security-Policy"]


async def test_the_printed_token_works_once(served: Served) -> None:
    token = served.identities.one_time_token
    async with served.plain_client({"Origin": ADDRESS}) as client:
        first = await client.post("/sign-in", json={"token": token})
        client.cookies.clear()
        again = await client.post("/sign-in", json={"token": token})
        assert first.status_code == 200
        assert "HttpOnly" in first.headers["set-cookie"]
        assert "SameSite=strict" in first.headers["set-cookie"]
        assert token not in first.text
        assert again.status_code == 401
        value = first.headers["set-cookie"].partition("=")[2].partition(";")[0]
        page = await client.get("/", headers={"Cookie": f"{COOKIE}={value}"})
        assert "sapwood" in page.text


async def test_a_stolen_cookie_is_no_bearer_token_and_the_reverse(served: Served) -> None:
    cookie = await served.identities.exchange(served.identities.one_time_token)
    bearer, _ = served.tokens.create("bob", "local", ("read",))
    async with served.plain_client() as client:
        as_bearer = await client.get("/v1/agents", headers={"Authorization": f"Bearer {cookie}"})
        as_cookie = await client.get("/v1/agents", headers={"Cookie": f"{COOKIE}={bearer}"})
    assert (as_bearer.status_code, as_cookie.status_code) == (401, 401)


async def test_an_expired_and_a_revoked_token_are_refused(served: Served) -> None:
    value, kept = served.tokens.create("eve", "local", ("read",), seconds=-1)
    gone, record_ = served.tokens.create("bob", "local", ("read",))
    async with served.plain_client() as client:
        expired = await client.get("/v1/agents", headers={"Authorization": f"Bearer {value}"})
        before = await client.get("/v1/agents", headers={"Authorization": f"Bearer {gone}"})
        served.tokens.revoke(record_.id)
        after = await client.get("/v1/agents", headers={"Authorization": f"Bearer {gone}"})
    assert kept.expires
    assert (expired.status_code, before.status_code, after.status_code) == (401, 200, 401)


async def test_tokens_are_stored_as_hashes(served: Served) -> None:
    value, _ = served.tokens.create("bob", "local", ("read",))
    stored = served.tokens.file.read_text()
    assert value not in stored
    assert served.tokens.file.stat().st_mode & 0o077 == 0


async def test_an_oversized_body_is_refused(served: Served) -> None:
    agent = await record(served.connection, ("Hello.", "Hi."))
    async with served.client() as client:
        answer = await client.post(f"/v1/agents/{agent}/turns", json={"text": "x" * 1_100_000})
    assert answer.status_code == 413


def test_the_limit_says_when_to_try_again() -> None:
    limit = RateLimit(rate=10, burst=5)
    for _ in range(5):
        limit.check("ada", now=100.0)
    with pytest.raises(Problem) as refused:
        limit.check("ada", now=100.0)
    assert refused.value.status == 429
    assert int(refused.value.headers["Retry-After"]) >= 1
    limit.check("bob", now=100.0)
    limit.check("ada", now=100.2)


@pytest.mark.parametrize(
    "host",
    [
        "[::1",
        "[",
        "]",
        "",
        "127.0.0.1@evil.example",
        "[::1]]",
        "a b",
        "localhost:99999999",
        "\u2100",
    ],
)
async def test_a_malformed_host_is_a_bad_request_and_no_defect(
    served: Served, host: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with served.client() as client:
        for path in ("/v1/agents", "/sign-in", "/healthz"):
            answer = await client.get(path, headers=[(b"Host", host.encode())])
            assert answer.status_code == 400, (host, path)
    assert [each for each in caplog.records if each.name == "sapwood.server"] == []


async def test_every_refusal_for_want_of_a_token_names_the_scheme(served: Served) -> None:
    async with served.plain_client({"Origin": ADDRESS}) as client:
        answers = [
            await client.get("/v1/agents"),
            await client.get("/", headers={"Accept": "text/html"}),
            await client.post("/v1/responses", json={}),
            await client.post("/sign-in", json={"token": "sw_wrong"}),
            await client.get("/v1/agents", headers={"Authorization": "Basic YTpi"}),
        ]
    assert [each.status_code for each in answers] == [401] * len(answers)
    assert [each.headers["www-authenticate"] for each in answers] == ["Bearer"] * len(answers)


async def test_signing_in_takes_a_request_of_the_page_and_not_a_link(served: Served) -> None:
    token, _ = served.tokens.create("mallory", "local", ("read",))
    page = {"Accept": "text/html", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    async with served.plain_client() as client:
        for site in ("none", "cross-site", "same-site", "same-origin"):
            link = await client.get(
                f"/sign-in?token={token}", headers={**page, "Sec-Fetch-Site": site}
            )
            assert "set-cookie" not in link.headers
            assert token not in link.text
        for headers in (
            {"Origin": "https://evil.example"},
            {"Origin": "null"},
            {"Sec-Fetch-Site": "cross-site"},
            {},
        ):
            posted = await client.post("/sign-in", json={"token": token}, headers=headers)
            assert posted.status_code == 403, headers
        form = {"Origin": ADDRESS, "Content-Type": "application/x-www-form-urlencoded"}
        sent = await client.post("/sign-in", content=f"token={token}", headers=form)
        assert sent.status_code == 415


async def test_only_the_printed_token_signs_in_by_a_link(served: Served) -> None:
    token, _ = served.tokens.create("mallory", "local", ("read",))
    async with served.plain_client({"Origin": ADDRESS}) as client:
        for link in (True, False, None):
            other = await client.post("/sign-in", json={"token": token, "link": link})
            assert other.status_code == 401, link
        printed = {"token": served.identities.one_time_token, "link": True}
        own = await client.post("/sign-in", json=printed)
        pasted = await client.post("/sign-in", json={"token": token})
    assert (own.status_code, pasted.status_code) == (200, 200)


async def test_attempts_to_sign_in_are_limited(served: Served) -> None:
    async with served.plain_client({"Origin": ADDRESS}) as client:
        statuses = [
            (await client.post("/sign-in", json={"token": f"sw_{number}"})).status_code
            for number in range(60)
        ]
        refused = await client.post("/sign-in", json={"token": "sw_x"})
    assert statuses[0] == 401
    assert 429 in statuses
    assert int(refused.headers["retry-after"]) >= 1


async def test_a_token_keeps_a_limited_number_of_browsers_signed_in(served: Served) -> None:
    token, record_ = served.tokens.create("ada", "local", ("read",))
    cookies = [await served.identities.exchange(token) for _ in range(MAX_SESSIONS + 5)]
    sessions = [each for each in served.tokens.records() if each.kind == "session"]
    assert [each.parent for each in sessions] == [record_.id] * MAX_SESSIONS
    async with served.plain_client() as client:
        oldest, newest = [
            await client.get("/v1/agents", headers={"Cookie": f"{COOKIE}={value}"})
            for value in (cookies[0], cookies[-1])
        ]
    assert (oldest.status_code, newest.status_code) == (401, 200)


@pytest.mark.parametrize(
    ("origin", "secure"), [("https://127.0.0.1:8420", True), ("http://127.0.0.1:8420", False)]
)
async def test_a_cookie_that_a_page_got_by_https_is_never_sent_without(
    served: Served, origin: str, secure: bool
) -> None:
    """A proxy ends the encryption, so only the page knows of it."""
    given = [served.identities.one_time_token]
    async with served.client() as person:
        given.append((await person.post("/v1/pairing", json={})).json()["code"])
    async with served.plain_client({"Origin": origin}) as client:
        signed = [await client.post("/sign-in", json={"token": each}) for each in given]
    for each in signed:
        assert ("; Secure" in each.headers["set-cookie"]) is secure
