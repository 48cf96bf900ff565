"""The settings of `sapwood serve`, and the rules that give people of an issuer their spaces.

Types of settings with bounds, and the sentence that explains a setting.

A setting is one field of a Struct: its type, its default, and its help. `sapwood config`, the page
of settings and the reference page are made from the fields.
"""

import re
from typing import Annotated

from msgspec import Meta, Struct

from sapwood.config.server_tokens import SCOPES, TokenScope
from sapwood.core.errors import SapwoodError

Natural = Annotated[int, Meta(ge=0)]
NotNegative = Annotated[float, Meta(ge=0)]
Positive = Annotated[float, Meta(gt=0)]
Share = Annotated[float, Meta(gt=0, le=1)]


def explained(help: str, *, example: str = "") -> Meta:
    """The help of a setting, and what somebody may type as its value if that is not obvious."""
    return Meta(description=help, examples=[example] if example else None)


_RULE = re.compile(r"\s*([^=\s]+)\s*=\s*(.+?)\s*->\s*(\S+?)\s*:\s*([a-z,\s]+?)\s*")


class ServeConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """The server: who may use it with a token of an OpenID Connect issuer, and its limits.

    Without `oidc_rules`, the claim `scope` decides, with `sapwood:read`, `sapwood:write` and
    `sapwood:approve`, and everybody has the space of the configuration.
    """

    oidc_issuer: Annotated[
        str, explained("OpenID Connect issuer whose tokens the server accepts.")
    ] = ""
    oidc_audience: Annotated[str, explained("Audience that the issuer's tokens must have.")] = ""
    oidc_name: Annotated[
        str,
        explained(
            "Claim that identifies a person in the log. Empty means the verified e-mail address, "
            "or else the subject."
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
        Natural, explained("Maximum requests per second for one token. 0 means no limit.")
    ] = 100
    burst: Annotated[Natural, explained("Maximum burst of requests for one token.")] = 400
    space_rate: Annotated[
        Natural, explained("Maximum requests per second for one space. 0 means no limit.")
    ] = 1000
    space_burst: Annotated[Natural, explained("Maximum burst of requests for one space.")] = 4000
    streams: Annotated[
        Natural,
        explained("Maximum number of event streams that one token can have open on one server."),
    ] = 4096
    origins: Annotated[
        tuple[str, ...],
        explained(
            "Origins whose web pages may use the API with a bearer token (CORS).",
            example='["https://app.example"]',
        ),
    ] = ()
    proxies: Annotated[
        tuple[str, ...],
        explained(
            "Addresses or networks of proxies in front of the server. Their X-Forwarded-For header "
            "is trusted when sign-in attempts are counted.",
            example='["10.0.0.0/8"]',
        ),
    ] = ()


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
