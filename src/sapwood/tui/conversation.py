"""The conversation: what is typed, the pages over it, and every key."""

import asyncio
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import ClassVar

from textual import on, work
from textual.binding import BindingType
from textual.widgets import TextArea

from sapwood.core.errors import SapwoodError
from sapwood.core.ids import AgentId
from sapwood.core.slash import Run
from sapwood.tui.clipboard import copy
from sapwood.tui.composer.choices import Known, choices
from sapwood.tui.composer.popup import Popup
from sapwood.tui.composer.widget import Composer
from sapwood.tui.desk import Desk
from sapwood.tui.editing import edited
from sapwood.tui.find_bar import FindBar
from sapwood.tui.following import GLANCE, Following
from sapwood.tui.host import host
from sapwood.tui.key_order import COMMAND, PAGE, PROMPT
from sapwood.tui.keys import bindings
from sapwood.tui.pages import Pages
from sapwood.tui.side.sidebar import Sidebar
from sapwood.tui.transcript.widget import Transcript
from sapwood.workspace.permissions.asking import Answer, No, Question

__all__ = ["Conversation"]

_TWICE = 1.5
"""Seconds within which a key counts as pressed twice."""

_PAUSE = 1.5
"""Seconds without a letter after which somebody does not type any more."""

_SLOW = "slow"
"""The worker group of what may take long. Keys do not wait for it, so that escape can stop it."""

_SLOW_COMMANDS = ("/compact", "/wait")


def _group_of(text: str) -> str:
    """The worker group in which a submission runs."""
    lines = text.splitlines()
    if any(line.startswith(_SLOW_COMMANDS) for line in lines):
        return _SLOW
    return COMMAND if text.startswith("/") else PROMPT


