"""What a command writes, computed from its id: which logs, how many events, which texts."""

import random
from typing import NamedTuple

from sapwood.core.content import Text
from sapwood.core.events import SYSTEM, Recorded, TurnStarted
from sapwood.core.ids import AgentId, CommandId
from sapwood.core.log_values import AgentSummary, Append, Commit, Receipt

AGENTS = tuple(AgentId(f"agent-{number}") for number in range(8))
_SHARED = tuple(random.Random(number).randbytes(4_000).hex() for number in range(10))


class Share(NamedTuple):
    """The events that a command writes into one log."""

    agent: AgentId
    texts: tuple[str, ...]


def shares_of(command: CommandId) -> list[Share]:
    """One to three logs, one to four events in each; some texts are long, some of them shared."""
    chance = random.Random(command)
    agents = chance.sample(AGENTS, chance.choice((1, 1, 1, 2, 2, 3)))
    return [
        Share(agent, tuple(_text(command, agent, chance) for _ in range(chance.randint(1, 4))))
        for agent in agents
    ]


def commit_of(command: CommandId, expected: dict[AgentId, int]) -> Commit:
    """The command as a commit to logs at these versions."""
    appends = tuple(_append(command, share, expected[share.agent]) for share in shares_of(command))
    refs = tuple(event.ref for append in appends for event in append.events)
    return Commit(appends, Receipt(command, f"Did {command}.", refs))


def text_of(recorded: Recorded) -> str:
    """The text of an event that a command wrote."""
    assert isinstance(recorded.event, TurnStarted)
    return recorded.event.prompt[0].text


def _text(command: CommandId, agent: AgentId, chance: random.Random) -> str:
    match chance.randrange(40):
        case 0:
            body = chance.choice(_SHARED)  # the same text again, to be stored once
        case 1:
            body = f"{command} {agent} {chance.randbytes(chance.randint(2_000, 20_000)).hex()}"
        case _:
            body = f"{command} {agent} {chance.random()}"
    return body


def _append(command: CommandId, share: Share, expected: int) -> Append:
    events = tuple(
        Recorded(share.agent, version, TurnStarted(None, (Text(text),)), version, SYSTEM, command)
        for version, text in enumerate(share.texts, start=expected + 1)
    )
    summary = AgentSummary(share.agent, expected + len(events), updated=expected)
    return Append(share.agent, expected, events, summary)
