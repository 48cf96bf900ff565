"""Runs the application with uvicorn until the process is asked to stop."""

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

import uvicorn
from starlette.types import ASGIApp

from sapwood.app.connection import Connection
from sapwood.app.worker_wakes import WorkerWakes
from sapwood.config.config_file import Config
from sapwood.core.errors import SapwoodError
from sapwood_server.access.identity import Identities
from sapwood_server.access.rate_limit import RequestLimits
from sapwood_server.access.request_checks import is_loopback
from sapwood_server.application import create_application
from sapwood_server.served_space import ServedSpaces
from sapwood_server.server_tables import counts_of, tokens_of

if TYPE_CHECKING:
    from sapwood_server.access.oidc import IssuerTokens


_log = logging.getLogger("sapwood.server")
_NO_OIDC = "OpenID Connect needs a package that is not installed. Type: pip install 'sapwood[oidc]'"

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
LAST_SECONDS = 10
"""How long requests that are being answered may take when the server stops."""


async def serve(
    connection: Connection,
    config: Config,
    keys: Mapping[str, str],
    *,
    host: str,
    port: int,
    host_names: Iterable[str] = (),
    drives: bool = True,
    on_ready: Callable[[str, str], None],
    stopped: Callable[[], Awaitable[None]],
    drain: float = 0.0,
    on_drain: Callable[[float], None] = lambda _: None,
) -> None:
    """Serves until `stopped` returns. Port 0 chooses a free port.

    After `stopped`, it still answers for `drain` seconds, but is not ready: a proxy goes elsewhere.
    Calls `on_ready` with the address and the one-time token. An address that other machines can
    reach needs a name by which the server may be addressed. If only this machine can reach the
    server, its own space is that of the person who started it: agents there work in the current
    folder, or in any other one. Raises `SapwoodError`.
    """
    names = tuple(host_names)
    if not is_loopback(host) and not names:
        raise SapwoodError(
            f"Other machines can reach {host}. Set the host name that they may use: --host-name "
            "NAME"
        )
    if not drives and connection.address and connection.wakes is None:
        connection.wakes = WorkerWakes(connection.address, connection.log)
    own = is_loopback(host) and not names and not config.serve.oidc_issuer
    spaces = ServedSpaces(connection, config, keys, drives=drives, own=own)
    identities = Identities(tokens_of(connection.log), config.space, await _issuer(config))
    with open_listener(host, port) as listener:
        limits = RequestLimits(config.serve, counts_of(connection.log))
        app = create_application(
            spaces,
            identities,
            (*_LOOPBACK, *names),
            limits=limits,
            streams=config.serve.streams,
            origins=config.serve.origins,
            proxies=config.serve.proxies,
        )
        server = _Server(_settings(app), spaces.end_streams)
        address = _address(host, listener)
        spaces.get(config.space).agents.start()
        serving = asyncio.ensure_future(server.serve(sockets=[listener]))
        on_ready(address, identities.one_time_token)
        stopping = asyncio.ensure_future(stopped())
        await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if drain:
            spaces.draining = True
            on_drain(drain)
            await asyncio.wait({serving}, timeout=drain)
        server.should_exit = True
        await asyncio.wait({serving})
        serving.result()


async def run_application(
    app: ASGIApp,
    host: str,
    port: int,
    *,
    on_ready: Callable[[str], None],
    stopped: Callable[[], Awaitable[None]],
) -> None:
    """Runs an application until `stopped` returns. Calls `on_ready` with its address."""
    with open_listener(host, port) as listener:
        server = _Server(_settings(app), lambda: None)
        serving = asyncio.ensure_future(server.serve(sockets=[listener]))
        on_ready(_address(host, listener))
        stopping = asyncio.ensure_future(stopped())
        await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        server.should_exit = True
        await asyncio.wait({serving})
        serving.result()


def _settings(app: ASGIApp) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=LAST_SECONDS,
        timeout_keep_alive=30,
        server_header=False,
        h11_max_incomplete_event_size=65_536,
        proxy_headers=False,
    )


def _address(host: str, listener: socket.socket) -> str:
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{listener.getsockname()[1]}"


async def _issuer(config: Config) -> "IssuerTokens | None":
    """What checks tokens of the issuer, if there is one. Raises `SapwoodError`."""
    if not config.serve.oidc_issuer:
        return None
    if find_spec("jwt") is None:
        raise SapwoodError(_NO_OIDC)
    from sapwood_server.access.oidc import IssuerTokens, IssuerUnavailable

    issuer = IssuerTokens(config.serve, config.space)
    try:
        await issuer.keys.fetch()
    except IssuerUnavailable as error:
        _log.warning("%s Its tokens are rejected until it responds.", error)
    return issuer


def open_listener(host: str, port: int) -> socket.socket:
    """A socket that listens. Raises `SapwoodError` if the port is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family)
    except OSError as error:
        raise SapwoodError(
            f"The server cannot listen on {host}, port {port}: {error.strerror}. Choose another "
            "port: --port N"
        ) from error
    # asyncio sets this option only on sockets that name their protocol; without it, every answer
    # waits 40 ms for an acknowledgement.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


class _Server(uvicorn.Server):
    """A server that leaves signals to the caller.

    When it stops, it first accepts no more connections and then ends the streams, so that a client
    that connects again reaches another process. Requests that are being answered have some seconds.
    """

    def __init__(self, config: uvicorn.Config, end_streams: Callable[[], None]) -> None:
        super().__init__(config)
        self._end_streams = end_streams

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stops."""
        for server in self.servers:
            server.close()
        for listener in sockets or ():
            listener.close()
        self._end_streams()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Captures none."""
        yield
