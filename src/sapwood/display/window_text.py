"""The context window as lines: how full it is and with what, chapters, advice to prune."""

from collections.abc import Sequence

from sapwood.analysis.chapter_report import Chapter, ChapterReport, turns_text
from sapwood.analysis.prune_advice import Prunable, PruneAdvice
from sapwood.analysis.window_breakdown import Amount, Breakdown, Estimate
from sapwood.core.plural import counted
from sapwood.core.token_count import Count, show
from sapwood.display.text import cut, entries, one_line, padded, width_of, wrapped

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
