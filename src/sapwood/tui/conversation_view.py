"""Shows one conversation and everything around it, and keeps both up to date."""

import asyncio
import time
from contextlib import aclosing, suppress
from dataclasses import replace

from textual import events, work
from textual.app import App, ComposeResult
from textual.binding import ActiveBinding
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Static

from sapwood.analysis.chapter_report import ChapterReport
from sapwood.app.agent_runner import DriveFailure
from sapwood.conversation.person_shell import job_status
from sapwood.conversation.provider_limit import resets_soon
from sapwood.conversation.surroundings import (
    Surroundings,
    chapters_in_view,
    family_of,
    surroundings,
)
from sapwood.conversation.timeline_reader import (
    LONG_CONVERSATION,
    event_cache,
    read_timeline,
    read_timeline_end,
    sent_prompts,
)
from sapwood.core.command_table import TABLE
from sapwood.core.errors import LogUnavailable, SapwoodError
from sapwood.core.events import (
    MailReceived,
    ModelCalled,
    QuestionAnswered,
    QuestionAsked,
    Recorded,
    ReplyAdded,
    ReplyLost,
    ShellRan,
    ToolFinished,
    TurnCompleted,
    TurnFailed,
    TurnInterrupted,
    TurnStarted,
    WordsErased,
)
from sapwood.core.ids import AgentId, Origin
from sapwood.core.model_calls import Delta, RetryWait
from sapwood.core.settings import PermissionMode
from sapwood.core.state import State
from sapwood.core.timeline.timeline import Timeline
from sapwood.display.quantities import todo_line
from sapwood.display.text import one_line, plain
from sapwood.tui.composer import CompletionPopup, Composer
from sapwood.tui.conversation_controller import ConversationController
from sapwood.tui.find_bar import FindBar
from sapwood.tui.sidebar import Sidebar, SidebarContent
from sapwood.tui.status_bars import (
    KeyBar,
    Status,
    StatusLine,
    goal_line,
    header_line,
    limit_line,
    wait_line,
    welcome_text,
)
from sapwood.tui.terminal import Attention, app_of
from sapwood.tui.transcript.sink import PartialReplyBuilder, TranscriptSink
from sapwood.tui.transcript.widget import Transcript

_FRAME = 0.05
"""The shortest time between two drawings of new rows, in seconds."""

POLL_SECONDS = 1.0
"""Seconds between two updates of the clock and of the other agents."""

_LIMIT = "limit"
"""The worker group that waits for the limit of a provider."""

_NOTICE_ROWS = 4
_NOTICE_PADDING = 4
_QUEUE_ROWS = 4
_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


def _now() -> int:
    """Microseconds since 1970, as times in the log are."""
    return time.time_ns() // 1_000


