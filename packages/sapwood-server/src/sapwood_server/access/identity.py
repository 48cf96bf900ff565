"""Who asks: the one-time token of the printed address, cookies, and bearer tokens."""

import hmac
import secrets
import time
from typing import TYPE_CHECKING

from starlette.requests import Request

from sapwood.config.server_tokens import SCOPES, TokenRecord, Tokens, TokenScope
from sapwood_server.access.pairing import PairingCodes
from sapwood_server.access.principal import Principal
from sapwood_server.problems import Problem

if TYPE_CHECKING:
    from sapwood_server.access.oidc import IssuerTokens


COOKIE = "sapwood_session"
SPACE_HEADER = "sapwood-space"
"""Chooses a space, for those who may use several."""

_SESSION_SECONDS = 30 * 86_400


class Identities:
    """Finds the principal of a request.

    `space` is the space of the person at this machine, who opens the printed address. `issuer`
    checks tokens of an OpenID Connect issuer, if the server trusts one.
    """

    def __init__(self, tokens: Tokens, space: str, issuer: "IssuerTokens | None" = None) -> None:
        self._tokens = tokens
        self._space = space
        self._issuer = issuer
        self._one_time = secrets.token_urlsafe(32)
        self.pairing = PairingCodes()

    @property
    def one_time_token(self) -> str:
        """The token of the printed address. It works once."""
        return self._one_time

    async def exchange(self, value: str, *, by_link: bool = False, address: str = "") -> str:
        """Exchanges a token for a cookie: the one-time token, a code for pairing, a stored token,
        or one of the issuer.

        The cookie ends with its token: when that expires, and when it is revoked. `by_link`: the
        token was in the address of the page. Only the one-time token is taken so, because a link of
        anybody else could sign the browser in as that person. `address` is that of the client.
        Raises `Problem`.
        """
        if self._one_time and hmac.compare_digest(value.encode(), self._one_time.encode()):
            self._one_time = ""
            return await self._session("", "", self._space, SCOPES)
        if self._issuer is not None and value.count(".") == 2 and not by_link:
            person = await self._issuer.principal(value)
            scopes: tuple[TokenScope, ...] = tuple(s for s in SCOPES if s in person.scopes)
            return await self._session(person.id, person.name, person.space, scopes, person.expires)
        if not by_link and (paired := self.pairing.take(value, address)) is not None:
            return await self._session(
                paired.parent, paired.name, paired.space, paired.scopes, paired.expires
            )
        record = None if by_link else await self._tokens.find(value)
        if record is None or record.kind != "token":
            raise Problem(
                401,
                "Token rejected",
                "This address or code was already used, or the token is wrong or has expired. Ask "
                "the operator for a token, or type a new code from a signed-in browser.",
            )
        return await self._session(
            record.id, record.name, record.space, record.scopes, record.expires
        )

    async def of(self, request: Request) -> Principal:
        """The principal of a request. Raises `Problem` if it has none."""
        header = request.headers.get("authorization", "")
        wanted = request.headers.get(SPACE_HEADER, "")
        if header:
            scheme, _, value = header.partition(" ")
            value = value.strip()
            bearer = scheme.lower() == "bearer"
            if bearer and self._issuer is not None and value.count(".") == 2:
                return await self._issuer.principal(value, wanted)
            record = await self._tokens.find(value) if bearer else None
            if record is None or record.kind != "token":
                raise _unknown()
        else:
            record = await self._tokens.find(request.cookies.get(COOKIE, ""))
            if record is None or record.kind != "session":
                raise _unknown()
        if wanted and wanted != record.space:
            raise Problem(403, "Wrong space", "This token is for another space.")
        return _principal(record)

    async def forget(self, request: Request) -> None:
        """Ends the session of a browser."""
        record = await self._tokens.find(request.cookies.get(COOKIE, ""))
        if record is not None and record.kind == "session":
            await self._tokens.revoke(record.id)

    async def _session(
        self,
        parent: str,
        name: str,
        space: str,
        scopes: tuple[TokenScope, ...],
        expires: int = 0,
    ) -> str:
        left = max(1, expires - int(time.time())) if expires else _SESSION_SECONDS
        value, _ = await self._tokens.create(
            name,
            space,
            scopes,
            seconds=min(left, _SESSION_SECONDS),
            kind="session",
            parent=parent,
        )
        return value


def _principal(record: TokenRecord) -> Principal:
    return Principal(
        record.id,
        record.name,
        record.space,
        frozenset(record.scopes),
        by_cookie=record.kind == "session",
        expires=record.expires,
    )


def _unknown() -> Problem:
    return Problem(
        401,
        "Not signed in",
        "Sign in with the address that the server printed, or send a bearer token. Ask the "
        "operator of the server for one.",
    )
