"""Ids and signatures in the form of each provider, which the server can check without a memory.

A real provider signs or encrypts the thinking of its models and rejects thinking that it did not
sign. This server does the same. Its key is public, so that a signature made by one server is valid
on the next.
"""

import base64
import hashlib
import itertools
import secrets
import string

from msgspec import Struct

_KEY = b"scripted_model"
_LETTERS = string.ascii_letters + string.digits
_MAC = 12
_PLAIN = str.maketrans("-_", "+/")  # some clients send URL-safe base64


def sign_text(vendor: str, text: str) -> str:
    """Returns an opaque signature for this text and vendor. It contains the text.

    >>> signed_text("anthropic", sign_text("anthropic", "Oslo is north."))
    'Oslo is north.'
    >>> signed_text("openai", sign_text("anthropic", "Oslo is north.")) is None
    True
    """
    data = text.encode()
    return base64.b64encode(_mac(vendor, data) + data).decode()


def signed_text(vendor: str, encrypted: str) -> str | None:
    """Returns the text of a signature, or `None` if it is not from here or for another vendor."""
    try:
        raw = base64.b64decode(encrypted.translate(_PLAIN), validate=True)
        text = raw[_MAC:].decode()
    except ValueError:
        return None
    return text if raw[:_MAC] == _mac(vendor, raw[_MAC:]) else None


def _mac(vendor: str, data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_MAC, key=_KEY, person=vendor.encode()[:16]).digest()


class ItemId(Struct, frozen=True):
    """The content of an item id: its reply, and whether thinking came before the item."""

    reply: str
    thought: bool


def item_id(kind: str, reply: str, index: int, *, thought: bool) -> str:
    """Returns the id of an item of a reply. `reply` is 32 hexadecimal digits.

    >>> read_item_id(item_id("fc", "0" * 32, 1, thought=True)).thought
    True
    """
    body = f"{reply}{int(thought)}{index:03x}"
    return f"{kind}_{body}{_item_mac(body)}"


def read_item_id(item: str) -> ItemId | None:
    """Reads the id of an item. Returns `None` if the id is not from here."""
    _, _, digits = item.partition("_")
    body, mac = digits[:36], digits[36:]
    if len(mac) != 12 or _item_mac(body) != mac:
        return None
    return ItemId(body[:32], body[32] == "1")


def _item_mac(body: str) -> str:
    return hashlib.blake2b(body.encode(), digest_size=6, key=_KEY).hexdigest()


class IdGenerator:
    """Makes ids that are unique across servers: two servers may serve one conversation."""

    def __init__(self) -> None:
        self._seed = secrets.token_bytes(16)
        self._numbers = itertools.count()

    def hexadecimal(self, length: int = 32) -> str:
        """A new id of this many hexadecimal digits."""
        return self._digest().hex()[:length]

    def letters(self, length: int) -> str:
        """A new id of this many letters and digits."""
        number = int.from_bytes(self._digest())
        digits: list[str] = []
        for _ in range(length):
            number, place = divmod(number, len(_LETTERS))
            digits.append(_LETTERS[place])
        return "".join(digits)

    def _digest(self) -> bytes:
        number = next(self._numbers).to_bytes(8)
        return hashlib.blake2b(number, digest_size=32, key=self._seed).digest()
