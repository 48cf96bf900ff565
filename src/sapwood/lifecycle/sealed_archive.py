"""Encrypts the archive of a conversation with the key of its space, if the space has one."""

from typing import Protocol, runtime_checkable

from sapwood.core.errors import LogError
from sapwood.core.ids import Space
from sapwood.turns.log import Log

_GZIP = b"\x1f\x8b"


@runtime_checkable
class SealingLog(Protocol):
    """A log whose spaces can be encrypted."""

    async def seal(self, space: Space, data: bytes) -> bytes:
        """The bytes of an archive, encrypted if the space is."""
        ...

    async def unseal(self, space: Space, data: bytes) -> bytes | None:
        """What `seal` was given; None if it cannot be decrypted with the key of the space."""
        ...


async def sealed(log: Log, space: Space, data: bytes) -> bytes:
    """The bytes of an object as they are stored."""
    return await log.seal(space, data) if isinstance(log, SealingLog) else data


async def unsealed(log: Log, space: Space, data: bytes, address: str) -> bytes:
    """The bytes of an object as they were archived.

    An object from before the encryption is as it is. Raises `LogError` if the key does not fit.
    """
    if data.startswith(_GZIP):
        return data
    plain = await log.unseal(space, data) if isinstance(log, SealingLog) else None
    if plain is None:
        raise LogError(
            f"The archive {address} cannot be read: the space '{space}' does not have the key with "
            "which it was encrypted. Nothing was changed."
        )
    return plain
