"""The cipher of an encrypted space: what the stores call before they write and after they read.

AES-256-GCM. Every ciphertext is bound to its place: the space, the table, and the agent, version or
hash of its row. A row that was moved or changed does not open. Names, owners, labels and folders,
by which lists find agents, and the words of the search index are replaced by keyed hashes.

The functions take None as the cipher of a space that is not encrypted.
"""

import base64
import binascii
import hashlib
import hmac
import os
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct, structs

from sapwood.core.content import ReplyPart
from sapwood.core.erasure import ERASED, OutsideData
from sapwood.core.errors import KeyMissing, LogError
from sapwood.core.events import SYSTEM, Actor, Recorded, UnreadableEvent
from sapwood.core.events.codec import Encoded, decode, encode, unreadable
from sapwood.core.ids import AgentId, CommandId, Space
from sapwood.core.live_words import LiveWords
from sapwood.core.log_values import AgentSummary, Receipt, Snapshot
from sapwood.core.tags import Entry, Tags

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM


KEY_BYTES = 32
_NONCE_BYTES, _ID_DIGITS, _TERM_BYTES = 12, 16, 8
_TEXT = "$1"
"""Starts a sealed text, before the id of the key. JSON never starts so."""
_BYTES = b"\xff$1"
"""Starts sealed bytes. Text in UTF-8 has no such byte, nor do states of agents start with it."""
_SEALED = "$sealed"
"""The name of the one entry of the metadata of a sealed summary. The database looks for it."""
_SEALED_VALUE = re.compile(rf"\$1[0-9a-f]{{{_ID_DIGITS}}}[A-Za-z0-9+/]{{40,}}=*")
_UNREADABLE = "[unreadable]"
_MOVED = "it cannot be decrypted: it was altered or moved"
_PLAIN = "it is not encrypted, but its space is"
_json = msgspec.json.Encoder()
_parts = msgspec.json.Decoder(tuple[ReplyPart, ...])


def aes_gcm(key: bytes) -> "AESGCM":
    """The cipher with this key. Raises `LogError` if the package for it is not installed."""
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ModuleNotFoundError as error:
        raise LogError(
            "Encryption needs a package that is not installed. Type: pip install "
            "'sapwood[encryption]'"
        ) from error
    return AESGCM(key)


def key_is_missing(space: Space) -> KeyMissing:
    """The error of a program without a key that was asked for an encrypted space."""
    return KeyMissing(
        f"The space '{space}' is encrypted, but this program has no key. Nothing was changed. Set "
        "encryption.key_file to the file that holds the key, or set SAPWOOD_ENCRYPTION_KEY."
    )


class _Words(Struct, frozen=True, omit_defaults=True):
    """What a summary says in words."""

    name: str = ""
    folder: str = ""
    tags: Tags | None = None


class SpaceCipher:
    """Seals and opens what is stored in one space. `id` names its key; it says nothing about it."""

    def __init__(self, space: Space, key: bytes) -> None:
        self.space = space
        self.id = _derived(key, "id").hex()[:_ID_DIGITS]
        self._aes = aes_gcm(_derived(key, "text"))
        self._names_aes = aes_gcm(_derived(key, "names"))
        from cryptography.exceptions import InvalidTag

        self._does_not_open = (InvalidTag, ValueError)
        self._nonce_key = _derived(key, "nonces of names")
        self._hash_key = _derived(key, "hashes")
        term_key = _derived(key, "terms")

        @lru_cache(maxsize=20_000)
        def term(word: str) -> str:
            hashed = hashlib.blake2b(word.encode(), key=term_key, digest_size=_TERM_BYTES)
            return f"x{hashed.hexdigest()}"

        self._term = term

    def digest(self, text: str) -> str:
        """The address of a long text: a hash that nobody can compute without the key."""
        return hmac.digest(self._hash_key, text.encode(), "sha256").hex()

    def token(self, what: str, text: str) -> str:
        """Stands for a name in an index: the same for the same name. Empty for no name."""
        if not text:
            return ""
        return hmac.digest(self._hash_key, _place(what, text), "sha256").hex()[:32]

    def terms(self, terms: str) -> str:
        """Replaces each term of a text for the search index."""
        return " ".join(map(self._term, terms.split()))

    def phrases(self, phrases: Iterable[Iterable[str]]) -> list[list[str]]:
        """Replaces each term of the phrases of a query."""
        return [[self._term(term) for term in phrase] for phrase in phrases]

    def seal(self, data: bytes, *place: str | int) -> bytes:
        """Encrypts bytes for one place."""
        nonce = os.urandom(_NONCE_BYTES)
        sealed = self._aes.encrypt(nonce, data, _place(self.space, *place))
        return b"".join((_BYTES, bytes.fromhex(self.id), nonce, sealed))

    def open(self, data: bytes, *place: str | int) -> bytes | None:
        """Decrypts bytes; None if they were changed, moved, or sealed with another key."""
        start = _BYTES + bytes.fromhex(self.id)
        if not data.startswith(start):
            return None
        return self._opened(self._aes, data[len(start) :], *place)

    def seal_text(self, text: str | bytes, *place: str | int) -> str:
        """Encrypts a text for one place, as a text."""
        data = text.encode() if isinstance(text, str) else text
        nonce = os.urandom(_NONCE_BYTES)
        return self._text(nonce + self._aes.encrypt(nonce, data, _place(self.space, *place)))

    def open_text(self, text: str, *place: str | int) -> bytes | None:
        """Decrypts what `seal_text` made; None as for `open`."""
        rest = self._bytes(text)
        return None if rest is None else self._opened(self._aes, rest, *place)

    def seal_words(self, words: bytes, agent: AgentId) -> str:
        """Encrypts the words of a summary: the same words always in the same way.

        So a summary that has not changed is not written to its indexes again.
        """
        place = _place(self.space, "agent", agent)
        nonce = hmac.digest(self._nonce_key, place + words, "sha256")[:_NONCE_BYTES]
        return self._text(nonce + self._names_aes.encrypt(nonce, words, place))

    def open_words(self, text: str, agent: AgentId) -> bytes | None:
        """Decrypts what `seal_words` made; None as for `open`."""
        rest = self._bytes(text)
        return None if rest is None else self._opened(self._names_aes, rest, "agent", agent)

    def _opened(self, aes: "AESGCM", data: bytes, *place: str | int) -> bytes | None:
        nonce, sealed = data[:_NONCE_BYTES], data[_NONCE_BYTES:]
        try:
            return aes.decrypt(nonce, sealed, _place(self.space, *place))
        except self._does_not_open:
            return None

    def _text(self, data: bytes) -> str:
        return f"{_TEXT}{self.id}{base64.b64encode(data).decode()}"

    def _bytes(self, text: str) -> bytes | None:
        if not text.startswith(_TEXT + self.id):
            return None
        try:
            return base64.b64decode(text[len(_TEXT) + _ID_DIGITS :], validate=True)
        except (binascii.Error, ValueError):
            return None


