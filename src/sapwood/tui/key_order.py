"""Handles keys and pastes in the order in which they were typed, however fast they arrive.

Textual puts a letter into the queue of the focused widget, but runs a priority binding at once.
When one read brings letters and a key that acts, such as ctrl+g, the key overtakes the letters. It
also overtakes what an earlier key started: a submission, a page that opens, a list that is filled.

`KeyOrder` therefore holds back each key until the message queues have handled the keys before it
and the work that those started is done. Letters that follow letters into the same text field pass
at once: the queue of that field keeps them in order.

Work that hangs, for example because the database is away, holds back the keys after it. Pressing
ctrl+c twice releases them, in their order, so that a person can always exit.
"""

import asyncio
from collections import deque
from functools import partial
from typing import cast

from textual import events
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual.app import App
from textual.command import CommandPalette
from textual.keys import Keys
from textual.message_pump import MessagePump
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input, TextArea

# pyright: reportPrivateUsage=false

PAGE = "page"
"""The worker group that opens pages. Every key waits for it, since it may be meant for the page."""

COMMAND = "command"
"""The worker group of commands that answer soon. Every key waits for it, since they open pages."""

PROMPT = "prompt"
"""The worker group that starts turns. Keys that act wait for it; letters do not."""

LIST = "list"
"""The worker group that fills lists. Keys that act wait for it, except escape."""

_GATHER = CommandPalette._GATHER_COMMANDS_GROUP

_PASSES = 3
"""How often every queue is passed before it counts as handled: a key may post a message, whose
handler may post another one, which may move the focus."""

# Most terminals send this for alt+enter. Textual would take it for two keys, `^` and enter.
_sequences = cast("dict[str, tuple[Keys, ...]]", ANSI_SEQUENCES_KEYS)
_sequences |= {"\x1b\r": (Keys.ControlJ,), "\x1b\n": (Keys.ControlJ,)}

_MODIFIERS = {"alt", "ctrl", "super", "hyper", "meta"}

_Input = events.Key | events.Paste
_Task = asyncio.Task[object]
_Place = tuple[Screen[object] | None, Widget | None]


class KeyOrder:
    """Takes the keys and pastes of one application and releases them one after the other."""

    def __init__(self, app: App[object]) -> None:
        self._app = app
        self._arrived: deque[_Input] = deque()
        self._released: deque[_Input] = deque()
        self._task: asyncio.Task[None] | None = None
        self._empty = asyncio.Event()
        self._empty.set()
        self._typed_at = 0.0
        self._written_to: Widget | None = None
        self._hurried = asyncio.Event()

    def takes(self, event: events.Event) -> bool:
        """Whether the application must leave this event alone for now.

        An event that is held back comes to the application again, and is then no longer taken.
        """
        if not isinstance(event, _Input) or event.is_forwarded:
            return False
        if self._released and self._released[0] is event:
            self._released.popleft()
            self._typed_at = event.time
            return False
        # A released key may still be in the queue, behind keys that arrived just before it.
        if self._empty.is_set() and not self._released and self._continues_text(event):
            self._typed_at = event.time
            return False
        if _is_leaving(event) and any(_is_leaving(each) for each in self._arrived):
            self._hurried.set()
        self._arrived.append(event)
        if self._empty.is_set():
            self._empty.clear()
            self._task = asyncio.create_task(self._release(), name="key order")
        return True

    def last_typed(self) -> float:
        """When the key that was handled last was typed, on the monotonic clock."""
        return self._typed_at

    async def handled(self) -> None:
        """Waits until every key that has arrived so far is handled, with the work it started."""
        await self._mark(self._app)
        await self._empty.wait()
        await self._settle(None)

    async def _release(self) -> None:
        try:
            while self._arrived:
                event = self._arrived[0]
                if not self._continues_text(event):
                    await self._settle(event)
                    self._written_to = self._text_field if self._is_text(event) else None
                self._released.append(self._arrived.popleft())
                self._app.post_message(event)
        except Exception as error:
            self._app._handle_exception(error)
        finally:
            self._hurried.clear()
            self._empty.set()

    # Which keys write and which act

    def _continues_text(self, event: _Input) -> bool:
        """Whether the last key wrote into the focused text field, and this one does so, too."""
        field = self._text_field
        return field is not None and field is self._written_to and self._is_text(event)

    @property
    def _text_field(self) -> Widget | None:
        _, focused = self._place
        return focused if isinstance(focused, Input | TextArea) else None

    def _is_text(self, event: _Input) -> bool:
        if isinstance(event, events.Paste):
            return True
        modifiers = event.key.split("+")[:-1]
        if not event.is_printable or not _MODIFIERS.isdisjoint(modifiers):
            return False
        return not any(event.key in keys.split(",") for keys in self._app._keymap.values())

    # Waiting

    async def _settle(self, event: _Input | None) -> None:
        """Waits until what was released before is handled."""
        calm = 0
        while calm < _PASSES and self._app.is_running:
            place = self._place
            await self._pass_queues()
            worked = await self._finish_work(event)
            calm = calm + 1 if place == self._place and not worked else 0

    @property
    def _place(self) -> _Place:
        """The screen that keys go to, and the widget on it; neither when the application ends."""
        screen = self._app.screen_stack[-1] if self._app.screen_stack else None
        return screen, screen.focused if screen else None

    async def _pass_queues(self) -> None:
        """Waits until the queues that a key goes through have handled what is in them now.

        A key goes from the application to the focused widget and from there up to the application.
        """
        await self._mark(self._app)
        screen, focused = self._place
        if first := focused or screen:
            for pump in first.ancestors_with_self:
                await self._mark(pump)

    async def _mark(self, pump: MessagePump) -> None:
        """Waits until a queue has come to its present end."""
        reached: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        mark = events.Callback(callback=partial(_reach, reached))
        if pump.post_message(mark):
            task = cast("_Task | None", pump._task)  # pyright: ignore[reportUnknownMemberType]
            ends = [reached] if task is None else [reached, task]
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)

    async def _finish_work(self, event: _Input | None) -> bool:
        """Waits for the work that a key must not overtake; returns whether there was any."""
        groups = self._groups_before(event)
        workers = [each for each in self._app.workers if each.group in groups]
        found = [cast("_Task | None", each._task) for each in workers]  # pyright: ignore[reportUnknownMemberType]
        tasks = [task for task in found if task is not None and not task.done()]
        if not tasks or self._hurried.is_set():
            return False
        hurried: _Task = asyncio.create_task(self._hurried.wait())
        await asyncio.wait([hurried, *tasks], return_when=asyncio.FIRST_COMPLETED)
        hurried.cancel()
        return True

    def _groups_before(self, event: _Input | None) -> set[str]:
        if event is not None and self._is_text(event):
            return {PAGE, COMMAND}
        if isinstance(event, events.Key) and event.key == "escape":
            return {PAGE, COMMAND, PROMPT}
        return {PAGE, COMMAND, PROMPT, LIST, _GATHER}


def _is_leaving(event: _Input) -> bool:
    return isinstance(event, events.Key) and event.key == "ctrl+c"


def _reach(reached: asyncio.Future[object]) -> None:
    if not reached.done():
        reached.set_result(None)
