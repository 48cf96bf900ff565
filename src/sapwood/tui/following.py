"""Following a conversation: what stands on the screen, and how it is kept up to date."""

import asyncio
import time
from contextlib import aclosing, suppress

from textual import work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.screen import Screen
from textual.widgets import Footer, Static

from sapwood.app.running import Trouble
from sapwood.core.calling import Delta
from sapwood.core.errors import LogAway, SapwoodError
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
from sapwood.core.origin import Origin
from sapwood.core.state import State
from sapwood.garden.drift import Drift
from sapwood.tui.around import Around, drift_in_view, look_around
from sapwood.tui.composer.popup import Popup
from sapwood.tui.composer.widget import Composer
from sapwood.tui.desk import Desk
from sapwood.tui.find_bar import FindBar
from sapwood.tui.head import head_line
from sapwood.tui.host import host
from sapwood.tui.kin import kin_of
from sapwood.tui.loading import LONG, read_end, read_whole, sent_before, texts_of
from sapwood.tui.paper import Paper
from sapwood.tui.rows.timeline import Timeline
from sapwood.tui.side.sidebar import Beside, Sidebar
from sapwood.tui.side.status import Status, StatusLine
from sapwood.tui.streaming import Streaming
from sapwood.tui.terminal import Attention
from sapwood.tui.transcript.widget import Transcript
from sapwood.tui.welcome import welcome

__all__ = ["GLANCE", "Following"]

_FRAME = 0.05
"""Seconds between two drawings of what has come, at least."""

GLANCE = 1.0
"""Seconds between two looks at the clock and at other agents."""

_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


class Following(Screen[None]):
    """Shows the conversation of a desk, and whatever happens in it, whoever does it."""

    CSS_PATH = "conversation.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]  # noqa: RUF012 (as Textual types it)

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self.desk = desk
        self._timeline = Timeline()
        self._texts = texts_of(desk.connection)
        self._streaming = Streaming()
        self._around: Around | None = None
        self._whole = asyncio.Event()
        self._drawing = False
        self._told_at = -1
        self._doing = ""
        self._since: float | None = None
        self._drift: Drift | None = None

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
    def paper(self) -> Paper:
        """What it is written on."""
        return self.transcript

    @property
    def composer(self) -> Composer:
        """Where it is written."""
        return self.query_one(Composer)

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
        self.set_interval(GLANCE, self._glance)
        await self.open(self.desk.agent)

    # Which conversation

    async def open(self, agent: AgentId | None) -> None:
        """Shows a conversation from its end and follows it from there."""
        self.desk.agent = agent
        self._streaming = Streaming()
        self._whole.clear()
        held = self.desk.connection
        self._texts, self._timeline = texts_of(held), Timeline()
        state = await self.desk.state()
        if agent is not None and state is not None:
            if state.version > LONG:
                self._timeline = await read_end(held, agent, state.version, self._texts)
            else:
                self._timeline = await read_whole(held, agent, self._texts)
                self._whole.set()
            self._follow(agent, self._timeline.version)
        self._drift = None
        await self.paper.show(self._timeline, self._texts)
        await self._tell()
        if agent is not None and state is not None:
            self.call_after_refresh(self._read_behind, agent, state)

    def _read_behind(self, agent: AgentId, state: State) -> None:
        """What nobody has to wait for: everything that is not on the first screen."""
        if not self._whole.is_set():
            self._read_whole(agent)
        self._remember(agent)
        self._measure_drift()
        if state.open is not None:
            self._resume()
        if state.origin is not None:
            self._catch_up(state.origin)

    @work(group="catch up", exclusive=True)
    async def _catch_up(self, origin: Origin) -> None:
        """What was said since in the program that the conversation comes from."""
        with suppress(SapwoodError):  # what was imported can be read, wherever its file is now
            await self.desk.bring(origin.path, origin.source)

    @work(group="remember", exclusive=True)
    async def _remember(self, agent: AgentId) -> None:
        self.composer.sent.begin(await sent_before(self.desk.connection, agent))

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
        if row is None or not await self.paper.go_to(row.key):
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
            await self.paper.complete(whole)
            self._whole.set()

    @work(group="resume", exclusive=True)
    async def _resume(self) -> None:
        await self.desk.resume()

    # What happens

    @work(group="follow", exclusive=True)
    async def _follow(self, agent: AgentId, after: int) -> None:
        while True:
            try:
                await self._watch(agent, after)
            except LogAway:  # somebody tells; what is missed meanwhile comes afterwards
                await asyncio.sleep(GLANCE)
                after = self._timeline.version
            else:
                return

    async def _watch(self, agent: AgentId, after: int) -> None:
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
                self._measure_drift()
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
        if not host(self).is_running:  # the widgets are being removed
            return
        await self.paper.grow()
        await self.paper.stream(self._streaming.row())
        if self._timeline.version != self._told_at:
            await self._tell()

    async def _glance(self) -> None:
        """The clock has moved, and other agents may have."""
        self.query_one(StatusLine).doing(self._progress())
        with suppress(LogAway):  # or they are where they were
            if self.desk.agent is not None:
                agents = await kin_of(self.desk.connection, self.desk.agent)
                if self._around is not None and agents != self._around.agents:
                    await self._tell()

    async def _tell(self) -> None:
        """Head, sidebar and status line as of now."""
        self._told_at = self._timeline.version
        around = self._around = await look_around(self.desk)
        if host(self).is_running:  # else the widgets are being removed
            self._show_around(around)

    @work(group="tell", exclusive=True)
    async def tell_soon(self) -> None:
        """Something around the conversation has changed."""
        await self._tell()

    def _show_around(self, around: Around) -> None:
        busy = around.is_working or bool(self._doing)
        self._since = (self._since or time.monotonic()) if busy else None
        cost = around.state.spent.cost if around.state else 0
        self.query_one(StatusLine).status = Status(around.budget, cost, self._progress())
        self._show_queue()
        self._show_beside(around)
        self.attention.title(self.desk.folder, working=busy)

    def _show_beside(self, around: Around) -> None:
        """Head and sidebar, and an invitation where nothing was said yet."""
        state = around.state
        self.query_one("#head", Static).update(head_line(self.desk.folder, state))
        self.query_one(Sidebar).show(
            Beside(around.agents, self.desk.agent, state, around.budget, self._drift)
        )
        empty = not self._timeline.rows
        self.query_one("#welcome", Static).update(welcome(self.desk.config, self.desk.folder))
        self.query_one("#welcome").display = empty
        self.transcript.display = not empty

    def _progress(self) -> str:
        """What goes on, and for how long."""
        if self._since is None:
            return "… reading what lies further back" if self.is_reading else ""
        seconds = int(time.monotonic() - self._since)
        what = self._doing or "working"
        return f"{_SPINNER[seconds % len(_SPINNER)]} {what} {seconds} s · esc interrupts"

    @work(group="drift", exclusive=True)
    async def _measure_drift(self) -> None:
        """How far it has gone from what it was about; beside everything else, after each turn."""
        opened = await self.desk.opened()
        if opened is not None:
            counter = self.desk.connection.counter_for(opened.state.settings.model)
            self._drift = await asyncio.to_thread(drift_in_view, opened, counter)
            await self._tell()

    @work(group="queue", exclusive=True)
    async def _send_next(self) -> None:
        await self.desk.turn_ended()
        await self._tell()

    # What is told

    def said(self, text: str) -> None:
        """The answer to a command."""
        self._note(text)

    def refused(self, text: str) -> None:
        """Why nothing was done."""
        self._note(text, refused=True)

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
