"""Where an imported conversation comes from, and where in its transcript each turn stands."""

from msgspec import Struct

__all__ = ["Origin", "Passage"]


class Origin(Struct, frozen=True, omit_defaults=True, gc=False):
    """The program a conversation ran in, the id it has there, and its transcript.

    >>> Origin("claude-code", "4cfa198d-2bff-4ecc-8825-6583da7ea71a").source
    'claude-code'
    """

    source: str
    session: str
    path: str = ""


class Passage(Struct, frozen=True, array_like=True, gc=False):
    """The rows of a transcript that tell a turn, by the names of the first and the last.

    `place` is the byte where the last one begins: where to look for it first.
    """

    first: str
    last: str
    place: int = 0
