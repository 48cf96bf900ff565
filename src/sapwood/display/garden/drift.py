"""Drift as bars: how much of the conversation went to which topic."""

from sapwood.display.text import cut, padded, width_of, wrapped
from sapwood.garden.drift import Drift, TopicShare

__all__ = ["drift_lines"]

_BAR = 20
_NAME = 32


def drift_lines(drift: Drift, width: int) -> list[str]:
    """The task, a bar for every topic, and what is recommended."""
    if not drift.topics:
        return ["Nothing was said yet."]
    names = min(_NAME, max(width_of(topic.name) for topic in drift.topics))
    lines = wrapped(f'Original task: "{cut(drift.task, 200)}"', width)
    lines += ["", "Topic drift analysis:"]
    lines += [_bar(topic, names) for topic in drift.topics]
    if drift.recommendation:
        lines += ["", *wrapped(f"Recommendation: {drift.recommendation}", width)]
    return lines


def _bar(topic: TopicShare, names: int) -> str:
    blocks = "█" * max(1, round(topic.share * _BAR))
    share = f"{topic.share:.0%}"
    return (
        f"  {padded(cut(topic.name, names), names)}  {blocks:<{_BAR}} {share:>4}  ({topic.status})"
    )