def _derived(key: bytes, purpose: str) -> bytes:
    return hmac.digest(key, f"sapwood 1 {purpose}".encode(), "sha256")


def _place(*place: str | int) -> bytes:
    return _json.encode(place)


def sealed_with(text: str) -> str:
    """The id of the key with which a text was sealed; empty if it was not."""
    return text[len(_TEXT) : len(_TEXT) + _ID_DIGITS] if text.startswith(_TEXT) else ""


def _event_place(recorded: Recorded, actor: str) -> tuple[str | int, ...]:
    return (
        *("event", recorded.agent, recorded.version, recorded.kind, recorded.at),
        *(actor, recorded.command),
    )


def encode_event(cipher: SpaceCipher | None, recorded: Recorded) -> Encoded:
    """The event as a store keeps it. Its long texts are sealed by `seal_content`."""
    if cipher is None:
        return encode(recorded.event)
    plain = encode(recorded.event, cipher.digest)
    data = cipher.seal_text(plain.data, *_event_place(recorded, str(recorded.actor)))
    return structs.replace(plain, data=data)


def decode_event(
    cipher: SpaceCipher | None,
    space: Space,
    place: tuple[AgentId, int, str, int, str, CommandId],
    data: str,
    contents: Mapping[str, str] | None,
) -> Recorded:
    """Decodes what `encode_event` made. `place`: agent, version, kind, at, actor, command.

    An event that does not open, or has an unknown actor, is an `UnreadableEvent`. Raises `LogError`
    if the event is encrypted and there is no cipher.
    """
    agent, version, kind, at, by, command = place
    actor = _actor(by)
    if actor is None:
        event, actor = unreadable(kind, data, "its actor is unknown"), SYSTEM
    elif cipher is None:
        event = decode(kind, data, contents)
        if type(event) is UnreadableEvent and event.data.startswith(_TEXT.encode()):
            raise key_is_missing(space)
    elif (plain := cipher.open_text(data, "event", *place)) is not None:
        event = decode(kind, plain, contents)
    else:
        event = unreadable(kind, data, _MOVED if data.startswith(_TEXT) else _PLAIN)
    return Recorded(agent, version, event, at, actor, command)


@lru_cache(maxsize=256)
def _actor(text: str) -> Actor | None:
    try:
        return Actor.parse(text)
    except ValueError:
        return None


def seal_content(cipher: SpaceCipher | None, digest: str, text: str) -> bytes:
    """A long text as it is stored."""
    return text.encode() if cipher is None else cipher.seal(text.encode(), "content", digest)


def open_content(cipher: SpaceCipher | None, digest: str, data: bytes) -> str | None:
    """A long text; None if it is damaged, which is handled as if it were missing."""
    plain = data if cipher is None else cipher.open(data, "content", digest)
    try:
        return None if plain is None else plain.decode()
    except UnicodeDecodeError:
        return None


def seal_live_words(cipher: SpaceCipher | None, agent: AgentId, words: LiveWords) -> str:
    """The words of a reply that is arriving, as they are stored."""
    data = _json.encode(words.parts)
    return data.decode() if cipher is None else cipher.seal_text(data, "words", agent, words.asked)


