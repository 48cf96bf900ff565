"""Ids and time for commands: the one place with a clock and chance in it."""

import secrets
import time

from sapwood.core.commands import Given
from sapwood.core.events import HUMAN, Actor
from sapwood.core.ids import AgentId, CommandId

__all__ = ["given", "new_agent_id", "new_mail_id", "now"]

# Without vowels and look-alikes: ids are read aloud, typed, and should spell nothing.
_LETTERS = "23456789bcdfghjkmnpqrstvwxz"


def new_agent_id() -> AgentId:
    """A short random id, unique enough for a space; a taken one is refused and drawn again."""
    return AgentId("".join(secrets.choice(_LETTERS) for _ in range(10)))


def new_mail_id() -> str:
    """An id for one mail."""
    return secrets.token_hex(8)


def given(actor: Actor = HUMAN, *, call: str | None = None, command: str | None = None) -> Given:
    """Now, by this actor, under a new id unless one is named."""
    if command is None or (type(command) is str and not command):
        command = secrets.token_hex(12)
    return Given(CommandId(command), now(), actor, call)


def now() -> int:
    """Microseconds since 1970 (UTC)."""
    return time.time_ns() // 1000
