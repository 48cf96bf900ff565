"""Where the time of a turn went: until a worker began, in the worker, and until its tenant knew.

The first two are read from the log, whose times and those of this process are of one machine.
"""

from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from proofs.service.load import Answer, Conversation, percentile
from sapwood.core.content import Text
from sapwood.core.events import ModelCalled, Recorded, ReplyAdded, TurnCompleted, TurnStarted

_SECOND = 1_000_000


class Stages(Struct, frozen=True):
    """The p95 of each stage in seconds. `turns` has when each turn was asked for and its stages.

    `again` are the prompts for which a model call was sent again, because a worker had lost it.
    `waits` says from when until when each prompt waited for a worker.
    """

    waited: float
    worked: float
    told: float
    again: frozenset[str] = frozenset()
    waits: dict[str, tuple[float, float]] = {}
    turns: list[tuple[float, float, float, float]] = []

    def __str__(self) -> str:
        return (
            f"{self.waited:.2f} s until a worker began, {self.worked:.2f} s in the worker, "
            f"{self.told:.2f} s until the tenant knew"
        )

    def waited_at(self, token: str, moments: Iterable[float]) -> bool:
        """Whether a prompt waited for a worker at one of these moments."""
        since, until = self.waits.get(token, (0.0, 0.0))
        return any(since <= moment <= until for moment in moments)

    def append_to(self, file: Path, name: str) -> None:
        """Adds a line for each turn to a file."""
        with file.open("a") as lines:
            lines.writelines(f"{name} {' '.join(map(str, turn))}\n" for turn in self.turns)


class _Times(Struct):
    """When a turn was asked for, began and ended, in microseconds; its model calls and replies."""

    asked: int
    began: int = 0
    ended: int = 0
    calls: int = 0
    replies: int = 0


async def stages_of(conversations: Iterable[Conversation], answers: list[Answer]) -> Stages:
    """The stages of these answers, which belong to some of the conversations."""
    times: dict[str, _Times] = {}
    asked = {answer.token for answer in answers}
    for conversation in conversations:
        if asked.isdisjoint(conversation.tokens):
            continue
        _read(await conversation.agent.events(), times)
    turns = [
        (
            each.asked / _SECOND,
            (each.began - each.asked) / _SECOND,
            (each.ended - each.began) / _SECOND,
            answer.at - each.ended / _SECOND,
        )
        for answer in answers
        if (each := times.get(answer.token)) is not None
    ]
    _, waited, worked, told = (
        percentile([turn[stage] for turn in turns], 0.95) for stage in range(4)
    )
    again = frozenset(token for token, each in times.items() if each.calls > each.replies)
    waits = {token: (each.asked / _SECOND, each.began / _SECOND) for token, each in times.items()}
    return Stages(waited, worked, told, again, waits, turns)


def _read(events: list[Recorded], times: dict[str, _Times]) -> None:
    """Adds the times of all turns of a conversation, by their prompts."""
    current = _Times(0)
    for recorded in events:
        match recorded.event:
            case TurnStarted(prompt=prompt):
                current = _Times(recorded.at)
                times["".join(part.text for part in prompt if isinstance(part, Text))] = current
            case ModelCalled():
                current.began = current.began or recorded.at
                current.calls += 1
            case ReplyAdded():
                current.replies += 1
            case TurnCompleted():
                current.ended = recorded.at
            case _:
                pass
