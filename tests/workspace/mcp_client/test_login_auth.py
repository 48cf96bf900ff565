"""Tokens of a login are sent to their server alone, renewed in time, and end with one sentence."""

import asyncio
import gzip
import json
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="the library for MCP servers is not installed (extra: mcp)")

import httpx2
from mcp.shared.auth import OAuthClientInformationFull
from msgspec import structs
from starlette.responses import JSONResponse, Response

from sapwood.config.config_file import ConfigError
from sapwood.config.mcp_logins import McpLogin, McpLogins
from sapwood.core.model_calls import ToolOutcome
from sapwood.workspace.combined_toolbox import CombinedToolbox
from sapwood.workspace.mcp_client.login_auth import LoginAuth
from sapwood.workspace.mcp_client.login_callback import LoginCallback
from sapwood.workspace.mcp_client.mcp_connection import McpEndpoint
from sapwood.workspace.mcp_client.mcp_errors import McpServerError
from sapwood.workspace.mcp_client.mcp_toolbox import McpToolbox, ToolChoice
from sapwood.workspace.mcp_client.oauth_login import LoginRequest
from sapwood.workspace.mcp_client.oauth_login import log_in as oauth_login
from sapwood.workspace.permissions.permission_gate import PermissionGate
from sapwood.workspace.permissions.permission_rules import parse_rules
from tests.workspace.mcp_client.login_server import LoginServer, browse, login_server
from tests.workspace.tool_calls import until, use_of

NEEDED = "MCP server 'docs' asks for a login. Type: sapwood mcp login docs"
ENDED = "MCP server 'docs' no longer accepts its login. Type: sapwood mcp login docs"


@pytest.fixture
async def docs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[LoginServer]:
    monkeypatch.setenv("SAPWOOD_CONFIG", str(tmp_path / "config.toml"))
    async with login_server() as server:
        yield server


async def log_in(docs: LoginServer, **changes: object) -> McpLogin:
    """Stores a login as `sapwood mcp login` does."""
    made = await oauth_login(LoginRequest("docs", docs.url), browse, seconds=60)
    login = structs.replace(made, **changes)
    McpLogins().update("docs", lambda _: login)
    docs.requests.clear()
    return login


@asynccontextmanager
async def opened(url: str, **endpoint: object) -> AsyncGenerator[McpToolbox]:
    server = structs.replace(McpEndpoint(url=url), **endpoint)
    box = McpToolbox("docs", server, PermissionGate(parse_rules(("allow *",))))
    try:
        yield box
    finally:
        await box.close()


async def names(box: McpToolbox) -> list[str]:
    return [spec.name for spec in await box.specs()]


async def run(box: McpToolbox, tool: str, **arguments: object) -> ToolOutcome:
    return await box.run(use_of(f"docs__{tool}", json.dumps(arguments), "."))


def stored() -> McpLogin:
    login = McpLogins().find("docs", json.loads(McpLogins().file.read_text())["docs"]["url"])
    assert login is not None
    return login


async def test_a_server_that_asks_for_a_login_says_what_to_type(docs: LoginServer) -> None:
    async with opened(docs.url) as box:
        assert await names(box) == []
        assert (box.trouble, box.login) == (NEEDED, "needed")
        assert (await run(box, "search")).content.endswith(NEEDED)
    async with opened(docs.url, operator=True) as box:
        await box.specs()
        assert box.trouble.endswith("asks for a login. Ask the operator of Sapwood to log in.")


async def test_tools_are_there_after_somebody_has_logged_in(docs: LoginServer) -> None:
    async with opened(docs.url) as box:
        assert await names(box) == []
        asked = len(docs.requests)
        assert await names(box) == []
        assert len(docs.requests) == asked, "it is not asked again before a login"
        await log_in(docs)
        assert await names(box) == ["docs__delete", "docs__echo", "docs__search"]
        assert (await run(box, "search", words="oak")).content == "found oak"
        assert (box.trouble, box.login) == ("", "")


