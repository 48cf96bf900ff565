"""A report as lines for a terminal, and as a value for JSON."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime

from sapwood.cli.output_gate import styled
from sapwood.core.plural import counted
from sapwood.core.token_count import Count, show
from sapwood.display.quantities import money
from sapwood.display.text import cut, one_line, padded, wrapped
from sapwood.programs.registry import program_title
from sapwood.report.figures import CompactionFigures, NeededAgain, Report, SessionFigures
from sapwood.report.figures import total_cost as cost_of
from sapwood.report.page import size_text

_MAX_ROWS = 10
_WIDEST = 100
_NARROW = 70


def report_json(report: Report) -> dict[str, object]:
    """The report with its totals. Costs are in millionths of a dollar, times in microseconds."""
    needs = [need for _, need in report.needs]
    return {
        "made": report.made,
        "totals": {
            "sessions": len(report.sessions),
            "turns": sum(each.turns for each in report.sessions),
            "compactions": len(report.compactions),
            "turns_left": report.turns_left,
            "tokens_left": report.tokens_left,
            "needs": len(needs),
            "tokens_again": report.tokens_again,
            "cost": cost_of(needs),
        },
        "sessions": report.sessions,
        "largest": [each.id for each in report.largest],
        "swept": report.swept,
        "problems": report.problems,
    }


def report_lines(report: Report, width: int) -> Iterator[str]:
    """Returns the lines of a report."""
    width = min(width, _WIDEST)
    yield from _summary(report, width)
    if report.compactions:
        yield from _dropped(report, width)
    if report.needs:
        yield from _needed(report, width)
    if report.sessions:
        yield from _largest(report, width)
    yield from _brought_back(report, width)
    yield ""
    yield from wrapped("To share this as a page with charts: sapwood report --html FILE", width)


def _summary(report: Report, width: int) -> Iterator[str]:
    programs = Counter(program_title(each.program) for each in report.sessions)
    named = ", ".join(f"{count} {title}" for title, count in programs.most_common())
    turns = counted(sum(each.turns for each in report.sessions), "turn")
    compactions = counted(len(report.compactions), "compaction")
    sessions = counted(len(report.sessions), "session")
    of = f" ({named})" if named else ""
    yield from wrapped(f"{sessions}{of}, {turns}, {compactions}.", width)
    if not report.compactions:
        yield from wrapped("Nothing left view: no session was compacted.", width)
        return
    needs = [need for _, need in report.needs]
    tokens, again = _tokens(report.tokens_left), _tokens(report.tokens_again)
    left = counted(report.turns_left, "turn")
    yield from wrapped(f"Compaction took {left} ({tokens} tokens) out of view.", width)
    if needs:
        times = counted(len(needs), "time")
        spent = f"The model fetched {again} tokens of that again, {times}: {_cost(cost_of(needs))}."
        yield from wrapped(spent, width)
    else:
        yield from wrapped("None of that was read or run again.", width)


def _dropped(report: Report, width: int) -> Iterator[str]:
    yield from _heading("What each compaction dropped, and what was read again")
    for session, each in report.compactions[-_MAX_ROWS:]:
        again = _again(each)
        left = f"{counted(each.turns, 'turn')}, {_size(each)} tokens, {counted(each.files, 'file')}"
        yield from _entry(
            f"{_day(each.at)}  {_title(session)}", f"{left}; {again}", width, session=session
        )
    yield from _rest(len(report.compactions), width, "compaction")


def _again(each: CompactionFigures) -> str:
    if not each.needs:
        return "nothing read again"
    cost = _cost(cost_of(each.needs))
    return f"{len(each.needs)} read again, {_tokens(each.tokens_again)} tokens, {cost}"


def _needed(report: Report, width: int) -> Iterator[str]:
    yield from _heading("Read or run again: the turn where it left → the turn that needed it")
    for session, need in report.needs[:_MAX_ROWS]:
        places = f"turn {need.left} → {need.needed}"
        spent = f"{_tokens(need.tokens)} tokens, {_cost(need.cost)}"
        yield from _entry(_subject(need), f"{places}, {spent}; {_title(session)}", width)
    yield from _rest(len(report.needs), width, "result")


def _largest(report: Report, width: int) -> Iterator[str]:
    yield from _heading("Largest sessions")
    for each in report.largest:
        figures = [size_text(each.size), counted(each.turns, "turn")]
        if each.compactions:
            figures.append(counted(len(each.compactions), "compaction"))
        yield from _entry(_title(each), ", ".join(figures), width, session=each)


def _brought_back(report: Report, width: int) -> Iterator[str]:
    if report.restorable:
        yield from _heading(
            "To bring turns back, close the session and type this; again for an earlier compaction"
        )
        for each in report.restorable[:_MAX_ROWS]:
            figures = f"{counted(each.turns_left, 'turn')}, {_tokens(each.tokens_left)} tokens"
            yield from _entry(each.restore, f"{figures}; {_title(each)}", width)
        yield from _rest(len(report.restorable), width, "session")
    if report.swept:
        yield from _heading("Deleted by their program, and kept by Sapwood")
        for swept in report.swept[:_MAX_ROWS]:
            yield from _entry(swept.restore, one_line(swept.title), width)
        yield from _rest(len(report.swept), width, "session")


def _heading(text: str) -> Iterator[str]:
    yield ""
    yield styled(text, bold=True)


def _entry(
    first: str, second: str, width: int, *, session: SessionFigures | None = None
) -> Iterator[str]:
    """One entry: on one line if it fits, else its figures are indented below it."""
    if session is not None:
        second = f"{second}; {program_title(session.program)}"
    half = max(20, width * 45 // 100)
    if width >= _NARROW and len(first) <= half and half + len(second) + 2 <= width:
        yield f"  {padded(first, half - 2)}  {second}"
        return
    yield f"  {cut(first, width - 2)}"
    yield from wrapped(second, width, "      ")


def _rest(count: int, width: int, noun: str) -> Iterator[str]:
    if count > _MAX_ROWS:
        yield from wrapped(f"and {counted(count - _MAX_ROWS, f'more {noun}')}: --json", width, "  ")


def _subject(need: NeededAgain) -> str:
    words = one_line(need.subject)
    return words if need.is_file else f"$ {words}"


def _title(session: SessionFigures) -> str:
    return one_line(session.title) or session.id


def _size(each: CompactionFigures) -> str:
    return show(Count(each.tokens, exact=each.is_reported))


def _tokens(number: int) -> str:
    return show(Count(number, exact=False))


def _cost(cost: int | None) -> str:
    return "price unknown" if cost is None else money(cost)


def _day(at: int) -> str:
    try:
        return f"{datetime.fromtimestamp(at / 1_000_000).astimezone():%Y-%m-%d}"
    except (ValueError, OverflowError, OSError):
        return "unknown   "
