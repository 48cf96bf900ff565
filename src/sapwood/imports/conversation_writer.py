"""Writes one conversation into the log: transcript events become commands, many in one commit.

Turns of a program in which a person gave a context command of Sapwood to that same session.

The command changes the log at once, and the session when it is closed. The turn itself ends after
the command, so an import meets it later.
"""

import asyncio
from collections.abc import Collection
from pathlib import Path

from msgspec import structs

from sapwood.analysis.ledger.entries import render_ledger
from sapwood.core.commands import Compact, RecordTurn
from sapwood.core.content import RecordedResult, Text, ToolCall
from sapwood.core.events import (
    ContextRedone,
    ContextReverted,
    ContextRewound,
    ContextUndone,
    Recorded,
    TurnRecorded,
)
from sapwood.core.ids import AgentId, Space, TranscriptRange, TurnRef
from sapwood.core.refusals import Refusal
from sapwood.imports.import_commands import ImportCommands
from sapwood.programs.transcripts.conversation_builder import TranscriptReader
from sapwood.programs.transcripts.transcript_events import (
    TranscriptCompaction,
    TranscriptEvent,
    TranscriptRewind,
    TranscriptTurn,
)
from sapwood.turns.command_batch import SentCommand
from sapwood.turns.dispatch import Dispatcher
from sapwood.turns.log import Log
from sapwood.turns.program_sessions import history_of, needs_sync

_MAX_COMMANDS = 500
_MAX_CHARACTERS = 2_000_000
_MANY_TURNS = 32
"""Recorded turns are large events: after so many, a snapshot saves the next command seconds."""
_LOOP_YIELDS = 3
"""How often the event loop runs before reading continues: by then the commit has started."""


