"""Sends the token of a stored login with each request to an MCP server, and renews it.

The OAuth client of the MCP library is used to log in, but not here: with stored tokens it does not
know when they end, renews them at the address of the MCP server instead of that of the
authorization server, and starts a new login when the server refuses them.
"""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator

import httpx2
import msgspec
from mcp.client.auth.oauth2 import OAuthContext
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata
from mcp.shared.auth_utils import check_resource_allowed

from sapwood.config.config_file import ConfigError
from sapwood.config.mcp_logins import McpLogin, McpLogins
from sapwood.core.errors import SapwoodError
from sapwood.workspace.mcp_client.limited_client import HTTP_ERRORS, http_reason
from sapwood.workspace.mcp_client.mcp_errors import McpLoginNeeded, McpServerError
from sapwood.workspace.mcp_client.oauth_client import (
    LoginInMemory,
    expiry,
    oauth_client,
    refusal_of,
    require_secure,
    token_of,
)

_log = logging.getLogger(__name__)

_SECONDS = 10.0
_RETRY_SECONDS = 10.0
"""Seconds after a failed renewal in which no request waits for another."""
_UNAUTHORIZED = 401
_ENDED = frozenset({"invalid_grant", "invalid_client", "unauthorized_client"})
"""Answers to a refresh token after which only a new login helps (RFC 6749, section 5.2)."""


