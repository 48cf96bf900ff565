"""The conversation: transcript, composer, sidebar and status line, fed by one desk."""

import asyncio
import time
from contextlib import aclosing
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import Screen
from textual.widgets import Footer, Static, TextArea

from sapwood.app.running import Trouble
from sapwood.core.calling import Delta
from sapwood.core.events import (
    MailReceived,
    ModelCalled,
    Recorded,
    ReplyAdded,
    TurnCompleted,
    TurnFailed,
    TurnInterrupted,
)
from sapwood.core.ids import AgentId
from sapwood.core.slash import Run
from sapwood.tui.around import Around, look_around
from sapwood.tui.clipboard import copy
from sapwood.tui.composer.choices import Known, choices
from sapwood.tui.composer.popup import Popup
from sapwood.tui.composer.widget import Composer
from sapwood.tui.desk import Desk
from sapwood.tui.editing import edited
from sapwood.tui.find_bar import FindBar
from sapwood.tui.head import head_line
from sapwood.tui.host import host
from sapwood.tui.keys import bindings
from sapwood.tui.kin import kin_of
from sapwood.tui.loading import LONG, read_end, read_whole, sent_before, texts_of
from sapwood.tui.pages import Pages
from sapwood.tui.rows.timeline import Timeline
from sapwood.tui.side.sidebar import Beside, Sidebar
from sapwood.tui.side.status import Status, StatusLine
from sapwood.tui.streaming import Streaming
from sapwood.tui.terminal import Attention
from sapwood.tui.transcript.widget import Transcript
from sapwood.tui.welcome import welcome

__all__ = ["Conversation"]

_FRAME = 0.05
"""Seconds between two drawings of what has come, at least."""

_GLANCE = 1.0
_TWICE = 1.5
_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


