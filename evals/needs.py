"""The eval of needs: what was fetched again after a compaction, on planted sessions.

Two simple rules are printed for comparison: every call that is repeated after a compaction with the
same arguments, and every file that is read again.
"""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from evals.labels import FOLDER as SESSIONS
from evals.needs_sessions import SETS, PlantedSession, write_set
from evals.scores import Score, compare
from sapwood.analysis.needs import needs_of
from sapwood.analysis.session import Session
from sapwood.programs.transcripts.session_reader import read_session

LIMIT = 0.85

Found = list[tuple[str, int]]
"""The ids of calls, each with the number of the turn in which its result had stood."""


def main(argv: list[str]) -> int:
    """Prints precision and recall of each set. Returns 1 if one is below its limit."""
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for chosen in SETS:
            planted = write_set(chosen, Path(folder, chosen))
            needs = sum(len(each.needs) for each in planted)
            print(f"\n{chosen.replace('_', ' ')}: {needs} needs in {len(planted)} sessions")
            for name, rule in (("same arguments", same_arguments), ("same file", same_file)):
                print_row(name, score(planted, rule))
            total = score(planted, found_needs)
            print_row("SAPWOOD", total)
            if "--misses" in argv and chosen == "tuned":
                print_misses(planted)
            failed += min(total.precision, total.recall) < LIMIT
    print(f"\nlimit: precision and recall {LIMIT} on each set")
    print_sessions()
    return int(failed > 0)


def score(planted: Sequence[PlantedSession], rule: Callable[[Session], Found]) -> Score:
    """The score of a rule. A need counts as found if its call and the turn that left are right."""
    return sum((_score(each, rule) for each in planted), Score())


def _score(each: PlantedSession, rule: Callable[[Session], Found]) -> Score:
    wanted = [(need.call, need.left) for need in each.needs]
    return compare(wanted, rule(read_session(each.path, each.source)))


def found_needs(session: Session) -> Found:
    """What Sapwood finds."""
    return [(need.call, need.left) for need in needs_of(session)]


def same_arguments(session: Session) -> Found:
    """Every call after a compaction that ran before it with the same arguments."""
    return _repeated(session, lambda name, args: (name, args))


def same_file(session: Session) -> Found:
    """Every call after a compaction that names a file which an earlier call named."""
    return _repeated(session, lambda _, args: next((w for w in args.split('"') if "." in w), args))


def _repeated(session: Session, key: Callable[[str, str], object]) -> Found:
    found: Found = []
    seen: dict[object, int] = {}
    first = session.boundaries[0].after if session.boundaries else len(session.turns)
    for index, turn in enumerate(session.turns):
        for call in turn.calls.values():
            about = key(call.name, call.args)
            if index >= first and about in seen:
                found.append((call.id, session.numbers[seen[about]]))
            seen[about] = index
    return found


def print_row(name: str, total: Score) -> None:
    """Prints one row of the table."""
    counts = f"{total.right} right, {total.wrong} wrong, {total.missed} missed"
    print(f"{name:<20}{total.precision:>10.2f}{total.recall:>8.2f}   {counts}")


def print_misses(planted: Sequence[PlantedSession]) -> None:
    """Prints the errors, for tuning the rule."""
    for each in planted:
        wanted = {(need.call, need.left) for need in each.needs}
        found = set(found_needs(read_session(each.path, each.source)))
        for title, calls in (("missed", wanted - found), ("made up", found - wanted)):
            for call, left in sorted(calls):
                print(f"    {each.name}: {title} line {int(call[5:]) + 2}, left in turn {left}")


def print_sessions() -> None:
    """Prints how many needs the sessions of the other evals have; they have no labels for them."""
    paths = sorted(SESSIONS.rglob("*.jsonl"))
    sessions = [read_session(path) for path in paths]
    compacted = [each for each in sessions if each.compactions]
    needs = [need for each in compacted for need in needs_of(each)]
    print(
        f"other sessions: {len(sessions)}, {len(compacted)} with a compaction, {len(needs)} needs"
    )
    for need in needs:
        print(f"    turn {need.left} → {need.needed}: {need.subject}")
