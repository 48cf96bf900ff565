"""Stores the words of a reply while they arrive. Screens show only words that are stored.

They are stored beside the log, and go into it when the reply ends. So whatever is killed when, each
word that a person saw as an answer is kept. The first piece is stored after `FIRST` seconds, and
the next ones after `INTERVAL` seconds each, or `UNWATCHED` while nobody watches. A reply that is
complete before that needs no piece.

A secret may arrive in several pieces, and a mask finds only whole ones. So a piece ends before a
word or a private key that may go on, and it is masked together with the text before it. If a mask
begins in text that was shown, what is under it is not shown from then on.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Literal

from sapwood.core.commands import StreamReply
from sapwood.core.content import ReplyPart, Text, Thinking, ToolCall
from sapwood.core.errors import LogError
from sapwood.core.events import Actor
from sapwood.core.ids import AgentId
from sapwood.core.live_words import AwaitWatcher
from sapwood.core.model_calls import Delta
from sapwood.core.refusals import Refusal
from sapwood.core.turn import joined_parts
from sapwood.redaction import arriving_key
from sapwood.turns.clock_and_ids import command_meta
from sapwood.turns.command_batch import SentCommand
from sapwood.turns.dispatch import Dispatcher

INTERVAL = 0.2
"""Seconds between two stored pieces of one reply."""

UNWATCHED = 1.0
"""The same while nobody watches the reply: so much of it is lost if the process is killed."""

FIRST = 0.1
"""Seconds from the first word of a reply to its first piece."""

_WINDOW = 16_384
"""About the most characters before a piece that are masked together with it."""

_LONGEST_SECRET = 4 * _WINDOW
"""The text before a piece is cut here even if a mask crosses the cut."""

_WORD = "".join(map(chr, range(0x21, 0x7F)))
"""The characters of secrets: a text that ends with them may end inside of a secret."""

_MAX_WORD = 8_192
"""The most characters of an unfinished word that are held back: servers take no longer tokens."""


class MaskedStream:
    """Masks a text that arrives in pieces. The time for a piece does not grow with the text."""

    def __init__(self, mask: Callable[[str], str]) -> None:
        self._mask = mask
        self._arrived = ""
        self._masked = ""
        self._taken = 0

    def add(self, text: str) -> None:
        """Adds a piece of the text."""
        self._arrived += text

    def take(self, *, all_of_it: bool = False) -> str:
        """Returns the masked text that was not returned before, without an unfinished secret."""
        end = len(self._arrived) if all_of_it else self._finished()
        if end <= self._taken:
            return ""
        masked = self._mask(self._arrived[:end])
        piece = _added(self._masked, masked, self._arrived[self._taken : end])
        if piece or not self._masked.startswith(masked):
            self._masked = masked
        self._taken = end
        if end > _WINDOW:
            self._forget(end, masked)
        return piece

    def _finished(self) -> int:
        """How much of what arrived has no secret that may go on."""
        end = len(self._arrived.rstrip(_WORD))
        if len(self._arrived) - end > _MAX_WORD:
            end = len(self._arrived)
        return arriving_key(self._arrived[:end])

    def _forget(self, end: int, masked: str) -> None:
        """Forgets the first part of what was returned, unless a mask crosses the cut."""
        cut = end - _WINDOW // 2
        cut = self._arrived.rfind("\n", 0, cut) + 1 or cut
        rest = self._mask(self._arrived[cut:end])
        if end > _LONGEST_SECRET or self._mask(self._arrived[:cut]) + rest == masked:
            self._arrived, self._masked, self._taken = self._arrived[cut:], rest, end - cut


def _added(before: str, masked: str, new: str) -> str:
    """The end of a masked text that comes after what was returned of it.

    `before` is the masked text as it was without `new`, the end of the text that was masked.
    """
    if masked.startswith(before):
        return masked[len(before) :]
    # A mask begins in the text that was returned.
    if masked.endswith(new):
        return new
    pairs = enumerate(zip(before, masked, strict=False))
    same = next((place for place, (old, now) in pairs if old != now), len(masked))
    start = masked.rfind("[secret: ", 0, same)
    if start >= 0 and "]" not in masked[start:same]:  # the same mask, of which more has arrived
        same = masked.find("]", same) + 1 or len(masked)
    return masked[same:]


class ReplyStream:
    """Stores the pieces of one reply: that to the model call at version `asked`."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        agent: AgentId,
        turn: int,
        asked: int,
        model: str,
        *,
        holder: str = "",
    ) -> None:
        """`holder` is the name under which the program has the lease of the turn."""
        self._dispatcher = dispatcher
        self._agent, self._turn, self._asked = agent, turn, asked
        self._actor = Actor("model", model)
        self._holder = holder
        self._kind: Literal["text", "thinking"] = "text"
        self._text = MaskedStream(dispatcher.masked)
        self._ready: tuple[ReplyPart, ...] = ()
        self._unsure: SentCommand | None = None
        self._arrived = asyncio.Event()
        self._storing = asyncio.Lock()
        self._over = False
        self._task = asyncio.ensure_future(self._store_pieces())

    def add(self, delta: Delta) -> None:
        """Adds a piece of the reply. It is stored soon."""
        if delta.kind == "call":
            if delta.name:
                self._end_part()
                self._ready = (*self._ready, ToolCall("", delta.name, ""))
        else:
            if delta.kind != self._kind:
                self._end_part()
                self._kind = delta.kind
            self._text.add(delta.text)
        self._arrived.set()

    async def flush(self) -> None:
        """Stores everything that has arrived, also an unfinished word or key."""
        self._collect(all_of_it=True)
        await self._store()

    async def close(self) -> None:
        """Stops storing, after the piece that is being stored."""
        self._over = True
        self._task.cancel()
        await asyncio.wait({self._task})  # raises only if the caller is cancelled too
        if not self._task.cancelled():
            self._task.result()
        async with self._storing:
            pass

    def _end_part(self) -> None:
        self._collect(all_of_it=True)
        self._text = MaskedStream(self._dispatcher.masked)

    def _collect(self, *, all_of_it: bool = False) -> None:
        if piece := self._text.take(all_of_it=all_of_it):
            part = Text(piece) if self._kind == "text" else Thinking(piece)
            self._ready = joined_parts(self._ready, (part,))

    async def _store_pieces(self) -> None:
        await self._arrived.wait()
        log, space = self._dispatcher.log, self._dispatcher.space
        with log.watched_words(space, self._agent) as wait_for_watcher:
            await asyncio.sleep(FIRST)
            await self._store_until_over(wait_for_watcher)

    async def _store_until_over(self, wait_for_watcher: AwaitWatcher) -> None:
        while not self._over:
            await self._arrived.wait()
            self._arrived.clear()
            started = time.monotonic()
            self._collect()
            if self._ready or self._unsure:
                # A piece is stored wholly or not at all, also if the reply is complete meanwhile.
                await asyncio.shield(self._store())
                await asyncio.sleep(max(0.0, started + INTERVAL - time.monotonic()))
                await wait_for_watcher(started + UNWATCHED - time.monotonic())

    async def _store(self) -> None:
        """Stores the pieces that are ready. If the log is away, stores them again later."""
        async with self._storing:
            while (self._ready or self._unsure) and not self._over:
                sent = self._unsure
                if sent is None:
                    parts, self._ready = self._ready, ()
                    command = StreamReply(self._agent, parts, self._asked, turn=self._turn)
                    sent = (command, command_meta(self._actor, holder=self._holder))
                try:
                    done = await self._dispatcher.dispatch(*sent)
                except LogError:
                    self._unsure = sent  # it may be stored: the same id is not stored twice
                    self._arrived.set()
                    return
                self._unsure = None
                self._over = self._over or isinstance(done, Refusal)
