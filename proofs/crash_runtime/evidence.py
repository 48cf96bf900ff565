"""Reads the records of a run: the logs, the model's journal, the traces of the tools."""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from proofs.crash_runtime.rounds import Key, Round, key_of, tokens_in
from sapwood.core.content import Text, ToolCall
from sapwood.core.events import Recorded, ReplyAdded, ToolFinished, TurnStarted
from sapwood.core.ids import AgentId
from scripted_model import LoggedRequest

_SEARCH = re.compile(r"^(\d+) .*--regexp (\S+)", re.MULTILINE)


class Result(Struct, frozen=True):
    """The result of a call, when it was stored, and whether the call succeeded."""

    content: str
    at: int
    error: bool


class Answer(Struct):
    """A stored message of the model, and the results of its calls by their ids."""

    key: Key
    text: str
    at: int
    calls: tuple[ToolCall, ...]
    results: dict[str, Result]


class Turn(Struct):
    """A turn from the log. `end` is the kind of the event that ended it."""

    round: Round | None
    answers: list[Answer]
    end: str = ""


class Evidence(Struct, frozen=True):
    """Times are microseconds since 1970."""

    labels: dict[AgentId, str]
    logs: dict[AgentId, Sequence[Recorded]]
    given: Sequence[Round]
    requests: dict[Key, list[int]]
    """When the model was asked for each step."""
    ledger: Counter[str]
    """How often each token was appended."""
    searches: dict[str, list[int]]
    """When each token was searched for."""
    agents: int


def turns_of(log: Sequence[Recorded]) -> list[Turn]:
    """The turns of one agent, oldest first."""
    turns: list[Turn] = []
    for recorded in log:
        event = recorded.event
        if isinstance(event, TurnStarted):
            prompt = "\n".join(part.text for part in event.prompt if isinstance(part, Text))
            turns.append(Turn(Round.found_in(prompt), []))
        elif isinstance(event, ReplyAdded) and turns:
            turns[-1].answers.append(_answer(turns[-1], event, recorded.at))
        elif isinstance(event, ToolFinished) and turns:
            result = Result(event.content, recorded.at, event.error)
            turns[-1].answers[-1].results[event.call] = result
        elif recorded.kind in ("turn.completed", "turn.failed", "turn.interrupted") and turns:
            turns[-1].end = recorded.kind
    return turns


def _answer(turn: Turn, event: ReplyAdded, at: int) -> Answer:
    round_ = turn.round or Round("?", 0)
    text = "".join(part.text for part in event.parts if isinstance(part, Text))
    calls = tuple(part for part in event.parts if isinstance(part, ToolCall))
    return Answer(Key(round_.label, round_.number, len(turn.answers)), text, at, calls, {})


def requests_of(journal: Sequence[LoggedRequest]) -> dict[Key, list[int]]:
    """When the model was asked for each step, in order."""
    asked: dict[Key, list[int]] = defaultdict(list)
    for logged in journal:
        if found := key_of(logged.body):
            asked[found[1]].append(round(logged.at * 1_000_000))
    return asked


def appended_in(ledger: Path) -> Counter[str]:
    """How often each token is in the ledger."""
    return Counter(tokens_in([ledger.read_text()]))


def searches_in(trace: Path) -> dict[str, list[int]]:
    """When each token was searched for, from the trace that the search program leaves."""
    runs: dict[str, list[int]] = defaultdict(list)
    for at, pattern in _SEARCH.findall(trace.read_text() if trace.exists() else ""):
        for token in tokens_in([pattern]):
            runs[token].append(int(at) // 1_000)
    return runs