class ConversationWriter:
    """Takes the events of one reader and records them.

    `turns` and `compactions` count what was new. After a `problem`, nothing more is recorded.
    """

    def __init__(
        self, dispatcher: Dispatcher, log: Log, space: Space, reader: TranscriptReader, path: Path
    ) -> None:
        self.turns = 0
        self.compactions = 0
        self.problem = ""
        self._dispatcher = dispatcher
        self._log = log
        self._space = space
        self._reader = reader
        self._path = path
        self._commands: ImportCommands | None = None
        self._is_started = False
        self._turn_keys: list[str] = []
        self._checks_parent = False
        self._may_repeat_keys = False
        self._elsewhere: list[TranscriptCompaction] = []
        self._own: frozenset[str] = frozenset()
        self._batch: list[SentCommand] = []
        self._weight = 0
        self._committing: asyncio.Future[None] | None = None

    def skip_known(self, known: TranscriptRange | None) -> None:
        """Drops the events so far, which the log already has.

        `known` is the last imported passage, if reading started there and not at the beginning.
        """
        self._reader.finish()
        keys = [each.first.key for each in self._reader.events if isinstance(each, TranscriptTurn)]
        self._turn_keys += keys if known is None else [known.first]
        self._reader.events.clear()
        self._reader.forget_last_turn()
        self._checks_parent = True

    async def skip_recorded(self) -> None:
        """Drops the events up to the last turn that the log has.

        For a transcript without the last imported row: it has lost its end, or it is a new one.
        Carried out again, its earlier compactions would change the log as it is now.
        """
        commands = self._commands or await self._make_commands()
        events, count = self._reader.events, 0
        for place, each in reversed([*enumerate(events, start=1)]):
            if isinstance(each, TranscriptTurn) and await self._is_recorded(each, commands):
                count = place
                break
        turns = [each for each in events[:count] if isinstance(each, TranscriptTurn)]
        self._turn_keys += [each.first.key for each in turns]
        del events[:count]
        self._checks_parent = self._may_repeat_keys = True

    def pass_over(self, keys: Collection[str]) -> None:
        """Says which rows Sapwood itself appended: the log has what they say."""
        self._own = frozenset(keys)

    async def take(self) -> None:
        """Records the reader's new events."""
        events = list(self._reader.events)
        self._reader.events.clear()
        own = [place for place, each in enumerate(events) if _key_of(each) in self._own]
        for place, each in enumerate(events):
            is_replaced = bool(own) and place < own[-1] and isinstance(each, TranscriptCompaction)
            if not is_replaced:
                await self._record(each)

    async def finish(self, *, idle: bool) -> None:
        """Records the rest. A last turn that is still open is only recorded if it is `idle`."""
        await self.take()
        self._reader.finish(growing=not idle)
        last = self._reader.events[-1:]
        if last and isinstance(turn := last[0], TranscriptTurn):
            if turn.status == "open" and not idle:
                self._reader.events.pop()
            await self.take()
            self._reader.forget_last_turn()
        await self.take()
        await self._flush()
        if self.turns >= _MANY_TURNS and self._commands is not None:
            await self._dispatcher.save_snapshot(self._commands.agent)

    async def _record(self, each: TranscriptEvent) -> None:
        if self.problem or _key_of(each) in self._own:
            if isinstance(each, TranscriptTurn):
                self._turn_keys.append(each.first.key)
            return
        commands = self._commands or await self._make_commands()
        match each:
            case TranscriptTurn():
                if not self._is_started:
                    self._is_started = True
                    self._batch.append(commands.start(self._reader.details, each))
                earlier = 0
                if self._checks_parent or self._may_repeat_keys:
                    if await self._is_recorded(each, commands):
                        self._turn_keys.append(each.first.key)  # another process was faster
                        return
                    _, earlier = await self._turns_of(each.first.key, commands)
                if self._checks_parent:
                    self._checks_parent = False
                    if await self._record_aside(each, commands):
                        return
                    await self._follow(each, commands)
                self._turn_keys.append(each.first.key)
                await self._add(commands.turn(each, earlier=earlier), _weight(each))
            case TranscriptCompaction() if self._is_started:
                if await self._has_left(each, commands):
                    self._elsewhere.append(each)
                else:
                    await self._compact(each, commands)
            case TranscriptRewind() if self._is_started:
                await self._rewind(each, commands)
            case _:
                pass

    async def _make_commands(self) -> ImportCommands:
        session = self._reader.details.id or self._path.stem
        commands = self._commands = ImportCommands(self._reader.source, session, str(self._path))
        summary = await self._log.summary(self._space, commands.agent)
        self._is_started = summary is not None
        if summary and (summary.source, summary.session) != (self._reader.source, session):
            self.problem = (
                f"Another agent already has the id {commands.agent}. It was left unchanged."
            )
        return commands

    async def _ledger(self, commands: ImportCommands) -> str:
        """The ledger of the turns in view, used when the program's own summary is encrypted."""
        from sapwood.analysis.ledger.ledger_builder import ledger_of

        await self._flush()
        opened = await self._dispatcher.open(commands.agent)
        return render_ledger(ledger_of(opened.live.turns, opened.state.workspace.folder))

    async def _rewind(self, rewound: TranscriptRewind, commands: ImportCommands) -> None:
        await self._flush()
        turn = await self._turn(rewound.to, commands)
        if turn is not None or rewound.to < 0:
            await self._dispatch(commands.return_to(rewound.ref, turn))

    async def _record_aside(self, turn: TranscriptTurn, commands: ImportCommands) -> bool:
        """Records the turn in which a command was given that moved the context away from it.

        The program's session follows the command when it is closed, so the turn of the command
        itself never comes into view. Returns whether it was such a turn.
        """
        if turn.parent is None or turn.parent >= len(self._turn_keys):
            return False
        await self._flush()
        state = (await self._dispatcher.open(commands.agent)).state
        parent = await self._turn(turn.parent, commands)
        if parent is None or parent == state.context.tip or not needs_sync(state):
            return False
        if not await has_own_command(self._log, self._space, commands.agent, turn):
            return False
        self._turn_keys.append(turn.first.key)
        self._checks_parent = True
        await self._dispatch(commands.turn(turn, aside=True, after=parent))
        return True

    async def _has_left(self, compacted: TranscriptCompaction, commands: ImportCommands) -> bool:
        """Whether the program compacted turns that a command has left.

        The command still waits until the session is closed. The session gets what it asked for
        then, unless the program continues first.
        """
        if compacted.boundary.is_change or not self._checks_parent:
            return False
        await self._flush()
        state = (await self._dispatcher.open(commands.agent)).state
        last = await self._turn(len(self._turn_keys) - 1, commands)
        waits = state.session is not None and needs_sync(state)
        return waits and last is not None and state.context.tip != last

    async def _compact(self, compacted: TranscriptCompaction, commands: ImportCommands) -> None:
        if _names_turns(compacted):
            await self._keep_turns(compacted, commands)
            return
        ledger = "" if compacted.boundary.summary else await self._ledger(commands)
        await self._flush()  # a compaction cannot be decided in a batch
        if not self.problem:
            await self._dispatch(commands.compaction(compacted, ledger))

    async def _follow(self, turn: TranscriptTurn, commands: ImportCommands) -> None:
        """Brings the log to where the program is at the first new turn."""
        elsewhere, self._elsewhere = self._elsewhere, []
        if elsewhere and turn.parent is None:
            turn = structs.replace(turn, parent=len(self._turn_keys) - 1)  # it follows a summary
        if await self._follow_parent(turn, commands):
            for compacted in elsewhere:
                await self._compact(compacted, commands)

    async def _follow_parent(self, turn: TranscriptTurn, commands: ImportCommands) -> bool:
        """Goes to the turn that the first new turn follows in the program.

        A command of Sapwood that never reached the program may have moved the log elsewhere.
        Returns whether it had.
        """
        if turn.parent is None or turn.parent >= len(self._turn_keys):
            return False
        await self._flush()
        opened = await self._dispatcher.open(commands.agent)
        parent = await self._turn(turn.parent, commands)
        if opened.state.context.tip == parent or (parent is None and turn.parent >= 0):
            return False
        after = await parent_of_aside(self._log, self._space, parent)
        await self._dispatch(commands.return_to(turn.first, parent, after=after))
        return True

    async def _keep_turns(self, compacted: TranscriptCompaction, commands: ImportCommands) -> None:
        """Brings exactly the turns that a boundary names into view, unless they are the view."""
        await self._flush()
        boundary = compacted.boundary
        opened = await self._dispatcher.open(commands.agent)
        live, kept = opened.live, len(boundary.turns)
        tip = live.context.tip
        if boundary.turns:
            tip = await self._turn(boundary.turns[-1], commands)
            if tip is None:
                return
        if await self._log.receipt(self._space, commands.compaction_id(compacted)):
            return
        front = "\n\n".join(history_of(opened.state, live).front)
        is_there = live.context.tip == tip and len(live.turns) == kept
        is_plain = not opened.state.pins and not live.loaded
        if is_there and _same_text(front, boundary.summary, in_frame=is_plain):
            await self._dispatch(commands.synced(opened.state, compacted.ref))
            return
        if live.context.tip != tip or len(live.turns) < kept:
            await self._dispatch(commands.return_to(compacted.ref, tip, whole=True))
        await self._dispatch(commands.keep(compacted))

    async def _turn(self, number: int, commands: ImportCommands) -> TurnRef | None:
        """The recorded turn with this number in the transcript; None if there is none."""
        if not 0 <= number < len(self._turn_keys):
            return None
        turn, _ = await self._turns_of(self._turn_keys[number], commands)
        return turn

    async def _turns_of(self, key: str, commands: ImportCommands) -> tuple[TurnRef | None, int]:
        """The newest recorded turn whose first row has this key, and how many have it.

        If keys are places, other rows may follow at the place of rows that a file has lost.
        """
        turn, count = None, 0
        while receipt := await self._log.receipt(self._space, commands.turn_id(key, count)):
            if not receipt.events:
                break
            event = receipt.events[0]
            turn, count = TurnRef(event.agent, event.version, event.version), count + 1
        return turn, count

    async def _is_recorded(self, turn: TranscriptTurn, commands: ImportCommands) -> bool:
        """Whether the log has this turn, and not one that ended before this one began."""
        found, _ = await self._turns_of(turn.first.key, commands)
        if found is None:
            return False
        [recorded] = await self._log.read(self._space, found.agent, found.first, found.first)
        return recorded.at >= turn.first.at

    async def _add(self, ordered: SentCommand, weight: int) -> None:
        self._batch.append(ordered)
        self._weight += weight
        if len(self._batch) >= _MAX_COMMANDS or self._weight >= _MAX_CHARACTERS:
            await self._start_commit()

    async def _start_commit(self) -> None:
        """Starts to commit the batch; reading continues meanwhile."""
        await self._await_commit()
        batch, self._batch, self._weight = self._batch, [], 0
        if batch:
            self._committing = asyncio.ensure_future(self._commit(batch))
            for _ in range(_LOOP_YIELDS):
                await asyncio.sleep(0)

    async def _await_commit(self) -> None:
        if self._committing is not None:
            committing, self._committing = self._committing, None
            await committing

    async def _flush(self) -> None:
        """Waits until everything so far is committed."""
        await self._start_commit()
        await self._await_commit()

    async def _commit(self, batch: list[SentCommand]) -> None:
        receipts = await self._dispatcher.dispatch_all(batch[0][0].agent, batch)
        if receipts is not None:
            new = {receipt.command for receipt in receipts}
            for ordered in batch:
                if ordered[1].id in new:
                    self._count(ordered)
            return
        for ordered in batch:
            if not self.problem:
                await self._dispatch(ordered)

    async def _dispatch(self, ordered: SentCommand) -> None:
        done = await self._dispatcher.dispatch(*ordered)
        if isinstance(done, Refusal):
            self.problem = done.sentence
        elif not done.repeated:
            self._count(ordered)

    def _count(self, ordered: SentCommand) -> None:
        self.turns += isinstance(ordered[0], RecordTurn)
        self.compactions += isinstance(ordered[0], Compact)