class ConversationView(Screen[None]):
    """Shows the conversation of a controller and follows its events, from any process."""

    CSS_PATH = "conversation_view.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]  # noqa: RUF012 (as Textual types it)

    def __init__(self, controller: ConversationController) -> None:
        super().__init__()
        self.controller = controller
        self._timeline = Timeline()
        self._events = event_cache(controller.connection.log, controller.connection.space)
        self._streaming = PartialReplyBuilder()
        self._surroundings: Surroundings | None = None
        self._fully_read = asyncio.Event()
        self._drawing = False
        self._refreshed_at = -1
        self._activity = ""
        self.message = ""
        self._is_from_end = False
        self._since: float | None = None
        self._waiting: tuple[RetryWait, float] | None = None
        self._chapters: ChapterReport | None = None

    def compose(self) -> ComposeResult:
        """Yields the widgets, from top to bottom."""
        yield Static(id="head")
        with Horizontal():
            with Vertical(id="main"):
                yield Static(id="welcome")
                yield Transcript(id="transcript")
                yield FindBar(self.controller.connection, id="find")
                yield Static(id="notice", markup=False)
                yield Static(id="todo", markup=False)
                yield Static(id="queue", markup=False)
                yield Composer(id="composer")
            yield Sidebar(id="sidebar")
        yield CompletionPopup(id="popup")
        yield StatusLine(id="status")
        yield KeyBar()

    @property
    def transcript(self) -> Transcript:
        """The transcript of the conversation."""
        return self.query_one(Transcript)

    @property
    def application(self) -> App[object]:
        """The application that shows the conversation."""
        return app_of(self)

    @property
    def sink(self) -> TranscriptSink:
        """What the rows of the conversation are drawn on."""
        return self.transcript

    @property
    def composer(self) -> Composer:
        """The text field for messages."""
        return self.query_one(Composer)

    @property
    def is_reading(self) -> bool:
        """Whether the beginning of the conversation is still being read from the log."""
        return self.controller.agent is not None and not self._fully_read.is_set()

    @property
    def attention(self) -> Attention:
        """The title and the bell of the terminal."""
        return Attention(self.application, self.controller.config.screen)

    @property
    def active_bindings(self) -> dict[str, ActiveBinding]:
        """The bindings for the footer; it names the key that interrupts while something runs."""
        found = super().active_bindings
        if self._since is None:
            for key, active in found.items():
                if active.binding.action == "escape":
                    hidden = replace(active.binding, show=False)
                    found = {**found, key: active._replace(binding=hidden)}
        return found

    async def on_mount(self) -> None:
        """Opens the conversation of the controller, or the welcome text."""
        self.composer.focus()
        self.set_interval(POLL_SECONDS, self._poll)
        await self.open(self.controller.agent)

    # Opening a conversation

    def _name_of(self, sender: str) -> str:
        """The name of who sent mail, or else the id."""
        family = self._surroundings.agents if self._surroundings else ()
        names = {each.agent: each.name for each in family}
        return names.get(AgentId(sender)) or sender or "outside"

    async def open(self, agent: AgentId | None) -> None:
        """Shows the end of a conversation and follows it. None shows the welcome text."""
        self.controller.agent = agent
        self.controller.session.reset_at = 0
        self._waiting = None
        self.workers.cancel_group(self, _LIMIT)  # pyright: ignore[reportUnknownMemberType]
        self._streaming = PartialReplyBuilder()
        self._fully_read.clear()
        connection = self.controller.connection
        self._events, self._timeline = event_cache(connection.log, connection.space), Timeline()
        state = await self.controller.state()
        if agent is not None and state is not None:
            if state.version > LONG_CONVERSATION:
                self._timeline = await read_timeline_end(
                    connection.log, connection.space, agent, state.version, self._events
                )
            else:
                self._timeline = await read_timeline(
                    connection.log, connection.space, agent, self._events
                )
                self._fully_read.set()
            if state.open is not None and state.open.asked:  # another process is receiving a reply
                self._streaming.start(state.open.called)
            self._follow(agent, self._timeline.version)
        self._chapters = None
        await self.sink.show(self._timeline, self._events)
        await self._refresh_surroundings()
        if agent is not None and state is not None:
            self.call_after_refresh(self._read_rest, agent, state)

    def show_questions(self) -> None:
        """Asks what other processes want to know about this agent. A face that can ask does."""

    def _read_rest(self, agent: AgentId, state: State) -> None:
        """Starts the work that the first screen does not need."""
        self.show_questions()
        if not self._fully_read.is_set():
            self._read_whole(agent)
        self._remember(agent)
        self._find_chapters()
        self._tell_return(agent)
        if state.open is not None or state.goal is not None:
            self._resume()
        if state.origin is not None:
            self._catch_up(state.origin)

    @work(group="return cost", exclusive=True)
    async def _tell_return(self, agent: AgentId) -> None:
        """Waits again for the limit at which the last turn failed, or says that it has reset.

        Else it says what the next prompt costs if the provider's cache ended in the pause.
        """
        from sapwood.conversation.cut_preview import cost_of_return

        session = self.controller.session
        if not await session.is_working() and (at := await session.limit_reset()):
            if resets_soon(at, _now()):
                self._retry_when_reset(at)
            else:
                self.show_message(
                    "The last turn failed at a limit that has reset. To ask again, type: /retry"
                )
            return
        cost = await cost_of_return(self.controller.connection, agent)
        if cost is not None and self.controller.agent == agent:
            self.show_message(cost.sentence("/{}"))

    @work(group="catch up", exclusive=True)
    async def _catch_up(self, origin: Origin) -> None:
        """Imports what is new in the session that the conversation was imported from."""
        with suppress(SapwoodError):  # the file may be gone; what was imported stays readable
            await self.controller.import_session(origin.path, origin.source)

    @work(group="remember", exclusive=True)
    async def _remember(self, agent: AgentId) -> None:
        connection = self.controller.connection
        self.composer.sent.begin(await sent_prompts(connection.log, connection.space, agent))

    @work(group="go", exclusive=True)
    async def go_to(self, agent: AgentId, version: int) -> None:
        """Shows one place of this conversation or of another one, in the background."""
        if agent != self.controller.agent:
            await self.open(agent)
        await self._fully_read.wait()
        row = self._timeline.row_at(agent, version)
        if row is None or not await self.sink.go_to(row.key):
            self.show_refusal(
                f"{agent}:{version} is not shown in the transcript. To read it, type: sapwood show "
                f"{agent}"
            )

    @work(group="whole", exclusive=True)
    async def _read_whole(self, agent: AgentId) -> None:
        """Reads the whole conversation and replaces the part that is shown."""
        connection = self.controller.connection
        whole = await read_timeline(connection.log, connection.space, agent, self._events)
        for recorded in await connection.log.read(connection.space, agent, whole.version + 1):
            whole.add(recorded)
        if self.controller.agent == agent:
            self._timeline = whole
            await self.sink.complete(whole)
            self._fully_read.set()

    @work(group="resume", exclusive=True)
    async def _resume(self) -> None:
        await self.controller.resume()

    # Following it

    @work(group="follow", exclusive=True)
    async def _follow(self, agent: AgentId, after: int) -> None:
        while True:
            try:
                await self._watch(agent, after)
            except LogUnavailable:  # a notice tells the person; missed events are read afterwards
                await asyncio.sleep(POLL_SECONDS)
                after = self._timeline.version
            else:
                return

    async def _watch(self, agent: AgentId, after: int) -> None:
        async with aclosing(self.controller.watch(agent, after)) as shown:
            async for each in shown:
                match each.what:
                    case Recorded() as recorded:
                        self._apply(recorded)
                    case Delta() as delta:
                        self.add_delta(delta)
                    case DriveFailure(sentence):
                        self.show_refusal(sentence)

    def add_delta(self, delta: Delta) -> None:
        """Shows one more piece of a reply."""
        self._streaming.add(delta)
        self._draw_soon()

    def show_shell(self, agent: AgentId, line: str, output: bytes) -> None:
        """Shows a shell command of the person while it runs, and what it has just printed."""
        if agent == self.controller.agent:
            self._streaming.run_shell(line, output)
            self._draw_soon()

    def show_wait(self, wait: RetryWait) -> None:
        """Shows that a call failed, and counts down to its next attempt."""
        if wait.agent == self.controller.agent and wait.seconds >= 1:
            self._waiting = (wait, time.monotonic() + wait.seconds)
            self.refresh_soon()

    def _apply(self, recorded: Recorded) -> None:
        if recorded.version > self._timeline.version:
            self._timeline.add(recorded)
        self._events.add(recorded)
        self._draw_soon()
        match recorded.event:
            case TurnStarted():
                self._stop_limit_wait()
            case ModelCalled(model, instruction=""):
                self._streaming.start(model)
            case ReplyAdded() | ReplyLost():
                self._streaming.clear()
            case ShellRan():
                self._streaming.run_shell("", b"")
            case TurnCompleted() | TurnFailed() | TurnInterrupted():
                if isinstance(recorded.event, TurnFailed):
                    self.model_failed(recorded.event)
                elif isinstance(recorded.event, TurnCompleted) and self.mode == "plan":
                    self.show_message("Carry this plan out: /accept-plan. Or say what to change.")
                self._streaming.clear()
                self.show_questions()
                self._find_chapters()
                self.attention.call(time.monotonic() - (self._since or time.monotonic()))
                self._send_next()
            case QuestionAsked() | QuestionAnswered() | ToolFinished():
                self.show_questions()
            case MailReceived(_, _, sender):
                self.notify(
                    f"Mail from {self._name_of(sender)}. Type /check-mail to read it.", markup=False
                )
                self.attention.call()
            case WordsErased():
                self._show_again()
            case _:
                pass

    @work(group="again", exclusive=True)
    async def _show_again(self) -> None:
        """Draws everything anew, from the log. Lines in the terminal's own history stay there."""
        if isinstance(self.sink, Transcript):
            await self.sink.show(self._timeline, self._events)

    def model_failed(self, failed: TurnFailed) -> None:
        """Reacts to the failure of a turn while it is shown."""
        if resets_soon(failed.retry_at, _now()):
            self._retry_when_reset(failed.retry_at)
        else:
            self.show_message("The turn failed. To ask again, type: /retry")

    @work(group=_LIMIT, exclusive=True)
    async def _retry_when_reset(self, at: int) -> None:
        """Asks again when the limit of the provider resets, unless the person does something."""
        self.controller.session.reset_at = at
        try:
            await self._refresh_surroundings()
            await asyncio.sleep(max(0.0, (at - _now()) / 1_000_000))
        finally:
            self.controller.session.reset_at = 0
        session = self.controller.session
        if not await session.is_working() and await session.limit_reset() == at:
            await self.controller.run(TABLE["retry"])
        await self._refresh_surroundings()

    def stop_waiting(self) -> bool:
        """Ends the wait for the limit of the provider; returns false if there is none."""
        if not self._stop_limit_wait():
            return False
        self.show_message("It is not asked again. To ask again, type: /retry")
        self.refresh_soon()
        return True

    def _stop_limit_wait(self) -> bool:
        if not self.controller.session.reset_at:
            return False
        self.workers.cancel_group(self, _LIMIT)  # pyright: ignore[reportUnknownMemberType]
        self.controller.session.reset_at = 0
        return True

    def _draw_soon(self) -> None:
        """Draws new rows after `_FRAME` seconds, together with those that arrive until then."""
        if not self._drawing:
            self._drawing = True
            self.set_timer(_FRAME, self._draw)

    async def _draw(self) -> None:
        self._drawing = False
        if not self.application.is_running:  # the widgets are being removed
            return
        await self.sink.grow()
        await self.sink.stream(self._streaming.row())
        if self._timeline.version != self._refreshed_at:
            await self._refresh_surroundings()

    async def _poll(self) -> None:
        """Updates the clock, and the sidebar if other agents have changed."""
        self.query_one(StatusLine).doing(self._progress())
        if self._waiting is not None and self._surroundings is not None:
            self._show_todo(self._surroundings)
        with suppress(LogUnavailable):  # the sidebar then keeps what it shows
            if self.controller.agent is not None:
                agents = await family_of(self.controller.connection, self.controller.agent)
                if self._surroundings is not None and agents != self._surroundings.agents:
                    await self._refresh_surroundings()

    async def _refresh_surroundings(self) -> None:
        """Updates header, sidebar and status line."""
        self._refreshed_at = self._timeline.version
        found = self._surroundings = await surroundings(
            self.controller.services, self.controller.agent, self.controller.folder
        )
        if self.application.is_running:  # else the widgets are being removed
            self._show_surroundings(found)
            await self._dim_dead_marks(found)

    async def _dim_dead_marks(self, found: Surroundings) -> None:
        """Draws marks again that a command dropped or brought back."""
        if found.state is not None and self._fully_read.is_set():
            before = self._timeline.changed
            self._timeline.know_marks(mark.version for mark in found.state.marks)
            if self._timeline.changed != before:
                await self.sink.grow()

    @work(group="tell", exclusive=True)
    async def refresh_soon(self) -> None:
        """Updates header, sidebar and status line, in the background."""
        await self._refresh_surroundings()

    def _show_surroundings(self, found: Surroundings) -> None:
        busy = found.is_working or bool(self._activity)
        if busy != (self._since is not None):
            self.call_after_refresh(self.refresh_bindings)
        self._since = (self._since or time.monotonic()) if busy else None
        jobs = found.state.jobs if found.state else ()
        running = sum(job_status(each) == "running" for each in jobs)
        status = Status(found.budget, found.cost, self._progress(), self.mode, running)
        self.query_one(StatusLine).status = status
        self._show_todo(found)
        self._show_queue(found)
        self._show_panels(found)
        self.attention.title(self.controller.folder, working=busy)

    def _show_panels(self, found: Surroundings) -> None:
        """Shows header and sidebar, and the welcome text while the conversation is empty."""
        state = found.state
        self.query_one("#head", Static).update(
            header_line(self.controller.folder, state, self.size.width - 2)
        )
        self.query_one(Sidebar).show(
            SidebarContent(found.agents, self.controller.agent, state, found.budget, self._chapters)
        )
        empty = not self._timeline.rows
        self.query_one("#welcome", Static).update(
            welcome_text(self.controller.config, self.controller.folder)
        )
        self.query_one("#welcome").display = empty
        self.transcript.display = not empty

    @property
    def mode(self) -> PermissionMode:
        """The permission mode of the shown agent, or of the next conversation."""
        state = self._surroundings.state if self._surroundings else None
        return state.settings.permission_mode if state else self.controller.config.permission_mode

    @property
    def cost(self) -> int:
        """The cost in the status line, with that of all descendants of a root."""
        return self._surroundings.cost if self._surroundings else 0

    @property
    def _is_asking(self) -> bool:
        """Whether a tool call of this agent waits for the approval of a person."""
        state = self._surroundings.state if self._surroundings else None
        return state is not None and state.open is not None and bool(state.open.questions)

    def _progress(self) -> str:
        """The activity for the status line, with its duration."""
        if self._since is None:
            return "… reading earlier messages" if self.is_reading else ""
        if self._is_asking and not self._activity:  # the time is that of the person
            return "waiting for your approval · esc interrupts"
        seconds = int(time.monotonic() - self._since)
        what = self._activity or "working"
        return f"{_SPINNER[seconds % len(_SPINNER)]} {what} {seconds} s · esc interrupts"

    @work(group="chapters", exclusive=True)
    async def _find_chapters(self) -> None:
        """Finds the chapters in the background, after each turn."""
        if self.controller.agent is not None:
            self._chapters = await chapters_in_view(
                self.controller.connection, self.controller.agent
            )
            await self._refresh_surroundings()

    @work(group="queue")
    async def _send_next(self) -> None:
        """Sends what waits. A turn that ends while this still runs does not cancel it."""
        await self.controller.turn_ended()
        await self._refresh_surroundings()

    # Messages and the queue

    def show_message(self, text: str, *, from_end: bool = False) -> None:
        """Shows the answer to a command, or the end of it if it is too long."""
        self._is_from_end = from_end
        self._set_notice(text)

    def show_refusal(self, text: str) -> None:
        """Shows why a step was refused, as a warning."""
        self._is_from_end = False
        self._set_notice(text, refused=True)

    def _set_notice(self, text: str, *, refused: bool = False) -> None:
        notice = self.query_one("#notice", Static)
        self.message = text
        self._fit_notice()
        notice.display = bool(text)
        notice.set_class(refused, "refused")

    def on_resize(self, event: events.Resize) -> None:
        """Wraps the message and cuts the header for the new width."""
        self._fit_notice()
        if self._surroundings is not None:
            self._show_panels(self._surroundings)

    def _fit_notice(self) -> None:
        """Shows the rows of the message that fit, and how to see the others."""
        notice = self.query_one("#notice", Static)
        around = notice.parent
        width = around.content_size.width if isinstance(around, Widget) else 0
        notice.update(self._first_rows(plain(self.message), width or self.size.width))

    def _first_rows(self, text: str, width: int) -> str:
        rows = Content(text).wrap(max(1, width - _NOTICE_PADDING))
        if len(rows) <= _NOTICE_ROWS:
            return text
        key = self.controller.config.screen.keys.get("message", "f7").partition(",")[0]
        shown = _NOTICE_ROWS - 1
        left = len(rows) - shown
        if self._is_from_end:
            last = [str(row) for row in rows[-shown:]]
            return "\n".join([f"… {left:,} lines above: {key} shows all", *last])
        first = [str(row) for row in rows[:shown]]
        return "\n".join([*first, f"… {left:,} more lines: {key} shows all"])

    def _show_todo(self, found: Surroundings) -> None:
        """Shows the goal, waits for the provider, and the to-do list until all of it is done."""
        state, lines = found.state, list[str]()
        if state is not None and state.goal is not None:
            waits = self.controller.session.goal_waits(state)
            lines.append(goal_line(state.goal, waits=waits, works=found.is_working))
        if self._waiting is not None:
            wait, until = self._waiting
            left = until - time.monotonic()
            if left > 0 and found.is_working:
                lines.append(wait_line(wait, left))
            else:
                self._waiting = None
        if self.controller.session.reset_at:
            lines.append(limit_line(self.controller.session.reset_at))
        if state is not None and any(item.status != "done" for item in state.todo):
            lines.append(todo_line(state.todo))
        widget = self.query_one("#todo", Static)
        widget.display = bool(lines)
        widget.update("\n".join(lines))

    def _queue_help(self, *, alone: bool) -> tuple[str, str]:
        """What is sent and in which order while the queue is held, and how a message leaves it."""
        first = "esc leaves the block, " if self.composer.on_block else ""
        if self.controller.session.reset_at:
            sends = "waits for the limit" if alone else "wait for the limit, sent in this order"
        else:
            sends = "enter sends it" if alone else "enter sends these in this order"
        last, taken = ("after it", "it") if alone else ("last", "the last one")
        return (
            f"  ({first}{sends}; a new message goes {last})",
            f"  (↑ takes {taken} back, to change or delete it)",
        )

    def _show_queue(self, found: Surroundings) -> None:
        queue = self.query_one("#queue", Static)
        waiting = found.state.queue if found.state else ()
        queue.display = bool(waiting)
        lines = [f"» queued: {one_line(each.text)}" for each in waiting]
        if len(lines) > _QUEUE_ROWS:
            lines[_QUEUE_ROWS - 1 :] = [f"» and {len(lines) - _QUEUE_ROWS + 1} more"]
        if lines and not found.is_working:
            lines += self._queue_help(alone=len(waiting) == 1)
        queue.update("\n".join(lines))
