"""What logging in and renewing a login share: an address that may get secrets, and a storage."""

from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

import httpx2
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken

from sapwood.workspace.mcp_client.limited_client import limited_client
from sapwood.workspace.mcp_client.mcp_errors import McpServerError

_MAX_BYTES = 1_000_000
"""Of an answer; most have some hundred bytes."""


class LoginInMemory:
    """The storage that the OAuth client of the MCP library asks for. Writes nothing."""

    def __init__(self, client: OAuthClientInformationFull | None = None) -> None:
        self.client = client
        self.token: OAuthToken | None = None

    async def get_tokens(self) -> OAuthToken | None:
        """The token of this login."""
        return self.token

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Takes the token that the authorization server issued."""
        self.token = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """The client as it is registered."""
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Takes the client that the authorization server has registered."""
        self.client = client_info


def oauth_client(*, seconds: float, **options: Any) -> httpx2.AsyncClient:
    """The HTTP client for requests to authorization servers."""
    return limited_client(max_bytes=_MAX_BYTES, seconds=seconds, **options)


def require_secure(address: str, server_url: str) -> None:
    """Raises `McpServerError` for an address that must not take part in the login to a server.

    It has to be encrypted. Only a server of this machine may name plain addresses of this machine.
    """
    parts = urlsplit(address)
    if parts.scheme == "https" and parts.hostname:
        return
    is_here = is_this_machine(parts.hostname or "") and parts.scheme == "http"
    if is_here and is_this_machine(urlsplit(server_url).hostname or ""):
        return
    shown = f"{parts.scheme}://{parts.hostname or ''}"
    raise McpServerError(
        f"A login must not use {shown}, because it is not encrypted. It needs an https:// address."
    )


def is_this_machine(host: str) -> bool:
    """Whether a host is loopback.

    >>> is_this_machine("127.0.0.1"), is_this_machine("::1"), is_this_machine("localhost")
    (True, True, True)
    >>> is_this_machine("127.0.0.1.example.org"), is_this_machine("10.0.0.1")
    (False, False)
    """
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
