"""Statements about the keys of encrypted spaces."""

from sqlite3 import Connection

from sapwood.core.errors import KeyMissing
from sapwood.core.ids import Space
from sapwood.core.log_values import Append
from sapwood.store.master_keys import KeyChanged, MasterKeys, SpaceKey
from sapwood.store.space_cipher import SpaceCipher, key_is_missing
from sapwood.store.sqlite.connections import KeyedConnection

_FIND = "SELECT id, master, wrapped FROM space_keys WHERE space = ?"


def cipher_of(connection: Connection, space: Space) -> SpaceCipher | None:
    """The cipher of a space; None if it is not encrypted, or if this program has no keys.

    Raises `KeyMissing` if none of the master keys fits.
    """
    if not isinstance(connection, KeyedConnection) or connection.keys is None:
        return None
    row = connection.execute(_FIND, (space,)).fetchone()
    return connection.keys.cipher(space, SpaceKey(*row) if row else None)


def is_closed(connection: Connection, space: Space) -> bool:
    """Whether a space is encrypted with a key that this program does not have."""
    try:
        cipher = cipher_of(connection, space)
    except KeyMissing:
        return True
    return cipher is None and connection.execute(_FIND, (space,)).fetchone() is not None


def is_empty(connection: Connection, space: Space) -> bool:
    """Whether a space has no agents."""
    query = "SELECT 1 FROM agents WHERE space = ? LIMIT 1"
    return connection.execute(query, (space,)).fetchone() is None


def make_key(connection: Connection, space: Space, masters: MasterKeys) -> None:
    """Stores a key for a space that has none and no agents, if it is to be encrypted."""
    if masters.encrypts(space):
        key = masters.new_key(space)
        connection.execute(
            "INSERT INTO space_keys (space, id, master, wrapped) SELECT ?1, ?2, ?3, ?4"
            " WHERE NOT EXISTS (SELECT 1 FROM agents WHERE space = ?1) ON CONFLICT DO NOTHING",
            (space, key.id, key.master, key.wrapped),
        )


def require_cipher(
    connection: Connection,
    space: Space,
    cipher: SpaceCipher | None,
    appends: tuple[Append, ...],
) -> None:
    """Raises `KeyChanged` if the space has another key than the one that encoded a commit.

    A program without keys has read every agent to which it appends, so for it only new agents are
    checked. It gets a `KeyMissing` with what to do.
    """
    if isinstance(connection, KeyedConnection) and connection.keys is not None:
        stored = cipher_of(connection, space)
        if (stored and stored.id) != (cipher and cipher.id):
            raise KeyChanged(f"The key of the space '{space}' was changed. Nothing was stored.")
    elif any(not append.expected for append in appends) and (
        connection.execute(_FIND, (space,)).fetchone()
    ):
        raise key_is_missing(space)


def list_keys(connection: Connection) -> list[tuple[Space, SpaceKey]]:
    """The keys of all encrypted spaces, ordered by space."""
    rows = connection.execute("SELECT space, id, master, wrapped FROM space_keys ORDER BY space")
    return [(Space(space), SpaceKey(*key)) for space, *key in rows]


def renew_keys(connection: Connection, masters: MasterKeys) -> int:
    """Wraps all keys with the first master key. Returns how many. Raises `KeyMissing`."""
    old = [(space, key) for space, key in list_keys(connection) if key.master != masters.first]
    for space, key in old:
        new = masters.renewed(space, key)
        connection.execute(
            "UPDATE space_keys SET master = ?, wrapped = ? WHERE space = ?",
            (new.master, new.wrapped, space),
        )
    return len(old)
