"""Dispatch: gate, decide, commit, publish. Every write to a log goes through here.

The gate converts and masks each command first, for every face. So everything that is stored can be
read back, and no secret is stored.

Agents stay in memory between commands. This is safe with any number of processes on one database:
a decision on an outdated state cannot be committed, and a decision that changes nothing is compared
with the log before it is returned.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Iterable, Sequence
from contextlib import suppress
from time import monotonic

from msgspec import Struct, structs

from sapwood.core.account import Account
from sapwood.core.commands import (
    CallModel,
    Command,
    CommandMeta,
    Compact,
    CompleteTurn,
    Configure,
    FailTurn,
    Fork,
    InterruptTurn,
    Kill,
    RecordTurn,
    Restore,
    Send,
    StartAgent,
    StartSuccessor,
    StreamReply,
)
from sapwood.core.decide import Accepted, Change, DecisionInput, bad_id, decide, path_after_mark
from sapwood.core.decide.contexts import restarts_turn
from sapwood.core.decide.forks import fork_answer
from sapwood.core.erasure import without_mail
from sapwood.core.events import AgentStarted, Recorded
from sapwood.core.evolve import evolve
from sapwood.core.history_size import settled
from sapwood.core.ids import AgentId, CommandId, EventRef, Space
from sapwood.core.live_path import EMPTY, LivePath, inherited
from sapwood.core.log_values import Append, Commit, LogError, Receipt, VersionConflict, summary_of
from sapwood.core.model_calls import Answer
from sapwood.core.refusals import CommandIdUsed, Refusal
from sapwood.core.state import State
from sapwood.core.text_size import LARGE_TEXT, is_large, stored_size, texts_in
from sapwood.core.token_count import ZERO, Count, Counter
from sapwood.metrics import METRICS
from sapwood.programs.registry import runs_turns
from sapwood.turns.arriving_words import ArrivingWords, EndedWords
from sapwood.turns.command_batch import (
    AdmittedCommand,
    Batch,
    SentCommand,
    command_digest,
    decide_all,
    plain_digest,
    request_digest,
)
from sapwood.turns.gate import Gate, Mask
from sapwood.turns.log import Log
from sapwood.turns.open_agent import (
    SNAPSHOT_EVERY,
    FamilyAccounts,
    OpenAgent,
    advanced,
    open_agent,
    open_state,
    read_live,
    refreshed,
    snapshot_of,
)

_TRIES = 50
_LARGE_TURN = 200_000
"""Bytes of a turn from which its end is decided in a thread: its texts are counted then."""
_LOCKS_KEPT = 1024
_FORKS = AgentId("")
"""The lock of all forks by models. No agent has this id."""


class Done(Struct, frozen=True):
    """The answer to a command: a message for its sender, and the new events.

    `repeated` is true if a command with this id was carried out before: then nothing happened now,
    and this is the first answer.
    """

    message: str
    events: tuple[EventRef, ...] = ()
    repeated: bool = False


class Dispatcher:
    """Carries out commands on the agents of one space of a log."""

    def __init__(
        self,
        log: Log,
        space: Space,
        counter_for: Callable[[str], Counter],
        *,
        mask: Mask | None = None,
        check: Callable[[Command], Refusal | None] | None = None,
        kept_open: int = 256,
    ) -> None:
        """`check` may refuse a command of any sender, before it is decided."""
        self.log = log
        self.space = space
        self.counter_for = counter_for
        self._gate = Gate(mask)
        self._check = check
        self._accounts = FamilyAccounts(log, space)
        self._words = ArrivingWords(log, space)
        self._kept_open = kept_open
        self._listeners: list[Callable[[tuple[Append, ...]], None]] = []
        self._opened: OrderedDict[AgentId, OpenAgent] = OrderedDict()
        self._locks: dict[AgentId, asyncio.Lock] = {}
        self._saving: set[asyncio.Task[None]] = set()

    async def dispatch(self, command: Command, meta: CommandMeta) -> Done | Refusal:
        """Carries out the command. Returns its answer, or the refusal.

        A command with the same id as an earlier one changes nothing: it returns the first answer,
        or is refused if the earlier one was another command, or was for another agent. Raises
        `LogError` if the log cannot be read or written.
        """
        admitted = await self._admit(command, meta)
        if isinstance(admitted, Refusal):
            return admitted
        command, meta, _ = admitted
        taken: set[AgentId] = set()
        async with self._locked(_touched(command) | _counted(command, meta)):
            for attempt in range(_TRIES):
                try:
                    answer = await self._try(admitted, taken)
                except VersionConflict as conflict:
                    self._opened.pop(conflict.agent, None)
                    if conflict.expected == 0:
                        taken.add(conflict.agent)
                else:
                    if answer is not None:
                        return answer
                await asyncio.sleep(0 if attempt < 3 else 0.002 * attempt)
        raise LogError(
            f"'{command.agent}' kept changing: all {_TRIES} attempts ran into other commands. "
            "Nothing was changed. Try again."
        )

    async def dispatch_all(
        self, agent: AgentId, commands: Sequence[SentCommand]
    ) -> tuple[Receipt, ...] | None:
        """Carries out many commands on one agent in one commit. Returns their receipts.

        Returns None and changes nothing if a command is refused, if its id is known, or if another
        process wrote to the agent: then dispatch the commands one by one. A command that changes
        nothing has no receipt.
        """
        if is_large([command for command, _ in commands]):
            admitted = await asyncio.to_thread(self._admit_all, commands, self._admit_large)
        else:
            admitted = self._admit_all(commands, self._admit_small)
        if admitted is None:
            return None
        async with self._locked({agent}):
            opened = await self._get(agent)
            if restarts_turn(opened.state):
                return None  # its end needs the account of the root
            if erased := opened.state.erased:
                admitted = [_without_mail(each, erased) for each in admitted]
            ended = await self._words.ended_by([each for each, *_ in admitted], opened.state, {})
            live = ended.added_to(opened.live, opened.state)
            batch = decide_all(opened.state, live, admitted, self.counter_for)
            if batch is not None and not batch.receipts:
                return ()
            if batch is None or not await self._store_batch(opened.state.version, batch, ended):
                self._opened.pop(agent, None)
                return None
            return batch.receipts

    async def _store_batch(self, expected: int, batch: Batch, ended: EndedWords) -> bool:
        if not ended.are_kept_by(batch.state.agent, [each.event for each in batch.events]):
            return False
        after = self._measured(OpenAgent(batch.state, batch.live))
        summary = summary_of(after.state, after.size or ZERO)
        append = ended.marked(Append(after.state.agent, expected, batch.events, summary))
        first, *also = batch.receipts
        try:
            commit = Commit((append,), first, tuple(also))
            return await self._store(commit, {append.agent: after}) is None
        except VersionConflict:
            return False

    async def first_answer(self, command: CommandId, request: str) -> Done | Refusal | None:
        """The answer to a request that was carried out under this id before; None if there is none.

        A refusal if the id was used for another request. `request` is as in `CommandMeta`.
        """
        receipt = await self.log.receipt(self.space, command)
        if receipt is None:
            return None
        return await self._repeated(receipt, None, request_digest(await self.mask(request)))

    async def open(self, agent: AgentId) -> OpenAgent:
        """The agent as it is now, with what other processes have written."""
        async with self._locked({agent}):
            return await self._fresh(agent)

    async def state(self, agent: AgentId) -> State:
        """The state as it is now. The turns in view are not read if they are not in memory."""
        if agent in self._opened:
            return (await self.open(agent)).state
        return await open_state(self.log, self.space, agent)

    async def last_seen(self, agent: AgentId) -> OpenAgent:
        """The agent as this process saw it last, without reading the log again.

        This is enough for dispatching commands: a decision on an outdated state is made again.
        """
        async with self._locked({agent}):
            return await self._get(agent)

    async def account(self, agent: AgentId) -> Account:
        """What the agents of this agent's root have spent and started, and their budgets."""
        return await self._accounts.of((await self.open(agent)).state)

    def masked(self, text: str) -> str:
        """The text with its secrets masked, as it would be stored. For short texts."""
        return self._gate.mask(text)

    async def mask(self, text: str) -> str:
        """The same for a text of any length: a large one is masked in a thread."""
        if len(text) < LARGE_TEXT:
            return self._gate.mask(text)
        return await asyncio.to_thread(self._gate.mask, text)

    async def masked_answer(self, answer: Answer) -> Answer:
        """The answer with its secrets masked, as its reply would be stored: traces show no more."""
        gate = self._gate
        large = is_large(answer.parts)
        parts = (
            await asyncio.to_thread(gate.reply, answer.parts) if large else gate.reply(answer.parts)
        )
        return structs.replace(answer, parts=parts)

    def on_commit(self, listener: Callable[[tuple[Append, ...]], None]) -> Callable[[], None]:
        """Calls `listener` with the appends after each commit of this process.

        Returns a function that ends this.
        """
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def forget(self, agents: Iterable[AgentId]) -> None:
        """Keeps these agents in memory no longer, because their logs were erased or rewritten."""
        for agent in agents:
            self._opened.pop(agent, None)
            self._words.forget(agent)

    async def save_snapshot(self, agent: AgentId) -> None:
        """Saves a snapshot of the agent, as after many events. One that is lost only costs time."""
        state = (await self.last_seen(agent)).state
        with suppress(LogError):
            await self.log.save_snapshot(self.space, snapshot_of(state))

    async def close(self) -> None:
        """Waits until everything is saved that is saved in the background."""
        await asyncio.gather(*self._saving, return_exceptions=True)

    async def _admit(self, command: Command, meta: CommandMeta) -> AdmittedCommand | Refusal:
        """Returns the command and its meta data in the form that can be stored, or a refusal."""
        if is_large(command) or is_large(meta):
            return await asyncio.to_thread(self._admit_large, command, meta)
        return self._admit_small(command, meta)

    def _admit_all(
        self,
        commands: Sequence[SentCommand],
        admit: Callable[[Command, CommandMeta], AdmittedCommand | Refusal],
    ) -> list[AdmittedCommand] | None:
        """Does the same for many commands. Returns None if one of them is refused."""
        admitted: list[AdmittedCommand] = []
        for command, meta in commands:
            one = admit(command, meta)
            if isinstance(one, Refusal):
                return None
            admitted.append(one)
        return admitted

    def _admit_small(self, command: Command, meta: CommandMeta) -> AdmittedCommand | Refusal:
        converted = self._gate.command(command)
        if isinstance(converted, Refusal):
            return converted
        if self._check is not None and (refused := self._check(converted)) is not None:
            return refused
        converted_meta = self._gate.meta(meta)
        if isinstance(converted_meta, Refusal):
            return converted_meta
        refused = bad_id(converted, converted_meta)
        if refused is not None:
            return refused
        return converted, converted_meta, command_digest(converted, converted_meta)

    def _admit_large(self, command: Command, meta: CommandMeta) -> AdmittedCommand | Refusal:
        """Also counts the long texts of the command. The counter keeps the counts."""
        admitted = self._admit_small(command, meta)
        if isinstance(admitted, Refusal):
            return admitted
        converted, _, _ = admitted
        opened = self._opened.get(converted.agent)
        if opened is not None:
            counter = self.counter_for(opened.state.settings.model)
            for text in texts_in(converted):
                if isinstance(text, str) and len(text) >= LARGE_TEXT:
                    counter.count(text)
        return admitted

    async def _try(self, admitted: AdmittedCommand, taken: set[AgentId]) -> Done | Refusal | None:
        """Returns the answer, or None if others changed the state since it was read."""
        command, meta, digest = admitted
        inputs = await self._inputs(command, meta, taken)
        if inputs.state.erased:
            command, meta, digest = _without_mail(admitted, inputs.state.erased)
        ended = await self._words.ended_by((command,), inputs.state, inputs.others)
        if ended.found:
            inputs = structs.replace(inputs, live=ended.added_to(inputs.live, inputs.state))
        if type(command) in _COUNTS_TURN and _turn_size(inputs, command) >= _LARGE_TURN:
            decision = await asyncio.to_thread(decide, inputs, command, meta)
        else:
            decision = decide(inputs, command, meta)
        if isinstance(command, StreamReply) and not isinstance(decision, Refusal):
            if await self._words.save(inputs.state, command, meta):
                return Done(decision.message)
            self._opened.pop(command.agent, None)
            return None
        if isinstance(decision, Refusal) or not decision.changes:
            receipt = await self.log.receipt(self.space, meta.id)
            if receipt is not None:
                return await self._repeated(receipt, command, digest)
            if await self._is_outdated(inputs, command):
                return None
            return decision if isinstance(decision, Refusal) else Done(decision.message)
        return await self._commit(inputs, decision, (command, meta, digest), ended)

    async def _inputs(
        self, command: Command, meta: CommandMeta, taken: set[AgentId]
    ) -> DecisionInput:
        """Loads the input of the decision. `taken` are ids for new agents that exist already."""
        opened = await self._get(command.agent)
        others: dict[AgentId, State] = {}
        ancestors: frozenset[AgentId] = frozenset()
        match command:
            case Fork(child=new) | StartSuccessor(successor=new) if (
                new in taken or new in self._opened
            ):
                others = {new: State(new)}
            case Send() if command.sender is not None:
                others = {command.sender: (await self._get(command.sender)).state}
            case Kill():
                below = await self.log.descendants(self.space, command.agent)
                others = {a: await open_state(self.log, self.space, a) for a in below}
                ancestors = frozenset(await self.log.ancestors(self.space, command.agent))
            case _:
                pass
        account = None
        if _needs_account(command, meta) or restarts_turn(opened.state):
            account = await self._accounts.of(opened.state)
        model = opened.state.settings.model
        if isinstance(command, Configure) and isinstance(command.change.model, str):
            model = command.change.model
        return DecisionInput(
            opened.state,
            opened.live,
            self.counter_for(model),
            others,
            ancestors,
            account,
            await self._since_mark(opened, command),
            opened.state.origin is not None and runs_turns(opened.state.origin.source),
            await self._uncut(opened, command),
        )

    async def _uncut(self, opened: OpenAgent, command: Command) -> LivePath | None:
        """The live path with the turns that are cut, for a command that restores some of them."""
        context = opened.state.context
        if not isinstance(command, Restore) or context.cuts is None:
            return None
        return await read_live(
            self.log, self.space, opened.state, context=structs.replace(context, cuts=None)
        )

    async def _since_mark(self, opened: OpenAgent, command: Command) -> LivePath | None:
        """The turns after the mark of a fork, if the mark has left view."""
        if not isinstance(command, Fork):
            return None
        context = path_after_mark(opened.state, opened.live, command)
        if context is None:
            return None
        return await read_live(self.log, self.space, opened.state, context=context)

    async def _commit(
        self,
        inputs: DecisionInput,
        accepted: Accepted,
        admitted: AdmittedCommand,
        ended: EndedWords,
    ) -> Done | Refusal:
        command, meta, digest = admitted
        accepted = ended.kept(accepted, {inputs.state.agent: inputs.state, **inputs.others})
        after: dict[AgentId, OpenAgent] = {}
        appends: list[Append] = []
        for change in accepted.changes:
            append, opened = await self._append(inputs, change, meta)
            appends.append(ended.marked(append))
            if opened is not None:
                after[change.agent] = opened
        refs = tuple(recorded.ref for append in appends for recorded in append.events)
        # The answer to a fork is known from its events.
        message = "" if isinstance(command, Fork) else accepted.message
        commit = Commit(tuple(appends), Receipt(meta.id, message, refs, digest))
        earlier = await self._store(commit, after)
        if earlier is not None:
            return await self._repeated(earlier, command, digest)
        return Done(accepted.message, refs)

    async def _repeated(
        self, receipt: Receipt, command: Command | None, digest: str
    ) -> Done | CommandIdUsed:
        """The first answer, if it was to the same command; else a refusal that names the first."""
        if receipt.digest == digest or _may_repeat(receipt, command):
            message = receipt.message or await self._fork_answer(receipt)
            return Done(message, receipt.events, repeated=True)
        for ref in receipt.events:
            found = await self.log.read(self.space, ref.agent, ref.version, ref.version)
            if found:
                return CommandIdUsed(ref.agent, found[0].kind)
        return CommandIdUsed()

    async def _fork_answer(self, receipt: Receipt) -> str:
        """The answer to the fork that a receipt is of; empty if it is of another command."""
        if len({ref.agent for ref in receipt.events}) < 2:
            return ""
        events: list[Recorded] = []
        for ref in receipt.events:
            events += await self.log.read(self.space, ref.agent, ref.version, ref.version)
        return fork_answer(events)

    async def _store(self, commit: Commit, after: dict[AgentId, OpenAgent]) -> Receipt | None:
        """Commits and keeps the changed agents in memory. Returns an earlier receipt if any."""
        began = monotonic()
        try:
            earlier = await self.log.commit(self.space, commit)
        except asyncio.CancelledError:  # if the log has it by now, it stores it all the same
            self._save(self._publish_late(commit))
            raise
        METRICS.observe("sapwood_commit_seconds", monotonic() - began)
        if earlier is not None:
            return earlier
        self._committed(commit, after)
        return None

    async def _publish_late(self, commit: Commit) -> None:
        """Calls the listeners for a commit whose sender stopped waiting, if the log has stored it.

        It is not committed again: if the log did not have it yet, the sender has taken it back.
        """
        with suppress(LogError):
            stored = await self.log.late_receipt(self.space, commit.receipt.command)
            if stored in commit.receipts:
                self._committed(commit, {})

    def _committed(self, commit: Commit, after: dict[AgentId, OpenAgent]) -> None:
        """Keeps the changed agents in memory, and calls the listeners."""
        for append in commit.appends:
            self._opened.pop(append.agent, None)
            if append.ends_words:
                self._words.forget(append.agent)
        for opened in after.values():
            self._keep(opened)
        self._snapshot(commit.appends, after)
        for listener in self._listeners:
            listener(commit.appends)

    async def _append(
        self, inputs: DecisionInput, change: Change, meta: CommandMeta
    ) -> tuple[Append, OpenAgent | None]:
        """The append for one change, and the agent after it if its live path is loaded."""
        state, live = self._before(inputs, change)
        version = state.version
        events = tuple(
            Recorded(change.agent, version + i, event, meta.at, meta.actor, meta.id)
            for i, event in enumerate(change.events, start=1)
        )
        if live is None:
            for recorded in events:
                state = evolve(state, recorded)
            before = await self.log.summary(self.space, change.agent)
            size = Count(before.tokens, before.exact) if before else ZERO
            return Append(change.agent, version, events, summary_of(state, size)), None
        if change.state is not None and change.live is not None:
            after = OpenAgent(change.state, change.live)
        else:
            after = await advanced(self.log, self.space, OpenAgent(state, live), events)
        after = self._measured(after)
        size = after.size or ZERO
        return Append(change.agent, version, events, summary_of(after.state, size)), after

    def _before(self, inputs: DecisionInput, change: Change) -> tuple[State, LivePath | None]:
        """The state that the decision used, and the live path if it is loaded."""
        agent = change.agent
        if agent == inputs.state.agent:
            return inputs.state, inputs.live
        first = change.events[0]
        if isinstance(first, AgentStarted):  # the path of a child is a part of its parent's path
            parents = structs.replace(inputs.live, open=None)
            return State(agent), inherited(parents, first.context) or EMPTY
        state, opened = inputs.others[agent], self._opened.get(agent)
        is_current = opened is not None and opened.state.version == state.version
        return state, opened.live if opened and is_current else None

    def _measured(self, opened: OpenAgent) -> OpenAgent:
        """The agent with the size of its ended turns. Counts them only if they have changed."""
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
            return OpenAgent(state, live, known.size)
        counter = self.counter_for(state.settings.model)
        return OpenAgent(state, live, settled(live, counter, state.ratio()))

    async def _get(self, agent: AgentId) -> OpenAgent:
        opened = self._opened.get(agent)
        if opened is None:
            opened = await open_agent(self.log, self.space, agent)
            self._keep(opened)
        return opened

    async def _fresh(self, agent: AgentId) -> OpenAgent:
        opened = await refreshed(self.log, self.space, await self._get(agent))
        self._keep(opened)
        return opened

    async def _is_outdated(self, inputs: DecisionInput, command: Command) -> bool:
        """Reads the agents of this command again. Returns whether others have written to them."""
        seen = {inputs.state.agent: inputs.state, **inputs.others}
        fresh = [(await self._fresh(agent)).state for agent in _touched(command)]
        return any(
            (now.version, now.created) != (seen[now.agent].version, seen[now.agent].created)
            for now in fresh
        )

    def _keep(self, opened: OpenAgent) -> None:
        if opened.state.version == 0:
            self._opened.pop(opened.state.agent, None)  # it was erased
            return
        self._opened[opened.state.agent] = opened
        self._opened.move_to_end(opened.state.agent)
        while len(self._opened) > self._kept_open:
            self._opened.popitem(last=False)

    def _snapshot(self, appends: Sequence[Append], after: dict[AgentId, OpenAgent]) -> None:
        """Saves snapshots in the background. A lost snapshot only slows the next open."""
        for append in appends:
            opened = after.get(append.agent)
            if (
                opened
                and append.expected // SNAPSHOT_EVERY < opened.state.version // SNAPSHOT_EVERY
            ):
                self._save(self.log.save_snapshot(self.space, snapshot_of(opened.state)))

    def _save(self, saving: Coroutine[object, object, None]) -> None:
        """Saves something in the background; `close` waits for it."""
        task = asyncio.ensure_future(saving)
        self._saving.add(task)
        task.add_done_callback(self._saved)

    def _saved(self, task: asyncio.Task[None]) -> None:
        self._saving.discard(task)
        if not task.cancelled():
            task.exception()

    def _locked(self, agents: set[AgentId]) -> "_Locks":
        """Locks these agents, so that one command of this process at a time uses them."""
        return _Locks([self._lock(agent) for agent in sorted(agents)])

    def _lock(self, agent: AgentId) -> asyncio.Lock:
        lock = self._locks.get(agent)
        if lock is None:
            if len(self._locks) >= _LOCKS_KEPT:  # a second lock of an agent only costs a conflict
                self._locks = {a: other for a, other in self._locks.items() if other.locked()}
            lock = self._locks[agent] = asyncio.Lock()
        return lock