class LoginAuth(httpx2.Auth):
    """The login to one server. `problem` says why the last request was not accepted.

    It is not raised, because the transport of the library would report it as a lost connection.
    `notice` says that a renewed login could not be stored.
    """

    def __init__(self, server: str, url: str, next_step: str) -> None:
        self._server = server
        self._url = url
        self._next_step = next_step
        self._logins = McpLogins()
        self._renewing = asyncio.Lock()
        self._failure: McpServerError | None = None
        self._retry_at = 0.0
        self._unsaved: tuple[McpLogin, McpLogin] | None = None
        self.notice = ""
        self.problem: McpServerError | None = None
        self.tokens: tuple[str, ...] = ()

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Sends a request with the token; once more with a new one if the server refuses it."""
        login = await self._login()
        is_sent = self._authorize(request, login)
        response = yield request
        if is_sent and login is not None and response.status_code == _UNAUTHORIZED:
            login = await self._renewed(login)
            if self._authorize(request, login):
                response = yield request
        if response.status_code != _UNAUTHORIZED:
            self.problem = None
        elif self.problem is None:
            self.problem = self._login_needed(login)

    def _authorize(self, request: httpx2.Request, login: McpLogin | None) -> bool:
        """Adds the token, if it is for this address."""
        if login is None or not login.access_token:
            return False
        if not check_resource_allowed(str(request.url), login.resource):
            return False
        known = (login.access_token, login.refresh_token, login.client_secret)
        self.tokens = tuple(filter(None, known))
        request.headers["Authorization"] = f"Bearer {login.access_token}"
        return True

    async def _login(self) -> McpLogin | None:
        try:
            login = await asyncio.to_thread(self._find)
        except SapwoodError as error:
            self.problem = McpServerError(str(error))
            return None
        if login is not None and login.is_due(time.time()):
            return await self._renewed(login)
        return login

    async def _renewed(self, sent: McpLogin) -> McpLogin | None:
        """The login with a new token. Goes on in its thread if the caller is cancelled.

        A server may replace the refresh token, so an answer that is not stored ends the login.
        """
        async with self._renewing:
            if time.monotonic() < self._retry_at:
                self.problem = self._failure
                return None
            try:
                return await asyncio.to_thread(self._renew, sent)
            except SapwoodError as error:
                self.problem = self._failure = McpServerError(str(error))
                self._retry_at = time.monotonic() + _RETRY_SECONDS
                return None

    def _find(self) -> McpLogin | None:
        """The login in the file, or the newer one that could not be stored in its place."""
        stored, unsaved = self._logins.find(self._server, self._url), self._unsaved
        if unsaved is None:
            return stored
        replaced, renewed = unsaved
        if stored != replaced:  # somebody has deleted it, or logged in again
            self._unsaved, self.notice = None, ""
            return stored
        return self._stored(replaced, renewed)

    def _renew(self, sent: McpLogin) -> McpLogin | None:
        with self._logins.renewing(self._server):
            login = self._find()
            if login is None or login.access_token != sent.access_token:
                return login  # another process has renewed or deleted it
            replaced = self._unsaved[0] if self._unsaved else login
            if not login.refresh_token:
                return self._stored(replaced, login.ended())
            with self._logins.room():
                renewed = asyncio.run(self._refreshed(login))
            return self._stored(replaced, renewed)

    def _stored(self, replaced: McpLogin, renewed: McpLogin) -> McpLogin | None:
        """Stores a login if nobody has changed it meanwhile; keeps it in memory if that fails.

        The server may no longer accept the refresh token that it replaces.
        """
        try:
            self._logins.update(
                self._server, lambda stored: renewed if stored == replaced else stored
            )
        except ConfigError as error:
            if not renewed.access_token:
                raise
            if self._unsaved is None:
                self.notice = self._not_stored(error)
                _log.warning("%s", self.notice)
            self._unsaved = replaced, renewed
            return renewed
        self._unsaved, self.notice = None, ""
        return self._logins.find(self._server, self._url)

    async def _refreshed(self, login: McpLogin) -> McpLogin:
        require_secure(login.token_endpoint, self._url)
        data, headers = _refresh_request(login)
        try:
            async with oauth_client(seconds=_SECONDS) as client:
                response = await client.post(login.token_endpoint, data=data, headers=headers)
        except HTTP_ERRORS as error:
            raise McpServerError(self._not_renewed(http_reason(error))) from None
        if not response.is_success:
            refusal = refusal_of(response)
            if refusal.code in _ENDED or response.status_code == _UNAUTHORIZED:
                return login.ended()
            raise McpServerError(self._not_renewed(refusal.says))
        try:
            token = token_of(response.content)
        except ValueError as error:
            raise McpServerError(self._not_renewed(str(error))) from None
        return msgspec.structs.replace(
            login,
            access_token=token.access_token,
            refresh_token=token.refresh_token or login.refresh_token,
            expires=expiry(token),
        )

    def _not_renewed(self, reason: str) -> str:
        return (
            f"The login to MCP server '{self._server}' could not be renewed: {reason.rstrip('.')}. "
            f"Try again later. If it stays so: {self._next_step}"
        )

    def _not_stored(self, error: ConfigError) -> str:
        cause = error.__cause__
        reason = cause.strerror if isinstance(cause, OSError) else str(error)
        return (
            f"The login to MCP server '{self._server}' was renewed, but {self._logins.file} cannot "
            f"be written: {reason}. The new token is in memory, and is written as soon as that is "
            f"possible. If Sapwood exits before: {self._next_step}"
        )

    def _login_needed(self, login: McpLogin | None) -> McpLoginNeeded:
        state = "no longer accepts its login" if login is not None else "asks for a login"
        return McpLoginNeeded(
            f"MCP server '{self._server}' {state}. {self._next_step}", expired=login is not None
        )


def _refresh_request(login: McpLogin) -> tuple[dict[str, str], dict[str, str]]:
    """The form and the headers that renew a login (RFC 6749, section 6, and RFC 8707)."""
    client = OAuthClientInformationFull(
        client_id=login.client_id,
        client_secret=login.client_secret or None,
        token_endpoint_auth_method=login.client_auth or None,
    )
    context = OAuthContext(
        login.url, OAuthClientMetadata(redirect_uris=None), LoginInMemory(), None, None
    )
    context.client_info = client
    form = {
        "grant_type": "refresh_token",
        "refresh_token": login.refresh_token,
        "client_id": login.client_id,
        "resource": login.resource,
    }
    return context.prepare_token_auth(form, {})
