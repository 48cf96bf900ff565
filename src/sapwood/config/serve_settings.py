"""The settings of `sapwood serve`, and the rules that give people of an issuer their spaces."""

import re
from typing import Annotated

from msgspec import Struct

from sapwood.config.field_types import Natural, explained
from sapwood.config.server_tokens import SCOPES, TokenScope
from sapwood.core.errors import SapwoodError

_RULE = re.compile(r"\s*([^=\s]+)\s*=\s*(.+?)\s*->\s*(\S+?)\s*:\s*([a-z,\s]+?)\s*")


class ServeConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """The server: who may use it with a token of an OpenID Connect issuer, and its limits.

    Without `oidc_rules`, the claim `scope` decides, with `sapwood:read`, `sapwood:write` and
    `sapwood:approve`, and everybody has the space of the configuration.
    """

    oidc_issuer: Annotated[
        str, explained("The OpenID Connect issuer whose tokens the server takes.")
    ] = ""
    oidc_audience: Annotated[
        str, explained("The audience that tokens of the issuer must have.")
    ] = ""
    oidc_name: Annotated[
        str,
        explained(
            "The claim that names a person in the log. Empty means a verified e-mail address, else "
            "the subject."
        ),
    ] = ""
    oidc_rules: Annotated[
        tuple[str, ...],
        explained(
            "Access rules: which claims grant which scopes in which space.",
            example='["groups=engineering -> team: read, write"]',
        ),
    ] = ()
    rate: Annotated[
        Natural, explained("Requests a second that one token may send. 0 means no limit.")
    ] = 100
    burst: Annotated[Natural, explained("Requests that one token may send at once.")] = 400
    space_rate: Annotated[
        Natural, explained("Requests a second of all tokens of one space. 0 means no limit.")
    ] = 1000
    space_burst: Annotated[Natural, explained("Requests of all tokens of one space at once.")] = (
        4000
    )
    streams: Annotated[
        Natural, explained("Event streams that one token may have open in one server.")
    ] = 4096


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
            f"'{text}' is not a valid access rule. Write: CLAIM=VALUE -> SPACE: SCOPE, "
            f"SCOPE. The scopes are {', '.join(SCOPES)}."
        )
    return AccessRule(
        found[1], found[2], found[3], tuple(each for each in SCOPES if each in scopes)
    )
