"""A login to an MCP server: a browser, an answer on loopback, tokens; or one sentence why not."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress
from pathlib import Path
from urllib.parse import parse_qs, unquote_plus, urlsplit

import pytest

pytest.importorskip("mcp", reason="the library for MCP servers is not installed (extra: mcp)")

from mcp.shared.auth import OAuthClientInformationFull
from pydantic import AnyUrl
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from sapwood.config.mcp_logins import McpLogin
from sapwood.workspace.mcp_client.login_callback import LoginCallback, WrongAnswer
from sapwood.workspace.mcp_client.mcp_errors import McpServerError
from sapwood.workspace.mcp_client.oauth_client import require_secure
from sapwood.workspace.mcp_client.oauth_login import AskPerson, LoginRequest, log_in
from tests.workspace.mcp_client.login_server import LoginServer, browse, load, login_server, visit

SERVER = "/.well-known/oauth-authorization-server"
RESOURCE = "/.well-known/oauth-protected-resource/mcp"


@pytest.fixture
async def docs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[LoginServer]:
    monkeypatch.setenv("SAPWOOD_CONFIG", str(tmp_path / "config.toml"))
    async with login_server() as server:
        yield server


async def login_to(docs: LoginServer, ask: AskPerson = browse, client_id: str = "") -> McpLogin:
    return await log_in(LoginRequest("docs", docs.url, client_id=client_id), ask, seconds=60)


async def refused(docs: LoginServer, ask: AskPerson = browse, client_id: str = "") -> str:
    with pytest.raises(McpServerError) as caught:
        await login_to(docs, ask, client_id)
    return str(caught.value)


async def test_a_login_gets_tokens_for_this_server_alone(docs: LoginServer) -> None:
    shown: list[str] = []

    async def ask(address: str, callback: LoginCallback) -> None:
        shown.append(address)
        await browse(address, callback)

    login = await login_to(docs, ask)
    assert login.access_token in docs.authorization.access
    assert login.refresh_token in docs.authorization.refresh
    assert (login.url, login.resource) == (docs.url, docs.url)
    assert login.token_endpoint == f"{docs.origin}/token"
    assert docs.authorization.resources == [docs.url]
    asked = parse_qs(urlsplit(shown[0]).query)
    assert asked["code_challenge_method"] == ["S256"]
    assert asked["redirect_uri"][0].startswith("http://127.0.0.1:")


async def test_the_address_where_a_browser_elsewhere_ended_can_be_pasted(docs: LoginServer) -> None:
    async def ask(address: str, callback: LoginCallback) -> None:
        callback.take(f"  {await visit(address)}\n")

    assert (await login_to(docs, ask)).access_token in docs.authorization.access


async def test_an_answer_with_another_state_is_refused_and_the_login_goes_on(
    docs: LoginServer,
) -> None:
    answers: list[tuple[int, str]] = []

    async def ask(address: str, callback: LoginCallback) -> None:
        end = await visit(address)
        state = parse_qs(urlsplit(end).query)["state"][0]
        for wrong in (end.replace(state, "other"), end.split("&state=")[0], callback.address):
            answer = await load(wrong)
            answers.append((answer.status_code, answer.text))
            with pytest.raises(WrongAnswer, match="does not belong to this login"):
                callback.take(wrong)
        await load(end)

    assert (await login_to(docs, ask)).access_token in docs.authorization.access
    assert answers == [(400, "This address does not belong to this login.")] * 3


@pytest.mark.parametrize(
    "place",
    ["https://evil.example/callback", "http://evil@127.0.0.1:1/callback", "http://[", "/callback"],
)
async def test_a_pasted_address_of_another_place_is_refused(docs: LoginServer, place: str) -> None:
    told: list[str] = []

    async def ask(address: str, callback: LoginCallback) -> None:
        end = await visit(address)
        try:
            callback.take(f"{place}?{end.partition('?')[2]}")
        except WrongAnswer as error:
            told.append(str(error))
            callback.take(end)

    assert (await login_to(docs, ask)).access_token in docs.authorization.access
    assert told == ["This address does not belong to this login."]


async def test_the_address_of_the_login_page_may_have_a_query(docs: LoginServer) -> None:
    page = f"{docs.origin}/authorize?tenant=oak&state=1"
    docs.changed[SERVER] = {"authorization_endpoint": page}
    shown: list[str] = []

    async def ask(address: str, callback: LoginCallback) -> None:
        shown.append(address)
        await browse(address.replace("&state=1", ""), callback)

    assert (await login_to(docs, ask)).access_token in docs.authorization.access
    assert shown[0].startswith(f"{page}&response_type=code&")
    assert shown[0].count("?") == 1


async def test_an_answer_in_the_name_of_another_issuer_is_refused(docs: LoginServer) -> None:
    async def ask(address: str, callback: LoginCallback) -> None:
        await load(f"{await visit(address)}&iss=https://evil.example")

    assert "iss mismatch" in await refused(docs, ask)
    assert docs.authorization.access == {}


async def test_a_person_who_declines_ends_the_login(docs: LoginServer) -> None:
    async def ask(address: str, callback: LoginCallback) -> None:
        state = parse_qs(urlsplit(address).query)["state"][0]
        answer = await load(f"{callback.address}?error=access_denied&state={state}")
        assert "You can close this page" in answer.text

    assert await refused(docs, ask) == "The login was refused: access_denied."


@pytest.mark.parametrize(
    ("path", "fields", "reason"),
    [
        (SERVER, {"code_challenge_methods_supported": None}, "PKCE with S256"),
        (SERVER, {"code_challenge_methods_supported": ["plain"]}, "PKCE with S256"),
        (SERVER, {"issuer": "https://evil.example"}, "issuer mismatch"),
        (RESOURCE, {"resource": "https://bank.example/mcp"}, "does not match expected"),
        (RESOURCE, {"authorization_servers": ["http://evil.example"]}, "is not encrypted"),
        (SERVER, {"token_endpoint": "http://evil.example/token"}, "is not encrypted"),
        (SERVER, {"authorization_endpoint": "http://evil.example/a"}, "is not encrypted"),
        (SERVER, {"authorization_endpoint": "https://bank.example@evil.example/a"}, "a user name"),
        (SERVER, {"authorization_endpoint": "https://evil.example/a#b"}, "is not valid"),
        (SERVER, {"token_endpoint": "https://:x@evil.example/a"}, "a user name"),
        (SERVER, {"registration_endpoint": "http://evil.example/r"}, "is not encrypted"),
    ],
)
async def test_metadata_that_leads_elsewhere_is_refused(
    docs: LoginServer, path: str, fields: dict[str, object], reason: str
) -> None:
    docs.changed[path] = fields

    async def ask(address: str, callback: LoginCallback) -> None:
        raise AssertionError(f"A browser would open {address}.")

    assert reason in await refused(docs, ask)
    assert docs.authorization.access == {}


async def test_an_answer_that_is_no_token_is_told_without_what_it_holds(
    docs: LoginServer, caplog: pytest.LogCaptureFixture
) -> None:
    docs.replies["/token"] = JSONResponse({"refresh_token": "oak and ash"})
    told = await refused(docs)
    assert "validation error" in told
    assert "oak" not in told + caplog.text


def echo(*, backwards: bool, name: str, status: int = 400) -> ASGIApp:
    """Refuses a request, and repeats it."""

    async def reply(scope: Scope, receive: Receive, send: Send) -> None:
        body = unquote_plus((await Request(scope, receive).body()).decode())
        repeated = body[::-1] if backwards else body
        answer = JSONResponse({"error": "invalid_request", name: repeated}, status_code=status)
        await answer(scope, receive, send)

    return reply


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("name", ["error", "error_description", "more"])
async def test_an_error_that_repeats_what_was_sent_is_told_without_it(
    docs: LoginServer, caplog: pytest.LogCaptureFixture, name: str, backwards: bool
) -> None:
    docs.replies["/token"] = echo(backwards=backwards, name=name)
    told = await refused(docs)
    says = "invalid_request" if name == "more" else "HTTP 400"
    assert told == f"The login to MCP server 'docs' failed: {says}. Nothing was stored."
    (code,) = docs.authorization.codes
    assert code not in caplog.text
    assert code[::-1] not in caplog.text


async def test_an_error_says_what_the_authorization_server_says_on_one_line(
    docs: LoginServer,
) -> None:
    said = {"error": "invalid_scope", "error_description": "Not\nyours\x1b[31m\u202e."}
    for path in ("/token", "/register"):
        docs.replies[path] = JSONResponse(said, status_code=400)
        assert "failed: invalid_scope: Not yours [31m . Nothing" in await refused(docs)
    docs.replies["/register"] = Response(b"\xff\x1b", status_code=500)
    assert "failed: HTTP 500. " in await refused(docs)


async def test_a_code_is_not_sent_where_the_token_address_redirects(docs: LoginServer) -> None:
    async with login_server() as other:
        docs.redirect("/token", f"{other.origin}/token")
        assert "redirected to" in await refused(docs)
        assert other.requests == []


async def test_a_client_id_of_the_configuration_needs_no_registration(tmp_path: Path) -> None:
    async with login_server(registers=False) as docs:
        told = await refused(docs)
        assert "does not register programs automatically" in told
        assert "sapwood config set servers.docs.client_id ID" in told

        async def ask(address: str, callback: LoginCallback) -> None:
            docs.authorization.clients["known"] = OAuthClientInformationFull(
                client_id="known",
                redirect_uris=[AnyUrl(callback.address)],
                token_endpoint_auth_method="none",
            )
            await browse(address, callback)

        assert (await login_to(docs, ask, "known")).client_id == "known"


async def test_a_server_without_a_login_says_how_to_send_a_token(docs: LoginServer) -> None:
    docs.replies["/mcp"] = Response(status_code=401)
    for path in (SERVER, RESOURCE, "/.well-known/oauth-protected-resource", "/register"):
        docs.replies[path] = Response(status_code=404)
    assert "offers no login by OAuth" in await refused(docs)
    docs.replies["/mcp"] = Response(status_code=200)
    assert await refused(docs) == "MCP server 'docs' did not ask for a login."


async def test_nobody_who_logs_in_ends_the_login_in_time(docs: LoginServer) -> None:
    async def ask(address: str, callback: LoginCallback) -> None:
        await asyncio.Event().wait()

    with pytest.raises(McpServerError, match="Nobody logged in within"):
        await log_in(LoginRequest("docs", docs.url), ask, seconds=0.01)


@pytest.mark.parametrize("path", ["/token", "/register", SERVER, RESOURCE])
async def test_an_answer_without_end_ends_the_login(docs: LoginServer, path: str) -> None:
    docs.replies[path] = Response(b" " * 2_000_000)
    assert "failed: its answer is larger than 1,000,000 bytes." in await refused(docs)


@pytest.mark.parametrize("path", ["/token", SERVER, RESOURCE])
async def test_an_answer_that_comes_a_byte_at_a_time_ends_the_login_in_time(
    docs: LoginServer, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setattr("sapwood.workspace.mcp_client.oauth_login._SECONDS", 0.5)
    docs.drip(path)
    assert await refused(docs) == (
        "The login to MCP server 'docs' failed: it did not answer within 0.5 seconds. "
        "Nothing was stored."
    )


@pytest.mark.parametrize(
    ("address", "server"),
    [
        ("http://docs.example/mcp", "http://docs.example/mcp"),
        ("http://127.0.0.1:9/token", "https://docs.example/mcp"),
        ("http://127.0.0.1.evil.example/token", "http://127.0.0.1/mcp"),
        ("ftp://127.0.0.1/token", "http://127.0.0.1/mcp"),
        ("https:///token", "https://docs.example/mcp"),
    ],
)
def test_an_address_that_is_not_encrypted_gets_no_secret(address: str, server: str) -> None:
    with pytest.raises(McpServerError, match="not encrypted"):
        require_secure(address, server)
    require_secure("https://docs.example/token", server)


async def test_connections_that_say_nothing_or_too_much_leave_no_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with LoginCallback() as callback:
        port = urlsplit(callback.address).port
        silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(20)]
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /callback?code=" + b"a" * 100_000)
        assert await reader.read() == b"", "the connection is closed"
        assert (await load(callback.address)).status_code == 400
    for each, other in [*silent, (reader, writer)]:
        with suppress(ConnectionError):
            assert await each.read() == b""
        other.close()
    assert caplog.text == ""


async def test_a_port_that_is_taken_is_told(docs: LoginServer) -> None:
    async with LoginCallback() as first:
        port = urlsplit(first.address).port
        assert port is not None
        with pytest.raises(McpServerError, match="Choose another with --port"):
            async with LoginCallback(port):
                pass
