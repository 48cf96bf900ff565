"""Who asks: the one-time token of the printed address, cookies, bearer tokens and their scopes."""

import hmac
import secrets
import threading

from msgspec import Struct
from starlette.requests import Request

from sapwood.config.server_tokens import SCOPES, TokenRecord, TokenScope, TokenStore
from sapwood.core.events import HUMAN, Actor
from sapwood.server.problems import Problem

__all__ = ["COOKIE", "Identities", "Principal"]

COOKIE = "sapwood_session"
_SESSION_SECONDS = 30 * 86_400


class Principal(Struct, frozen=True):
    """Who sent a request: a name, the space that is served to it, and what it may do.

    `by_cookie` is true for a browser: its requests are checked for their origin too.
    """

    id: str
    name: str
    space: str
    scopes: frozenset[TokenScope]
    by_cookie: bool = False

    @property
    def actor(self) -> Actor:
        """The actor of the events that this principal causes."""
        return Actor("human", self.name) if self.name else HUMAN

    def require(self, scope: TokenScope) -> None:
        """Raises `Problem` if this principal may not do it."""
        if scope not in self.scopes:
            raise Problem(
                403,
                "Scope missing",
                f"This token does not allow '{scope}'. Use a token that does: "
                f"sapwood token new NAME --scope {scope}",
                fields={"scope": scope},
            )


class Identities:
    """Finds the principal of a request.

    `space` is the space of the person at this machine, who opens the printed address.
    """

    def __init__(self, store: TokenStore, space: str) -> None:
        self._store = store
        self._space = space
        self._lock = threading.Lock()
        self._one_time = secrets.token_urlsafe(32)

    @property
    def one_time_token(self) -> str:
        """The token of the printed address. It works once."""
        return self._one_time

    def exchange(self, value: str) -> str:
        """Exchanges the one-time token, or a stored token, for a cookie. Raises `Problem`."""
        with self._lock:
            if self._one_time and hmac.compare_digest(value.encode(), self._one_time.encode()):
                self._one_time = ""
                return self._session("", self._space, SCOPES)
        record = self._store.find(value)
        if record is None or record.kind != "token":
            raise Problem(
                401,
                "Token refused",
                "This address was used already, or the token is wrong or has expired. Start the "
                "server again for a new address, or make a token: sapwood token new NAME",
            )
        return self._session(record.name, record.space, record.scopes, record.expires)

    def of(self, request: Request) -> Principal:
        """The principal of a request. Raises `Problem` if it has none."""
        header = request.headers.get("authorization", "")
        if header:
            scheme, _, value = header.partition(" ")
            record = self._store.find(value.strip()) if scheme.lower() == "bearer" else None
            if record is None or record.kind != "token":
                raise _unknown()
            return _principal(record)
        record = self._store.find(request.cookies.get(COOKIE, ""))
        if record is None or record.kind != "session":
            raise _unknown()
        return _principal(record)

    def forget(self, request: Request) -> None:
        """Ends the session of a browser."""
        record = self._store.find(request.cookies.get(COOKIE, ""))
        if record is not None and record.kind == "session":
            self._store.revoke(record.id)

    def _session(
        self, name: str, space: str, scopes: tuple[TokenScope, ...], expires: int = 0
    ) -> str:
        import time

        left = max(1, expires - int(time.time())) if expires else _SESSION_SECONDS
        value, _ = self._store.create(
            name, space, scopes, seconds=min(left, _SESSION_SECONDS), kind="session"
        )
        return value


def _principal(record: TokenRecord) -> Principal:
    return Principal(
        record.id,
        record.name,
        record.space,
        frozenset(record.scopes),
        by_cookie=record.kind == "session",
    )


def _unknown() -> Problem:
    return Problem(
        401,
        "Not signed in",
        "Open the address that `sapwood serve` printed, or send a bearer token: "
        "sapwood token new NAME",
        headers={"WWW-Authenticate": "Bearer"},
    )
