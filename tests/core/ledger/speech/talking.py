"""Conversations in a few words, for tests of what is decided and asked in them."""

from sapwood.core.ledger import Ledger, ledger_of
from tests.garden.sessions import asked, session

__all__ = ["talk"]


def talk(*said: str) -> Ledger:
    """The ledger of a conversation: the user's words, the model's, the user's, and so on."""
    pairs = zip(said[::2], (*said[1::2], ""), strict=False)
    return ledger_of(session(*(asked(prompt, reply) for prompt, reply in pairs)))
