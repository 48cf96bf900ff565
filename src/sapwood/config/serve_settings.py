"""The settings of `sapwood serve`, and the rules that give people of an issuer their spaces."""

import re
from typing import Annotated

from msgspec import Meta, Struct

from sapwood.config.server_tokens import SCOPES, TokenScope
from sapwood.core.errors import SapwoodError

__all__ = ["AccessRule", "ServeConfig", "parse_rule"]

Natural = Annotated[int, Meta(ge=0)]

_RULE = re.compile(r"\s*([^=\s]+)\s*=\s*(.+?)\s*->\s*(\S+?)\s*:\s*([a-z,\s]+?)\s*")


class ServeConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """The server: who may use it with a token of an OpenID Connect issuer, and its limits.

    Each of `oidc_rules` is a line such as `groups=engineering -> team: read, write`. Without rules,
    the claim `scope` decides, with `sapwood:read`, `sapwood:write` and `sapwood:approve`, and
    everybody has the space of the configuration. `oidc_name` is the claim that names a person in
    the log; by default a verified e-mail address, else the subject.

    A token may send `rate` requests a second and `burst` at once, all tokens of a space together
    `space_rate` and `space_burst`; 0 for no limit. `streams` are the event streams that a token may
    have open in one server.
    """

    oidc_issuer: str = ""
    oidc_audience: str = ""
    oidc_name: str = ""
    oidc_rules: tuple[str, ...] = ()
    rate: Natural = 100
    burst: Natural = 400
    space_rate: Natural = 1000
    space_burst: Natural = 4000
    streams: Natural = 4096


class AccessRule(Struct, frozen=True):
    """Who has this value in this claim may use this space with these scopes.

    The value `*` is every value. A space `{claim}` is the value of that claim.
    """

    claim: str
    value: str
    space: str
    scopes: tuple[TokenScope, ...]


def parse_rule(text: str) -> AccessRule:
    """Reads a rule. Raises `SapwoodError` if it is none.

    >>> parse_rule("groups=engineering -> team: read, write")
    AccessRule(claim='groups', value='engineering', space='team', scopes=('read', 'write'))
    """
    found = _RULE.fullmatch(text)
    scopes = set(re.split(r"[,\s]+", found[4])) if found else set[str]()
    if found is None or not scopes <= set(SCOPES):
        raise SapwoodError(
            f"'{text}' is no rule for people of an issuer. Write: CLAIM=VALUE -> SPACE: SCOPE, "
            f"SCOPE. The scopes are {', '.join(SCOPES)}."
        )
    return AccessRule(
        found[1], found[2], found[3], tuple(each for each in SCOPES if each in scopes)
    )
