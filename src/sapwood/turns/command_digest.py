"""The digest of what a command asks for. A receipt keeps it, so that an id cannot be used twice.

It is computed after masking, so it says nothing about a secret. Fields with their default value are
left out, so a later version that adds a field computes the same digest. What differs between a
command and its retry is left out too: times, leases, and texts that the sender reads from files.
"""

from hashlib import blake2b

import msgspec
from msgspec import structs

from sapwood.core.commands import Command, CommandMeta, LeaseTurn, StartTurn
from sapwood.core.lease import Lease

_BYTES = 16
_NO_LEASE = Lease("", 0)
_encode = msgspec.json.Encoder().encode


def _shown(parts: tuple[object, ...]) -> str:
    try:
        return ascii(parts)
    except RecursionError:  # a value that contains itself; the command with it is refused
        return ascii(parts[0])


def request_text(*parts: object) -> str:
    """What a sender was asked for, as the `request` of its command: a verb and its arguments.

    The arguments may be unchecked, as those of the command are.
    """
    try:
        return _encode(parts).decode()
    except (TypeError, ValueError, RecursionError):  # UnicodeEncodeError for a lone surrogate
        return _shown(parts)


def command_digest(command: Command, meta: CommandMeta) -> str:
    """The digest of an admitted command."""
    if meta.request:
        return request_digest(meta.request)
    match command:
        case StartTurn():
            command = structs.replace(command, instructions=None, lease=None)
        case LeaseTurn():
            command = structs.replace(command, lease=_NO_LEASE)
        case _:
            pass
    return blake2b(_encode((type(command).__name__, command)), digest_size=_BYTES).hexdigest()


def request_digest(request: str) -> str:
    """The digest of a masked request."""
    return blake2b(request.encode(), digest_size=_BYTES).hexdigest()
