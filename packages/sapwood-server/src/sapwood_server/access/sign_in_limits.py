"""How often somebody may try to sign in."""

import ipaddress
import time

from starlette.requests import Request

from sapwood_server.access.rate_limit import RateLimit

_RATE, _BURST = 1.0, 30
_TOTAL_RATE, _TOTAL_BURST = 20.0, 200


class SignInLimits:
    """Limits attempts of each address, and of all together. Addresses are forgotten in time."""

    def __init__(self) -> None:
        self._addresses = RateLimit(_RATE, _BURST)
        self._all = RateLimit(_TOTAL_RATE, _TOTAL_BURST)

    def check(self, request: Request) -> None:
        """Counts an attempt. Raises `Problem` with `Retry-After` if there are too many."""
        now = time.monotonic()
        self._addresses.check(_address(request), now)
        self._all.check("all", now)


def _address(request: Request) -> str:
    """The address of the client; of IPv6 the network, because one client has many addresses."""
    host = request.client.host if request.client else ""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    network = ipaddress.ip_network((address, 64), strict=False) if address.version == 6 else host
    return str(network)
