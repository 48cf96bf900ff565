"""Bearer tokens of an OpenID Connect issuer: checked, and their claims turned into a principal.

The public keys of an OpenID Connect issuer: discovered, kept for minutes, fetched when rotated.

Tokens that name unknown keys cannot make the server ask the issuer more than once in a few seconds.
"""

import asyncio
import hashlib
import ipaddress
import json
import time
import urllib.request
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from http.client import HTTPException
from typing import Any, cast
from urllib.parse import urlsplit

import jwt

from sapwood.config.serve_settings import AccessRule, ServeConfig, parse_rule
from sapwood.config.server_tokens import ISSUED, TokenScope
from sapwood.core.errors import SapwoodError
from sapwood.core.ids import can_be_stored
from sapwood_server.access.principal import Principal
from sapwood_server.problems import Problem

_DISCOVERY = "/.well-known/openid-configuration"
_SECONDS = 5.0
_MAX_BYTES = 1_000_000


class IssuerUnavailable(SapwoodError):
    """The issuer does not answer, or not with what it must."""


class IssuerKeys:
    """The keys of one issuer by their ids.

    They are fetched again after `fresh` seconds, and when a token names an unknown key, but not
    within `pause` seconds after an attempt. If the issuer does not answer, the last known keys are
    used for `oldest` seconds, and only the first requests wait for it. Raises `SapwoodError` for an
    issuer without encryption that is not on this machine.
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
        self._fetching: asyncio.Task[None] | None = None
        self._is_away = False
        self.clock: Callable[[], float] = time.monotonic

    async def find(self, key_id: str | None) -> jwt.PyJWK | None:
        """The key with this id, or the only key if a token names none; None if it is unknown.

        Raises `IssuerUnavailable` if no keys are known.
        """
        known, age = self._known(key_id), self.clock() - self._fetched
        if age > self._fresh or not known:
            fetching = self._fetch_again()
            if not (known and self._is_away and age <= self._oldest):
                await asyncio.shield(fetching)
        if self.clock() - self._fetched > self._oldest:
            raise IssuerUnavailable(f"The issuer {self.issuer} is not responding. Try again later.")
        return self._known(key_id)

    async def fetch(self) -> None:
        """Fetches the keys now. Raises `IssuerUnavailable`."""
        try:
            self._keys = await asyncio.to_thread(self._read_keys)
            self._fetched = self.clock()
        finally:
            self._tried = self.clock()

    def _known(self, key_id: str | None) -> jwt.PyJWK | None:
        if key_id is None:
            return next(iter(self._keys.values())) if len(self._keys) == 1 else None
        return self._keys.get(key_id)

    def _fetch_again(self) -> "asyncio.Future[None]":
        """Fetches the keys for all who wait, unless that was tried a moment ago."""
        if self._fetching is None or self._fetching.done():
            self._fetching = asyncio.ensure_future(self._try_to_fetch())
        return self._fetching

    async def _try_to_fetch(self) -> None:
        if self.clock() - self._tried <= self._pause:
            return
        try:
            await self.fetch()
            self._is_away = False
        except IssuerUnavailable:  # the last known keys are used, while they may be
            self._is_away = True

    def _read_keys(self) -> dict[str, jwt.PyJWK]:
        found = _read(self.issuer.rstrip("/") + _DISCOVERY)
        if found.get("issuer") != self.issuer:
            raise IssuerUnavailable(
                f"{self.issuer} identifies itself as the issuer {found.get('issuer')!r}. Use "
                "exactly that address: --oidc-issuer URL"
            )
        address = found.get("jwks_uri")
        if not isinstance(address, str):
            why = "does not publish the address of its keys."
            raise IssuerUnavailable(f"The issuer {self.issuer} {why}")
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
    """A JSON object at an address, without following redirections. Raises `IssuerUnavailable`."""
    opener = urllib.request.build_opener(_NoRedirection())
    try:
        with opener.open(address, timeout=_SECONDS) as answer:
            value = json.loads(answer.read(_MAX_BYTES))
    except (OSError, HTTPException, ValueError, RecursionError) as error:
        raise IssuerUnavailable(
            f"The issuer's response at {address} could not be read: {error}."
        ) from error
    if not isinstance(value, dict):
        raise IssuerUnavailable(f"The issuer's response at {address} is not a JSON object.")
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


_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA")
"""With a private and a public key, all of them: nobody who knows the public key can sign."""

_TYPES = ("jwt", "at+jwt", "application/at+jwt", "")
_WORDS = ("scope", "scp")
"""The claims whose text is a list of words. Every other claim is compared whole."""
_LEEWAY = 30.0
_MAX_LENGTH = 16_384
_CHECKED = 5_000
_CHECKED_SECONDS = 60.0
_MAX_NAME = 200


class IssuerTokens:
    """Checks tokens of one issuer. A token that was found good is not checked again for a minute.

    `leeway` is by how many seconds clocks may differ. Raises `SapwoodError` if the settings are
    incomplete or a rule is none.
    """

    def __init__(
        self,
        config: ServeConfig,
        space: str,
        keys: IssuerKeys | None = None,
        *,
        leeway: float = _LEEWAY,
    ) -> None:
        if not config.oidc_audience:
            raise SapwoodError("Set the expected audience: --oidc-audience NAME")
        self.keys = keys or IssuerKeys(config.oidc_issuer)
        self._audience = config.oidc_audience
        self._name = config.oidc_name
        self._leeway = leeway
        self._rules = tuple(parse_rule(each) for each in config.oidc_rules) or tuple(
            AccessRule("scope", f"sapwood:{scope}", space, (scope,))
            for scope in ("read", "write", "approve")
        )
        self._checked: OrderedDict[bytes, tuple[float, dict[str, Any]]] = OrderedDict()

    async def principal(self, token: str, wanted: str = "") -> Principal:
        """Who sent a token, in the wanted space; without one, in the first that a rule gives.

        Raises `Problem` if the token is not good, or gives no right to the space.
        """
        claims = await self._claims(token)
        spaces = spaces_of(self._rules, claims)
        space = wanted or next(iter(spaces), "")
        if space not in spaces:
            raise Problem(
                403,
                "No access to this space",
                f"No rule lets this token use the space '{space[:60]}'."
                if space
                else (
                    "No rule lets this token use any space. Access is controlled by the setting "
                    "serve.oidc_rules."
                ),
            )
        subject = hashlib.sha256(f"{claims['iss']}\n{claims['sub']}".encode()).hexdigest()
        return Principal(
            f"{ISSUED}{subject[:24]}",
            self._name_of(claims),
            space,
            frozenset(spaces[space]),
            expires=int(claims["exp"]),
        )

    async def _claims(self, token: str) -> dict[str, Any]:
        digest, now = hashlib.sha256(token.encode("utf-8", "replace")).digest(), time.time()
        known = self._checked.get(digest)
        if known and now < known[0]:
            return known[1]
        claims = await self._check(token)
        until = min(now + _CHECKED_SECONDS, float(claims["exp"]))
        self._checked[digest] = (until, claims)
        self._checked.move_to_end(digest)
        while len(self._checked) > _CHECKED:
            self._checked.popitem(last=False)
        return claims

    async def _check(self, token: str) -> dict[str, Any]:
        if len(token) > _MAX_LENGTH:
            raise _refused("it is too long")
        try:
            header = jwt.get_unverified_header(token)
            if header.get("alg") not in _ALGORITHMS or "crit" in header:
                raise _refused("its signature algorithm is not supported")
            if str(header.get("typ", "")).lower() not in _TYPES:
                raise _refused("it is a token for something else")
            key = await self.keys.find(header.get("kid"))
            if key is None:
                raise _refused("it was signed with a key that the issuer does not have")
            return jwt.decode(
                token,
                key,
                algorithms=_ALGORITHMS,
                audience=self._audience,
                issuer=self.keys.issuer,
                leeway=self._leeway,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
        except IssuerUnavailable as error:
            raise Problem(
                503, "Issuer unavailable", str(error), headers={"Retry-After": "10"}
            ) from error
        except jwt.PyJWTError as error:
            raise _refused(str(error)) from error

    def _name_of(self, claims: Mapping[str, Any]) -> str:
        """The name in the log. An address that the issuer did not verify names nobody."""
        if self._name:
            named = _claim(claims, self._name)
        else:
            named = claims.get("email") if claims.get("email_verified") is True else None
        text = named if isinstance(named, str) and named else str(claims["sub"])
        return text.replace("\0", "\ufffd")[:_MAX_NAME]


def spaces_of(
    rules: Sequence[AccessRule], claims: Mapping[str, Any]
) -> dict[str, tuple[TokenScope, ...]]:
    """The spaces that the rules give to these claims, with what may be done in each."""
    found: dict[str, tuple[TokenScope, ...]] = {}
    for rule in rules:
        value = _claim(claims, rule.claim)
        if not _matches(value, rule.value, is_words=rule.claim in _WORDS):
            continue
        space = rule.space
        if space.startswith("{") and space.endswith("}"):
            space = _claim(claims, space[1:-1])
        if _can_be_space(space):
            found[space] = (*found.get(space, ()), *rule.scopes)
    return found


def _can_be_space(name: object) -> bool:
    return isinstance(name, str) and 0 < len(name) <= _MAX_NAME and can_be_stored(name)


def _claim(claims: Mapping[str, Any], name: str) -> Any:  # a claim may be anything
    """A claim by its name, or by the path to it: `realm_access.roles`."""
    if name in claims:
        return claims[name]
    value: Any = claims
    for part in name.split("."):
        value = cast("dict[str, Any]", value).get(part) if isinstance(value, dict) else None
    return value


def _matches(value: object, wanted: str, *, is_words: bool) -> bool:
    """Whether a claim has the wanted value: the whole claim, or one member of a list, whole."""
    match value:
        case bool():
            return wanted in ("*", str(value).lower())
        case str():
            words = value.split() if is_words else ()
            return bool(value) and (wanted in ("*", value) or wanted in words)
        case int():
            return wanted in ("*", str(value))
        case list():
            listed = cast("list[object]", value)
            return any(_matches(each, wanted, is_words=False) for each in listed)
        case _:
            return False


def _refused(why: str) -> Problem:
    return Problem(
        401,
        "Token rejected",
        f"The issuer's token was rejected: {why.rstrip('.')}. Get a new one from the issuer.",
        headers={"WWW-Authenticate": 'Bearer error="invalid_token"'},
    )