async def test_a_token_is_renewed_before_it_ends(docs: LoginServer) -> None:
    login = await log_in(docs, expires=time.time() + 1)
    async with opened(docs.url) as box:
        assert (await run(box, "search", words="oak")).content == "found oak"
    assert docs.authorization.renewals == 1
    assert f"Bearer {login.access_token}" not in docs.sent_tokens()
    assert stored().access_token in docs.authorization.access
    assert stored().refresh_token in docs.authorization.refresh
    assert stored().expires > time.time() + 60


@pytest.mark.parametrize("method", ["client_secret_post", "client_secret_basic"])
async def test_a_client_with_a_secret_logs_in_and_renews(docs: LoginServer, method: str) -> None:
    docs.changed["/.well-known/oauth-authorization-server"] = {
        "token_endpoint_auth_methods_supported": [method]
    }

    async def ask(address: str, callback: LoginCallback) -> None:
        docs.authorization.clients["known"] = OAuthClientInformationFull.model_validate(
            {
                "client_id": "known",
                "client_secret": "a secret/of+oak",
                "redirect_uris": [callback.address],
                "token_endpoint_auth_method": method,
            }
        )
        await browse(address, callback)

    request = LoginRequest("docs", docs.url, client_id="known", client_secret="a secret/of+oak")
    login = await oauth_login(request, ask, seconds=60)
    McpLogins().update("docs", lambda _: login)
    docs.authorization.expire_access()
    async with opened(docs.url) as box:
        assert len(await names(box)) == 3
    assert docs.authorization.renewals == 1


async def test_a_token_that_ends_early_is_renewed_while_the_connection_is_open(
    docs: LoginServer,
) -> None:
    await log_in(docs)
    async with opened(docs.url) as box:
        await run(box, "search", words="oak")
        docs.authorization.expire_access()
        assert (await run(box, "search", words="ash")).content == "found ash"
    assert docs.authorization.renewals == 1


async def test_many_calls_at_once_renew_once(docs: LoginServer) -> None:
    await log_in(docs)
    async with opened(docs.url) as box:
        await box.specs()
        docs.authorization.expire_access()
        calls = [run(box, "search", words=str(number)) for number in range(8)]
        found = [outcome.content for outcome in await asyncio.gather(*calls)]
    assert found == [f"found {number}" for number in range(8)]
    assert (docs.authorization.renewals, docs.authorization.reuses) == (1, 0)


async def test_a_revoked_login_ends_with_one_sentence_and_no_token(docs: LoginServer) -> None:
    await log_in(docs)
    async with opened(docs.url) as box:
        await box.specs()
        docs.authorization.revoke_all()
        outcome = await run(box, "search", words="oak")
        assert (outcome.error, outcome.content) == (True, ENDED)
        assert (stored().access_token, stored().refresh_token) == ("", "")
        await log_in(docs)
        assert (await run(box, "search", words="oak")).content == "found oak"
    docs.authorization.revoke_all()
    async with opened(docs.url) as box:
        assert await names(box) == []
        assert (box.trouble, box.login) == (ENDED, "expired")


async def test_a_call_of_a_tool_that_an_earlier_turn_had_says_what_to_type(
    docs: LoginServer,
) -> None:
    async with opened(docs.url) as box:
        outcome = await CombinedToolbox(box).run(use_of("docs__search", "{}", "."))
        assert outcome.content == f"There is no tool docs__search. {NEEDED}"
        outcome = await CombinedToolbox(box).run(use_of("docsearch", "{}", "."))
        assert outcome.content == "There is no tool docsearch."


async def test_a_failure_of_the_authorization_server_does_not_end_the_login(
    docs: LoginServer,
) -> None:
    login = await log_in(docs)
    docs.authorization.expire_access()
    docs.replies["/token"] = Response(status_code=503)
    async with opened(docs.url) as box:
        assert await names(box) == []
        assert "could not be renewed: HTTP 503. Try again later." in box.trouble
        assert box.login == ""
        assert stored() == login
        del docs.replies["/token"]
        assert len(await names(box)) == 3


