"""A limit of requests for each key: so many a second, and a burst. And of open streams.

How often somebody may try to sign in.

The limits of requests for each principal and each space, counted together by all servers.

A server counts by itself and lets no request wait. Ten times a second it tells the database what
it let pass, and learns what all servers let pass. So a limit holds for all servers together, except
for what arrives within a tenth of a second. While the database is away, each server counts alone.
"""

import asyncio
import ipaddress
import math
import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from starlette.requests import Request

from sapwood.config.serve_settings import ServeConfig
from sapwood.core.errors import LogError, SapwoodError
from sapwood_server.access.principal import Principal
from sapwood_server.problems import Problem
from sapwood_server.server_tables import SharedCounts

_MAX_KNOWN = 10_000


class RateLimit:
    """Lets `rate` requests a second pass for each key, and `burst` of them at once (GCRA).

    A rate of 0 is no limit.
    """

    def __init__(self, rate: float = 100.0, burst: int = 400) -> None:
        self._gap = 1.0 / rate if rate else 0.0
        self._room = max(burst, 1) * self._gap
        self._due: OrderedDict[str, float] = OrderedDict()
        self._used: dict[str, float] = {}

    def check(self, key: str, now: float | None = None) -> None:
        """Counts a request. Raises `Problem` with `Retry-After` if it comes too early."""
        if not self._gap:
            return
        now = time.monotonic() if now is None else now
        due = max(self._due.get(key, now), now)
        wait = due + self._gap - now - self._room
        if wait > 1e-9:
            raise Problem(
                429,
                "Too many requests",
                f"Too many requests. Try again in {wait:.1f} seconds.",
                headers={"Retry-After": str(math.ceil(wait))},
            )
        self._due[key] = due + self._gap
        self._due.move_to_end(key)
        self._used[key] = self._used.get(key, 0.0) + self._gap
        if len(self._due) > _MAX_KNOWN:
            self._used.pop(self._due.popitem(last=False)[0], None)

    def take_used(self) -> dict[str, float]:
        """What passed since the last call, in seconds for each key."""
        used, self._used = self._used, {}
        return used

    def correct(self, ahead: Mapping[str, float]) -> None:
        """Takes over by how many seconds keys were ahead when `take_used` was told to others."""
        now = time.monotonic()
        for key, seconds in ahead.items():
            if key in self._due:
                self._due[key] = now + max(0.0, seconds) + self._used.get(key, 0.0)


class OpenStreams:
    """Counts what each principal has open at once: event streams, or uploads."""

    def __init__(self, max_open: int, what: str = "event streams are open") -> None:
        self._max_open = max_open
        self._what = what
        self._open: dict[str, int] = {}

    def enter(self, principal: str) -> None:
        """Counts one more. Raises `Problem` if there are too many."""
        if self._open.get(principal, 0) >= self._max_open:
            raise Problem(
                429,
                "Too many concurrent requests",
                f"{self._max_open} {self._what}. Close one, then try again.",
                headers={"Retry-After": "5"},
            )
        self._open[principal] = self._open.get(principal, 0) + 1

    def leave(self, principal: str) -> None:
        """Counts one less."""
        left = self._open.get(principal, 0) - 1
        if left > 0:
            self._open[principal] = left
        else:
            self._open.pop(principal, None)


Proxies = Sequence[ipaddress.IPv4Network | ipaddress.IPv6Network]
_RATE, _BURST = 1.0, 30
_TOTAL_RATE, _TOTAL_BURST = 20.0, 200


class SignInLimits:
    """Limits attempts of each address, and of all together. Addresses are forgotten in time."""

    def __init__(self, proxies: Proxies = ()) -> None:
        self._proxies = proxies
        self._addresses = RateLimit(_RATE, _BURST)
        self._all = RateLimit(_TOTAL_RATE, _TOTAL_BURST)

    def check(self, request: Request) -> str:
        """Counts an attempt. Returns the address that it came from.

        Raises `Problem` with `Retry-After` if there are too many.
        """
        now = time.monotonic()
        address = client_address(request, self._proxies)
        self._addresses.check(address, now)
        self._all.check("all", now)
        return address


def client_address(request: Request, proxies: Proxies = ()) -> str:
    """The address of the client; of IPv6 the network, because one client has many addresses.

    What a proxy forwarded counts if the proxy is one of `proxies`. Whoever wrote what stands before
    it is not known, so it is read from the end.
    """
    host = request.client.host if request.client else ""
    forwarded = ",".join(request.headers.getlist("x-forwarded-for")).split(",")
    while forwarded and _is_in(host, proxies) and (before := forwarded.pop().strip()):
        host = before
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    network = ipaddress.ip_network((address, 64), strict=False) if address.version == 6 else host
    return str(network)


def _is_in(host: str, networks: Proxies) -> bool:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return any(address in network for network in networks)


def parse_proxies(given: Iterable[str]) -> Proxies:
    """The networks of the proxies in front of the server. Raises `SapwoodError`."""
    try:
        return tuple(ipaddress.ip_network(each, strict=False) for each in given)
    except ValueError as error:
        raise SapwoodError(
            f"serve.proxies contains something that is not an address or network: {error}. Write "
            "one such as 10.0.0.0/8."
        ) from None


__all__ = ["RequestLimits", "SharedCounts"]

_SETTLE_SECONDS = 0.1
_AWAY_SECONDS = 2.0
_FORGET_SECONDS = 60.0


class RequestLimits:
    """So many requests a second for each principal and for each space, and bursts of both."""

    def __init__(
        self, config: ServeConfig | None = None, shared: SharedCounts | None = None
    ) -> None:
        config = config or ServeConfig()
        self._principals = RateLimit(config.rate, config.burst)
        self._spaces = RateLimit(config.space_rate, config.space_burst)
        self._shared = shared
        self._work = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def check(self, principal: Principal) -> None:
        """Counts a request. Raises `Problem` with `Retry-After` if it comes too early."""
        now = time.monotonic()
        self._principals.check(f"principal {principal.id}", now)
        self._spaces.check(f"space {principal.space}", now)
        if self._shared is not None:
            self._work.set()
            if self._task is None:
                self._task = asyncio.create_task(self._settle(self._shared))

    async def close(self) -> None:
        """Stops counting with the other servers."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _settle(self, shared: SharedCounts) -> None:
        forgotten = 0.0
        while True:
            await self._work.wait()
            await asyncio.sleep(_SETTLE_SECONDS)
            self._work.clear()
            used = {**self._principals.take_used(), **self._spaces.take_used()}
            try:
                ahead = await shared.count(used)
                if time.monotonic() - forgotten > _FORGET_SECONDS:
                    forgotten = time.monotonic()
                    await shared.forget()
            except LogError:
                await asyncio.sleep(_AWAY_SECONDS)
                continue
            self._principals.correct(ahead)
            self._spaces.correct(ahead)
