"""Ids and seals in the providers' style, that the server can check later without a memory.

A real provider signs or encrypts a model's thinking and refuses what it did not sign itself. So
does this one, with a key that is no secret: seals stay valid from one server to the next.
"""

import base64
import hashlib
import itertools
import secrets
import string

from msgspec import Struct

__all__ = ["ItemId", "Mint", "item_id", "read_item_id", "seal", "unseal"]

_KEY = b"sapwood.testing.scripted"
_LETTERS = string.ascii_letters + string.digits
_MAC = 12
_PLAIN = str.maketrans("-_", "+/")  # some clients send the alphabet that is safe in addresses


def seal(vendor: str, text: str) -> str:
    """An opaque text that stands for `text` and was made for this vendor.

    >>> unseal("anthropic", seal("anthropic", "Oslo is north."))
    'Oslo is north.'
    >>> unseal("openai", seal("anthropic", "Oslo is north.")) is None
    True
    """
    data = text.encode()
    return base64.b64encode(_mac(vendor, data) + data).decode()


def unseal(vendor: str, sealed: str) -> str | None:
    """What was sealed; `None` if it was not sealed here, or for another vendor."""
    try:
        raw = base64.b64decode(sealed.translate(_PLAIN), validate=True)
        text = raw[_MAC:].decode()
    except ValueError:
        return None
    return text if raw[:_MAC] == _mac(vendor, raw[_MAC:]) else None


def _mac(vendor: str, data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_MAC, key=_KEY, person=vendor.encode()[:16]).digest()


class ItemId(Struct, frozen=True):
    """What an item's id tells: the reply that it belongs to, and whether thinking led to it."""

    reply: str
    thought: bool


def item_id(kind: str, reply: str, index: int, *, thought: bool) -> str:
    """The id of an item of a reply; `reply` is 32 hexadecimal digits.

    >>> read_item_id(item_id("fc", "0" * 32, 1, thought=True)).thought
    True
    """
    body = f"{reply}{int(thought)}{index:03x}"
    return f"{kind}_{body}{_item_mac(body)}"


def read_item_id(item: str) -> ItemId | None:
    """What the id of an item tells; `None` if it was not made here."""
    _, _, digits = item.partition("_")
    body, mac = digits[:36], digits[36:]
    if len(mac) != 12 or _item_mac(body) != mac:
        return None
    return ItemId(body[:32], body[32] == "1")


def _item_mac(body: str) -> str:
    return hashlib.blake2b(body.encode(), digest_size=6, key=_KEY).hexdigest()


class Mint:
    """Makes ids that no other server makes: two servers may serve one conversation."""

    def __init__(self) -> None:
        self._seed = secrets.token_bytes(16)
        self._numbers = itertools.count()

    def hexadecimal(self, length: int = 32) -> str:
        """So many hexadecimal digits."""
        return self._digest().hex()[:length]

    def letters(self, length: int) -> str:
        """So many letters and digits."""
        number = int.from_bytes(self._digest())
        digits: list[str] = []
        for _ in range(length):
            number, place = divmod(number, len(_LETTERS))
            digits.append(_LETTERS[place])
        return "".join(digits)

    def _digest(self) -> bytes:
        number = next(self._numbers).to_bytes(8)
        return hashlib.blake2b(number, digest_size=32, key=self._seed).digest()