def open_live_words(
    cipher: SpaceCipher | None, agent: AgentId, asked: int, command: str, data: str
) -> LiveWords | None:
    """What `seal_live_words` was given; None if it does not open."""
    plain = data if cipher is None else cipher.open_text(data, "words", agent, asked)
    try:
        parts = None if plain is None else _parts.decode(plain)
    except msgspec.MsgspecError:
        return None
    return None if parts is None else LiveWords(asked, CommandId(command), parts)


def seal_snapshot(cipher: SpaceCipher | None, snapshot: Snapshot) -> Snapshot:
    """A snapshot as it is stored."""
    if cipher is None:
        return snapshot
    place = ("snapshot", snapshot.agent, snapshot.schema, snapshot.version)
    return structs.replace(snapshot, data=cipher.seal(snapshot.data, *place))


def open_snapshot(cipher: SpaceCipher | None, snapshot: Snapshot) -> Snapshot | None:
    """A snapshot; None if it does not open: then all events are folded."""
    if cipher is None:
        return snapshot
    place = ("snapshot", snapshot.agent, snapshot.schema, snapshot.version)
    data = cipher.open(snapshot.data, *place)
    return None if data is None else structs.replace(snapshot, data=data)


def seal_receipt(cipher: SpaceCipher | None, receipt: Receipt) -> Receipt:
    """A receipt as it is stored: its message and its digest are sealed."""
    if cipher is None:
        return receipt
    message, digest = receipt.message, receipt.digest
    return structs.replace(
        receipt,
        message=message and cipher.seal_text(message, "receipt", receipt.command),
        digest=digest and cipher.seal_text(digest, "digest", receipt.command),
    )


def open_receipt(cipher: SpaceCipher | None, receipt: Receipt) -> Receipt:
    """The receipt with its message and its digest.

    A digest that does not open stays as it is stored, so it equals no other.
    """
    if cipher is None:
        return receipt
    message, digest = receipt.message, receipt.digest
    if message not in ("", ERASED):
        plain = cipher.open_text(message, "receipt", receipt.command)
        message = _UNREADABLE if plain is None else plain.decode()
    if digest and (opened := cipher.open_text(digest, "digest", receipt.command)) is not None:
        digest = opened.decode()
    return structs.replace(receipt, message=message, digest=digest)


def seal_outside(cipher: SpaceCipher | None, agent: AgentId, outside: OutsideData) -> str:
    """Where an agent that is being erased has data outside of the log, as it is stored."""
    data = _json.encode(outside)
    return data.decode() if cipher is None else cipher.seal_text(data, "erasing", agent)


def open_outside(cipher: SpaceCipher | None, agent: AgentId, text: str) -> OutsideData:
    """What `seal_outside` was given.

    Nothing if it does not open: the key of a space goes only after all data outside.
    """
    if not sealed_with(text):
        return msgspec.json.decode(text, type=OutsideData)
    data = None if cipher is None else cipher.open_text(text, "erasing", agent)
    return OutsideData() if data is None else msgspec.json.decode(data, type=OutsideData)


def stored_name(cipher: SpaceCipher | None, what: str, text: str) -> str:
    """A name, owner, label or folder as the tables have it, to look it up."""
    return text if cipher is None else cipher.token(what, text)


def seal_summary(cipher: SpaceCipher | None, summary: AgentSummary) -> AgentSummary:
    """A summary as it is stored: keyed hashes in place of words, and the words sealed."""
    if cipher is None:
        return summary
    words = _Words(summary.name, summary.folder, summary.tags)
    sealed = cipher.seal_words(_json.encode(words), summary.agent)
    tags = summary.tags or Tags()
    return structs.replace(
        summary,
        name=cipher.token("name", summary.name),
        folder=cipher.token("folder", summary.folder),
        tags=Tags(
            cipher.token("owner", tags.owner),
            tuple(sorted(cipher.token("label", label) for label in tags.labels)),
            (Entry(_SEALED, sealed),),
        ),
    )


def summary_key(summary: AgentSummary) -> str:
    """The id of the key of a sealed summary; empty if it is not sealed."""
    return sealed_with(_sealed_value(summary))


def _sealed_value(summary: AgentSummary) -> str:
    if summary.tags is None or len(summary.tags.metadata) != 1:
        return ""
    (entry,) = summary.tags.metadata
    return entry.value if entry.name == _SEALED and _SEALED_VALUE.fullmatch(entry.value) else ""


def open_summary(cipher: SpaceCipher | None, space: Space, summary: AgentSummary) -> AgentSummary:
    """The summary with its words. Raises `LogError` if it is sealed and there is no cipher."""
    sealed = _sealed_value(summary)
    if cipher is None:
        if sealed:
            raise key_is_missing(space)
        return summary
    words = cipher.open_words(sealed, summary.agent)
    if words is None:
        return structs.replace(summary, name=_UNREADABLE, folder="", tags=None)
    known = msgspec.json.decode(words, type=_Words)
    return structs.replace(summary, name=known.name, folder=known.folder, tags=known.tags)
