"""A login to an MCP server: authorization code with PKCE, by the client of the MCP library.

The library finds the authorization server, registers Sapwood, makes state and PKCE, and checks
resource and issuer. Nothing is stored here.
"""

import asyncio
import logging
import re
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from typing import Any

import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthFlowError, OAuthRegistrationError
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
)
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp.types import LATEST_PROTOCOL_VERSION
from msgspec import Struct

from sapwood.config.mcp_logins import McpLogin
from sapwood.redaction import mask_secrets
from sapwood.workspace.mcp_client.limited_client import HTTP_ERRORS, http_reason
from sapwood.workspace.mcp_client.login_callback import LoginCallback
from sapwood.workspace.mcp_client.mcp_errors import McpServerError
from sapwood.workspace.mcp_client.oauth_client import (
    LoginInMemory,
    expiry,
    oauth_client,
    refusal_of,
    require_secure,
)
from sapwood.workspace.mcp_client.server_text import one_line

_SECONDS = 15.0
"""Seconds for each request of a login."""
_REFUSED = 400
_STATUS = re.compile(
    r"(Token exchange failed \(\d+\)|Registration failed: \d+)"
    r"( \(redirected to \S+; not followed\))?"
)
"""The beginning of messages whose rest is the body of the answer."""
_PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}

AskPerson = Callable[[str, LoginCallback], Coroutine[Any, Any, None]]
"""Shows an address to the person, and may give the callback the address that they paste."""


class LoginRequest(Struct, frozen=True):
    """What to log in to. Without a `client_id`, Sapwood registers itself."""

    server: str
    url: str
    headers: dict[str, str] = {}
    client_id: str = ""
    client_secret: str = ""
    port: int = 0


async def log_in(request: LoginRequest, ask: AskPerson, *, seconds: float) -> McpLogin:
    """Logs in within this time. Raises `McpServerError`."""
    require_secure(request.url, request.url)
    async with LoginCallback(request.port) as callback:
        storage = LoginInMemory(_configured_client(request, callback.address))
        asking: list[asyncio.Task[None]] = []

        async def show(address: str) -> None:
            _require_endpoints(provider, request)
            address = _with_query(address, provider)
            require_secure(address, request.url)
            callback.expect(address)
            asking.append(asyncio.create_task(ask(address, callback)))

        async def answer() -> AuthorizationCodeResult:
            return await _first_answer(callback, asking[0], seconds)

        provider = OAuthClientProvider(
            request.url, _client_metadata(callback.address), storage, show, answer
        )
        try:
            with _without_tracebacks():
                await _authorize(request, provider)
        except (OAuthFlowError, *HTTP_ERRORS, ValueError, ArithmeticError) as error:
            # The cause is not chained, because its message can quote what was sent.
            raise _failure(request, provider, error) from None
        finally:
            for task in asking:
                task.cancel()
            await asyncio.gather(*asking, return_exceptions=True)
    return _login(request, provider, storage)


async def _authorize(request: LoginRequest, provider: OAuthClientProvider) -> None:
    """Sends one request, which the library repeats with the token that it gets."""

    async def check(outgoing: httpx2.Request) -> None:
        require_secure(str(outgoing.url), request.url)

    async def check_answer(response: httpx2.Response) -> None:
        if response.status_code >= _REFUSED and _is_endpoint(response.request, provider):
            await response.aread()
            raise OAuthFlowError(refusal_of(response).says)

    headers = {
        **request.headers,
        MCP_PROTOCOL_VERSION_HEADER: LATEST_PROTOCOL_VERSION,
        "Accept": "application/json, text/event-stream",
    }
    async with (
        oauth_client(
            seconds=_SECONDS,
            auth=provider,
            timeout=_SECONDS,
            event_hooks={"request": [check], "response": [check_answer]},
        ) as client,
        client.stream("POST", request.url, json=_PING, headers=headers),
    ):
        pass


def _is_endpoint(request: httpx2.Request, provider: OAuthClientProvider) -> bool:
    """Whether a request registers the client or asks for a token."""
    found = provider.context.oauth_metadata
    endpoints = (found.registration_endpoint, found.token_endpoint) if found else ()
    return request.method == "POST" and request.url in (httpx2.URL(str(each)) for each in endpoints)


async def _first_answer(
    callback: LoginCallback, asking: asyncio.Task[None], seconds: float
) -> AuthorizationCodeResult:
    """The answer from the port, or what is pasted; the error of the question if it fails."""
    receiving = asyncio.create_task(callback.answer())
    try:
        async with asyncio.timeout(seconds):
            await asyncio.wait({receiving, asking}, return_when=asyncio.FIRST_COMPLETED)
            if not receiving.done() and asking.done():
                asking.result()
            return await receiving
    except TimeoutError as error:
        raise McpServerError(
            f"Nobody logged in within {seconds / 60:g} minutes. Nothing was stored."
        ) from error
    finally:
        receiving.cancel()


