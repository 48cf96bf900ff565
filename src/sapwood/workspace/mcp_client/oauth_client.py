"""What logging in and renewing a login share: an address that may get secrets, and a storage."""

import re
import time
from ipaddress import ip_address
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import httpx2
import msgspec
from mcp.client.auth import OAuthTokenError
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from msgspec import Struct

from sapwood.config.mcp_logins import MAX_TOKEN
from sapwood.workspace.mcp_client.limited_client import limited_client
from sapwood.workspace.mcp_client.mcp_errors import McpServerError
from sapwood.workspace.mcp_client.server_text import one_line

_MAX_BYTES = 1_000_000
"""Of an answer; most have some hundred bytes."""
_MAX_LIFETIME = 315_360_000
"""Ten years of seconds."""
_TOKEN = re.compile(rf"[!-~]{{1,{MAX_TOKEN}}}")
_SECRET_FIELDS = ("code", "code_verifier", "refresh_token", "client_secret")
_PART = 8
"""Characters of a secret that may not be repeated."""
_NO_TOKEN = "the answer is not a token"


class OAuthRefusal(Struct, frozen=True):
    """Why an authorization server refused a request: the code (RFC 6749, 5.2), and a sentence."""

    code: str
    says: str


def refusal_of(response: httpx2.Response) -> OAuthRefusal:
    """What a response says that is no success. Its body has been read.

    If the server repeats what was sent to it, such as a code or a secret, only the status is told.
    """
    try:
        body = msgspec.json.decode(response.content, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        body = {}
    code, more = (str(body.get(name, "")) for name in ("error", "error_description"))
    says = one_line(": ".join(filter(None, (code, more))))
    if not says or _repeats(says, response.request):
        says = f"HTTP {response.status_code}"
    return OAuthRefusal(code, says)


def _repeats(text: str, request: httpx2.Request) -> bool:
    """Whether a text has a part of a value that was sent as a secret, backwards too."""
    form = parse_qs(request.content.decode("utf-8", "replace"))
    sent = [value for name in _SECRET_FIELDS for value in form.get(name, ())]
    sent += [quote(value, safe="") for value in sent]
    sent += request.headers.get("authorization", "").split()[1:]
    seen = "".join(text.split())
    return any(
        part in seen or part[::-1] in seen
        for value in sent
        for at in range(max(1, len(value) - _PART + 1))
        if (part := value[at : at + _PART])
    )


def token_of(content: bytes) -> OAuthToken:
    """The token in an answer. Raises `ValueError`, with nothing of the answer, if it is none."""
    try:
        token = OAuthToken.model_validate_json(content)
    except ValueError:
        raise ValueError(_NO_TOKEN) from None
    require_token(token)
    return token


def require_token(token: OAuthToken) -> None:
    """Raises `ValueError` for a token that could not be sent in a header."""
    if not all(_TOKEN.fullmatch(each) for each in (token.access_token, token.refresh_token or "-")):
        raise ValueError(_NO_TOKEN)


def expiry(token: OAuthToken) -> float:
    """When the token ends; 0 if that is not known."""
    return time.time() + min(token.expires_in, _MAX_LIFETIME) if token.expires_in else 0


class LoginInMemory:
    """The storage that the OAuth client of the MCP library asks for. Writes nothing."""

    def __init__(self, client: OAuthClientInformationFull | None = None) -> None:
        self.client = client
        self.token: OAuthToken | None = None

    async def get_tokens(self) -> OAuthToken | None:
        """The token of this login."""
        return self.token

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Takes the token that the authorization server issued. Raises `OAuthTokenError`."""
        try:
            require_token(tokens)
        except ValueError as error:
            raise OAuthTokenError(str(error)) from None
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
    What stands before an `@` could pose as the host.
    """
    parts = urlsplit(address)
    if parts.username is not None:
        raise McpServerError(
            f"A login must not use an address with a user name, as in USER@{parts.hostname or ''}."
        )
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
