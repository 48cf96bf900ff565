"""The public keys of an OpenID Connect issuer: discovered, kept for minutes, fetched when rotated.

Tokens that name unknown keys cannot make the server ask the issuer more than once in a few seconds.
"""

import asyncio
import ipaddress
import json
import time
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from http.client import HTTPException
from typing import Any, cast
from urllib.parse import urlsplit

import jwt

from sapwood.core.errors import SapwoodError

_DISCOVERY = "/.well-known/openid-configuration"
_SECONDS = 5.0
_MAX_BYTES = 1_000_000


class IssuerAway(SapwoodError):
    """The issuer does not answer, or not with what it must."""


class IssuerKeys:
    """The keys of one issuer by their ids.

    They are fetched again after `fresh` seconds, and when a token names an unknown key, but not
    within `pause` seconds after an attempt. If the issuer does not answer, the last known keys are
    used for `oldest` seconds. Raises `SapwoodError` for an issuer without encryption that is not on
    this machine.
    """

    def __init__(
        self, issuer: str, *, fresh: float = 300.0, oldest: float = 3600.0, pause: float = 5.0
    ) -> None:
        _require_safe(issuer)
        self.issuer = issuer
        self._fresh, self._oldest, self._pause = fresh, oldest, pause
        self._keys: dict[str, jwt.PyJWK] = {}
        self._fetched = -oldest
        self._tried = -oldest
        self._lock = asyncio.Lock()
        self.clock: Callable[[], float] = time.monotonic

    async def find(self, key_id: str | None) -> jwt.PyJWK | None:
        """The key with this id, or the only key if a token names none; None if it is unknown.

        Raises `IssuerAway` if no keys are known.
        """
        if self.clock() - self._fetched > self._fresh or not self._known(key_id):
            await self._refresh(key_id)
        if self.clock() - self._fetched > self._oldest:
            raise IssuerAway(f"The issuer {self.issuer} is not responding. Try again later.")
        return self._known(key_id)

    async def fetch(self) -> None:
        """Fetches the keys now. Raises `IssuerAway`."""
        self._tried = self.clock()
        self._keys = await asyncio.to_thread(self._read_keys)
        self._fetched = self.clock()

    def _known(self, key_id: str | None) -> jwt.PyJWK | None:
        if key_id is None:
            return next(iter(self._keys.values())) if len(self._keys) == 1 else None
        return self._keys.get(key_id)

    async def _refresh(self, key_id: str | None) -> None:
        async with self._lock:
            now = self.clock()
            stale = now - self._fetched > self._fresh or not self._known(key_id)
            if stale and now - self._tried > self._pause:
                with suppress(IssuerAway):  # then the last known keys are used, while they may be
                    await self.fetch()

    def _read_keys(self) -> dict[str, jwt.PyJWK]:
        found = _read(self.issuer.rstrip("/") + _DISCOVERY)
        if found.get("issuer") != self.issuer:
            raise IssuerAway(
                f"{self.issuer} identifies itself as the issuer {found.get('issuer')!r}. Use "
                "exactly that address: --oidc-issuer URL"
            )
        address = found.get("jwks_uri")
        if not isinstance(address, str):
            raise IssuerAway(f"The issuer {self.issuer} does not say where its keys are.")
        _require_safe(address)
        keys: dict[str, jwt.PyJWK] = {}
        listed = _read(address).get("keys")
        values = cast("list[object]", listed) if isinstance(listed, list) else []
        for number, value in enumerate(values):
            each = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
            if each.get("use", "sig") != "sig" or each.get("kty") == "oct":
                continue
            try:
                keys[str(each.get("kid", f"#{number}"))] = jwt.PyJWK(each)
            except jwt.PyJWTError:
                continue  # a kind of key that is not known here
        return keys


def _read(address: str) -> dict[str, object]:
    """An object in JSON at an address, without following redirections. Raises `IssuerAway`."""
    opener = urllib.request.build_opener(_NoRedirection())
    try:
        with opener.open(address, timeout=_SECONDS) as answer:
            value = json.loads(answer.read(_MAX_BYTES))
    except (OSError, HTTPException, ValueError, RecursionError) as error:
        raise IssuerAway(
            f"The issuer's response at {address} could not be read: {error}."
        ) from error
    if not isinstance(value, dict):
        raise IssuerAway(f"The issuer's response at {address} is not a JSON object.")
    return cast("dict[str, object]", value)


class _NoRedirection(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args: object) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] # whatever is given
        """Follows none: the answer is then an error."""


def _require_safe(address: str) -> None:
    parts = urlsplit(address)
    host = parts.hostname or ""
    if parts.scheme == "https" and host:
        return
    try:
        local = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        local = False
    if parts.scheme != "http" or not local:
        raise SapwoodError(
            f"The issuer address '{address}' must start with https://. Plain HTTP is allowed only "
            "on this machine."
        )
