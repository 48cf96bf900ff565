"""Fetches one page of the web, from the address that was checked and from no other.

The name is resolved once. If one of its addresses is not public, nothing is fetched, unless a rule
allows it. The connection goes to a checked address, so a name that resolves otherwise a moment
later changes nothing. Proxies of the environment are not used: they would resolve the name again.
"""

import codecs
import http.client
import ipaddress
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Sequence
from urllib.parse import SplitResult, quote, urljoin, urlsplit

from msgspec import Struct

from sapwood.workspace.tool_output import ToolError
from sapwood.workspace.tools.web_text import web_text, without_unseen

MAX_BYTES = 2_000_000
MAX_TEXT = 100_000
MAX_SECONDS = 30.0
_MAX_REDIRECTS = 5
_PIECE = 65_536
_PORTS = {"http": 80, "https": 443}
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_HOST = re.compile(r"[a-z0-9._-]+|\[[0-9a-f:.]+\]")
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([A-Za-z0-9._:-]{1,40})")
_PAGE_CODECS = re.compile(
    r"ascii|utf-(?:8|16|32)(?:-sig|-[bl]e)?|iso8859-\d+|cp(?:125\d|866|874|932|949|950)|"
    r"koi8-[rtu]|mac-(?:roman|cyrillic)|tis-620|gb(?:2312|k|18030)|big5(?:hkscs)?|shift_jis|"
    r"euc_(?:jp|kr)|iso2022_jp"
)
"""The codecs that pages are read with, by their names in Python: those that browsers have.

Others, such as punycode, can take minutes for a page, and no deadline ends them.
"""
_TEXT_TYPES = re.compile(
    r"text/.*|application/(?:.*\+)?(?:json|xml)|application/(?:javascript|yaml)"
)
_HEADERS = {
    "Accept": "text/html, text/plain, application/json;q=0.9, */*;q=0.5",
    "Accept-Encoding": "identity",
    "User-Agent": "Sapwood",
    "Connection": "close",
}

Resolve = Callable[[str, int], Sequence[str]]
"""The IP addresses of a name. Raises `OSError`."""


class WebAddress(Struct, frozen=True):
    """An address of the web: `place` is its host, with the port if that is not the usual one."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def place(self) -> str:
        return self.host if self.port == _PORTS[self.scheme] else f"{self.host}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.place}{self.path}"

    @property
    def names_private(self) -> bool:
        """Whether the host itself says that it is not public, without resolving it."""
        name = self.host.strip("[]")
        if name == "localhost" or name.endswith((".localhost", ".local", ".internal")):
            return True
        try:
            return not is_public(name)
        except ValueError:
            pass
        try:  # `127.1`, `0x7f.1` and `2130706433` are addresses too
            return not is_public(socket.inet_ntoa(socket.inet_aton(name)))
        except OSError:
            return False


class WebPage(Struct, frozen=True):
    """What was fetched: its address after redirects, status, type and text.

    `moved_to` is the address of a redirect to another host, which was not followed.
    """

    address: WebAddress
    status: int = 200
    media_type: str = ""
    title: str = ""
    text: str = ""
    moved_to: str = ""


def web_address(url: str) -> WebAddress:
    """Reads a URL. Raises `ToolError` if it is not one of http or https, or holds a password.

    >>> web_address("HTTPS://Example.org:443/a b?q=1#top").url
    'https://example.org/a%20b?q=1'
    """
    try:
        parts = urlsplit(url.strip())
        port = parts.port
        host = _ascii_host(parts.hostname or "")
    except ValueError:
        raise ToolError(
            f"{url} is not a valid address. Give one that starts with https://"
        ) from None
    if parts.scheme not in _PORTS or not _HOST.fullmatch(host) or port == 0:
        raise ToolError(f"{url} is not a web address. Give one that starts with https://")
    if parts.username is not None or parts.password is not None:
        raise ToolError("An address with a user or a password cannot be fetched.")
    return WebAddress(parts.scheme, host, port or _PORTS[parts.scheme], _path(parts))


def is_public(address: str) -> bool:
    """Whether an IP address belongs to the public internet.

    >>> is_public("93.184.215.14"), is_public("::ffff:127.0.0.1"), is_public("169.254.169.254")
    (True, False, False)
    """
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None)
        if ip in _NAT64:
            inner = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
    return ip.is_global and not ip.is_multicast


def resolve_name(host: str, port: int) -> Sequence[str]:
    """The IP addresses of a name, by the system."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(each[4][0]) for each in found))


def fetch_page(
    address: WebAddress,
    *,
    private: bool = False,
    resolve: Resolve = resolve_name,
    seconds: float = MAX_SECONDS,
) -> WebPage:
    """Fetches a page and follows redirects on the same host. Blocks.

    Addresses that are not public are refused, unless `private`. Raises `ToolError`.
    """
    deadline = time.monotonic() + seconds
    first = address.place
    for _ in range(_MAX_REDIRECTS):
        page, moved = _fetch_once(address, private, resolve, deadline)
        if not moved:
            return page
        target = web_address(urljoin(address.url, moved))
        if target.place != first or (address.scheme, target.scheme) == ("https", "http"):
            return WebPage(address, page.status, moved_to=target.url)
        address = target
    raise ToolError(f"{address.url} was not fetched: more than {_MAX_REDIRECTS} redirects.")


