"""The resumption prompt: what a model must know to go on, within a budget of tokens."""

from collections.abc import Sequence

from sapwood.core.counting import Counter
from sapwood.core.ledger import Ledger, ledger_of
from sapwood.core.session import Session
from sapwood.garden.archive import Archive

__all__ = ["resumption_prompt"]


def resumption_prompt(
    session: Session,
    counter: Counter,
    *,
    focus: Sequence[str] = (),
    archives: Sequence[Archive] = (),
    budget: int = 2_000,
    ledger: Ledger | None = None,
) -> str:
    """The prompt for whoever goes on with a session. It counts at most `budget` tokens.

    `ledger` is that of the session, for whoever has it already.
    """
    ledger = ledger_of(session) if ledger is None else ledger
    topic = focus[0] if focus else " ".join(session.request.split()[:12])
    if not topic and archives:
        topic = archives[0].topic
    lines = [
        "## Session Resumption",
        "",
        f"Previous work on: {topic}",
        "",
        "### Key Context",
        *(f"- {file.path}" for file in (*ledger.files.created, *ledger.files.changed)),
        "",
        "### Open Items",
        *(f"- {left.command} fails" for left in ledger.failing),
        "",
        "### Current Focus",
        f"- {ledger.last_request}",
    ]
    while len(lines) > 1 and counter.count("\n".join(lines)).tokens > budget:
        lines.pop()
    return "\n".join(lines)
