"""Who sent a request, and what it may do."""

from msgspec import Struct

from sapwood.config.server_tokens import TokenScope
from sapwood.core.events import HUMAN, Actor
from sapwood_server.problems import Problem


class Principal(Struct, frozen=True):
    """Who sent a request: a name, the space that is served to it, and what it may do.

    `by_cookie` is true for a browser: its requests are checked for their origin too. `expires` is
    in seconds since 1970, 0 if it does not expire.
    """

    id: str
    name: str
    space: str
    scopes: frozenset[TokenScope]
    by_cookie: bool = False
    expires: int = 0

    @property
    def actor(self) -> Actor:
        """The actor of the events that this principal causes."""
        return Actor("human", self.name) if self.name else HUMAN

    def allows(self, *scopes: TokenScope) -> bool:
        """Whether this principal has all of these scopes."""
        return self.scopes.issuperset(scopes)

    def require(self, *scopes: TokenScope) -> None:
        """Raises `Problem` if this principal does not have all of these scopes."""
        for scope in scopes:
            if scope not in self.scopes:
                raise Problem(
                    403,
                    "Scope missing",
                    f"This token does not allow '{scope}'. Ask the operator of the server for one "
                    "with that scope.",
                    fields={"scope": scope},
                )
