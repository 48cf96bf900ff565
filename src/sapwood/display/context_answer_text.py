"""The answers of `sapwood context` as lines, for people and for models."""

from collections.abc import Iterable
from typing import assert_never

from sapwood.analysis.chapter_report import ChapterReport
from sapwood.analysis.focus import Focus
from sapwood.analysis.handoff import lines_changed
from sapwood.analysis.ledger import (
    CommandRun,
    Decision,
    Failing,
    FileTouched,
    Ledger,
    Question,
    SuiteRun,
)
from sapwood.analysis.prune_advice import PruneAdvice
from sapwood.analysis.session_search import SearchPassage
from sapwood.analysis.window_breakdown import Breakdown, Estimate
from sapwood.context_actions.context_answers import (
    ContextAnswer,
    Notes,
    ResumptionPrompt,
    SearchResults,
    WrittenArchives,
    WrittenHandoff,
)
from sapwood.core.plural import counted
from sapwood.core.token_count import Count, show
from sapwood.display.quantities import clock
from sapwood.display.text import cut, entries, plain, section, wrapped
from sapwood.display.window_text import (
    advice_lines,
    breakdown_lines,
    chapter_lines,
    estimate_lines,
)


def focus_lines(focus: Focus, width: int) -> list[str]:
    """Returns the topics in focus, the most important first, and those in the background."""
    if not focus.topics and not focus.background:
        return ["Nothing is in focus. Type: sapwood context focus TOPIC"]
    lines = ["In focus:"] if focus.topics else ["Nothing is in focus."]
    lines += [f"  {topic.priority}. {plain(topic.name)}" for topic in focus.topics]
    if focus.background:
        names = (
            f"{topic.name} (archived)" if topic.archived else topic.name
            for topic in focus.background
        )
        lines += ["In the background:", *entries(names, width)]
    return lines


def note_lines(notes: Notes, width: int) -> list[str]:
    """Returns the active notes with their ids, and the plan of the program's model."""
    if not notes.notes and not notes.plan:
        return ["There are no active notes. To add one, type: sapwood context note goal TEXT"]
    lines: list[str] = []
    for each in notes.notes:
        about = f" (on: {each.about})" if each.about else ""
        lines += wrapped(plain(f"{each.id:>4}  {each.note}: {each.text}{about}"), width)
    if notes.plan:
        lines += ["The program's plan:"]
        lines += [f"  - {plain(each.text)} ({plain(each.status)})" for each in notes.plan]
    return lines


def archived_lines(topic: str, turns: int, tokens: Count, path: str, text: str) -> list[str]:
    """Returns the path of a written archive, or its text if it was not stored."""
    if not path:
        return plain(text).splitlines()
    count = counted(turns, "turn")
    return [f'Archived "{plain(topic)}": {count}, {show(tokens)} tokens.', f"  {path}"]


def handoff_lines(text: str, path: str) -> list[str]:
    """Returns the text of a handoff, and its path if it was written."""
    return [*plain(text).splitlines(), *([f"Written to {path}"] if path else [])]


def passage_lines(hits: tuple[SearchPassage, ...], width: int) -> list[str]:
    """Returns each found place with the words around it."""
    lines: list[str] = []
    for hit in hits:
        lines.append(f"{hit.where}  {clock(hit.at)}" if hit.at else hit.where)
        lines += wrapped(hit.excerpt, width, "  ")
    return lines or ["Nothing was found."]


_MAX_COMMANDS = 20
_REQUEST_LENGTH = 400


def ledger_lines(ledger: Ledger, width: int) -> list[str]:
    """Returns the sections of the ledger. Of the commands it has only the newest."""
    files = ledger.files
    touched = {file.path for file in (*files.created, *files.changed, *files.deleted)}
    read = [file for file in files.read if file.path not in touched]
    lines = [
        *section("Files created", map(_file, files.created), width),
        *section("Files changed", map(_file, files.changed), width),
        *section("Files deleted", map(_file, files.deleted), width),
        *section("Files read", map(_file, read), width),
        *section("Tests", map(_suite, ledger.tests), width),
        *section("Commands", _newest(map(_command, ledger.commands)), width),
        *section("Failing at the end", map(_failing, ledger.failing), width),
        *section("Decisions", map(_decision, ledger.decisions), width),
        *section("Open questions", map(_question, ledger.questions), width),
        *section(
            "Last request",
            [cut(ledger.last_request, _REQUEST_LENGTH)] * bool(ledger.last_request),
            width,
        ),
    ]
    return lines[:-1] or ["The ledger is empty."]


def _file(file: FileTouched) -> str:
    changed = lines_changed(file.added, file.removed)
    return f"{file.path} ({changed})" if changed else file.path


def _suite(run: SuiteRun) -> str:
    counts = (f"{run.passed} passed" * (run.passed is not None), _failed(run.failed))
    result = ", ".join(filter(None, counts)) or run.outcome
    return f"{cut(run.command, 100)}: {result} (turn {run.turn})"


def _failed(number: int | None) -> str:
    return "" if number is None else f"{number} failed"


def _command(run: CommandRun) -> str:
    code = f", exit code {run.exit_code}" if run.exit_code else ""
    return f"{cut(run.command, 100)}: {run.outcome}{code} (turn {run.turn})"


def _newest(lines: Iterable[str]) -> list[str]:
    found = list(lines)
    left_out = len(found) - _MAX_COMMANDS
    return found if left_out <= 0 else [f"… {left_out} earlier", *found[-_MAX_COMMANDS:]]


def _failing(left: Failing) -> str:
    tests = f" Tests: {', '.join(left.tests)}." if left.tests else ""
    error = f" {left.error}" if left.error else ""
    return f"{cut(left.command, 100)} (turn {left.turn}):{error}{tests}".rstrip(":")


def _decision(decision: Decision) -> str:
    back = f", reversed in turn {decision.reversed_by}" if decision.reversed_by else ""
    return f"{_said(decision)} ({decision.by}, turn {decision.turn}{back}{_how(decision)})"


def _question(question: Question) -> str:
    return f"{_said(question)} (turn {question.turn}{_how(question)})"


def _said(entry: Decision | Question) -> str:
    """What was said, after the question that it answers or leaves open."""
    return f"{cut(entry.about, 160)} → {entry.text}" if entry.about else entry.text


def _how(entry: Decision | Question) -> str:
    """How the entry came to be, if not by rules."""
    return f", {entry.source}" if entry.source != "derived" else ""


def answer_lines(answer: ContextAnswer, width: int) -> list[str]:
    """Returns the lines of any answer, at most `width` columns wide. Prompts are not wrapped."""
    match answer:
        case Estimate():
            return estimate_lines(answer, width)
        case Breakdown():
            return breakdown_lines(answer, width)
        case Ledger():
            return ledger_lines(answer, width)
        case Focus():
            return focus_lines(answer, width)
        case WrittenArchives():
            return _archives(answer)
        case ResumptionPrompt():
            return answer.prompt.splitlines()
        case PruneAdvice():
            return advice_lines(answer, width)
        case Notes():
            return note_lines(answer, width)
        case ChapterReport():
            return chapter_lines(answer, width)
        case WrittenHandoff():
            return handoff_lines(answer.text, answer.path)
        case SearchResults():
            return passage_lines(answer.hits, width)
        case _:
            assert_never(answer)


def _archives(answer: WrittenArchives) -> list[str]:
    lines: list[str] = []
    for each in answer.archives:
        tokens = Count(each.tokens, each.exact)
        lines += archived_lines(each.topic, len(each.turns), tokens, each.path, each.text)
    return lines
