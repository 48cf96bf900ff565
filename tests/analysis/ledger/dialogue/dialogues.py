"""Short conversations for tests of decisions and questions."""

from sapwood.analysis.ledger import Ledger, ledger_of
from tests.analysis.sessions import asked, session


def conversation_ledger(*texts: str) -> Ledger:
    """Returns the ledger of a conversation; user and model speak in turn, the user first."""
    pairs = zip(texts[::2], (*texts[1::2], ""), strict=False)
    return ledger_of(session(*(asked(prompt, reply) for prompt, reply in pairs)))
