"""The answers of `sapwood context` as lines, for people and for models.

The context window as lines: how full it is and with what, chapters, advice to prune.
"""

from collections.abc import Iterable, Sequence
from typing import assert_never

from sapwood.analysis.chapter_report import Chapter, ChapterReport, turns_text
from sapwood.analysis.focus import FocusStack
from sapwood.analysis.handoff import lines_changed
from sapwood.analysis.ledger.entries import (
    CommandRun,
    Decision,
    Failing,
    FileTouched,
    Ledger,
    Question,
    SuiteRun,
)
from sapwood.analysis.prune_advice import Prunable, PruneAdvice
from sapwood.analysis.session_search import SearchPassage
from sapwood.analysis.window_breakdown import Amount, Breakdown, Estimate
from sapwood.context_actions.context_answers import (
    ContextAnswer,
    Notes,
    ResumptionPrompt,
    SessionSearchResults,
    WrittenArchives,
    WrittenHandoff,
)
from sapwood.core.plural import counted
from sapwood.core.token_count import Count, show
from sapwood.core.turn_numbers import turn_words
from sapwood.display.quantities import clock
from sapwood.display.text import cut, entries, one_line, padded, plain, section, width_of, wrapped


def focus_lines(focus: FocusStack, width: int) -> list[str]:
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
    return f"{cut(run.command, 100)}: {result} ({turn_words(run.turn)})"


def _failed(number: int | None) -> str:
    return "" if number is None else f"{number} failed"


def _command(run: CommandRun) -> str:
    code = f", exit code {run.exit_code}" if run.exit_code else ""
    return f"{cut(run.command, 100)}: {run.outcome}{code} ({turn_words(run.turn)})"


def _newest(lines: Iterable[str]) -> list[str]:
    found = list(lines)
    left_out = len(found) - _MAX_COMMANDS
    return found if left_out <= 0 else [f"… {left_out} earlier", *found[-_MAX_COMMANDS:]]


def _failing(left: Failing) -> str:
    tests = f" Tests: {', '.join(left.tests)}." if left.tests else ""
    error = f" {left.error}" if left.error else ""
    return f"{cut(left.command, 100)} ({turn_words(left.turn)}):{error}{tests}".rstrip(":")


def _decision(decision: Decision) -> str:
    by = decision.reversed_by
    back = "" if by is None else f", reversed in {turn_words(by)}"
    return f"{_said(decision)} ({decision.by}, {turn_words(decision.turn)}{back}{_how(decision)})"


def _question(question: Question) -> str:
    return f"{_said(question)} ({turn_words(question.turn)}{_how(question)})"


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
        case FocusStack():
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
        case SessionSearchResults():
            return passage_lines(answer.hits, width)
        case _:
            assert_never(answer)


def _archives(answer: WrittenArchives) -> list[str]:
    lines: list[str] = []
    for each in answer.archives:
        tokens = Count(each.tokens, each.exact)
        lines += archived_lines(each.topic, len(each.turns), tokens, each.path, each.text)
    return lines


_WINDOW_BAR = 40
_CHAPTER_BAR = 12
_NAME_WIDTH = 40
_FILES_SHOWN = 3
_MAX_ITEMS = 12
_ADVICE = {
    "superseded read": "Read again or overwritten since: {}",
    "test output": "Verbose test output: {}",
    "large result": "Large result: {}",
    "chapter": '"{}"',
}
_NEXT_STEPS = (
    "",
    "To see what could be removed, type: sapwood context prune",
    "To archive what is off the task, type: sapwood context archive --background",
    "Compaction is coming up soon. To archive first, type: sapwood context archive",
)


def estimate_lines(estimate: Estimate, width: int) -> list[str]:
    """Returns the session, how full its window is, and the next command to type."""
    about = " ".join(filter(None, (estimate.source, estimate.session, estimate.model)))
    lines = [cut(about, width)]
    if estimate.used is None:
        return [*lines, "The session has no messages and no reported usage."]
    lines.append(_filled(estimate))
    if estimate.share is not None:
        blocks = min(_WINDOW_BAR, round(estimate.share * _WINDOW_BAR))
        lines.append(f"[{'█' * blocks}{'·' * (_WINDOW_BAR - blocks)}]")
    if not estimate.exact and estimate.source != "sapwood":
        lines.append(
            "This estimate leaves out the program's own prompt, because it reported no usage."
        )
    turns = f"{estimate.in_view} of {estimate.turns} turns in view"
    times = estimate.compactions
    lines.append(f"{turns}, {counted(times, 'compaction')}.")
    return [*lines, _NEXT_STEPS[estimate.level]] if estimate.level else lines


