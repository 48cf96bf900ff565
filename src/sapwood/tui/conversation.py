"""The conversation: transcript, composer, sidebar and status line, fed by one desk."""

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
from sapwood.core.budget import budget_of
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
from sapwood.tui.composer.choices import Known, choices
from sapwood.tui.composer.popup import Popup
from sapwood.tui.composer.widget import Composer
from sapwood.tui.desk import Desk
from sapwood.tui.head import head_line
from sapwood.tui.host import host
from sapwood.tui.keys import bindings
from sapwood.tui.kin import kin_of
from sapwood.tui.known import known_names
from sapwood.tui.loading import LONG, read_end, read_whole, texts_of
from sapwood.tui.rows.timeline import Timeline
from sapwood.tui.side.sidebar import Beside, Sidebar
from sapwood.tui.side.status import Status, StatusLine
from sapwood.tui.streaming import Streaming
from sapwood.tui.transcript.widget import Transcript

__all__ = ["Conversation"]

_FRAME = 0.04
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
        self._timeline = Timeline()
        self._texts = texts_of(desk.connection)
        self._streaming = Streaming()
        self._drawing = False
        self._known = Known()
        self._told_at = -1
        self._since: float | None = None
        self._pressed: dict[str, float] = {}

    def compose(self) -> ComposeResult:
        """Top to bottom."""
        yield Static(id="head")
        with Horizontal():
            with Vertical(id="main"):
                yield Static(id="welcome")
                yield Transcript(id="transcript")
                yield Static(id="notice")
                yield Static(id="queue")
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
        self._texts, self._timeline = texts_of(self.desk.connection), Timeline()
        state = await self.desk.state()
        if agent is not None and state is not None:
            if state.version > LONG:
                self._timeline = await read_end(
                    self.desk.connection, agent, state.version, self._texts
                )
                self._read_whole(agent)
            else:
                self._timeline = await read_whole(self.desk.connection, agent, self._texts)
            self._follow(agent, self._timeline.version)
        await self.transcript.show(self._timeline, self._texts)
        await self._tell()
        if state is not None and state.open is not None:
            self._resume()

    async def switched(self, agent: AgentId) -> None:
        """Another conversation takes this one's place."""
        await self.open(agent)

    @work(group="whole", exclusive=True)
    async def _read_whole(self, agent: AgentId) -> None:
        """Reads what lies before the end that is shown, and takes its place."""
        whole = await read_whole(self.desk.connection, agent, self._texts)
        missed = await self.desk.connection.log.read(
            self.desk.connection.space, agent, whole.version + 1
        )
        for recorded in missed:
            whole.add(recorded)
        if self.desk.agent == agent:
            self._timeline = whole
            await self.transcript.complete(whole)

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
                        await self._happened(recorded)
                    case Delta() as delta:
                        self._streaming.add(delta)
                    case Trouble(sentence):
                        self.refused(sentence)
                self._draw_soon()

    async def _happened(self, recorded: Recorded) -> None:
        if recorded.version > self._timeline.version:
            self._timeline.add(recorded)
        self._texts.add(recorded)
        match recorded.event:
            case ModelCalled(model, instruction=""):
                self._streaming.called(model)
            case ReplyAdded():
                self._streaming.clear()
            case TurnCompleted() | TurnFailed() | TurnInterrupted():
                self._streaming.clear()
                self._send_next()
            case MailReceived(_, _, sender):
                self.notify(f"Mail from {sender or 'outside'}. /check-mail reads it.")
                host(self).bell()
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
        transcript = self.transcript
        await transcript.grow()
        await transcript.stream(self._streaming.row())
        if self._timeline.version != self._told_at:
            await self._tell()

    async def _glance(self) -> None:
        """Other agents may have moved, and the clock has."""
        await self._tell()

    async def _tell(self) -> None:
        """Head, sidebar and status line as of now."""
        self._told_at = self._timeline.version
        opened = await self.desk.opened()
        state = opened.state if opened else None
        budget = None
        if opened is not None:
            counter = self.desk.connection.counter_for(opened.state.settings.model)
            budget = budget_of(opened.state, opened.live, counter)
        agents = await kin_of(self.desk.connection, state.agent) if state else ()
        self._known = await known_names(self.desk.connection, state)
        if not self.query("#head"):  # somebody left meanwhile
            return
        working = state is not None and state.open is not None
        self._since = (self._since or time.monotonic()) if working else None
        self.query_one("#head", Static).update(head_line(self.desk.folder, state))
        self.query_one(Sidebar).show(Beside(agents, self.desk.agent, state, budget))
        self.query_one(StatusLine).status = Status(
            budget, state.spent.cost if state else 0, self._doing()
        )
        self._show_queue()
        empty = not self._timeline.rows
        self.query_one("#welcome").display = empty
        self.transcript.display = not empty

    def _doing(self) -> str:
        if self._since is None:
            return ""
        seconds = int(time.monotonic() - self._since)
        return f"{_SPINNER[seconds % len(_SPINNER)]} working {seconds} s · esc interrupts"

    # What is typed

    @on(Composer.Sent)
    def _sent(self, event: Composer.Sent) -> None:
        self._submit(event.text)

    @work(group="submit")
    async def _submit(self, text: str) -> None:
        self._quiet()
        composer = self.composer
        composer.text = ""
        if not await self.desk.submit(text):
            if not composer.text:
                composer.put(text)
        else:
            composer.sent.add(text)
        self._show_queue()
        await self._tell()

    @work(group="queue", exclusive=True)
    async def _send_next(self) -> None:
        await self.desk.turn_ended()
        await self._tell()

    @on(TextArea.Changed, "#composer")
    def _typed(self, event: TextArea.Changed) -> None:
        composer = self.composer
        if composer.text:
            self._warm_up()
        found = choices(composer.line_to_cursor, self._known)
        self.query_one(Popup).offer(found)
        composer.picking = bool(found)
        self._place_popup()

    def _place_popup(self) -> None:
        below = self.composer.size.height + 4
        self.query_one(Popup).styles.margin = (0, 0, below, 1)

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
            case "enter" if popup.chosen == composer.text.strip():
                self._close_popup()
                self._submit(composer.text)
            case _:
                if popup.chosen:
                    composer.complete(popup.chosen)

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

    # What is told

    def said(self, text: str) -> None:
        """The answer to a command."""
        self._note(text, refused=False)

    def refused(self, text: str) -> None:
        """Why nothing was done."""
        self._note(text, refused=True)

    def turn_to(self, run: Run) -> None:
        """A page that a command asks for."""
        self.notify(f"/{run.command.name} has no page yet.")

    def leave(self) -> None:
        """Good-bye."""
        host(self).exit()

    def _note(self, text: str, *, refused: bool) -> None:
        notice = self.query_one("#notice", Static)
        notice.update(text)
        notice.display = bool(text)
        notice.set_class(refused, "refused")

    def _quiet(self) -> None:
        self._note("", refused=False)

    def _show_queue(self) -> None:
        queue = self.query_one("#queue", Static)
        queue.display = bool(self.desk.queue)
        lines = [f"» queued: {' '.join(text.split())}" for text in self.desk.queue]
        if self.desk.held and lines:
            lines[-1] += "   (enter sends, ↑ edits)"
        queue.update("\n".join(lines))

    # Keys

    async def action_transcript(self, action: str, *args: int) -> None:
        """Passes a key on to the transcript."""
        transcript = self.transcript
        await getattr(transcript, f"action_{action}")(*args)
        self.composer.on_block = transcript.cursor is not None

    async def action_escape(self) -> None:
        """Closes what is open, else interrupts; twice it picks a mark to go back to."""
        if self.composer.picking:
            self._close_popup()
        elif await self.desk.interrupt():
            self._quiet()
        elif self._again("escape"):
            self.action_page("rewind")

    def action_leave_twice(self) -> None:
        """Copies a selection, else empties the line; the second time in a row it leaves."""
        composer = self.composer
        if composer.selected_text:
            host(self).copy_to_clipboard(composer.selected_text)
        elif composer.text:
            composer.sent.add(composer.text)
            composer.text = ""
        elif self._again("leave"):
            self.leave()
        else:
            self.said("Press ctrl+c once more to leave. Everything is kept.")

    def _again(self, key: str) -> bool:
        """Whether a key was pressed twice in a row."""
        now, before = time.monotonic(), self._pressed.get(key, 0.0)
        self._pressed[key] = now
        return now - before < _TWICE

    def action_sidebar(self) -> None:
        """Shows or hides the sidebar."""
        self.toggle_class("-side")

    def action_page(self, name: str) -> None:
        """Opens a page."""
        self.notify(f"{name} has no page yet.")

    def action_read(self) -> None:
        """Between transcript and composer."""
        if self.composer.has_focus:
            self.transcript.focus()
        else:
            self.composer.focus()
