"""What a provider wants back with its own thinking, as the one text that a signature is.

| provider | signature |
| --- | --- |
| Anthropic | its own; of thinking that it withholds, the data behind a prefix |
| Google | its own, of the part that follows |
| OpenAI | the names of the items that came together, and the reasoning, encrypted |
| chat servers | the field that the thinking came in |
"""

import msgspec
from msgspec import Struct

__all__ = ["WITHHELD", "Reasoning", "opened", "sealed"]

WITHHELD = "withheld:"
"""Before the data of thinking that the model had but does not show."""


class Reasoning(Struct, omit_defaults=True):
    """A reasoning item of OpenAI, and the items that it came with: sent back all, or none.

    `texts` are name and phase of the texts up to the next reasoning, `calls` the names of calls.
    """

    id: str
    data: str = ""
    texts: list[tuple[str, str]] = []
    calls: dict[str, str] = {}


def sealed(reasoning: Reasoning) -> str:
    """The signature that holds a reasoning item."""
    return msgspec.json.encode(reasoning).decode()


def opened(signature: str) -> Reasoning | None:
    """The reasoning item in a signature, or None if this is something else.

    >>> opened(sealed(Reasoning("rs_1", "gAAAA")))
    Reasoning(id='rs_1', data='gAAAA', texts=[], calls={})
    """
    try:
        return msgspec.json.decode(signature, type=Reasoning)
    except msgspec.DecodeError:
        return None