async def test_a_renewal_ends_although_the_call_is_cancelled(docs: LoginServer) -> None:
    login = await log_in(docs)
    docs.authorization.expire_access()
    docs.authorization.may_renew.clear()
    async with opened(docs.url) as box:
        task = asyncio.create_task(box.specs())
        await until(lambda: any(path == "/token" for _, path, _ in docs.requests))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        docs.authorization.may_renew.set()
        await until(lambda: stored().access_token != login.access_token)
    assert stored().refresh_token in docs.authorization.refresh


async def test_a_renewal_that_is_answered_a_byte_at_a_time_ends_in_time(
    docs: LoginServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sapwood.workspace.mcp_client.login_auth._SECONDS", 0.5)
    login = await log_in(docs, expires=time.time() - 1)
    docs.drip("/token")
    async with opened(docs.url) as box:
        assert await names(box) == []
        assert "could not be renewed: it did not answer within 0.5 seconds. " in box.trouble
    assert stored() == login
    assert [path for _, path, _ in docs.requests].count("/token") == 1, "it is asked once"


BOMB = Response(gzip.compress(b" " * 2_000_000), headers={"Content-Encoding": "gzip"})


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Response(b" " * 2_000_000), "its answer is larger than 1,000,000 bytes"),
        (BOMB, "it sent a compressed answer, which was not asked for"),
    ],
)
async def test_an_answer_without_end_to_a_renewal_is_not_read(
    docs: LoginServer, reply: Response, reason: str
) -> None:
    login = await log_in(docs, expires=time.time() - 1)
    docs.replies["/token"] = reply
    async with opened(docs.url) as box:
        assert await names(box) == []
        assert f"could not be renewed: {reason}. " in box.trouble
    assert stored() == login


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (b'{"jsonrpc": "2.0", "id": 1, "result": "%s"}' % (b"a" * 5_000_000), "4,000,000 bytes"),
        (b'{"jsonrpc": "2.0",\n"OAK ASH ELM": 1}', "Failed to parse JSON response"),
    ],
)
async def test_an_answer_of_an_mcp_server_that_is_none_is_told_on_one_line(
    docs: LoginServer, reply: bytes, reason: str
) -> None:
    await log_in(docs)
    docs.replies["/mcp"] = Response(reply, media_type="application/json")
    async with opened(docs.url) as box:
        assert await names(box) == []
        assert reason in box.trouble
        assert ("\n" in box.trouble, "OAK" in box.trouble) == (False, False)
    assert {headers["accept-encoding"] for _, _, headers in docs.requests} == {"identity"}


async def test_a_renewal_holds_up_neither_a_logout_nor_other_logins(docs: LoginServer) -> None:
    login = await log_in(docs, expires=time.time() - 1)
    docs.authorization.may_renew.clear()
    async with opened(docs.url) as box:
        renewal = asyncio.create_task(box.specs())
        await until(lambda: any(path == "/token" for _, path, _ in docs.requests))
        async with asyncio.timeout(5):
            await asyncio.to_thread(McpLogins().update, "other", lambda _: login)
            await asyncio.to_thread(McpLogins().update, "docs", lambda _: None)
        docs.authorization.may_renew.set()
        await renewal
        assert McpLogins().find("docs", docs.url) is None, "the logout counts"
        assert box.trouble == NEEDED


