"""An MCP server with its authorization server, made with the library, on loopback.

It registers clients, asks nobody, replaces refresh tokens, and can misbehave in the ways that a
login has to withstand.
"""

import asyncio
import secrets
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import uvicorn
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    TokenError,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.server.mcpserver import Context, MCPServer
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, StreamingResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from sapwood.workspace.mcp_client.login_callback import LoginCallback
from tests.workspace.tool_calls import until

Provider = OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]


class Authorization(Provider):
    """Clients, codes and tokens, and how often each was asked for."""

    def __init__(self) -> None:
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.access: dict[str, AccessToken] = {}
        self.refresh: dict[str, RefreshToken] = {}
        self.used: set[str] = set()
        self.resources: list[str | None] = []
        self.renewals = 0
        self.reuses = 0
        self.lifetime = 3600
        self.may_renew = asyncio.Event()
        self.may_renew.set()

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        self.clients[client_info.client_id] = client_info

    async def authorize(
        self, client: OAuthClientInformationFull, params: AuthorizationParams
    ) -> str:
        code = secrets.token_urlsafe(24)
        self.resources.append(params.resource)
        self.codes[code] = AuthorizationCode(
            code=code,
            scopes=[],
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        return construct_redirect_uri(str(params.redirect_uri), code=code, state=params.state)

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        del self.codes[authorization_code.code]
        return self.issue(client.client_id, authorization_code.resource)

    async def load_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: str
    ) -> RefreshToken | None:
        if refresh_token in self.used:  # stolen or lost: everything ends
            self.reuses += 1
            self.revoke_all()
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        await self.may_renew.wait()
        self.renewals += 1
        self.refresh.pop(refresh_token.token, None)
        self.used.add(refresh_token.token)
        return self.issue(client.client_id, refresh_token.resource)

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self.access.get(token)

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        raise TokenError("invalid_request")

    def issue(self, client: str, resource: str | None) -> OAuthToken:
        """A pair of new tokens."""
        access, refresh = secrets.token_hex(16), secrets.token_hex(16)
        self.access[access] = AccessToken(
            token=access, client_id=client, scopes=[], resource=resource
        )
        self.refresh[refresh] = RefreshToken(
            token=refresh, client_id=client, scopes=[], resource=resource
        )
        return OAuthToken(access_token=access, refresh_token=refresh, expires_in=self.lifetime)

    def expire_access(self) -> None:
        """No access token is accepted any longer; refresh tokens are."""
        self.access.clear()

    def revoke_all(self) -> None:
        """No token is accepted any longer."""
        self.access.clear()
        self.refresh.clear()


class LoginServer:
    """The running server. `changed` replaces fields of the metadata at a path."""

    def __init__(self, port: int) -> None:
        self.origin = f"http://127.0.0.1:{port}"
        self.url = f"{self.origin}/mcp"
        self.authorization = Authorization()
        self.changed: dict[str, dict[str, Any]] = {}
        self.replies: dict[str, ASGIApp] = {}
        self.requests: list[tuple[str, str, dict[str, str]]] = []
        self.registers = True

    def app(self) -> ASGIApp:
        """The MCP server behind what a test changes."""
        server = MCPServer(
            "docs",
            auth=AuthSettings(
                issuer_url=AnyHttpUrl(self.origin),
                resource_server_url=AnyHttpUrl(self.url),
                client_registration_options=ClientRegistrationOptions(enabled=self.registers),
                validate_token_resource=True,
            ),
            auth_server_provider=self.authorization,
        )

        @server.tool()
        def search(words: str) -> str:
            """Searches the documents."""
            return f"found {words}"

        @server.tool()
        def delete(name: str) -> str:
            """Deletes a document."""
            return f"deleted {name}"

        @server.tool()
        def echo(context: Context[Any, Any]) -> str:
            """Tells the request's headers."""
            request = context.request_context.request
            assert isinstance(request, Request)
            return request.headers["authorization"]

        _ = (search, delete, echo)
        inner = server.streamable_http_app()

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await inner(scope, receive, send)
                return
            path = scope["path"]
            headers = {name.decode(): value.decode() for name, value in scope["headers"]}
            self.requests.append((scope["method"], path, headers))
            if path in self.replies:
                await self.replies[path](scope, receive, send)
            elif path in self.changed:
                await JSONResponse(await self._changed(inner, path))(scope, receive, send)
            else:
                await inner(scope, receive, send)

        return app

    async def _changed(self, inner: ASGIApp, path: str) -> dict[str, Any]:
        transport = httpx2.ASGITransport(app=inner)
        async with httpx2.AsyncClient(transport=transport, base_url=self.origin) as client:
            fields: dict[str, Any] = (await client.get(path)).json()
        return fields | self.changed[path]

    def redirect(self, path: str, to: str) -> None:
        """Answers requests to a path with a redirect."""
        self.replies[path] = RedirectResponse(to, status_code=307)

    def drip(self, path: str) -> None:
        """Answers requests to a path with a space now and then, for five seconds."""

        async def spaces() -> AsyncGenerator[bytes]:
            for _ in range(100):
                yield b" "
                await asyncio.sleep(0.05)

        async def reply(scope: Scope, receive: Receive, send: Send) -> None:
            await StreamingResponse(spaces(), media_type="application/json")(scope, receive, send)

        self.replies[path] = reply

    def sent_tokens(self) -> set[str]:
        """What requests had as Authorization."""
        return {
            headers["authorization"]
            for _, _, headers in self.requests
            if "authorization" in headers
        }


@asynccontextmanager
async def login_server(*, registers: bool = True) -> AsyncGenerator[LoginServer]:
    """The server, on a free port of loopback."""
    import socket

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        docs = LoginServer(listener.getsockname()[1])
        docs.registers = registers
        config = uvicorn.Config(docs.app(), log_level="critical", lifespan="on")
        server = uvicorn.Server(config)
        task = asyncio.create_task(server.serve(sockets=[listener]))
        await until(lambda: server.started)
        try:
            yield docs
        finally:
            server.should_exit = True
            server.force_exit = True
            await task


async def visit(address: str) -> str:
    """What a browser does first: opens the login page. Returns where that sends it."""
    async with httpx2.AsyncClient() as client:
        answer = await client.get(address)
        return answer.headers["location"]


async def load(address: str) -> httpx2.Response:
    """What a browser does at the end: opens the address of the callback."""
    async with httpx2.AsyncClient() as client:
        return await client.get(address)


async def browse(address: str, callback: LoginCallback) -> None:
    """The person logs in with a browser of this machine."""
    assert (await load(await visit(address))).status_code == 200