def _client_metadata(redirect: str) -> OAuthClientMetadata:
    return OAuthClientMetadata.model_validate(
        {
            "redirect_uris": [redirect],
            "client_name": "Sapwood",
            "token_endpoint_auth_method": "none",
        }
    )


def _configured_client(request: LoginRequest, redirect: str) -> OAuthClientInformationFull | None:
    if not request.client_id:
        return None
    return OAuthClientInformationFull(
        client_id=request.client_id,
        client_secret=request.client_secret or None,
        token_endpoint_auth_method="client_secret_post" if request.client_secret else "none",
    )


def _require_endpoints(provider: OAuthClientProvider, request: LoginRequest) -> None:
    """Raises unless the authorization server describes itself: its token address is stored."""
    metadata, client = provider.context.oauth_metadata, provider.context.client_info
    if metadata is None:
        raise McpServerError(_offers_no_login(request))
    # Required by the MCP specification: whoever sees the code could else use it.
    if "S256" not in (metadata.code_challenge_methods_supported or ()):
        raise McpServerError(
            f"{metadata.issuer} does not state that it supports PKCE with S256, so a login to MCP "
            f"server '{request.server}' would not be safe. Nothing was stored. Ask its operator to "
            "add code_challenge_methods_supported to the metadata."
        )
    require_secure(str(metadata.token_endpoint), request.url)
    offered = metadata.token_endpoint_auth_methods_supported or ["client_secret_basic"]
    if client is not None and request.client_secret and "client_secret_post" not in offered:
        client.token_endpoint_auth_method = "client_secret_basic"


def _with_query(address: str, provider: OAuthClientProvider) -> str:
    """The address of the login page. The endpoint may have a query already (RFC 6749, 3.1)."""
    metadata = provider.context.oauth_metadata
    endpoint = str(metadata.authorization_endpoint) if metadata else ""
    if "#" in endpoint:
        raise McpServerError(f"The login page has an address that is not valid: {endpoint}")
    return f"{endpoint}&{address[len(endpoint) + 1 :]}" if "?" in endpoint else address


def _login(
    request: LoginRequest, provider: OAuthClientProvider, storage: LoginInMemory
) -> McpLogin:
    token, client, metadata = storage.token, storage.client, provider.context.oauth_metadata
    if token is None or client is None or metadata is None:
        raise McpServerError(f"MCP server '{request.server}' did not ask for a login.")
    return McpLogin(
        url=request.url,
        resource=provider.context.get_resource_url(),
        issuer=str(metadata.issuer),
        token_endpoint=str(metadata.token_endpoint),
        client_id=client.client_id,
        access_token=token.access_token,
        client_secret=client.client_secret or "",
        client_auth=client.token_endpoint_auth_method or "",
        refresh_token=token.refresh_token or "",
        expires=expiry(token),
    )


def _failure(
    request: LoginRequest, provider: OAuthClientProvider, error: Exception
) -> McpServerError:
    """Says why a login failed, and what to do."""
    metadata = provider.context.oauth_metadata
    if isinstance(error, OAuthRegistrationError) and metadata is None:
        return McpServerError(_offers_no_login(request))
    if (
        isinstance(error, OAuthRegistrationError)
        and metadata
        and not metadata.registration_endpoint
    ):
        return McpServerError(
            f"{metadata.issuer} does not register programs automatically. Register one there "
            "with the redirect address http://127.0.0.1:PORT/callback, then type: sapwood config "
            f"set servers.{request.server}.client_id ID, and sapwood mcp login {request.server} "
            "--port PORT"
        )
    return McpServerError(
        f"The login to MCP server '{request.server}' failed: {_reason(error)}. Nothing was stored."
    )


def _reason(error: Exception) -> str:
    """What the library says, without what it quotes of an answer."""
    if isinstance(error, HTTP_ERRORS):
        return http_reason(error)
    if not isinstance(error, OAuthFlowError):
        return "its answer cannot be read"
    status = _STATUS.match(str(error))
    first_line = status[0] if status else str(error).partition("\n")[0]
    return one_line(mask_secrets(first_line)).rstrip(".") or type(error).__name__


def _offers_no_login(request: LoginRequest) -> str:
    return (
        f"MCP server '{request.server}' offers no login by OAuth. If it wants a token, type: "
        f"sapwood config set servers.{request.server}.headers.Authorization - and, when it asks, "
        "the value, such as Bearer TOKEN."
    )


@contextmanager
def _without_tracebacks() -> Generator[None]:
    """Drops what the library logs of a failed login: it may quote a token."""
    logger = logging.getLogger("mcp.client.auth.oauth2")
    logger.addFilter(_has_no_traceback)
    try:
        yield
    finally:
        logger.removeFilter(_has_no_traceback)


def _has_no_traceback(record: logging.LogRecord) -> bool:
    return not record.exc_info
