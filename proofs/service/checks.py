"""What must hold after the run: nothing lost, nothing doubled, nothing seen by another tenant."""

import asyncio
import random
from contextlib import suppress

from msgspec import Struct

from proofs.service.load import Conversation
from proofs.service.model import expected
from sapwood import AgentNotFound, RefusedError, Sapwood, SapwoodError
from sapwood.core.content import Text
from sapwood.core.events import ModelCalled, Recorded, ReplyAdded, TurnCompleted, TurnStarted
from sapwood.core.ids import AgentId

SILENCE = 60.0
"""Seconds after which the events of a space that did not come are lost."""


class Findings(Struct):
    """Counts of what was found, and a sentence for each fault."""

    lost: int = 0
    doubled: int = 0
    repeated_calls: int = 0
    attempts: int = 0
    seen: int = 0
    sentences: list[str] = []

    @property
    def faults(self) -> int:
        """How many findings must not be."""
        return self.lost + self.doubled + self.seen + len(self.sentences)


async def check_log(conversations: list[Conversation], findings: Findings) -> None:
    """Reads every log from its beginning and compares it with what was asked."""
    for conversation in conversations:
        events = await conversation.agent.events()
        versions = [event.version for event in events]
        if versions != list(range(1, len(versions) + 1)):
            findings.sentences.append(f"{conversation.agent.id} has gaps: {versions}")
        _check_turns(conversation, events, findings)
        findings.sentences += conversation.wrong


def _check_turns(conversation: Conversation, events: list[Recorded], findings: Findings) -> None:
    asked: list[str] = []
    said: list[str] = []
    ended = calls = replies = 0
    for recorded in events:
        match recorded.event:
            case TurnStarted(prompt=prompt):
                asked.append("".join(part.text for part in prompt if isinstance(part, Text)))
            case ModelCalled():
                calls += 1
            case ReplyAdded(parts=parts):
                replies += 1
                text = "".join(part.text for part in parts if isinstance(part, Text))
                said += [text] if text else []
            case TurnCompleted():
                ended += 1
            case _:
                pass
    tokens = conversation.tokens
    wanted = [expected(token, conversation.space) for token in tokens]
    findings.lost += len(set(tokens) - set(asked)) + len(set(wanted) - set(said))
    findings.doubled += len(asked) - len(set(asked)) + len(said) - len(set(said))
    findings.repeated_calls += calls - replies
    if asked != tokens or said != wanted or ended != len(tokens):
        findings.sentences.append(
            f"{conversation.agent.id}: {len(tokens)} prompts were given, the log has {len(asked)}, "
            f"{len(said)} answers and {ended} ends"
        )


async def try_other_tenants(
    db: Sapwood, conversations: list[Conversation], chance: random.Random, findings: Findings
) -> None:
    """Tries to see a conversation of one tenant as another one, in every way there is."""
    given = [each for each in conversations if each.tokens]
    for mine in chance.sample(given, min(50, len(given))):
        others = [each for each in given if each.space != mine.space]
        theirs = chance.choice(others)
        stranger = db.space(mine.space)
        own = {each.agent.id for each in conversations if each.space == mine.space}
        findings.seen += await _seen(stranger, own, theirs)
        findings.attempts += 6
    for space in sorted({each.space for each in given}):
        here = [each.agent for each in conversations if each.space == space]
        count = sum([len(await agent.events()) for agent in here])
        ids = {agent.id for agent in here}
        read, strangers = await _read_tail(db.space(space), count, ids)
        findings.seen += strangers
        findings.lost += count - read
        findings.attempts += 1


async def _seen(stranger: Sapwood, own: set[AgentId], theirs: Conversation) -> int:
    """How often the stranger sees the conversation; a search may find similar words of its own."""
    seen = 0
    with suppress(AgentNotFound):
        await stranger.get(theirs.agent.id)
        seen += 1
    with suppress(RefusedError):
        await stranger.find(theirs.agent.id)
        seen += 1
    token = theirs.tokens[-1].rsplit("/", 1)[-1]
    seen += sum(hit.ref.agent not in own for hit in await stranger.search(token))
    seen += any(each.agent == theirs.agent.id for each in await stranger.agents(limit=1000))
    log, space = stranger.connection.log, stranger.connection.space
    seen += len(await log.read(space, theirs.agent.id))
    with suppress(SapwoodError):
        seen += await log.summary(space, theirs.agent.id) is not None
    return seen


async def _read_tail(db: Sapwood, count: int, ids: set[AgentId]) -> tuple[int, int]:
    """Reads so many events of a space. Returns how many came, and how many are of others."""
    strangers = read = 0
    with suppress(TimeoutError):
        async with asyncio.timeout(SILENCE):
            tail = aiter(db.tail())
            while read < count:
                tailed = await anext(tail)
                read += 1
                strangers += tailed.recorded.agent not in ids
    return read, strangers
