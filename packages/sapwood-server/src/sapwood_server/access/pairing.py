"""Codes by which a person signs another browser in, such as that of a phone.

A code is short, so it lives for two minutes and works once, and an address can try only a few: a
stranger who guesses stops nobody else. It gives no more than its maker has, and never the scope
`admin`.
"""

import hmac
import secrets
import time

from msgspec import Struct

from sapwood.config.server_tokens import SCOPES, TokenScope
from sapwood_server.access.principal import Principal
from sapwood_server.access.rate_limit import RateLimit
from sapwood_server.problems import Problem

SECONDS = 120
"""How long a code can be used."""
_ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"
"""Letters and digits that nobody confuses."""
_LENGTH = 8
_MAX_TRIES = 10
"""Codes that one address can try in the lifetime of a code."""
_MAX_OPEN = 100


class Pairing(Struct, frozen=True):
    """Whose browser a code signs in, and until when it can be used."""

    code: str
    parent: str
    name: str
    space: str
    scopes: tuple[TokenScope, ...]
    expires: int
    until: float


class PairingCodes:
    """The codes that can be used now. They are in memory only, so a restart ends them."""

    def __init__(self) -> None:
        self._open: dict[str, Pairing] = {}
        self._tries = RateLimit(_MAX_TRIES / SECONDS, _MAX_TRIES)

    def create(self, principal: Principal, now: float | None = None) -> str:
        """Makes a code for this principal; an earlier one of theirs no longer works.

        Raises `Problem` if there are too many.
        """
        now = time.monotonic() if now is None else now
        self._open = {id: each for id, each in self._open.items() if now < each.until}
        if len(self._open) >= _MAX_OPEN and principal.id not in self._open:
            raise Problem(429, "Too many codes", "Too many codes are open. Try again in 2 minutes.")
        code = "".join(secrets.choice(_ALPHABET) for _ in range(_LENGTH))
        # A session ends with the token by which its browser signed in, and so does this one.
        parent = principal.id.rpartition(".")[0] if principal.by_cookie else principal.id
        self._open[principal.id] = Pairing(
            code,
            parent,
            principal.name,
            principal.space,
            tuple(each for each in SCOPES if each in principal.scopes and each != "admin"),
            principal.expires,
            now + SECONDS,
        )
        return f"{code[:4]}-{code[4:]}"

    def take(self, typed: str, address: str = "", now: float | None = None) -> Pairing | None:
        """What a typed code signs in; None if it is wrong, used or too old. It works once.

        Raises `Problem` if this address has tried too many.
        """
        now = time.monotonic() if now is None else now
        given = typed.upper().replace("-", "").replace(" ", "")
        if len(given) != _LENGTH or not set(given) <= set(_ALPHABET):
            return None
        self._tries.check(address, now)
        found: Pairing | None = None
        for each in self._open.values():
            if hmac.compare_digest(each.code, given) and now < each.until:
                found = each
        self._open = {id: each for id, each in self._open.items() if each is not found}
        return found