class Conversation(Screen[None]):
    """The screen that people live in."""

    CSS_PATH = "conversation.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings()]
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]  # noqa: RUF012 (as Textual types it)

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self.desk = desk
        self.pages = Pages(self)
        self._timeline = Timeline()
        self._texts = texts_of(desk.connection)
        self._streaming = Streaming()
        self._around: Around | None = None
        self._whole = asyncio.Event()
        self._drawing = False
        self._told_at = -1
        self._doing = ""
        self._refused_text = ""
        self._since: float | None = None
        self._pressed: dict[str, float] = {}

    def compose(self) -> ComposeResult:
        """Top to bottom."""
        yield Static(id="head")
        with Horizontal():
            with Vertical(id="main"):
                yield Static(id="welcome")
                yield Transcript(id="transcript")
                yield FindBar(self.desk.connection, id="find")
                yield Static(id="notice", markup=False)
                yield Static(id="queue", markup=False)
                yield Composer(id="composer")
            yield Sidebar(id="sidebar")
        yield Popup(id="popup")
        yield StatusLine(id="status")
        yield Footer(show_command_palette=False, compact=True)

    @property
    def transcript(self) -> Transcript:
        """Where it is read."""
        return self.query_one(Transcript)

    @property
    def composer(self) -> Composer:
        """Where it is written."""
        return self.query_one(Composer)

    @property
    def _known(self) -> Known:
        return self._around.known if self._around else Known()

    @property
    def is_reading(self) -> bool:
        """Whether what lies further back is still being read."""
        return self.desk.agent is not None and not self._whole.is_set()

    @property
    def attention(self) -> Attention:
        """Who calls people back."""
        return Attention(host(self), self.desk.config.screen)

    async def on_mount(self) -> None:
        """Shows the agent of the desk, or an invitation."""
        self.composer.focus()
        self.set_interval(_GLANCE, self._glance)
        await self.open(self.desk.agent)

    # Which conversation

    async def open(self, agent: AgentId | None) -> None:
        """Shows a conversation from its end and follows it from there."""
        self.desk.agent = agent
        self._streaming.clear()
        self._whole.clear()
        held = self.desk.connection
        self._texts, self._timeline = texts_of(held), Timeline()
        state = await self.desk.state()
        if agent is not None and state is not None:
            if state.version > LONG:
                self._timeline = await read_end(held, agent, state.version, self._texts)
                self._read_whole(agent)
            else:
                self._timeline = await read_whole(held, agent, self._texts)
                self._whole.set()
            self.composer.sent.begin(await sent_before(held, agent))
            self._follow(agent, self._timeline.version)
        await self.transcript.show(self._timeline, self._texts)
        await self._tell()
        if state is not None and state.open is not None:
            self._resume()

    async def switched(self, agent: AgentId) -> None:
        """Another conversation takes this one's place."""
        await self.open(agent)

    @work(group="go", exclusive=True)
    async def go_to(self, agent: AgentId, version: int) -> None:
        """Shows a place, in this conversation or another."""
        if agent != self.desk.agent:
            await self.open(agent)
        await self._whole.wait()
        row = self._timeline.row_at(agent, version)
        if row is None or not await self.transcript.go_to(row.key):
            self.refused(f"{agent}:{version} is nothing that is shown. sapwood show tells it.")

    @work(group="whole", exclusive=True)
    async def _read_whole(self, agent: AgentId) -> None:
        """Reads what lies before the end that is shown, and takes its place."""
        held = self.desk.connection
        whole = await read_whole(held, agent, self._texts)
        for recorded in await held.log.read(held.space, agent, whole.version + 1):
            whole.add(recorded)
        if self.desk.agent == agent:
            self._timeline = whole
            await self.transcript.complete(whole)
            self._whole.set()

    @work(group="resume", exclusive=True)
    async def _resume(self) -> None:
        await self.desk.resume()

    # What happens

    @work(group="follow", exclusive=True)
    async def _follow(self, agent: AgentId, after: int) -> None:
        async with aclosing(self.desk.watch(agent, after)) as shown:
            async for each in shown:
                match each.what:
                    case Recorded() as recorded:
                        self._happened(recorded)
                    case Delta() as delta:
                        self.streamed(delta)
                    case Trouble(sentence):
                        self.refused(sentence)

    def streamed(self, delta: Delta) -> None:
        """A piece of an answer has come."""
        self._streaming.add(delta)
        self._draw_soon()

    def _happened(self, recorded: Recorded) -> None:
        if recorded.version > self._timeline.version:
            self._timeline.add(recorded)
        self._texts.add(recorded)
        self._draw_soon()
        match recorded.event:
            case ModelCalled(model, instruction=""):
                self._streaming.called(model)
            case ReplyAdded():
                self._streaming.clear()
            case TurnCompleted() | TurnFailed() | TurnInterrupted():
                self._streaming.clear()
                self.attention.call(time.monotonic() - (self._since or time.monotonic()))
                self._send_next()
            case MailReceived(_, _, sender):
                self.notify(f"Mail from {sender or 'outside'}. /check-mail reads it.")
                self.attention.call()
            case _:
                pass

    def _draw_soon(self) -> None:
        """Draws what has come, together with whatever comes in the next moment."""
        if not self._drawing:
            self._drawing = True
            self.set_timer(_FRAME, self._draw)

    async def _draw(self) -> None:
        self._drawing = False
        if not self.query(Transcript):  # somebody left meanwhile
            return
        await self.transcript.grow()
        await self.transcript.stream(self._streaming.row())
        if self._timeline.version != self._told_at:
            await self._tell()

    async def _glance(self) -> None:
        """The clock has moved, and other agents may have."""
        self.query_one(StatusLine).doing(self._progress())
        if self.desk.agent is not None:
            agents = await kin_of(self.desk.connection, self.desk.agent)
            if self._around is not None and agents != self._around.agents:
                await self._tell()

    async def _tell(self) -> None:
        """Head, sidebar and status line as of now."""
        self._told_at = self._timeline.version
        around = self._around = await look_around(self.desk)
        if self.query("#head"):  # or somebody left meanwhile
            self._show_around(around)

    def _show_around(self, around: Around) -> None:
        state = around.state
        busy = around.is_working or bool(self._doing)
        self._since = (self._since or time.monotonic()) if busy else None
        self.query_one("#head", Static).update(head_line(self.desk.folder, state))
        self.query_one(Sidebar).show(Beside(around.agents, self.desk.agent, state, around.budget))
        cost = state.spent.cost if state else 0
        self.query_one(StatusLine).status = Status(around.budget, cost, self._progress())
        self._show_queue()
        empty = not self._timeline.rows
        self.query_one("#welcome", Static).update(welcome(self.desk.config, self.desk.folder))
        self.query_one("#welcome").display = empty
        self.transcript.display = not empty
        self.attention.title(self.desk.folder, working=busy)

    def _progress(self) -> str:
        """What goes on, and for how long."""
        if self._since is None:
            return ""
        seconds = int(time.monotonic() - self._since)
        what = self._doing or "working"
        return f"{_SPINNER[seconds % len(_SPINNER)]} {what} {seconds} s · esc interrupts"

    # What is typed

    @on(Composer.Sent)
    def _sent(self, event: Composer.Sent) -> None:
        self.composer.text = ""
        self.submit(event.text)

    @work(group="submit")
    async def submit(self, text: str) -> None:
        """Carries out a submission, and says what goes on while that takes."""
        self._note("")
        word = text.split(maxsplit=1)[0] if text.startswith("/") else ""
        self._doing = word.removeprefix("/")
        glance = self.set_timer(_GLANCE / 4, self._tell)
        try:
            taken = await self.desk.submit(text)
        finally:
            self._doing = ""
            glance.stop()
        if taken:
            self.composer.sent.add(text)
        elif not self.composer.text:
            self._refused_text = text
            self.composer.put(text)
        await self._tell()

    @work(group="queue", exclusive=True)
    async def _send_next(self) -> None:
        await self.desk.turn_ended()
        await self._tell()

    @on(TextArea.Changed, "#composer")
    def _typed(self) -> None:
        composer = self.composer
        if composer.text:
            self._warm_up()
        # What was refused comes back with the reason above it, which a list would cover.
        is_back = composer.text == self._refused_text
        found = [] if is_back else choices(composer.line_to_cursor, self._known)
        popup = self.query_one(Popup)
        if found or popup.display:
            popup.offer(found)
            popup.styles.margin = (0, 0, composer.outer_size.height + 2, 1)
        composer.picking = bool(found)

    @work(group="warm", exclusive=True)
    async def _warm_up(self) -> None:
        await self.desk.warm_up()

    @on(Composer.Picked)
    def _picked(self, event: Composer.Picked) -> None:
        popup, composer = self.query_one(Popup), self.composer
        match event.key:
            case "up" | "down":
                popup.move(event.key)
            case "escape":
                self._close_popup()
            case _:
                if not popup.moved:
                    self._typed()  # keys may come faster than the list
                if popup.chosen and (event.key == "tab" or popup.is_meant(composer.word)):
                    composer.complete(popup.chosen)
                elif event.key == "enter":
                    self._close_popup()
                    self._sent(Composer.Sent(composer.text))

    def _close_popup(self) -> None:
        self.query_one(Popup).offer([])
        self.composer.picking = False

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

    # What is told

    def said(self, text: str) -> None:
        """The answer to a command."""
        self._note(text)

    def refused(self, text: str) -> None:
        """Why nothing was done."""
        self._note(text, refused=True)

    def turn_to(self, run: Run) -> None:
        """A page that a command asks for."""
        self.run_worker(self.pages.open(run.command.name, run.args))

    def leave(self) -> None:
        """Good-bye."""
        host(self).exit()

    def _note(self, text: str, *, refused: bool = False) -> None:
        notice = self.query_one("#notice", Static)
        notice.update(text)
        notice.display = bool(text)
        notice.set_class(refused, "refused")

    def _show_queue(self) -> None:
        queue = self.query_one("#queue", Static)
        queue.display = bool(self.desk.queue)
        lines = [f"» queued: {' '.join(text.split())}" for text in self.desk.queue]
        if self.desk.held and lines:
            lines[-1] += "   (enter sends, ↑ edits)"
        queue.update("\n".join(lines))

    @on(Transcript.Copied)
    def _copied(self, event: Transcript.Copied) -> None:
        self.said(copy(host(self), event.text))

    @on(Transcript.FollowChanged)
    def _follow_changed(self, event: Transcript.FollowChanged) -> None:
        self.transcript.border_subtitle = "" if event.follows else "end follows again"

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
        find = self.query_one(FindBar)
        if self.composer.picking:
            self._close_popup()
        elif find.display:
            find.action_close()
        elif self._doing:
            self.workers.cancel_group(self, "submit")  # pyright: ignore[reportUnknownMemberType]
            self.said("Stopped. Nothing was changed.")
        elif await self.desk.interrupt():
            self._note("")
        elif self._again("escape"):
            await self.pages.open("rewind")

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
        """Whether a key was pressed twice in a row."""
        at, before = time.monotonic(), self._pressed.get(key, 0.0)
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
