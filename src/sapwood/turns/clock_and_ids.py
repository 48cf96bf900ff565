"""Ids and time for commands: the only module here that reads the clock or random numbers."""

import secrets
import time

from sapwood.core.commands import CommandMeta
from sapwood.core.events import HUMAN, Actor
from sapwood.core.ids import AgentId, CommandId
from sapwood.trace_context import current_traceparent

# Without vowels and look-alikes: people read ids aloud and type them, and ids form no words.
_LETTERS = "23456789bcdfghjkmnpqrstvwxz"


def new_agent_id() -> AgentId:
    """A short random id. If an agent of the space has it already, starting the agent is refused."""
    return AgentId("".join(secrets.choice(_LETTERS) for _ in range(10)))


def new_command_id() -> str:
    """The time in milliseconds and a random part, as 24 hexadecimal digits.

    A store keeps these ids in an index. Those of one time are neighbours there, so that a database
    writes a few pages of a large index and not one page for each command.
    """
    return f"{time.time_ns() // 1_000_000:012x}{secrets.token_hex(6)}"


def new_mail_id() -> str:
    """An id for one mail."""
    return secrets.token_hex(8)


def new_record_id() -> str:
    """An id for the record of an erasure or of a legal hold."""
    return "".join(secrets.choice(_LETTERS) for _ in range(12))


def command_meta(
    actor: Actor = HUMAN,
    *,
    call: str | None = None,
    command: str | None = None,
    holder: str = "",
    request: str = "",
) -> CommandMeta:
    """The meta data of a command given now by this actor, with a new id unless one is passed."""
    if command is None or (type(command) is str and not command):
        command = new_command_id()
    trace = current_traceparent()
    return CommandMeta(CommandId(command), now(), actor, call, new_nonce(), holder, trace, request)


def new_nonce() -> str:
    """A random mark that the author of a text cannot know."""
    return secrets.token_hex(6)


def now() -> int:
    """Microseconds since 1970 (UTC)."""
    return time.time_ns() // 1000
