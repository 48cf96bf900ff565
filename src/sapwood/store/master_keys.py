"""Master keys, and the keys of spaces, which are stored wrapped by a master key.

The first master key wraps; all of them unwrap. So a master key can be changed: add the new one in
front, wrap all keys of spaces again (`sapwood keys --renew`), and remove the old one.

The master keys that the configuration or the environment names.
"""

import base64
import binascii
import hashlib
import os
import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path

from msgspec import Struct

from sapwood.config.config_file import ConfigError, load_config, read_config
from sapwood.core.errors import KeyMissing, LogError
from sapwood.core.ids import Space
from sapwood.store.space_cipher import KEY_BYTES, SpaceCipher, aes_gcm

_NONCE_BYTES, _ID_DIGITS = 12, 16


class KeyChanged(LogError):
    """The key of a space is no longer the one with which a commit was encoded. Encode it again."""


class SpaceKey(Struct, frozen=True):
    """The key of a space as it is stored. `master` is the id of the master key that wrapped it."""

    id: str
    master: str
    wrapped: bytes


def parse_keys(text: str, source: str) -> tuple[bytes, ...]:
    """The master keys in a text: 32 bytes each in base64, between spaces, commas or lines.

    Lines that start with # are left out. Raises `LogError`, which names `source` and no key.
    """
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    words = re.split(r"[\s,]+", "\n".join(lines).strip())
    keys: list[bytes] = []
    for word in filter(None, words):
        try:
            key = base64.b64decode(word, altchars=b"-_" if {"-", "_"} & set(word) else None)
        except (binascii.Error, ValueError):
            key = b""
        if len(key) != KEY_BYTES:
            raise LogError(
                f"{source} contains something that is not a key (32 random bytes in base64). To "
                "create one, type: sapwood keys --new FILE"
            )
        keys.append(key)
    if not keys:
        raise LogError(f"{source} contains no key. To create one, type: sapwood keys --new FILE")
    return tuple(keys)


class MasterKeys:
    """The master keys of a program, and which new spaces it encrypts.

    `spaces` is a name with `*` and `?`; empty for none.
    """

    def __init__(self, keys: Iterable[bytes], spaces: str = "") -> None:
        self._keys = {_key_id(key): key for key in keys}
        self.first = next(iter(self._keys))
        self._spaces = spaces
        aes_gcm(self._keys[self.first])  # raises if the package is missing

    def encrypts(self, space: Space) -> bool:
        """Whether a new space of this name is encrypted."""
        return bool(self._spaces) and fnmatchcase(space, self._spaces)

    def new_key(self, space: Space) -> SpaceKey:
        """A new key for a space."""
        key = os.urandom(KEY_BYTES)
        return self._wrapped(space, key)

    def renewed(self, space: Space, stored: SpaceKey) -> SpaceKey:
        """The same key, wrapped by the first master key. Raises `KeyMissing`."""
        return self._wrapped(space, self._unwrapped(space, stored))

    def cipher(self, space: Space, stored: SpaceKey) -> SpaceCipher:
        """The cipher of a space. Raises `KeyMissing` if none of the master keys fits."""
        return SpaceCipher(space, self._unwrapped(space, stored))

    def fits(self, space: Space, stored: SpaceKey) -> bool:
        """Whether one of the master keys opens the key of a space."""
        try:
            self._unwrapped(space, stored)
        except KeyMissing:
            return False
        return True

    def _wrapped(self, space: Space, key: bytes) -> SpaceKey:
        nonce = os.urandom(_NONCE_BYTES)
        sealed = aes_gcm(self._keys[self.first]).encrypt(nonce, key, _bound_to(space))
        return SpaceKey(SpaceCipher(space, key).id, self.first, nonce + sealed)

    def _unwrapped(self, space: Space, stored: SpaceKey) -> bytes:
        from cryptography.exceptions import InvalidTag

        master = self._keys.get(stored.master)
        try:
            if master is not None:
                nonce, sealed = stored.wrapped[:_NONCE_BYTES], stored.wrapped[_NONCE_BYTES:]
                return aes_gcm(master).decrypt(nonce, sealed, _bound_to(space))
        except (InvalidTag, ValueError):
            pass
        raise KeyMissing(
            f"The space '{space}' is encrypted with the master key {stored.master}, but this "
            f"program has {', '.join(self._keys)}. Nothing was changed. Add that key to the file "
            "in encryption.key_file, or to SAPWOOD_ENCRYPTION_KEY."
        )


class StoredKeys:
    """The ciphers of the spaces of a database, kept as long as the stored keys stay the same."""

    def __init__(self, masters: MasterKeys) -> None:
        self.masters = masters
        self._known: dict[Space, tuple[SpaceKey, SpaceCipher]] = {}

    def cipher(self, space: Space, stored: SpaceKey | None) -> SpaceCipher | None:
        """The cipher of a stored key; None for a space without one. Raises `KeyMissing`."""
        if stored is None:
            self._known.pop(space, None)
            return None
        known = self._known.get(space)
        if known is None or known[0] != stored:
            known = self._known[space] = (stored, self.masters.cipher(space, stored))
        return known[1]


def _key_id(key: bytes) -> str:
    return hashlib.sha256(b"sapwood master key " + key).hexdigest()[:_ID_DIGITS]


def _bound_to(space: Space) -> bytes:
    return f"sapwood 1 key of space {space}".encode()


KEY_VARIABLE = "SAPWOOD_ENCRYPTION_KEY"
_SECTION = "encryption"


def configured_masters(environ: Mapping[str, str] = os.environ) -> MasterKeys | None:
    """The master keys of this program; None if it has none.

    Raises `LogError` if they are named and cannot be used: a space that should be encrypted must
    not be stored as it is.
    """
    variable = environ.get(KEY_VARIABLE, "")
    try:
        if not variable and _SECTION not in read_config(environ):
            return None  # most programs: nothing to parse
        config = load_config(environ).encryption
    except ConfigError as error:
        if not variable and _SECTION not in _text(environ):
            return None
        raise LogError(f"Sapwood cannot tell which spaces are encrypted: {error}") from error
    if variable:
        return MasterKeys(parse_keys(variable, KEY_VARIABLE), config.spaces)
    if not config.key_file:
        return None
    file = Path(config.key_file).expanduser()
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text"
        raise LogError(
            f"The key file for encrypted spaces, {file}, cannot be read: {why}. Nothing was "
            "opened. Restore it, or change the setting encryption.key_file."
        ) from error
    return MasterKeys(parse_keys(text, str(file)), config.spaces)


def _text(environ: Mapping[str, str]) -> str:
    try:
        return read_config(environ)
    except ConfigError:
        return ""