def breakdown_lines(found: Breakdown, width: int) -> list[str]:
    """Returns the estimate, then the parts of the window, the largest first."""
    lines = estimate_lines(found.estimate, width)
    for title, amounts in (
        ("By kind", found.kinds),
        ("By file", found.files),
        ("By chapter", found.chapters),
    ):
        if amounts:
            lines += ["", title, *_table(amounts, width)]
    return lines


def _filled(estimate: Estimate) -> str:
    used = show(Count(estimate.used or 0, estimate.exact))
    if estimate.window is None or estimate.share is None:
        return f"{used} tokens in view; the size of the window is unknown."
    of = show(Count(estimate.window, exact=True))
    return f"{used} of {of} tokens: {_percent(estimate.share)} of the window"


def _table(amounts: Sequence[Amount], width: int) -> list[str]:
    room = max(12, width - 20)
    names = [cut(one_line(amount.name) or "(no chapter)", room) for amount in amounts]
    wide = max(map(width_of, names))
    return [
        f"  {padded(name, wide)}  {show(Count(a.tokens, a.exact)):>6}  {_percent(a.share):>5}"
        for name, a in zip(names, amounts, strict=True)
    ]


def _percent(share: float) -> str:
    return f"{share:.0%}".replace("%", " %")


def chapter_lines(report: ChapterReport, width: int) -> list[str]:
    """Returns the task, the chapters in their order, and those declared off the task."""
    if not report.chapters:
        return ["The session has no messages."]
    names = min(_NAME_WIDTH, max(width_of(chapter.name) for chapter in report.chapters))
    lines = wrapped(f'First request: "{cut(report.task, 200)}"', width)
    lines += ["", "Chapters:"]
    for number, chapter in enumerate(report.chapters, 1):
        lines += [_bar(number, chapter, names), *_details(chapter, width)]
    if report.recommendation:
        lines += ["", *wrapped(report.recommendation, width)]
    return lines


def _bar(number: int, chapter: Chapter, names: int) -> str:
    share = f"{chapter.share:.0%}"
    blocks = "█" * max(share != "0%", round(chapter.share * _CHAPTER_BAR))
    name = padded(cut(one_line(chapter.name), names), names)
    said = f"  {chapter.status} ({chapter.by})" if chapter.status else ""
    return f"{number:>3}  {name}  {blocks:<{_CHAPTER_BAR}} {share:>4}{said}"


def _details(chapter: Chapter, width: int) -> list[str]:
    """The turns and files of a chapter; later stretches are those that returned to it."""
    tokens = show(Count(chapter.tokens, exact=False))
    files = ", ".join(chapter.files[:_FILES_SHOWN])
    more = len(chapter.files) - _FILES_SHOWN
    parts = [turns_text(chapter), f"{tokens} tokens"]
    if chapter.returned_to:
        times = len(chapter.returned_to)
        parts.append("returned to once" if times == 1 else f"returned to {times} times")
    if files:
        parts.append(f"{files} +{more}" if more > 0 else files)
    return ["     " + cut(" · ".join(map(one_line, parts)), max(12, width - 5))]


def advice_lines(advice: PruneAdvice, width: int) -> list[str]:
    """Returns the suggestions, with the tokens that each saves. They change nothing."""
    chapters = [item for item in advice.items if item.reason == "chapter"]
    results = [item for item in advice.items if item.reason != "chapter"]
    if not advice.items:
        return ["There is nothing to prune."]
    lines = ["Suggested actions:"]
    if results:
        lines += _group(1, "These tool results can be summarized", results, width)
    if chapters:
        number = 2 if results else 1
        lines += _group(
            number, "Archive what is off the task or in the background", chapters, width
        )
    return [
        *lines,
        "",
        "Run: sapwood context archive --background" if chapters else "Run: sapwood context archive",
    ]


def _group(number: int, title: str, items: Sequence[Prunable], width: int) -> list[str]:
    saved = show(Count(sum(item.tokens for item in items), all(item.exact for item in items)))
    shown = [_line(item) for item in items[:_MAX_ITEMS]]
    left_out = len(items) - _MAX_ITEMS
    more = [f"and {left_out} more"] if left_out > 0 else []
    head = f"{number}. {title} (saves {saved} tokens):"
    return ["", head, *entries([*shown, *more], width, "   ")]


def _line(item: Prunable) -> str:
    tokens = show(Count(item.tokens, item.exact))
    return f"{_ADVICE[item.reason].format(cut(item.what, 80))} ({tokens})"
