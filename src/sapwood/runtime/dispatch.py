"""Dispatch: gate, receipt, decide, commit, in that order. The only way into a log.

The gate converts and masks each command first, for every face, so that nothing is stored that
cannot be read back and no secret is stored.

Agents are kept in memory between commands. That is safe with any number of processes on one
database: a decision on an outdated state cannot be committed, and one that changes nothing is
checked against the log before it is believed.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence

from msgspec import Struct, structs

from sapwood.core.commands import Command, Configure, Fork, Given, Kill, Send, Succeed
from sapwood.core.counting import ZERO, Count, Counter
from sapwood.core.decide import Accepted, Change, Scene, bad_id, decide
from sapwood.core.events import AgentStarted, Recorded
from sapwood.core.evolve import evolve
from sapwood.core.facts import facts_of
from sapwood.core.ids import AgentId, EventRef, Space
from sapwood.core.live import EMPTY, Live, inherited
from sapwood.core.log import Append, Commit, LogError, Receipt, VersionConflict
from sapwood.core.measure import settled
from sapwood.core.refusals import Refusal
from sapwood.core.state import State
from sapwood.runtime.batching import Batch, Ordered, decide_all
from sapwood.runtime.gate import Gate, Mask
from sapwood.runtime.log import Log
from sapwood.runtime.opening import (
    SNAPSHOT_EVERY,
    Opened,
    advanced,
    open_agent,
    open_state,
    refreshed,
    snapshot_of,
)

__all__ = ["Dispatcher", "Done"]

_TRIES = 50
_LOCKS_KEPT = 1024


class Done(Struct, frozen=True):
    """A command's answer: what to say, and the events that followed.

    `repeated` is true when the command had been given before: nothing happened now.
    """

    says: str
    events: tuple[EventRef, ...] = ()
    repeated: bool = False


class Dispatcher:
    """Carries out commands on the agents of one space."""

    def __init__(
        self,
        log: Log,
        space: Space,
        counter_for: Callable[[str], Counter],
        *,
        mask: Mask | None = None,
        kept_open: int = 256,
    ) -> None:
        self._log = log
        self._space = space
        self._counter_for = counter_for
        self._gate = Gate(mask)
        self._kept_open = kept_open
        self._committed: list[Callable[[tuple[Append, ...]], None]] = []
        self._opened: OrderedDict[AgentId, Opened] = OrderedDict()
        self._locks: dict[AgentId, asyncio.Lock] = {}
        self._saving: set[asyncio.Task[None]] = set()

    async def dispatch(self, command: Command, given: Given) -> Done | Refusal:
        """Carries the command out, or says why not. The same id again returns the first answer."""
        passed = self._admitted(command, given)
        if isinstance(passed, Refusal):
            return passed
        command, given = passed
        taken: set[AgentId] = set()
        async with self._alone(_touched(command)):
            for attempt in range(_TRIES):
                try:
                    answer = await self._try(command, given, taken)
                except VersionConflict as conflict:
                    self._opened.pop(conflict.agent, None)
                    if conflict.expected == 0:
                        taken.add(conflict.agent)
                else:
                    if answer is not None:
                        return answer
                await asyncio.sleep(0 if attempt < 3 else 0.002 * attempt)
        raise LogError(
            f"'{command.agent}' is written to so often that this command found no gap. "
            "Nothing was changed. Try again."
        )

    async def dispatch_all(
        self, agent: AgentId, commands: Sequence[Ordered]
    ) -> tuple[Receipt, ...] | None:
        """Carries out many commands on one agent in one commit: their receipts, or None.

        None, and nothing was done, when one of them is refused or was given before, or somebody
        else wrote to the agent: then give them one by one. A command that changes nothing has no
        receipt.
        """
        admitted: list[Ordered] = []
        for command, given in commands:
            passed = self._admitted(command, given)
            if isinstance(passed, Refusal):
                return None
            admitted.append(passed)
        async with self._alone({agent}):
            opened = await self._get(agent)
            batch = decide_all(opened.state, opened.live, admitted, self._counter_for)
            if batch is not None and not batch.receipts:
                return ()
            if batch is None or not await self._store_batch(opened.state.version, batch):
                self._opened.pop(agent, None)
                return None
            return batch.receipts

    async def _store_batch(self, expected: int, batch: Batch) -> bool:
        after = self._measured(Opened(batch.state, batch.live))
        facts = facts_of(after.state, after.size or ZERO)
        append = Append(after.state.agent, expected, batch.events, facts)
        first, *also = batch.receipts
        try:
            commit = Commit((append,), first, tuple(also))
            return await self._store(commit, {append.agent: after}) is None
        except VersionConflict:
            return False

    async def open(self, agent: AgentId) -> Opened:
        """The agent as it is now, whoever wrote to it last."""
        async with self._alone({agent}):
            return await self._fresh(agent)

    async def last_seen(self, agent: AgentId) -> Opened:
        """The agent as it was when this process last looked, without looking again.

        Enough to give commands by: one that was decided on an outdated state is decided again.
        """
        async with self._alone({agent}):
            return await self._get(agent)

    def masked(self, text: str) -> str:
        """The text without the secrets in it, as it would be stored."""
        return self._gate.mask(text)

    def on_commit(self, tell: Callable[[tuple[Append, ...]], None]) -> None:
        """Has `tell` called after each commit of this process."""
        self._committed.append(tell)

    async def close(self) -> None:
        """Waits for snapshots that are being saved."""
        await asyncio.gather(*self._saving, return_exceptions=True)

    def _admitted(self, command: Command, given: Given) -> Ordered | Refusal:
        """The command as it can be stored and looked up, or why it cannot."""
        fitted = self._gate.command(command)
        if isinstance(fitted, Refusal):
            return fitted
        why = self._gate.given(given)
        if isinstance(why, Refusal):
            return why
        return bad_id(fitted, why) or (fitted, why)

    async def _try(
        self, command: Command, given: Given, taken: set[AgentId]
    ) -> Done | Refusal | None:
        """The answer, or None when it was found on a state that others have changed since."""
        scene = await self._scene(command, taken)
        decision = decide(scene, command, given)
        if isinstance(decision, Refusal) or not decision.changes:
            receipt = await self._log.receipt(self._space, given.id)
            if receipt is not None:
                return _repeated(receipt)
            if await self._is_outdated(scene, command):
                return None
            return decision if isinstance(decision, Refusal) else Done(decision.says)
        return await self._commit(scene, decision, given)

    async def _scene(self, command: Command, taken: set[AgentId]) -> Scene:
        """What the decision may look at. `taken` are ids that were to be new and are not."""
        opened = await self._get(command.agent)
        others: dict[AgentId, State] = {}
        ancestors: frozenset[AgentId] = frozenset()
        match command:
            case Fork(child=new) | Succeed(successor=new) if new in taken or new in self._opened:
                others = {new: State(new)}
            case Send() if command.sender is not None:
                others = {command.sender: (await self._get(command.sender)).state}
            case Kill():
                below = await self._log.descendants(self._space, command.agent)
                others = {a: await open_state(self._log, self._space, a) for a in below}
                ancestors = frozenset(await self._log.ancestors(self._space, command.agent))
            case _:
                pass
        model = opened.state.settings.model
        if isinstance(command, Configure) and isinstance(command.change.model, str):
            model = command.change.model
        return Scene(opened.state, opened.live, self._counter_for(model), others, ancestors)

    async def _commit(self, scene: Scene, accepted: Accepted, given: Given) -> Done:
        after: dict[AgentId, Opened] = {}
        appends: list[Append] = []
        for change in accepted.changes:
            append, opened = await self._append(scene, change, given)
            appends.append(append)
            if opened is not None:
                after[change.agent] = opened
        refs = tuple(recorded.ref for append in appends for recorded in append.events)
        commit = Commit(tuple(appends), Receipt(given.id, accepted.says, refs))
        earlier = await self._store(commit, after)
        return Done(accepted.says, refs) if earlier is None else _repeated(earlier)

    async def _store(self, commit: Commit, after: dict[AgentId, Opened]) -> Receipt | None:
        """Commits, and remembers the agents as they are after it; or returns an earlier receipt."""
        earlier = await self._log.commit(self._space, commit)
        if earlier is not None:
            return earlier
        for append in commit.appends:
            self._opened.pop(append.agent, None)
        for opened in after.values():
            self._keep(opened)
        self._snapshot(commit.appends, after)
        for tell in self._committed:
            tell(commit.appends)
        return None

    async def _append(
        self, scene: Scene, change: Change, given: Given
    ) -> tuple[Append, Opened | None]:
        """The append for one change, and the agent after it where its live path is at hand."""
        state, live = self._before(scene, change)
        version = state.version
        events = tuple(
            Recorded(change.agent, version + i, event, given.at, given.actor, given.id)
            for i, event in enumerate(change.events, start=1)
        )
        if live is None:
            for recorded in events:
                state = evolve(state, recorded)
            facts = await self._log.facts(self._space, change.agent)
            size = Count(facts.tokens, facts.exact) if facts else ZERO
            return Append(change.agent, version, events, facts_of(state, size)), None
        if change.state is not None and change.live is not None:
            after = Opened(change.state, change.live)
        else:
            after = await advanced(self._log, self._space, Opened(state, live), events)
        after = self._measured(after)
        size = after.size or ZERO
        return Append(change.agent, version, events, facts_of(after.state, size)), after

    def _before(self, scene: Scene, change: Change) -> tuple[State, Live | None]:
        """The state that was decided on, and the live path where it is at hand."""
        agent = change.agent
        if agent == scene.state.agent:
            return scene.state, scene.live
        born = change.events[0]
        if isinstance(born, AgentStarted):  # a child's path is a part of its parent's
            parents = structs.replace(scene.live, open=None)
            return State(agent), inherited(parents, born.context) or EMPTY
        state, opened = scene.others[agent], self._opened.get(agent)
        is_current = opened is not None and opened.state.version == state.version
        return state, opened.live if opened and is_current else None

    def _measured(self, opened: Opened) -> Opened:
        """The agent with the size of its ended turns, which is not counted again at every event."""
        state, live = opened.state, opened.live
        known = self._opened.get(state.agent)
        if (
            known is not None
            and known.size is not None
            and known.live.turns is live.turns
            and known.live.context == live.context
            and known.state.settings.model == state.settings.model
            and known.state.calibration == state.calibration
        ):
            return Opened(state, live, known.size)
        counter = self._counter_for(state.settings.model)
        return Opened(state, live, settled(live, counter, state.ratio()))

    async def _get(self, agent: AgentId) -> Opened:
        opened = self._opened.get(agent)
        if opened is None:
            opened = await open_agent(self._log, self._space, agent)
            self._keep(opened)
        return opened

    async def _fresh(self, agent: AgentId) -> Opened:
        opened = await refreshed(self._log, self._space, await self._get(agent))
        self._keep(opened)
        return opened

    async def _is_outdated(self, scene: Scene, command: Command) -> bool:
        """Whether others wrote to what this command touches since it was read; reads it again."""
        seen = {scene.state.agent: scene.state.version}
        seen |= {agent: state.version for agent, state in scene.others.items()}
        fresh = [await self._fresh(agent) for agent in _touched(command)]
        return any(seen[opened.state.agent] != opened.state.version for opened in fresh)

    def _keep(self, opened: Opened) -> None:
        if opened.state.version == 0:
            return
        self._opened[opened.state.agent] = opened
        self._opened.move_to_end(opened.state.agent)
        while len(self._opened) > self._kept_open:
            self._opened.popitem(last=False)

    def _snapshot(self, appends: Sequence[Append], after: dict[AgentId, Opened]) -> None:
        """Saves snapshots behind the caller's back: losing one costs time, never truth."""
        for append in appends:
            opened = after.get(append.agent)
            if (
                opened
                and append.expected // SNAPSHOT_EVERY < opened.state.version // SNAPSHOT_EVERY
            ):
                saving = self._log.save_snapshot(self._space, snapshot_of(opened.state))
                task = asyncio.ensure_future(saving)
                self._saving.add(task)
                task.add_done_callback(self._saved)

    def _saved(self, task: asyncio.Task[None]) -> None:
        self._saving.discard(task)
        if not task.cancelled():
            task.exception()

    def _alone(self, agents: set[AgentId]) -> "_Held":
        """Lets one command at a time of this process touch an agent."""
        return _Held([self._lock(agent) for agent in sorted(agents)])

    def _lock(self, agent: AgentId) -> asyncio.Lock:
        lock = self._locks.get(agent)
        if lock is None:
            if len(self._locks) >= _LOCKS_KEPT:  # a second lock would cost a conflict, no more
                self._locks = {a: held for a, held in self._locks.items() if held.locked()}
            lock = self._locks[agent] = asyncio.Lock()
        return lock


class _Held:
    """Locks, taken in one order by everybody, so that nobody waits in a circle."""

    def __init__(self, locks: list[asyncio.Lock]) -> None:
        self._locks = locks
        self._taken = 0

    async def __aenter__(self) -> None:
        try:
            for lock in self._locks:
                await lock.acquire()
                self._taken += 1
        except BaseException:
            await self.__aexit__()
            raise

    async def __aexit__(self, *_: object) -> None:
        for lock in self._locks[: self._taken]:
            lock.release()


def _touched(command: Command) -> set[AgentId]:
    match command:
        case Send() if command.sender is not None:
            return {command.agent, command.sender}
        case _:
            return {command.agent}


def _repeated(receipt: Receipt) -> Done:
    return Done(receipt.says, receipt.events, repeated=True)
