"""The tenants of the service: prompts at a steady rate, and one tenant that floods."""

import asyncio
import itertools
import random
import time
from collections import deque
from collections.abc import Callable

from msgspec import Struct, field

from proofs.service.app import MODEL
from proofs.service.model import expected
from sapwood import Agent, LogError, RefusedError, Sapwood, TurnError

_AGAIN = 0.5


class Answer(Struct, frozen=True):
    """A prompt that was answered, how many seconds its tenant waited, and when that was over."""

    token: str
    seconds: float
    at: float

    def meets(self, since: float, until: float) -> bool:
        """Whether its tenant waited at any moment between these two."""
        return self.at - self.seconds < until and self.at > since


class Conversation(Struct, eq=False):
    """A conversation of a tenant, and the prompts that it was given and acknowledged."""

    space: str
    agent: Agent
    tokens: list[str] = field(default_factory=list[str])
    wrong: list[str] = field(default_factory=list[str])


_FLOOD = 60
"""Conversations of the tenant that floods, at most: its limit lets two of them run at once, so what
they ask takes minutes to be answered."""


class Tenants:
    """Quiet tenants, and the one that floods, which is the first."""

    def __init__(self, db: Sapwood, chance: random.Random) -> None:
        self._db = db
        self._chance = chance
        self.quiet: list[Conversation] = []
        self.flood: list[Conversation] = []
        self.turns = 0
        self.waiting: set[str] = set()
        """What was asked and is not answered yet."""

    @property
    def all(self) -> list[Conversation]:
        """All conversations."""
        return [*self.quiet, *self.flood]

    async def start(self, tenants: int, conversations: int) -> None:
        """Starts the conversations; some of them belong to the tenant that floods."""
        for number in range(conversations):
            floods = number % 10 == 0 and len(self.flood) < _FLOOD
            tenant = 0 if floods else 1 + number % max(1, tenants - 1)
            db = self._db.space(f"tenant-{tenant:02}")
            agent = await db.start(f"chat {number}", model=MODEL, owner=f"user-{number % 7}")
            place = self.flood if floods else self.quiet
            place.append(Conversation(db.connection.space, agent))

    async def steady(
        self, turns: int, rate: float, enough: Callable[[], bool] = lambda: True
    ) -> list[Answer]:
        """Asks so many times, `rate` times in a second, and on until it is enough.

        Returns how long each answer took.
        """
        idle = deque(self._chance.sample(self.quiet, len(self.quiet)))
        free = asyncio.Semaphore(len(idle))
        took: list[Answer] = []

        async def ask(conversation: Conversation) -> None:
            began = time.monotonic()
            token = await self._ask(conversation)
            took.append(Answer(token, time.monotonic() - began, time.time()))
            idle.append(conversation)
            free.release()

        began = time.monotonic()
        async with asyncio.TaskGroup() as tasks:
            for number in itertools.count():
                if number >= turns and enough():
                    break
                await asyncio.sleep(max(0.0, began + number / rate - time.monotonic()))
                await free.acquire()
                tasks.create_task(ask(idle.popleft()))
        return took

    async def flooding(self, enough: Callable[[], bool]) -> int:
        """Asks in all conversations of one tenant at once, again and again. Returns how often."""

        async def ask_on(conversation: Conversation) -> int:
            asked = 0
            while not enough():
                await self._ask(conversation)
                asked += 1
            return asked

        return sum(await asyncio.gather(*map(ask_on, self.flood)))

    async def _ask(self, conversation: Conversation) -> str:
        """Asks once. While the database is away, asks again under the same id."""
        token = f"{conversation.space}/{len(conversation.tokens)}/{self._chance.getrandbits(48):x}"
        self.waiting.add(token)
        conversation.tokens.append(token)
        while True:
            try:
                said = (await conversation.agent.ask(token, command_id=token)).text
            except LogError:
                await asyncio.sleep(_AGAIN)
            except (TurnError, RefusedError) as error:
                said = f"[failed: {error}]"
                break
            else:
                break
        if said != expected(token, conversation.space):
            conversation.wrong.append(f"{token}: {said}")
        self.waiting.discard(token)
        self.turns += 1
        return token


def percentile(values: list[float], share: float) -> float:
    """The value below which this share of the values lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else 0.0
