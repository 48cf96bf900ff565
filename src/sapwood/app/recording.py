"""One conversation on its way into the log: what happened becomes commands, and these commits."""

import asyncio
from pathlib import Path

from sapwood.core.commands import Compact, RecordTurn
from sapwood.core.content import Got, ToolCall
from sapwood.core.ids import Space, TurnRef
from sapwood.core.ledger import ledger_of, render_ledger
from sapwood.core.origin import Passage
from sapwood.core.refusals import Refusal
from sapwood.runtime.batching import Ordered
from sapwood.runtime.dispatch import Dispatcher
from sapwood.runtime.log import Log
from sapwood.sources.happenings import Compacted, Happening, Rewound, Told
from sapwood.sources.reading import Reader
from sapwood.sources.recording import Recorder

__all__ = ["Lane"]

_MOST_COMMANDS = 500
_MOST_CHARACTERS = 2_000_000
_TURNS_OF_THE_LOOP = 3
"""After so many the database has a commit, and works on it while more is read."""


class Lane:
    """Takes the happenings of one reader away and records them, many in one commit.

    `turns` and `compactions` count what was new. After a `problem` nothing more is recorded.
    """

    def __init__(
        self, dispatcher: Dispatcher, log: Log, space: Space, reader: Reader, path: Path
    ) -> None:
        self.turns = 0
        self.compactions = 0
        self.problem = ""
        self._dispatcher = dispatcher
        self._log = log
        self._space = space
        self._reader = reader
        self._path = path
        self._known: Recorder | None = None
        self._is_started = False
        self._firsts: list[str] = []
        self._batch: list[Ordered] = []
        self._weight = 0
        self._committing: asyncio.Future[None] | None = None

    def pass_over(self, known: Passage | None) -> None:
        """Drops all that happened so far: the log has it. `known` if only its end was read."""
        self._reader.finish()
        told = [each.first.key for each in self._reader.happened if isinstance(each, Told)]
        self._firsts += told if known is None else [known.first]
        self._reader.happened.clear()
        self._reader.cut()

    async def take(self) -> None:
        """Records what the reader has told since."""
        happened = list(self._reader.happened)
        self._reader.happened.clear()
        for each in happened:
            await self._record(each)

    async def finish(self, *, idle: bool) -> None:
        """Records the rest, and the turn that stands last if it has ended or grows no more."""
        await self.take()
        self._reader.finish(growing=not idle)
        last = self._reader.happened[-1:]
        if last and isinstance(told := last[0], Told):
            if told.status == "open" and not idle:
                self._reader.happened.pop()
            await self.take()
            self._reader.cut()
        await self.take()
        await self._flush()

    async def _record(self, each: Happening) -> None:
        if self.problem:
            return
        recorder = self._known or await self._recorder()
        match each:
            case Told():
                if not self._is_started:
                    self._is_started = True
                    self._batch.append(recorder.start(self._reader.about, each))
                self._firsts.append(each.first.key)
                await self._give(recorder.turn(each), _weight(each))
            case Compacted() if self._is_started:
                ledger = "" if each.boundary.summary else await self._ledger(recorder)
                await self._give(recorder.compaction(each, ledger), len(each.boundary.quoted))
            case Rewound() if self._is_started:
                await self._rewind(each, recorder)
            case _:
                pass

    async def _recorder(self) -> Recorder:
        session = self._reader.about.id or self._path.stem
        recorder = self._known = Recorder(self._reader.source, session, str(self._path))
        facts = await self._log.facts(self._space, recorder.agent)
        self._is_started = facts is not None
        if facts and (facts.source, facts.session) != (self._reader.source, session):
            self.problem = f"Another agent has the id {recorder.agent}. It was left as it is."
        return recorder

    async def _ledger(self, recorder: Recorder) -> str:
        """What the log tells of the turns in view, for a summary that cannot be read."""
        await self._flush()
        opened = await self._dispatcher.open(recorder.agent)
        return render_ledger(ledger_of(opened.live.turns, opened.state.workspace.folder))

    async def _rewind(self, rewound: Rewound, recorder: Recorder) -> None:
        await self._flush()
        turn = None
        if rewound.to >= 0:
            recorded = recorder.turn_id(self._firsts[rewound.to])
            receipt = await self._log.receipt(self._space, recorded)
            if receipt is None or not receipt.events:
                return
            place = receipt.events[0]
            turn = TurnRef(place.agent, place.version, place.version)
        await self._give_alone(recorder.return_to(rewound, turn))

    async def _give(self, ordered: Ordered, weight: int) -> None:
        self._batch.append(ordered)
        self._weight += weight
        if len(self._batch) >= _MOST_COMMANDS or self._weight >= _MOST_CHARACTERS:
            await self._hand_over()

    async def _hand_over(self) -> None:
        """Has the batch committed while more is read."""
        await self._settle()
        batch, self._batch, self._weight = self._batch, [], 0
        if batch:
            self._committing = asyncio.ensure_future(self._commit(batch))
            for _ in range(_TURNS_OF_THE_LOOP):
                await asyncio.sleep(0)

    async def _settle(self) -> None:
        if self._committing is not None:
            committing, self._committing = self._committing, None
            await committing

    async def _flush(self) -> None:
        """Returns when all that was given is committed."""
        await self._hand_over()
        await self._settle()

    async def _commit(self, batch: list[Ordered]) -> None:
        receipts = await self._dispatcher.dispatch_all(batch[0][0].agent, batch)
        if receipts is not None:
            new = {receipt.command for receipt in receipts}
            for ordered in batch:
                if ordered[1].id in new:
                    self._count(ordered)
            return
        for ordered in batch:
            if not self.problem:
                await self._give_alone(ordered)

    async def _give_alone(self, ordered: Ordered) -> None:
        done = await self._dispatcher.dispatch(*ordered)
        if isinstance(done, Refusal):
            self.problem = done.sentence
        elif not done.repeated:
            self._count(ordered)

    def _count(self, ordered: Ordered) -> None:
        self.turns += isinstance(ordered[0], RecordTurn)
        self.compactions += isinstance(ordered[0], Compact)


def _weight(told: Told) -> int:
    """About how many characters a turn has."""
    weight = sum(len(part.text) for part in told.prompt)
    for item in told.items:
        if isinstance(item, Got):
            weight += len(item.content)
        else:
            texts = [p.args if isinstance(p, ToolCall) else p.text for p in item.parts]
            weight += sum(map(len, texts))
    return weight
