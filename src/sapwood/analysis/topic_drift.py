"""Drift: the topics of a session compared with its original task, and what to archive.

These values are printed as JSON, so their field names are part of the output.
"""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from sapwood.core.token_count import Count, show

__all__ = [
    "Drift",
    "Recommendation",
    "TopicShare",
    "TopicStatus",
    "TurnTopic",
    "recommend",
]

TopicStatus = Literal["on-track", "tangent", "noise"]
_MIN_SHARE = 0.02
"""The share of a session that a topic needs to be recommended for archiving."""


class TurnTopic(Struct, frozen=True):
    """The topic of one turn; turns are counted from 1."""

    turn: int
    topic: str
    status: TopicStatus


class TopicShare(Struct, frozen=True):
    """One topic: the tokens of its turns and their share of the session, from 0 to 1.

    `declared` if the user put the topic in focus.
    """

    name: str
    tokens: int
    share: float
    status: TopicStatus
    declared: bool = False


class Drift(Struct, frozen=True):
    """The topics of a session, the largest first, compared with its original task.

    `archive` are the topics that the recommendation names, `frees` the tokens of their turns.
    """

    task: str
    turns: tuple[TurnTopic, ...]
    topics: tuple[TopicShare, ...]
    recommendation: str = ""
    archive: tuple[str, ...] = ()
    frees: int = 0


class Recommendation(Struct, frozen=True):
    """A message, the topics that it names, and the tokens of their turns."""

    message: str
    topics: tuple[str, ...] = ()
    tokens: int = 0


def recommend(
    turns: Sequence[TurnTopic], topics: Sequence[TopicShare], *, exact: bool
) -> Recommendation:
    """Recommends to archive topics that are neither on track, nor declared, nor current."""
    current = next((t.topic for t in reversed(turns) if t.status != "noise"), "")
    leaving = [
        topic
        for topic in topics
        if topic.status != "on-track" and topic.name != current and topic.share >= _MIN_SHARE
    ]
    if leaving:
        tokens = sum(topic.tokens for topic in leaving)
        named = " and ".join(f'"{topic.name}"' for topic in leaving)
        noun = "topic" if len(leaving) == 1 else "topics"
        freed = show(Count(tokens, exact))
        message = f"Archive {named} {noun} to free {freed} tokens while preserving main focus."
        return Recommendation(message, tuple(topic.name for topic in leaving), tokens)
    if any(topic.name == current and topic.status == "tangent" for topic in topics):
        return Recommendation(
            f'The session has moved on to "{current}". Go back to the task, or put it in focus: '
            f"context focus '{current}'"
        )
    return Recommendation("Nothing to archive: the session is on track.")
