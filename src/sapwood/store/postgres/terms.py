"""The terms of an event as PostgreSQL indexes them.

A `tsvector` knows the places of 16,383 words and holds a megabyte, so a very long text becomes
several, and an absurdly long one is indexed up to a point only. Neighbours overlap, so that a
phrase across the border is found; words far apart in such a text are not found together.
"""

import hashlib

from sapwood.core.events import Event
from sapwood.core.ids import AgentId, Space
from sapwood.core.searching import index_terms, text_of

__all__ = ["agent_term", "parts_of", "space_term"]

_TERMS_A_PART, _OVERLAP, _MOST_PARTS = 12_000, 32, 16
_LONGEST = 64  # of a term in a very long text, where hashes and base64 would fill the megabyte
_SURELY_SMALL = 16_000


def parts_of(event: Event) -> list[str]:
    """What to index of an event: nothing, one text of terms, or several."""
    text = index_terms(text_of(event))
    if len(text) < _SURELY_SMALL:
        return [text] if text else []
    terms = [term[:_LONGEST] for term in text.split()]
    starts = range(0, len(terms), _TERMS_A_PART)[:_MOST_PARTS]
    return [" ".join(terms[start : start + _TERMS_A_PART + _OVERLAP]) for start in starts]


def space_term(space: Space) -> str:
    """The term that every event of a space has."""
    return f"s{_digest(space)}"


def agent_term(agent: AgentId) -> str:
    """The term that every event of an agent has."""
    return f"a{_digest(agent)}"


def _digest(name: str) -> str:
    return hashlib.blake2b(name.encode(), digest_size=12).hexdigest()