def _fetch_once(
    address: WebAddress, private: bool, resolve: Resolve, deadline: float
) -> tuple[WebPage, str]:
    """The page, and where it redirects to."""
    try:
        ips = resolve(address.host.strip("[]"), address.port)
    except (OSError, UnicodeError) as error:
        raise ToolError(f"The host {address.host} was not found.") from error
    if not private and not all(map(is_public, ips)):
        raise ToolError(
            f"{address.host} resolves to an address that is not public, so it was not fetched. The "
            f"user can allow it with the rule: allow web_fetch({address.place})"
        )
    try:
        return _exchange(address, ips, deadline)
    except (TimeoutError, http.client.HTTPException, ValueError, OSError) as error:
        problem = "it took too long" if isinstance(error, TimeoutError) else f"{error}"
        raise ToolError(f"{address.url} was not fetched: {problem}.") from error


def _exchange(address: WebAddress, ips: Sequence[str], deadline: float) -> tuple[WebPage, str]:
    plain = _connected(address, ips, deadline)
    handle = plain.dup()
    # A server that sends a byte now and then would never reach the timeout of a socket.
    ending = threading.Timer(_left(deadline), lambda: handle.shutdown(socket.SHUT_RDWR))
    ending.start()
    connection = http.client.HTTPConnection(address.host.strip("[]"), address.port)
    try:
        connection.sock = plain if address.scheme == "http" else _encrypted(plain, address)
        connection.request("GET", address.path, headers={"Host": address.place, **_HEADERS})
        return _answer(address, connection.getresponse(), deadline)
    except (http.client.HTTPException, OSError):
        _left(deadline)
        raise
    finally:
        ending.cancel()
        handle.close()
        connection.close()
        plain.close()


def _answer(
    address: WebAddress, response: http.client.HTTPResponse, deadline: float
) -> tuple[WebPage, str]:
    status, moved = response.status, response.getheader("Location", "")
    if 300 <= status < 400 and moved:
        return WebPage(address, status), moved
    data = bytearray()
    while len(data) <= MAX_BYTES and (piece := response.read1(_PIECE)):
        data += piece
    _left(deadline)
    kind = response.getheader("Content-Type", "text/plain")
    return _page(address, status, kind, bytes(data)), ""


def _connected(address: WebAddress, ips: Sequence[str], deadline: float) -> socket.socket:
    error: OSError = OSError("the host has no address")
    for ip in ips:
        try:
            return socket.create_connection((ip, address.port), _left(deadline))
        except OSError as failed:
            error = failed
    raise error


def _encrypted(plain: socket.socket, address: WebAddress) -> ssl.SSLSocket:
    return ssl.create_default_context().wrap_socket(plain, server_hostname=address.host.strip("[]"))


def _left(deadline: float) -> float:
    """The seconds until the deadline. Raises `TimeoutError` after it."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _page(address: WebAddress, status: int, kind: str, data: bytes) -> WebPage:
    media_type = kind.partition(";")[0].strip().lower()
    if not _TEXT_TYPES.fullmatch(media_type) and media_type != "application/xhtml+xml":
        return WebPage(address, status, media_type)
    is_html = media_type in ("text/html", "application/xhtml+xml")
    cut = len(data) > MAX_BYTES
    declared = _CHARSET.search(kind) or (
        _CHARSET.search(data[:2048].decode("ascii", "replace")) if is_html else None
    )
    text = data[:MAX_BYTES].decode(_codec(declared[1] if declared else ""), "replace")
    title = ""
    if is_html:
        title, text = web_text(text, address.url)
    else:
        text = without_unseen(text)
    if cut or len(text) > MAX_TEXT:
        text = f"{text[:MAX_TEXT]}\n[The rest of the page was left out.]"
    return WebPage(address, status, media_type, title, text)


def _codec(charset: str) -> str:
    """The codec for a declared charset: UTF-8 unless it is one that pages have.

    >>> _codec("Windows-1251"), _codec("latin1"), _codec("punycode"), _codec("")
    ('cp1251', 'iso8859-1', 'utf-8', 'utf-8')
    """
    try:
        name = codecs.lookup(charset).name
    except LookupError:
        return "utf-8"
    return name if _PAGE_CODECS.fullmatch(name) else "utf-8"


def _ascii_host(host: str) -> str:
    name = host.rstrip(".").lower()
    if ":" in name:
        return f"[{ipaddress.IPv6Address(name)}]"
    return name if name.isascii() else name.encode("idna").decode()


def _path(parts: SplitResult) -> str:
    query = f"?{parts.query}" if parts.query else ""
    return quote(f"{parts.path or '/'}{query}", safe="/%:@!$&'()*+,;=?~-._[]")
