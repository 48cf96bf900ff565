"""Finds secrets in a text and replaces them by masks.

A secret becomes `[secret: github-token …9xQ2]`. The same text always gives the same masks, and the
secret cannot be recovered from its mask. The rules find tokens of a known form, values after a name
such as `password`, secrets by their place, in base64, hex, commands and sentences, and values that
the caller passes as known; also behind escapes and colours. They do not find other secrets.

The time grows with the length of the text only. A long text is searched in pieces, so that another
thread never waits long.

The patterns are compiled when a text is searched for the first time: most commands search none.
"""

from collections.abc import Callable, Sequence

from msgspec import Struct

__all__ = ["Secret", "arriving_key", "find_masks", "find_secrets", "mask_secrets"]


class Secret(Struct, frozen=True, gc=False):
    """A secret: its kind, and its start and end in the searched text."""

    kind: str
    start: int
    end: int


def find_secrets(text: str, known: Sequence[str] = ()) -> list[Secret]:
    """Returns the secrets of a text in order; they do not overlap, and masks are not secrets.

    `known` are values that are always secret, such as the user's own API keys. Known values of
    fewer than eight characters are ignored, because they would mask ordinary words.

    >>> find_secrets("ANTHROPIC_API_KEY=sk-ant-api03-0aB1cD2eF3gH4iJ5kL6mN7")
    [Secret(kind='anthropic-key', start=18, end=53)]
    """
    from sapwood.redaction.masks import find_secrets as find

    return find(text, known)


def mask_secrets(
    text: str, known: Sequence[str] = (), *, only: Callable[[str], bool] | None = None
) -> str:
    """Returns the text with every secret replaced by its mask. Masking twice changes nothing more.

    If `only` is given, secrets for which it returns False stay as they are.

    >>> mask_secrets("git clone https://me:hunter2024@example.org/wood.git")
    'git clone https://me:[secret: url-password]@example.org/wood.git'
    >>> mask_secrets("commit 5f0c8a7d3b1e9f2464c7a0d8e5b3f1a29c6d7e80")
    'commit 5f0c8a7d3b1e9f2464c7a0d8e5b3f1a29c6d7e80'
    """
    from sapwood.redaction.masks import mask_secrets as mask

    return mask(text, known, only=only)


def find_masks(text: str) -> list[str]:
    """Returns the masks in a text.

    >>> find_masks("TOKEN=[secret: github-token …9xQ2]")
    ['[secret: github-token …9xQ2]']
    """
    if "[secret: " not in text:
        return []
    from sapwood.redaction.masks import find_masks as find

    return find(text)


def arriving_key(text: str) -> int:
    """Returns where a private key begins whose end may still arrive.

    It is the length of the text if there is none, so the text before it can be shown.

    >>> arriving_key("The key: -----BEGIN RSA ")
    9
    """
    if not any(sign in text for sign in ("BEGIN ", "---- ", "Private-Lines", '"d"', "<RSAKey")):
        return len(text)
    from sapwood.redaction.private_keys import arriving_key as find

    return find(text)