async def test_who_waits_too_long_for_a_renewal_elsewhere_is_told(
    docs: LoginServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sapwood.config.mcp_logins._LOCK_SECONDS", 0.2)
    await log_in(docs, expires=time.time() - 1)
    with McpLogins().renewing("docs"):
        async with opened(docs.url) as box:
            assert await names(box) == []
            assert box.trouble.endswith("cannot be changed: another process is using it.")
        with McpLogins().renewing("other"):
            pass


async def test_a_refresh_token_is_not_sent_where_its_address_redirects(docs: LoginServer) -> None:
    await log_in(docs)
    docs.authorization.expire_access()
    async with login_server() as other, opened(docs.url) as box:
        docs.redirect("/token", f"{other.origin}/token")
        await box.specs()
        assert "could not be renewed: HTTP 307" in box.trouble
        assert other.requests == []


async def test_a_redirect_to_another_host_gets_no_token(docs: LoginServer) -> None:
    await log_in(docs)
    async with login_server() as other, opened(docs.url) as box:
        docs.redirect("/mcp", other.url)
        assert await names(box) == []
        assert docs.sent_tokens() != set()
        assert other.sent_tokens() == set()


@pytest.mark.parametrize("path", ["/mcp2", "/other", "/"])
async def test_another_address_gets_no_token(docs: LoginServer, path: str) -> None:
    login = await log_in(docs)
    async with login_server() as other, httpx2.AsyncClient(auth=auth_of(docs)) as client:
        await client.post(other.url)
        await client.post(f"{docs.origin}{path}")
        assert docs.sent_tokens() | other.sent_tokens() == set()
        await client.post(docs.url)
        assert docs.sent_tokens() == {f"Bearer {login.access_token}"}


async def test_a_server_with_a_new_address_gets_no_token(docs: LoginServer) -> None:
    await log_in(docs)
    async with login_server() as other, opened(other.url) as box:
        assert await names(box) == []
        assert box.trouble == NEEDED
        assert other.sent_tokens() == set()


async def test_a_configured_secret_is_used_instead_of_a_login(docs: LoginServer) -> None:
    await log_in(docs)
    headers = {"AUTHORIZATION": "Bearer fixed"}
    async with opened(docs.url, headers=headers) as box:
        assert await names(box) == []
        assert docs.sent_tokens() == {"Bearer fixed"}
        assert box.login == ""


async def test_a_token_that_the_server_repeats_is_masked(docs: LoginServer) -> None:
    login = await log_in(docs)
    async with opened(docs.url) as box:
        outcome = await run(box, "echo")
    assert not outcome.error
    assert login.access_token not in outcome.content
    assert "[secret: " in outcome.content


async def test_a_file_that_others_can_read_is_not_used(docs: LoginServer) -> None:
    await log_in(docs)
    file = McpLogins().file
    assert file.stat().st_mode & 0o777 == 0o600
    file.chmod(0o644)
    async with opened(docs.url) as box:
        assert await names(box) == []
        assert box.trouble.endswith(f"type: chmod 600 {file}")
        assert docs.sent_tokens() == set()


async def test_a_damaged_file_is_told_without_what_it_holds(docs: LoginServer) -> None:
    login = await log_in(docs)
    file = McpLogins().file
    file.write_text(file.read_text()[:-2])
    async with opened(docs.url) as box:
        assert await names(box) == []
        assert f"{file} is damaged" in box.trouble
        assert login.access_token not in box.trouble


async def test_a_file_that_cannot_be_written_is_told(
    docs: LoginServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    await log_in(docs)
    docs.authorization.expire_access()

    def fail(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("sapwood.config.mcp_logins.locked", fail)
    async with opened(docs.url) as box:
        assert await names(box) == []
        assert box.trouble == f"{McpLogins().file} cannot be changed: Read-only file system."


async def test_a_refresh_token_is_not_sent_if_the_next_one_could_not_be_stored(
    docs: LoginServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    login = await log_in(docs, expires=time.time() - 1)

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr("sapwood.private_files.os.write", fail)
        full.setattr("sapwood.private_files.open", fail, raising=False)
        async with opened(docs.url) as box:
            assert await names(box) == []
            assert box.trouble == (
                f"{McpLogins().file} cannot be changed: No space left on device."
            )
    assert "/token" not in [path for _, path, _ in docs.requests]
    assert stored() == login
    async with opened(docs.url) as box:
        assert len(await names(box)) == 3


async def test_a_token_that_cannot_be_stored_after_all_is_used_and_stored_later(
    docs: LoginServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    login = await log_in(docs, expires=time.time() - 1)

    def fail(file: Path, *_: object, **__: object) -> None:
        raise ConfigError("…") from OSError(28, "No space left on device")

    async with opened(docs.url) as box:
        with monkeypatch.context() as full:
            full.setattr("sapwood.config.mcp_logins.write_config_file", fail)
            assert (await run(box, "search", words="oak")).content == "found oak"
            assert (await run(box, "search", words="ash")).content == "found ash"
            assert "was renewed, but" in box.notice
            assert "cannot be written: No space left on device. The new token is" in box.notice
            assert box.notice.endswith("Type: sapwood mcp login docs")
            assert stored() == login
        assert (await run(box, "search", words="elm")).content == "found elm"
    assert stored().refresh_token in docs.authorization.refresh
    assert (docs.authorization.renewals, docs.authorization.reuses) == (1, 0)


@pytest.mark.parametrize(
    "fields",
    [
        {"access_token": "oak\r\nX-Evil: 1"},
        {"access_token": ""},
        {"access_token": "a" * 20_000},
        {"access_token": "oak", "refresh_token": "ash\n"},
    ],
)
async def test_a_token_that_cannot_be_sent_is_not_stored(
    docs: LoginServer, fields: dict[str, str]
) -> None:
    login = await log_in(docs, expires=time.time() - 1)
    docs.replies["/token"] = JSONResponse(fields)
    async with opened(docs.url) as box:
        assert await names(box) == []
        assert "could not be renewed: the answer is not a token. " in box.trouble
    assert stored() == login
    with pytest.raises(McpServerError, match=r"failed: the answer is not a token\. Nothing was"):
        await oauth_login(LoginRequest("docs", docs.url), browse, seconds=60)


async def test_an_error_that_repeats_the_refresh_token_is_told_without_it(
    docs: LoginServer, caplog: pytest.LogCaptureFixture
) -> None:
    login = await log_in(docs, expires=time.time() - 1)
    docs.replies["/token"] = JSONResponse({"error": login.refresh_token}, status_code=400)
    async with opened(docs.url) as box:
        assert await names(box) == []
        assert "could not be renewed: HTTP 400. " in box.trouble
        assert login.refresh_token[:12] not in box.trouble + caplog.text


async def test_a_lifetime_without_end_is_ten_years(docs: LoginServer) -> None:
    await log_in(docs, expires=time.time() - 1)
    docs.authorization.lifetime = 10**400
    async with opened(docs.url) as box:
        assert len(await names(box)) == 3
    assert stored().expires < time.time() + 320_000_000
    with pytest.raises(McpServerError, match=r"failed: its answer cannot be read\."):
        await oauth_login(LoginRequest("docs", docs.url), browse, seconds=60)


def auth_of(docs: LoginServer) -> LoginAuth:
    return LoginAuth("docs", docs.url, "Type: sapwood mcp login docs")


@pytest.mark.parametrize(
    ("choice", "offered"),
    [
        (ToolChoice(enabled=("search",)), ["search"]),
        (ToolChoice(disabled=("delete",)), ["echo", "search"]),
        (ToolChoice(enabled=("search", "delete"), disabled=("delete",)), ["search"]),
    ],
)
async def test_only_chosen_tools_are_offered_and_can_be_called(
    docs: LoginServer, choice: ToolChoice, offered: list[str]
) -> None:
    await log_in(docs)
    gate = PermissionGate(parse_rules(("allow *",)))
    box = McpToolbox("docs", McpEndpoint(url=docs.url), gate, choice)
    try:
        assert await names(box) == [f"docs__{name}" for name in offered]
        assert box.notice == ""
        outcome = await run(box, "delete", name="all")
        assert (outcome.error, "has no tool docs__delete" in outcome.content) == (True, True)
    finally:
        await box.close()


async def test_a_misspelt_tool_is_told_with_the_names_that_there_are(docs: LoginServer) -> None:
    await log_in(docs)
    choice = ToolChoice(enabled=("serch", "echo"))
    box = McpToolbox("docs", McpEndpoint(url=docs.url), choice=choice)
    try:
        assert await names(box) == ["docs__echo"]
        assert box.notice == (
            "MCP server 'docs' has no tool 'serch', which the configuration names. "
            "Did you mean search? It has delete, echo, search."
        )
    finally:
        await box.close()
