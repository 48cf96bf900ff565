"""The context window as lines: how full it is and with what, topic drift, advice to prune."""

from collections.abc import Sequence

from sapwood.analysis.prune_advice import Prunable, PruneAdvice
from sapwood.analysis.topic_drift import Drift, TopicShare
from sapwood.analysis.window_breakdown import Amount, Breakdown, Estimate
from sapwood.core.token_count import Count, show
from sapwood.display.text import cut, entries, one_line, padded, width_of, wrapped

__all__ = ["advice_lines", "breakdown_lines", "drift_lines", "estimate_lines"]

_WINDOW_BAR = 40
_DRIFT_BAR = 20
_TOPIC_WIDTH = 32
_MOST_ITEMS = 12
_ADVICE = {
    "superseded read": "Read again or written since: {}",
    "test output": "Verbose test output: {}",
    "large result": "Large result: {}",
    "topic": '"{}"',
}
_NEXT_STEPS = (
    "",
    "To see what could be removed, type: sapwood context prune",
    "To archive topics beside the task, type: context archive --background",
    "A compaction is near. Type: context archive",
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
        lines.append("Estimated without the prompt of the program, because it reported no usage.")
    turns = f"{estimate.in_view} of {estimate.turns} turns in view"
    times = estimate.compactions
    lines.append(f"{turns}, {times} compaction{'' if times == 1 else 's'}.")
    return [*lines, _NEXT_STEPS[estimate.level]] if estimate.level else lines


def breakdown_lines(found: Breakdown, width: int) -> list[str]:
    """Returns the estimate, then the parts of the window, the largest first."""
    lines = estimate_lines(found.estimate, width)
    for title, amounts in (
        ("By kind", found.kinds),
        ("By file", found.files),
        ("By topic", found.topics),
    ):
        if amounts:
            lines += ["", title, *_table(amounts, width)]
    return lines


def _filled(estimate: Estimate) -> str:
    used = show(Count(estimate.used or 0, estimate.exact))
    if estimate.window is None or estimate.share is None:
        return f"{used} tokens in view; the window's size is not known."
    of = show(Count(estimate.window, exact=True))
    return f"{used} of {of} tokens: {_percent(estimate.share)} of the window"


def _table(amounts: Sequence[Amount], width: int) -> list[str]:
    room = max(12, width - 20)
    names = [cut(one_line(amount.name) or "(no topic)", room) for amount in amounts]
    wide = max(map(width_of, names))
    return [
        f"  {padded(name, wide)}  {show(Count(a.tokens, a.exact)):>6}  {_percent(a.share):>5}"
        for name, a in zip(names, amounts, strict=True)
    ]


def _percent(share: float) -> str:
    return f"{share:.0%}".replace("%", " %")


def drift_lines(drift: Drift, width: int) -> list[str]:
    """Returns the task, a bar for the share of each topic, and the recommendation."""
    if not drift.topics:
        return ["The session has no messages."]
    names = min(_TOPIC_WIDTH, max(width_of(topic.name) for topic in drift.topics))
    lines = wrapped(f'Original task: "{cut(drift.task, 200)}"', width)
    lines += ["", "Topic drift analysis:"]
    lines += [_bar(topic, names) for topic in drift.topics]
    if drift.recommendation:
        lines += ["", *wrapped(f"Recommendation: {drift.recommendation}", width)]
    return lines


def _bar(topic: TopicShare, names: int) -> str:
    share = f"{topic.share:.0%}"
    blocks = "█" * max(share != "0%", round(topic.share * _DRIFT_BAR))
    name = padded(cut(topic.name, names), names)
    return f"  {name}  {blocks:<{_DRIFT_BAR}} {share:>4}  ({topic.status})"


def advice_lines(advice: PruneAdvice, width: int) -> list[str]:
    """Returns the suggestions, with the tokens that each saves. They change nothing."""
    topics = [item for item in advice.items if item.reason == "topic"]
    results = [item for item in advice.items if item.reason != "topic"]
    if not advice.items:
        return ["There is nothing to prune."]
    lines = ["Suggested actions:"]
    if topics:
        lines += _group(1, "Archive background topics", topics, width)
    if results:
        number = 2 if topics else 1
        lines += _group(number, "These tool results can be summarized", results, width)
    return [*lines, "", "Run: context archive --background" if topics else "Run: context archive"]


def _group(number: int, title: str, items: Sequence[Prunable], width: int) -> list[str]:
    saved = show(Count(sum(item.tokens for item in items), all(item.exact for item in items)))
    shown = [_line(item) for item in items[:_MOST_ITEMS]]
    left_out = len(items) - _MOST_ITEMS
    more = [f"and {left_out} more"] if left_out > 0 else []
    head = f"{number}. {title} (saves {saved} tokens):"
    return ["", head, *entries([*shown, *more], width, "   ")]


def _line(item: Prunable) -> str:
    tokens = show(Count(item.tokens, item.exact))
    return f"{_ADVICE[item.reason].format(cut(item.what, 80))} ({tokens})"
