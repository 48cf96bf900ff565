"""The signature of a `Thinking` part: the text that its provider needs to accept it back.

| provider | signature |
| --- | --- |
| Anthropic | the provider's signature; for redacted thinking its data, after a prefix |
| Google | the provider's signature of the part that follows |
| OpenAI | the encrypted reasoning and the ids of the items that came with it, as JSON |
| chat servers | the name of the field that the thinking came in, or this and more as JSON |
"""

import msgspec
from msgspec import Struct

REDACTED = "withheld:"
"""The prefix of data that stands for thinking which the provider does not show."""

THINKING_FIELDS = frozenset({"reasoning", "reasoning_content"})
"""The fields in which chat servers send their thinking."""


class ReasoningItem(Struct, omit_defaults=True):
    """A reasoning item of OpenAI and the items that came with it. OpenAI wants all back or none.

    `texts` holds the id and phase of each text up to the next reasoning item, `calls` the item ids
    of tool calls.
    """

    id: str
    data: str = ""
    texts: list[tuple[str, str]] = []
    calls: dict[str, str] = {}


def encode_reasoning(reasoning: ReasoningItem) -> str:
    """The signature that holds a reasoning item."""
    return msgspec.json.encode(reasoning).decode()


def decode_reasoning(signature: str) -> ReasoningItem | None:
    """The reasoning item in a signature, or None if the signature is none.

    >>> decode_reasoning(encode_reasoning(ReasoningItem("rs_1", "gAAAA")))
    ReasoningItem(id='rs_1', data='gAAAA', texts=[], calls={})
    """
    try:
        return msgspec.json.decode(signature, type=ReasoningItem)
    except msgspec.DecodeError:
        return None
