"""The keys of encrypted spaces: statements, and the ciphers that this process has found."""

import asyncio
from collections.abc import Iterable, Sequence

from sapwood.core.errors import KeyMissing
from sapwood.core.ids import Space
from sapwood.core.log_values import AgentSummary, Append
from sapwood.store.master_keys import MasterKeys, SpaceKey, StoredKeys
from sapwood.store.postgres.connections import Reader
from sapwood.store.space_cipher import SpaceCipher, open_summary, sealed_with, summary_key

_FIND = "SELECT id, master, wrapped FROM sapwood.space_keys WHERE space = $1"
_LIST = "SELECT space, id, master, wrapped FROM sapwood.space_keys ORDER BY space"
_INSERT = """
    INSERT INTO sapwood.space_keys (space, id, master, wrapped) SELECT $1, $2, $3, $4
    WHERE NOT EXISTS (SELECT FROM sapwood.agents WHERE space = $1) ON CONFLICT DO NOTHING
"""
_RENEW = "UPDATE sapwood.space_keys SET master = $2, wrapped = $3 WHERE space = $1 AND master = $4"
_KEPT_SECONDS = 10.0
"""How long a cipher is used without a look at the table: another process may erase the space."""


class KeyTable:
    """The ciphers of the spaces of a database. They are read by the program's own login."""

    def __init__(self, readers: Reader, masters: MasterKeys) -> None:
        self._readers = readers
        self._keys = StoredKeys(masters)
        self._known: dict[Space, tuple[float, SpaceCipher | None]] = {}

    async def of(self, space: Space) -> SpaceCipher | None:
        """The cipher of a space; None if it is not encrypted.

        Raises `KeyMissing` if none of the master keys fits.
        """
        known = self._known.get(space)
        if known is not None and known[0] > asyncio.get_running_loop().time():
            return known[1]
        return await self.read(space)

    async def read(self, space: Space) -> SpaceCipher | None:
        """The cipher of a space as the table has it now."""
        row = await self._readers.fetchrow(_FIND, space)
        cipher = self._keys.cipher(space, SpaceKey(*row) if row else None)
        self._known[space] = (asyncio.get_running_loop().time() + _KEPT_SECONDS, cipher)
        return cipher

    async def has(self, space: Space) -> bool:
        """Whether this program has the key of a space, if the space has one."""
        try:
            await self.read(space)
        except KeyMissing:
            return False
        return True

    async def of_sealed(self, space: Space, ids: Iterable[str]) -> SpaceCipher | None:
        """The cipher for rows that were sealed with the keys of these ids; empty for plain ones."""
        cipher = await self.of(space)
        if any(each and (cipher is None or each != cipher.id) for each in ids):
            cipher = await self.read(space)
        return cipher

    async def of_texts(self, space: Space, texts: Iterable[str]) -> SpaceCipher | None:
        """The cipher for these stored texts."""
        return await self.of_sealed(space, map(sealed_with, texts))

    async def opened(self, space: Space, found: Sequence[AgentSummary]) -> list[AgentSummary]:
        """The summaries with their words."""
        cipher = await self.of_sealed(space, map(summary_key, found))
        return [open_summary(cipher, space, each) for each in found]

    async def for_commit(self, space: Space, appends: Sequence[Append]) -> SpaceCipher | None:
        """The cipher for a commit. A new space that is to be encrypted gets its key."""
        cipher, masters = await self.of(space), self._keys.masters
        is_new = any(not append.expected for append in appends)
        if cipher is None and is_new and masters.encrypts(space):
            key = masters.new_key(space)
            await self._readers.fetch(_INSERT, space, key.id, key.master, key.wrapped)
            cipher = await self.read(space)
        return cipher


async def is_closed(readers: Reader, space: Space, keys: KeyTable | None) -> bool:
    """Whether a space is encrypted with a key that this program does not have."""
    if keys is not None:
        return not await keys.has(space)
    return await readers.fetchrow(_FIND, space) is not None


async def list_keys(readers: Reader) -> list[tuple[Space, SpaceKey]]:
    """The keys of all encrypted spaces, ordered by space."""
    return [(Space(space), SpaceKey(*key)) for space, *key in await readers.fetch(_LIST)]


async def renew_keys(readers: Reader, masters: MasterKeys) -> int:
    """Wraps all keys with the first master key. Returns how many. Raises `KeyMissing`."""
    old = [(space, key) for space, key in await list_keys(readers) if key.master != masters.first]
    for space, key in old:
        new = masters.renewed(space, key)
        await readers.fetch(_RENEW, space, new.master, new.wrapped, key.master)
    return len(old)