class _Locks:
    """Several locks. All callers acquire them in the same order, so there is no deadlock."""

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


_COUNTS_TURN: frozenset[type[Command]] = frozenset(
    {CompleteTurn, InterruptTurn, FailTurn, Compact, Kill, RecordTurn}
)
"""Commands whose decision counts the tokens of a whole turn."""


def _turn_size(inputs: DecisionInput, command: Command) -> int:
    return stored_size(inputs.live.open) + stored_size(command)


def _touched(command: Command) -> set[AgentId]:
    match command:
        case Send() if command.sender is not None:
            return {command.agent, command.sender}
        case _:
            return {command.agent}


def _counted(command: Command, meta: CommandMeta) -> set[AgentId]:
    """Models fork one after the other, so that none of them counts the same agents as another."""
    return {_FORKS} if _is_fork_by_model(command, meta) else set()


def _needs_account(command: Command, meta: CommandMeta) -> bool:
    """Whether a budget limits the command. A person forks as often as he likes."""
    return isinstance(command, CallModel) or _is_fork_by_model(command, meta)


def _is_fork_by_model(command: Command, meta: CommandMeta) -> bool:
    return isinstance(command, Fork) and meta.actor.role == "model"


def _without_mail(admitted: AdmittedCommand, erased: Iterable[AgentId]) -> AdmittedCommand:
    """The command without mail of erased agents. Its digest must not tell of that mail either."""
    command, meta, digest = admitted
    kept = without_mail(command, erased)
    if kept is command:
        return admitted
    return kept, meta, digest if meta.request else command_digest(kept, meta)


def _may_repeat(receipt: Receipt, command: Command | None) -> bool:
    """Whether a command may be the one of a receipt that an earlier version stored.

    Its digest may be that of the command itself, also where a request is given now. Without one,
    the command is for the same agent; the id of a new agent may have been made by the sender, so it
    says nothing.
    """
    if receipt.digest:
        return command is not None and receipt.digest == plain_digest(command)
    if command is None or isinstance(command, StartAgent):
        return True
    return any(ref.agent == command.agent for ref in receipt.events)