def _key_of(each: TranscriptEvent) -> str:
    """The key of the row that an event comes from."""
    return each.first.key if isinstance(each, TranscriptTurn) else each.ref.key


def _names_turns(compacted: TranscriptCompaction) -> bool:
    """Whether a compaction says exactly which turns stayed, or that none did."""
    return bool(compacted.boundary.turns) or compacted.boundary.cleared


def _same_text(ours: str, theirs: str, *, in_frame: bool) -> bool:
    """Whether two texts are equal but for spaces and line breaks.

    If `in_frame`, ours may have more: a program's own compaction has no frame in its session.
    """
    if ours.split() == theirs.split():
        return True
    shown = " ".join(ours.split())
    paragraphs = [" ".join(each.split()) for each in theirs.split("\n\n")]
    return in_frame and bool(theirs.strip()) and all(each in shown for each in paragraphs)


def _weight(turn: TranscriptTurn) -> int:
    """The number of characters in a turn, roughly."""
    weight = sum(len(part.text) for part in turn.prompt)
    for item in turn.items:
        if isinstance(item, RecordedResult):
            weight += len(item.content)
        else:
            texts = [p.args if isinstance(p, ToolCall) else p.text for p in item.parts]
            weight += sum(map(len, texts))
    return weight


_RECENT = 32
_PLUGIN = "/sapwood:"
"""The beginning of every command of the plugin."""


