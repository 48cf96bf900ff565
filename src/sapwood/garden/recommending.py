"""What to do about drift: which topics could be archived, and how many tokens that frees."""

from collections.abc import Sequence

from msgspec import Struct

from sapwood.core.counting import Count, show
from sapwood.garden.drift import TopicShare, TurnPlace

__all__ = ["Recommendation", "recommend"]

_WORTH = 0.02
"""The share of a session from which a topic is worth a word."""


class Recommendation(Struct, frozen=True):
    """A sentence, the topics that it is about, and the tokens of their turns."""

    says: str
    topics: tuple[str, ...] = ()
    tokens: int = 0


def recommend(
    turns: Sequence[TurnPlace], topics: Sequence[TopicShare], *, exact: bool
) -> Recommendation:
    """Topics that are neither on track, nor declared, nor what is being spoken of right now."""
    now = next((t.topic for t in reversed(turns) if t.status != "noise"), "")
    leaving = [
        topic
        for topic in topics
        if topic.status != "on-track" and topic.name != now and topic.share >= _WORTH
    ]
    if leaving:
        tokens = sum(topic.tokens for topic in leaving)
        named = " and ".join(f'"{topic.name}"' for topic in leaving)
        noun = "topic" if len(leaving) == 1 else "topics"
        freed = show(Count(tokens, exact))
        says = f"Archive {named} {noun} to free {freed} tokens while preserving main focus."
        return Recommendation(says, tuple(topic.name for topic in leaving), tokens)
    if any(topic.name == now and topic.status == "tangent" for topic in topics):
        return Recommendation(
            f'The session has moved on to "{now}". Go back to the task, or put it in focus: '
            f"context focus '{now}'"
        )
    return Recommendation("Nothing to archive: the session is on track.")
