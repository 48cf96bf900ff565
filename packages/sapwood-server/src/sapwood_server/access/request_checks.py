"""What a request must pass before its route sees it: host, origin, content type, size, time.

A web page of another origin, and a host name that was pointed at this machine, are refused.
"""

import asyncio
import ipaddress
import re
from collections.abc import Iterable

import msgspec
from starlette.requests import ClientDisconnect, Request

from sapwood.core.errors import SapwoodError
from sapwood_server.problems import Problem

MAX_BYTES = 1_000_000
_BODY_SECONDS = 10.0
_HOST = re.compile(r"(?:\[(?P<address>[0-9a-f:.]+)\]|(?P<name>[a-z0-9._-]+))(?::[0-9]{1,5})?")
_SAFE = ("GET", "HEAD", "OPTIONS")

SECURITY_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types sapwood"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}
"""Headers of every answer: only this origin, no frames, no referrer."""


class AllowedHosts:
    """The host names by which this server may be addressed."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(name.lower() for name in names)

    def check(self, request: Request) -> None:
        """Raises `Problem` for another host name: it may have been pointed at this machine."""
        host = request.headers.get("host", "").lower()
        parts = _HOST.fullmatch(host)
        if parts is None:
            raise Problem(
                400, "Malformed host", "The Host header is not a valid host name and port."
            )
        if (parts["name"] or parts["address"]) not in self._names and host not in self._names:
            raise Problem(
                421,
                "Wrong host",
                "This server does not accept that host name. Use the printed address, or start "
                "the server with --host-name NAME.",
            )


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach this address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def checked_origins(origins: Iterable[str]) -> frozenset[str]:
    """The origins, in lower case. Raises `SapwoodError` if one is not a scheme with a host.

    >>> checked_origins(["https://App.example"])
    frozenset({'https://app.example'})
    """
    found = frozenset(each.lower() for each in origins)
    for each in found:
        scheme, _, host = each.partition("://")
        if scheme not in ("http", "https") or _HOST.fullmatch(host) is None:
            raise SapwoodError(
                f"'{each}' in serve.origins is not an origin. Write a scheme and a host, such as "
                "https://app.example"
            )
    return found


def check_origin(
    request: Request, *, by_cookie: bool, others: frozenset[str] = frozenset()
) -> None:
    """Raises `Problem` if a page of another origin sent the request.

    A request of a browser that changes something must name its origin. Pages of `others` may send
    requests with a bearer token; a cookie of this origin never counts for them.
    """
    if not by_cookie and request.headers.get("origin", "").lower() in others:
        return
    own = f"{request.url.scheme}://{request.headers.get('host', '')}".lower()
    origin = request.headers.get("origin")
    site = request.headers.get("sec-fetch-site", "")
    navigates = request.headers.get("sec-fetch-mode") == "navigate" and request.method in _SAFE
    foreign = origin is not None and _plain(origin) != _plain(own)
    if foreign or (site in ("cross-site", "same-site") and not navigates):
        raise Problem(403, "Wrong origin", "Pages from other origins cannot use this server.")
    if by_cookie and request.method not in _SAFE and origin is None and site != "same-origin":
        raise Problem(
            403,
            "Origin missing",
            "Browsers must send an Origin header. Other clients should use a bearer token.",
        )


def is_encrypted(request: Request) -> bool:
    """Whether a request whose origin was checked left its page by HTTPS.

    The server itself speaks HTTP to a proxy that ends the encryption, so the origin of the page
    tells it.
    """
    origin = request.headers.get("origin", "").lower()
    return request.url.scheme == "https" or origin.startswith("https://")


def _plain(origin: str) -> str:
    """An origin without its scheme: a proxy may have ended the encryption."""
    return origin.lower().partition("://")[2] or origin.lower()


async def read_json(request: Request, *, max_bytes: int = MAX_BYTES) -> dict[str, object]:
    """The body of a request, an object in JSON; an empty body is an empty object.

    Raises `Problem` for another content type, a body that is too large or too slow, and what is
    not an object.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Problem(
            415,
            "Unsupported content type",
            "Send the body as JSON, with Content-Type: application/json.",
        )
    body = bytearray()
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            async for piece in request.stream():
                body += piece
                if len(body) > max_bytes:
                    raise Problem(
                        413, "Body too large", f"A body can be up to {max_bytes:,} bytes long."
                    )
    except TimeoutError:
        raise Problem(
            408, "Body too slow", f"The body did not arrive within {_BODY_SECONDS:g} seconds."
        ) from None
    except ClientDisconnect:
        raise Problem(400, "Disconnected", "The body did not arrive.") from None
    try:
        return msgspec.json.decode(bytes(body) or b"{}", type=dict[str, object])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Problem(400, "Not a JSON object", f"The body cannot be read: {error}.") from None