class Conversation(Following):
    """The screen that people live in."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings()]

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.pages = Pages(self)
        self._refused_text = ""
        self._pressed: dict[str, float] = {}
        self._typed_at = -_PAUSE
        self.last_typed: Callable[[], float] = time.monotonic

    @property
    def _known(self) -> Known:
        return self._around.known if self._around else Known()

    async def on_mount(self) -> None:
        """Listens to the composer; Textual calls the handlers of the classes above by itself."""
        self.composer.pick = self._pick

    # What is typed

    @on(Composer.Sent)
    def _sent(self, event: Composer.Sent) -> None:
        self.submit(event.text)

    def submit(self, text: str) -> None:
        """Carries out a submission in the background, and says what goes on while that takes."""
        self.run_worker(self._submit(text), group=_group_of(text))

    async def _submit(self, text: str) -> None:
        self._note("")
        word = text.split(maxsplit=1)[0] if text.startswith("/") else ""
        with self._busy(word.removeprefix("/")):
            taken = await self.desk.submit(text)
        if taken:
            self.composer.sent.add(text)
        elif not self.composer.text:
            self._refused_text = text
            self.composer.put(text)
        await self._tell()

    @work(group=_SLOW)
    async def bring(self, path: str) -> None:
        """Imports a session of another program and shows it."""
        with self._busy("importing"):
            try:
                await self.switched(await self.desk.bring(path))
            except SapwoodError as error:
                self.refused(str(error))
        await self._tell()

    @contextmanager
    def _busy(self, what: str) -> Generator[None]:
        """The status line says what goes on, if it takes a moment."""
        self._doing = what
        glance = self.set_timer(GLANCE / 4, self._tell)
        try:
            yield
        finally:
            self._doing = ""
            glance.stop()

    @on(TextArea.Changed, "#composer")
    def _typed(self) -> None:
        if self.composer.text:
            self._typed_at = time.monotonic()
            self._warm_up()
        self._offer()

    def _offer(self) -> None:
        """Lists what may follow what is typed."""
        composer, popup = self.composer, self.query_one(Popup)
        # What was refused comes back with the reason above it, which a list would cover.
        is_back = composer.text == self._refused_text
        found = [] if is_back else choices(composer.line_to_cursor, self._known)
        if found or popup.display:
            popup.offer(found)
            self._seat(popup)

    def _seat(self, popup: Popup) -> None:
        """The list stands right above the composer, however high that has grown."""
        popup.styles.margin = (0, 0, self.composer.outer_size.height + 2, 1)

    @work(group="warm", exclusive=True)
    async def _warm_up(self) -> None:
        await self.desk.warm_up()

    def _pick(self, key: str) -> bool:
        """A key for the list of completions; false if it means something else."""
        popup, composer = self.query_one(Popup), self.composer
        if not popup.moved:
            self._offer()  # keys may come faster than the list
        if not popup.display or popup.chosen is None:
            return False
        if key in ("up", "down"):
            popup.move(key)
        elif key == "tab" or popup.is_meant(composer.word):
            composer.complete(popup.chosen)
        else:
            self._close_popup()
            return False
        return True

    def _close_popup(self) -> None:
        self.query_one(Popup).offer([])

    @on(Composer.Recalled)
    def _recalled(self) -> None:
        if self.desk.queue:
            self.composer.put(self.desk.queue.pop())
            self._show_queue()
        else:
            self.composer.recall()

    @on(Composer.BlockKey)
    async def _block_key(self, event: Composer.BlockKey) -> None:
        await self.action_transcript(event.action)

    @on(Sidebar.Chosen)
    def _chosen(self, event: Sidebar.Chosen) -> None:
        self.submit(f"/switch {event.agent}")
        self.composer.focus()

    # What is asked for

    def turn_to(self, run: Run) -> None:
        """A page that a command asks for."""
        self.run_worker(self.pages.open(run.command.name, run.args), group=PAGE)

    async def asked(self, question: Question) -> Answer:
        """A tool asks whether it may: on a page of its own, with a bell for who looks elsewhere."""
        self.attention.call()
        # Who is typing would answer with the next letter.
        while (still := self._typed_at + _PAUSE - time.monotonic()) > 0:  # noqa: ASYNC110
            await asyncio.sleep(still)
        answer = await self.pages.ask(question)
        if answer is None:
            self._stop(question.agent)
        return answer or No()

    @work(group="stop")
    async def _stop(self, agent: AgentId) -> None:
        """Somebody would rather stop it all than answer."""
        await self.desk.stop(agent)

    def leave(self) -> None:
        """Good-bye."""
        host(self).exit()

    @on(Transcript.Copied)
    def _copied(self, event: Transcript.Copied) -> None:
        self.said(copy(host(self), event.text))

    @on(Transcript.FollowChanged)
    def _follow_changed(self, event: Transcript.FollowChanged) -> None:
        key = self.desk.config.screen.keys.get("end", "ctrl+end").partition(",")[0]
        self.composer.border_subtitle = "" if event.follows else f" ▼ more below · {key} follows "

    @on(FindBar.Found)
    async def _found(self, event: FindBar.Found) -> None:
        self.transcript.highlight(event.words)
        if self.desk.agent is not None:
            self.go_to(self.desk.agent, event.version)

    @on(FindBar.Closed)
    def _find_closed(self) -> None:
        self.transcript.highlight("")
        self.composer.focus()

    # Keys

    async def action_transcript(self, action: str, *args: int) -> None:
        """Passes a key on to the transcript."""
        await getattr(self.transcript, f"action_{action}")(*args)
        self.composer.on_block = self.transcript.cursor is not None

    async def action_escape(self) -> None:
        """Closes what is open, else interrupts; twice it picks a mark to go back to."""
        try:
            await self._escape()
        except SapwoodError as error:
            self.refused(str(error))

    async def _escape(self) -> None:
        if self._closed_something():
            return
        if self._doing:
            for group in (COMMAND, PROMPT, _SLOW):
                self.workers.cancel_group(self, group)  # pyright: ignore[reportUnknownMemberType]
            self.said("Stopped. Nothing was changed.")
        elif await self.desk.interrupt():
            self._note("")
        elif self._again("escape"):
            await self.pages.open("rewind")

    def _closed_something(self) -> bool:
        """Closes the list of completions or the line to find with, whichever is open."""
        if self.query_one(Popup).display:
            self._close_popup()
            return True
        for find in self.query(FindBar):
            if find.display:
                find.action_close()
                return True
        return False

    def action_leave_twice(self) -> None:
        """Copies a selection, else empties the line; the second time in a row it leaves."""
        composer = self.composer
        if selected := self.get_selected_text() or composer.selected_text:
            self.said(copy(host(self), selected))
            self.clear_selection()
        elif composer.text:
            composer.sent.add(composer.text)
            composer.text = ""
        elif self._again("leave"):
            self.leave()
        else:
            self.said("Press ctrl+c once more to leave. Everything is kept.")

    def _again(self, key: str) -> bool:
        """Whether a key was pressed twice in a row. What counts is when it was typed."""
        at, before = self.last_typed(), self._pressed.get(key, -_TWICE)
        self._pressed[key] = at
        return at - before < _TWICE

    def action_sidebar(self) -> None:
        """Shows or hides the sidebar."""
        self.toggle_class("-side")

    async def action_page(self, name: str) -> None:
        """Opens a page."""
        await self.pages.open(name)

    def action_find(self) -> None:
        """Finds words in this conversation."""
        self.query_one(FindBar).open(self.desk.agent)

    def action_editor(self) -> None:
        """Goes on writing in the person's editor."""
        with host(self).suspend():
            text = edited(self.composer.text)
        self.composer.put(text)

    def action_read(self) -> None:
        """Between transcript and composer."""
        (self.transcript if self.composer.has_focus else self.composer).focus()
