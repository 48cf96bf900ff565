"""The session that an action works on, and how an agent of the log becomes one."""

import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from msgspec import Struct

from sapwood.analysis.chapter_report import DeclaredStatus
from sapwood.analysis.declared_notes import goals_of, stated_ledger
from sapwood.analysis.focus import BackgroundTopic, FocusedTopic, FocusStack, declared_status
from sapwood.analysis.judgement.judged_entries import judged_turns
from sapwood.analysis.ledger.entries import Ledger
from sapwood.analysis.session import Boundary, Session
from sapwood.conversation.call import OpenSpace
from sapwood.core.budget import budget_of, system_texts
from sapwood.core.context import Context
from sapwood.core.events import Recorded, TurnRecorded, TurnStarted
from sapwood.core.ids import AgentId
from sapwood.core.live_path import LivePath
from sapwood.core.state import DeclaredNote, Judgement, State
from sapwood.core.token_count import ZERO, Count
from sapwood.core.turn import Turn, fold_turn
from sapwood.core.view.build import front_texts
from sapwood.turns.open_agent import read_live


class SessionInput(Struct, frozen=True):
    """The session that an action works on.

    What is made from a session that is not `kept` is returned and not stored. For an agent of the
    log, `total` is the size of its context, `beside` the tokens that its model sees beside the
    conversation, by kind. `focus` are the topics that were declared, `notes` those in force,
    `judged` is what a judge said.
    """

    session: Session
    kept: bool = True
    total: Count | None = None
    beside: Mapping[str, Count] = {}
    focus: FocusStack = FocusStack()
    notes: tuple[DeclaredNote, ...] = ()
    judged: Judgement = Judgement()

    @property
    def goals(self) -> tuple[str, ...]:
        """The goals that were declared by notes."""
        return goals_of(self.notes)

    @property
    def declared(self) -> DeclaredStatus:
        """What was declared and judged about the chapters."""
        return declared_status(self.focus, self.goals, judged_turns(self.session, self.judged))

    def ledger(self, *, live: bool = False) -> Ledger:
        """The ledger of the session: declared entries above judged ones, above derived ones.

        With `live`, it has no file and no command of turns that a rewind left behind.
        """
        from sapwood.analysis.ledger.ledger_builder import ledger_of

        derived = ledger_of(self.session, live=live)
        return stated_ledger(derived, self.session, self.notes, self.judged)


async def agent_input(space: OpenSpace, agent: AgentId) -> SessionInput:
    """Reads an agent from the log, with the turns that it inherited when it was forked."""
    opened = await space.dispatcher.open(agent)
    state, live = opened.state, opened.live
    path = await read_live(space.log, space.space, state, context=Context(state.context.tip))
    session = _session(state, live, path, await space.log.read(space.space, agent))
    counter = space.counter_for(state.settings.model)
    budget = budget_of(state, live, counter)
    return SessionInput(
        session,
        total=budget.total,
        beside={
            "system": sum(map(counter.count, system_texts(state)), ZERO),
            "tools": Count(state.tool_schema_tokens, exact=False),
            "pins": sum((counter.count(pin.text) for pin in state.pins), ZERO),
        },
        focus=focus_of(state),
        notes=state.declared,
        judged=state.judged,
    )


def focus_of(state: State) -> FocusStack:
    """The topics that the log of an agent declares."""
    return FocusStack(
        tuple(
            FocusedTopic(each.topic, _moment(each.since), place)
            for place, each in enumerate(sorted(state.focus, key=lambda each: each.priority), 1)
        ),
        tuple(map(BackgroundTopic, state.background)),
    )


def _moment(microseconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(microseconds // 1_000_000))


def turns_of(events: Sequence[Recorded]) -> Iterator[Turn]:
    """Every turn in the events of one agent, in view or not, the oldest first."""
    starts = [
        index
        for index, recorded in enumerate(events)
        if isinstance(recorded.event, TurnStarted | TurnRecorded)
    ]
    for start, end in pairwise((*starts, len(events))):
        yield fold_turn(list(events[start:end]))


def _session(state: State, live: LivePath, path: LivePath, events: Sequence[Recorded]) -> Session:
    times = {recorded.version: recorded.at for recorded in events}
    inherited = [turn for turn in path.turns if turn.agent != state.agent]
    turns = (*inherited, *turns_of(events))
    on_path = {_turn_key(turn) for turn in (*path.turns, *live.all_turns)}
    origin = state.origin
    return Session(
        source=origin.source if origin else "sapwood",
        id=origin.session if origin else state.agent,
        folder=state.workspace.folder,
        path=origin.path if origin else "",
        title=state.name,
        model=state.settings.model,
        turns=turns,
        times=tuple(times.get(t.first, 0) if t.agent == state.agent else 0 for t in turns),
        boundaries=_boundaries(live, path, turns),
        window=state.settings.window or None,
        updated=state.updated,
        abandoned=tuple(i for i, turn in enumerate(turns) if _turn_key(turn) not in on_path),
    )


def _boundaries(live: LivePath, path: LivePath, turns: Sequence[Turn]) -> tuple[Boundary, ...]:
    """One boundary behind the last turn that is not in view; none if everything is in view."""
    in_view = {_turn_key(turn) for turn in live.all_turns}
    places = [index for index, turn in enumerate(turns) if _turn_key(turn) in in_view]
    cut = [_turn_key(turn) for turn in path.turns if _turn_key(turn) not in in_view]
    gone = [index for index, turn in enumerate(turns) if _turn_key(turn) in cut]
    after = gone[-1] + 1 if gone else 0
    kept = tuple(place for place in places if place < after)
    summary = "\n\n".join(part.text for part in front_texts(live))
    if not after and not summary:
        return ()
    is_change = not live.context.summary
    return (Boundary(after, summary=summary, kept=len(kept), is_change=is_change, listed=kept),)


def _turn_key(turn: Turn) -> tuple[AgentId, int]:
    return turn.agent, turn.first
