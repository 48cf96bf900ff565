"""The stub of an archived conversation: the agent that stays in the log in its place.

It has the same id, name, owner and labels. Its one turn has the beginnings of the prompts, so that
search finds it, and an entry of its metadata the address of the object. The entry is Sapwood's own.
"""

from collections.abc import Iterable, Sequence

import msgspec
from msgspec import structs

from sapwood.core.commands import Archive, Command, RecordTurn, StartAgent
from sapwood.core.content import PromptPart, Text
from sapwood.core.decide import DecisionInput, decide
from sapwood.core.erasure import ARCHIVE, ARCHIVE_SOURCES
from sapwood.core.errors import RefusedError
from sapwood.core.events import (
    SYSTEM,
    AgentArchived,
    AgentKilled,
    AgentRenamed,
    AgentStarted,
    AgentTagged,
    AgentUnarchived,
    Recorded,
    SessionDiffered,
    SessionJudged,
    TurnRecorded,
    TurnStarted,
    WordsErased,
)
from sapwood.core.ids import AgentId
from sapwood.core.live_path import EMPTY
from sapwood.core.log_values import AgentSummary, Append, Commit, Receipt, summary_of
from sapwood.core.refusals import Refusal
from sapwood.core.settings import Settings, Workspace
from sapwood.core.state import State
from sapwood.core.tags import Tags, entries_of, is_reserved
from sapwood.core.token_count import Count, Counter
from sapwood.turns.clock_and_ids import command_meta

_MAX_WORDS = 2_000
"""Characters of prompts that a stub keeps for search."""

_ADDED_BY_NOBODY = (
    *(AgentStarted, TurnRecorded, AgentArchived, AgentUnarchived, AgentKilled, WordsErased),
    *(AgentTagged, AgentRenamed, SessionJudged, SessionDiffered),
)
"""The events of a stub that nobody would miss, and those that `carried_over` takes."""


def stub_commit(
    root: AgentSummary, address: str, words: str, sources: Iterable[AgentId], counter: Counter
) -> Commit:
    """The commit that starts the stub of a conversation. Raises `RefusedError` if it cannot be.

    `sources` are agents of other conversations of whom the archive has words.
    """
    entries, labels = {**root.metadata, ARCHIVE: address}, root.labels
    if names := sorted(sources):
        entries[ARCHIVE_SOURCES] = msgspec.json.encode(names).decode()
        labels += (ARCHIVE_SOURCES,)
    note = Text(words or f"This conversation is in an archive: {address}")
    steps: tuple[Command, ...] = (
        StartAgent(
            root.agent,
            root.name,
            Settings(root.model),
            Workspace(root.folder),
            tags=Tags(root.owner, labels, entries_of(entries)),
        ),
        RecordTurn(root.agent, (note,), ()),
        Archive(root.agent),
    )
    meta, state, live = command_meta(SYSTEM), State(root.agent), EMPTY
    events: list[Recorded] = []
    for step in steps:
        decision = decide(DecisionInput(state, live, counter), step, meta)
        if isinstance(decision, Refusal):
            raise RefusedError(decision)
        [change] = decision.changes
        assert change.state is not None
        assert change.live is not None
        state, live = change.state, change.live
        for event in change.events:
            place = len(events) + 1
            events.append(Recorded(root.agent, place, event, meta.at, meta.actor, meta.id))
    append = Append(root.agent, 0, tuple(events), summary_of(state, Count(0, exact=True)))
    return Commit((append,), Receipt(meta.id, "Moved to an archive."))


def sources_in(stub: AgentSummary) -> set[AgentId]:
    """The agents of other conversations of whom the archive of a stub has words."""
    entry = stub.metadata.get(ARCHIVE_SOURCES)
    return {*msgspec.json.decode(entry, type=list[AgentId])} if entry else set()


def words_of(events: Iterable[Recorded]) -> list[str]:
    """What people wrote in the prompts of these events.

    Mail is left out: here, without its frame, an erasure of its sender could not find it.
    """
    prompts = [
        each.event.prompt for each in events if isinstance(each.event, TurnStarted | TurnRecorded)
    ]
    return ["\n".join(_own(prompt)) for prompt in prompts]


def _own(prompt: Sequence[PromptPart]) -> list[str]:
    return [each.text for each in prompt if isinstance(each, Text)]


def shortened(words: list[str]) -> str:
    """The beginnings of the prompts, together no longer than a stub may be."""
    room = _MAX_WORDS // max(1, len(words))
    return "\n".join(text[: max(40, room)] for text in words)[:_MAX_WORDS]


def was_used(stub: Sequence[Recorded]) -> bool:
    """Whether somebody worked in a stub, as programs of earlier versions let them."""
    turns = sum(isinstance(each.event, TurnRecorded) for each in stub)
    return turns > 1 or not all(isinstance(each.event, _ADDED_BY_NOBODY) for each in stub)


def carried_over(
    stub: Sequence[Recorded], root: AgentSummary, events: Sequence[Recorded]
) -> tuple[AgentSummary, tuple[Recorded, ...]]:
    """The root with its name and tags of today, if the stub got others, and its events."""
    after = list(events)
    for each in stub:
        event = each.event
        if isinstance(event, AgentTagged):
            entries = [entry for entry in event.tags.metadata if not entry.is_reserved]
            labels = [label for label in event.tags.labels if not is_reserved(label)]
            event = AgentTagged(Tags(event.tags.owner, tuple(labels), tuple(entries)))
            root = structs.replace(root, tags=event.tags)
        elif isinstance(event, AgentRenamed):
            root = structs.replace(root, name=event.name)
        else:
            continue
        version = len(after) + 1
        after.append(structs.replace(each, version=version, event=event))
    return structs.replace(root, version=len(after)), tuple(after)