async def has_own_command(log: Log, space: Space, agent: AgentId, turn: TranscriptTurn) -> bool:
    """Whether the newest move of the agent's context was asked for in this turn.

    The program writes the rows of a plugin's command when the command has run already. A tool call
    of the turn runs between its first row and its last.
    """
    move = await _newest_move(log, space, agent)
    if move is None or move.at > turn.last.at:
        return False
    asked = [part.text for part in turn.prompt if isinstance(part, Text)]
    return turn.first.at <= move.at or any(text.startswith(_PLUGIN) for text in asked)


async def parent_of_aside(log: Log, space: Space, turn: TurnRef | None) -> TurnRef | None:
    """The parent of a turn that was recorded aside; None for any other turn."""
    if turn is None:
        return None
    [recorded] = await log.read(space, turn.agent, turn.first, turn.first)
    event = recorded.event
    return event.parent if isinstance(event, TurnRecorded) and event.aside else None


async def _newest_move(log: Log, space: Space, agent: AgentId) -> Recorded | None:
    """The newest event that moved the end of the context."""
    moves = ContextRewound | ContextUndone | ContextRedone | ContextReverted
    for recorded in await log.read(space, agent, 1, None, limit=_RECENT, backward=True):
        if isinstance(recorded.event, moves):
            return recorded
    return None
