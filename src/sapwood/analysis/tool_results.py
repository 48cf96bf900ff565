"""The tool results in view: the kind, the subject and the tokens of each."""

from collections.abc import Iterator

from msgspec import Struct

from sapwood.analysis.call_subjects import SubjectKind, SubjectReader
from sapwood.analysis.ledger.operations.call_outcomes import call_outcome
from sapwood.analysis.session import Session
from sapwood.core.token_count import Counter
from sapwood.core.turn import Result


class ResultInView(Struct, frozen=True):
    """A result in view. `subject` is a path or a command line, else the name of the tool.

    `tokens` counts the result, `call_tokens` the arguments of the call.
    """

    turn: int
    kind: SubjectKind
    subject: str
    tokens: int
    call_tokens: int
    failed: bool = False


def results_in_view(session: Session, counter: Counter) -> Iterator[ResultInView]:
    """Yields every result in view, oldest first."""
    numbers, subjects = session.numbers, SubjectReader(session.folder)
    for index in session.indexes_in_view:
        turn = session.turns[index]
        calls = turn.calls
        for item in turn.items:
            call = calls.get(item.call) if isinstance(item, Result) else None
            if not isinstance(item, Result) or call is None:
                continue
            outcome = call_outcome(item)
            about = subjects.subject_of(call, outcome)
            yield ResultInView(
                turn=numbers[index],
                kind=about.kind,
                subject=about.subject,
                tokens=counter.count(item.content).tokens,
                call_tokens=counter.count(call.args).tokens,
                failed=item.error or outcome.status == "failed",
            )
