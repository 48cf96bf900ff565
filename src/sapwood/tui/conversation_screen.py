"""The conversation screen: submissions, completions, keys and permission questions."""

import asyncio
import os
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import ClassVar

from textual import on, work
from textual.app import SuspendNotSupported
from textual.binding import BindingType
from textual.widgets import TextArea

from sapwood.conversation.answers import Answer as CommandAnswer
from sapwood.conversation.completion import KnownNames, choices, is_complete
from sapwood.conversation.configured_models import NO_MODEL
from sapwood.conversation.mentions import (
    WorkspaceFiles,
    is_complete_mention,
    is_mention,
    mention_choices,
)
from sapwood.conversation.prompt_files import missing_files
from sapwood.conversation.provider_limit import changes_model
from sapwood.conversation.script import CommandStep, Script, is_shell, parse
from sapwood.core.command_table import TABLE, SlashCommand
from sapwood.core.errors import LogUnavailable, SapwoodError
from sapwood.core.events import TurnFailed
from sapwood.core.ids import AgentId
from sapwood.core.model_calls import Failure
from sapwood.core.refusals import Refusal
from sapwood.tui.composer import CompletionPopup, Composer
from sapwood.tui.conversation_controller import ConversationController
from sapwood.tui.conversation_view import POLL_SECONDS, ConversationView
from sapwood.tui.find_bar import FindBar
from sapwood.tui.key_order import COMMAND, PROMPT
from sapwood.tui.keys import bindings
from sapwood.tui.pages import Pages
from sapwood.tui.sidebar import Sidebar
from sapwood.tui.terminal import copy_text, edit_text, lent_terminal
from sapwood.tui.transcript.widget import Transcript
from sapwood.workspace.permissions.permission_gate import Deny, PermissionAnswer, PermissionQuestion
from sapwood.workspace.permissions.permission_rules import next_mode

_TWICE = 2.0
"""Seconds within which a key counts as pressed twice."""

_PAUSE = 1.5
"""Seconds without a letter after which the person counts as no longer typing."""

_NO_MODEL = "No model is set. To choose one, type: /model claude-sonnet-5-5"

_SLOW = "slow"
"""The worker group of commands that may take long. Keys do not wait for it: escape must stop it."""


def _steps(text: str, known: KnownNames) -> Script:
    """The steps of a submission; none if it is refused, as a mistyped command is."""
    custom = [each.word.removeprefix("/") for each in known.custom]
    script = parse(text, shell=True, custom=custom)
    return () if isinstance(script, Refusal) else script


def _group_of(steps: Script) -> str:
    """The worker group in which a submission runs."""
    if any(step.slow for step in steps):
        return _SLOW
    return COMMAND if steps and isinstance(steps[0], CommandStep) else PROMPT


def _activity_of(steps: Script) -> str:
    """The command that the status line names while a submission runs; empty for a prompt."""
    if _group_of(steps) == PROMPT:
        return ""
    commands = [step for step in steps if isinstance(step, CommandStep)]
    return next((each for each in commands if each.slow), commands[0]).command.name


class ConversationScreen(ConversationView):
    """The full-screen conversation."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings()]

    def __init__(self, controller: ConversationController) -> None:
        super().__init__(controller)
        self._activities: list[str] = []
        self.pages = Pages(self)
        self._refused_text = ""
        self._asked_about = ""
        self._files = WorkspaceFiles()
        self._asking: dict[str, asyncio.Task[None]] = {}
        self._pressed: dict[str, float] = {}
        self._interrupting = False
        self._at_editor = asyncio.Lock()
        self._typed_at = -_PAUSE
        self.last_typed: Callable[[], float] = time.monotonic

    @property
    def _known(self) -> KnownNames:
        return self._surroundings.known if self._surroundings else KnownNames()

    async def on_mount(self) -> None:
        """Connects the composer with the completions. Textual calls the inherited method too."""
        self.composer.pick = self._use_completion_key

    # Submissions

    @on(Composer.Sent)
    def _sent(self, event: Composer.Sent) -> None:
        self._pressed.clear()
        steps = _steps(event.text, self._known)
        if steps and all(isinstance(step, CommandStep) for step in steps):  # nothing to keep
            self.composer.forget(event.text)
        question = next((step.confirm for step in steps if step.confirm), "")
        if question and event.text != self._asked_about:
            self._asked_about = event.text
            self.composer.put(event.text)
            self.run_worker(self._ask_before(event.text, question))
            return
        self._asked_about = ""
        self.submit(event.text)

    async def _ask_before(self, text: str, question: str) -> None:
        """Says what a command does that has to be confirmed, or why it is refused anyway."""
        try:
            await self.controller.require_named(text)
        except SapwoodError as error:
            self._asked_about = ""
            self.show_refusal(str(error))
        else:
            self.show_message(f"{question} Press enter again to do it.")

    def submit(self, text: str) -> None:
        """Runs a submission in the background; the status line shows it while it runs."""
        self.run_worker(self._submit(text), group=_group_of(_steps(text, self._known)))

    async def _submit(self, text: str) -> None:
        self._set_notice("")
        steps = _steps(text, self._known)
        if changes_model(steps):
            self.stop_waiting()  # the limit is that of the model before
        sent, is_back, taken = self.composer.sent, False, False
        try:
            with self._busy(_activity_of(steps)):
                taken = await self.controller.submit(text)
            is_back = not taken and self.composer.message in ("", text)
        finally:  # also if it was stopped
            if not is_back:
                sent.add(text)
        if not taken and any(is_shell(step) for step in steps):  # it was not started
            self._streaming.run_shell("", b"")
        if taken:
            self.composer.forget(text)
            self._tell_missing_files(steps)
        elif is_back:
            self._refused_text = self.controller.again or text
            self.composer.put(self._refused_text)
            if text.startswith(("/", "!")):  # what is typed next replaces a command
                self.composer.select_all()
        await self._refresh_surroundings()

    def _tell_missing_files(self, steps: Script) -> None:
        """Says which names after an @ were sent as text, unless there is another message."""
        missing = missing_files(steps, self._workspace_folder)
        if missing and not self.message:
            what, was = ("file", "it was") if len(missing) == 1 else ("files", "they were")
            self.show_message(f"There is no {what} {', '.join(missing)}; {was} sent as text.")

    @work(group=_SLOW)
    async def import_session(self, path: str) -> None:
        """Imports a session of another program and shows it, in the background."""
        with self._busy("importing"):
            try:
                await self.open(await self.controller.import_session(path))
            except SapwoodError as error:
                self.show_refusal(str(error))
        await self._refresh_surroundings()

    @contextmanager
    def _busy(self, what: str) -> Generator[None]:
        """Shows an activity in the status line while the block runs, unless it ends at once.

        Of several that run, the newest is shown.
        """
        self._activities.append(what)
        self._activity = what
        timer = self.set_timer(POLL_SECONDS / 4, self._refresh_surroundings)
        try:
            yield
        finally:
            self._activities.remove(what)
            self._activity = next(reversed(self._activities), "")
            timer.stop()

    @on(TextArea.Changed, "#composer")
    def _typed(self) -> None:
        if self.composer.message != self._asked_about:
            self._asked_about = ""
        self.composer.show_files(self._workspace_folder)
        if self.composer.text:
            self._typed_at = time.monotonic()
            self.controller.agents.warm_up()
        self._show_completions()

    def _show_completions(self) -> None:
        """Lists the completions of the typed word."""
        composer, popup = self.composer, self.query_one(CompletionPopup)
        # A refused text comes back with the reason above it, and a command that has to be confirmed
        # with a question. The list would cover them.
        is_back = composer.message in (self._refused_text, self._asked_about)
        found = [] if is_back else choices(composer.line_to_cursor, self._known)
        if is_mention(composer.word) and not is_back and not found:
            found = mention_choices(composer.word, self._known, self._files)
            self._list_files()
        if found or popup.display:
            popup.offer(found)
            self._place_popup(popup)

    @work(group="files", exclusive=True)
    async def _list_files(self) -> None:
        """Lists the files of the workspace in the background, and shows them."""
        if await self._files.refresh(self._workspace_folder) and is_mention(self.composer.word):
            self._show_completions()

    @property
    def _workspace_folder(self) -> str:
        """The folder that the shown agent works in."""
        state = self._surroundings.state if self._surroundings else None
        workspace = state.workspace if state else None
        own = (workspace.worktree or workspace.folder) if workspace else ""
        return os.path.realpath(os.path.expanduser(own or self.controller.folder))

    def _place_popup(self, popup: CompletionPopup) -> None:
        """Places the list right above the composer, which grows with its text."""
        popup.styles.margin = (0, 0, self.composer.outer_size.height + 2, 1)

    def _use_completion_key(self, key: str) -> bool:
        """Handles a key of the completion list; returns false if the key is not for the list."""
        popup, composer = self.query_one(CompletionPopup), self.composer
        if not popup.moved:
            self._show_completions()  # a key may arrive before the list is up to date
        if not popup.display or popup.chosen is None:
            return False
        if key in ("up", "down"):
            popup.move(key)
        elif key == "tab" or popup.moved or self._needs_completion():
            composer.complete(popup.chosen)
        else:
            self._close_popup()
            return False
        return True

    def _needs_completion(self) -> bool:
        """Whether enter takes the completion: the word before the cursor is only begun."""
        line = self.composer.line_to_cursor
        if is_mention(self.composer.word):
            return not is_complete_mention(self.composer.word, self._files)
        return bool(self.composer.word) and not is_complete(line, self._known)

    def _close_popup(self) -> None:
        self.query_one(CompletionPopup).offer([])

    @on(Composer.Recalled)
    async def _recalled(self) -> None:
        # A draft stays: it would be lost under the text that comes back.
        if not self.composer.text and (text := await self.controller.session.take_back()):
            self.composer.put(text)
            await self._refresh_surroundings()
        else:
            self.composer.recall()

    @on(Composer.BlockKey)
    async def _block_key(self, event: Composer.BlockKey) -> None:
        await self.action_transcript(event.action)

    @on(Sidebar.Chosen)
    def _chosen(self, event: Sidebar.Chosen) -> None:
        self.submit(f"/switch {event.agent}")
        self.composer.focus()

    # Answers and questions

    async def show_answer(self, answer: CommandAnswer) -> None:
        """Shows the answer to a step: a message, a page, or another conversation."""
        await self.pages.show(answer)

    async def ask_permission(self, question: PermissionQuestion) -> PermissionAnswer:
        """Asks on a page whether a tool may run, and rings the bell.

        The page opens only after the person has stopped typing: the next letter would answer it.
        """
        self.attention.call()
        await self._typing_paused()
        answer = await self.pages.ask(question)
        if answer is None:
            self._stop(question.agent)
        return answer or Deny()

    def model_failed(self, failed: TurnFailed) -> None:
        """Asks for another API key if the provider rejected the present one."""
        state = self._surroundings.state if self._surroundings else None
        if failed.failure == "bad_key" and state is not None and self.is_current:
            self._ask_for_key(state.settings.model, failed.error)
        else:
            super().model_failed(failed)

    def show_failure(self, failure: Failure) -> None:
        """Shows why a model cannot be called, and asks for a model or an API key if none is set."""
        is_unset = str(failure) == NO_MODEL
        self.show_refusal(_NO_MODEL if is_unset else str(failure))
        if (is_unset or failure.model) and self.controller.connection.server is None:
            self._ask_for_key(failure.model, str(failure), is_missing=True)

    @work(group="key", exclusive=True)
    async def _ask_for_key(self, model: str, why: str, *, is_missing: bool = False) -> None:
        """Opens the page after the person has stopped typing: it would take the next letters."""
        await self._typing_paused()
        if self.is_current and model:
            self.pages.ask_for_key(model, why, is_missing=is_missing)
        elif self.is_current:
            self.pages.ask_for_model()

    async def _typing_paused(self) -> None:
        while True:
            async with self._at_editor:  # who writes in an editor types, too
                still = self._typed_at + _PAUSE - time.monotonic()
            if still <= 0:
                return
            await asyncio.sleep(still)

    def show_questions(self) -> None:
        """Opens a page for each question of another process, and closes pages of answered ones."""
        self._update_questions()

    @work(group="questions", exclusive=True)
    async def _update_questions(self) -> None:
        try:
            waiting = {posted.id: posted for posted in await self.controller.waiting_questions()}
        except LogUnavailable:  # the next event of this agent comes when it is back
            return
        for id_, asking in list(self._asking.items()):
            if id_ not in waiting or asking.done():
                asking.cancel()
                del self._asking[id_]
        for id_, posted in waiting.items():
            if id_ not in self._asking:
                self._asking[id_] = asyncio.ensure_future(self.controller.answer(posted))

    @work(group="stop")
    async def _stop(self, agent: AgentId) -> None:
        """Interrupts the turn of an agent whose question was closed without an answer."""
        await self.controller.stop(agent)

    def leave(self) -> None:
        """Ends the application."""
        self.application.exit()

    @on(Transcript.Copied)
    def _copied(self, event: Transcript.Copied) -> None:
        self.show_message(copy_text(self.application, event.text))

    @on(Transcript.FollowChanged)
    def _follow_changed(self, event: Transcript.FollowChanged) -> None:
        key = self.controller.config.screen.keys.get("end", "ctrl+end").partition(",")[0]
        self.composer.border_subtitle = "" if event.follows else f" ▼ more below · {key} follows "

    @on(FindBar.Found)
    async def _found(self, event: FindBar.Found) -> None:
        self.transcript.highlight(event.words)
        if self.controller.agent is not None:
            self.go_to(self.controller.agent, event.version)

    @on(FindBar.Closed)
    def _find_closed(self) -> None:
        self.transcript.highlight("")
        self.composer.focus()

    # Keys

    async def action_transcript(self, action: str, *args: int) -> None:
        """Runs an action of the transcript."""
        await getattr(self.transcript, f"action_{action}")(*args)
        is_on_block = self.transcript.cursor is not None
        if is_on_block != self.composer.on_block:
            self.composer.on_block = is_on_block
            if self._surroundings is not None:
                self._show_queue(self._surroundings)

    async def action_escape(self) -> None:
        """Closes the list or find bar, stops the command, interrupts the turn, or leaves the block.

        If there is nothing of these, pressing the key twice opens the rewind page.
        """
        try:
            await self._escape()
        except SapwoodError as error:
            self.show_refusal(str(error))

    async def _escape(self) -> None:
        if self._close_popup_or_find_bar():
            return
        running = TABLE.get(self._activity)
        if running is not None and running.uninterruptible:
            self.show_message(f"{running.typed} cannot be interrupted. Undo it afterwards.")
        elif self._activity:
            self._stop_commands(running)
        elif await self._interrupt() or self.stop_waiting():
            return
        elif self.composer.on_block:
            await self.action_transcript("leave")
        elif self._is_second_press("escape", self.last_typed()):
            await self.pages.open("rewind")

    async def _interrupt(self) -> bool:
        """Interrupts the open turn and says so; returns false if no turn is open."""
        if not await self.controller.interrupt():
            return False
        self.show_message("The turn was interrupted. What arrived is kept.")
        return True

    def _stop_commands(self, running: SlashCommand | None) -> None:
        """Stops the commands that run."""
        self.show_message(running.stopped if running else "Stopped. What was done by then is kept.")
        for group in (COMMAND, PROMPT, _SLOW):
            self.workers.cancel_group(self, group)  # pyright: ignore[reportUnknownMemberType]

    def _close_popup_or_find_bar(self) -> bool:
        """Closes the completion list or the find bar; returns false if neither is open."""
        if self.query_one(CompletionPopup).display:
            self._close_popup()
            return True
        for find in self.query(FindBar):
            if find.display:
                find.action_close()
                return True
        return False

    def action_leave_twice(self) -> None:
        """Copies the selection, clears the composer, stops what runs, or quits by two presses.

        While something runs, a press only stops it: a second one right behind it does not quit.
        """
        composer = self.composer
        at, running = self.last_typed(), TABLE.get(self._activity)
        stops = self._activity and not (running and running.uninterruptible)
        if selected := self.get_selected_text() or composer.selected_text:
            self.show_message(copy_text(self.application, selected))
            self.clear_selection()
        elif composer.text:
            composer.sent.add(composer.message)
            composer.text = ""
        elif stops and not self._is_second_press("stop", at):  # a command may not stop
            self._stop_commands(running)
        elif self._interrupting:  # it does not answer, for example because the log is unavailable
            self._leave_on_second(at)
        else:
            self._interrupt_or_leave(at)

    @work(group=COMMAND)
    async def _interrupt_or_leave(self, at: float) -> None:
        """Interrupts the turn; if nothing runs, quits at the second press."""
        self._interrupting = True
        try:
            if not await self._interrupt() and not self.stop_waiting():
                self._leave_on_second(at)
        except SapwoodError as error:
            self.show_refusal(str(error))
        finally:
            self._interrupting = False

    def _leave_on_second(self, at: float) -> None:
        if self._is_second_press("leave", at):
            self.leave()
            return
        state = self._surroundings.state if self._surroundings else None
        stops = self.controller.session.ends_with_process(state) if state else ""
        notice = f"Press ctrl+c again to quit. Everything is saved.{stops}"
        self.show_message(notice)
        self.set_timer(_TWICE, lambda: self._take_back(notice))

    def _take_back(self, notice: str) -> None:
        """Removes a message that no longer holds, if it is still shown."""
        if self.message == notice and self.application.is_running:
            self._set_notice("")

    def _is_second_press(self, key: str, at: float) -> bool:
        """Whether a key that was typed at this time was typed twice within `_TWICE` seconds."""
        before = self._pressed.get(key, -_TWICE)
        self._pressed[key] = at
        return at - before < _TWICE

    def action_sidebar(self) -> None:
        """Shows or hides the sidebar."""
        self.toggle_class("-side")

    async def action_page(self, name: str) -> None:
        """Opens a page that has no command."""
        await self.pages.open(name)

    async def action_command(self, name: str) -> None:
        """Runs the command of a key."""
        await self.controller.run(TABLE[name])

    def action_mode(self) -> None:
        """Changes to the next permission mode; from a mode that is not in the round, to the first.

        A person who has typed something keeps it.
        """
        self.submit(f"/permissions {next_mode(self.mode)}")

    def action_find(self) -> None:
        """Opens the find bar."""
        self.query_one(FindBar).open(self.controller.agent)

    @work(group=COMMAND)
    async def action_editor(self) -> None:
        """Opens the text of the composer in the person's editor. Turns run on meanwhile."""
        async with self._at_editor:
            try:
                with lent_terminal(self.application):
                    text = await edit_text(self.composer.message)
            except (OSError, ValueError, SuspendNotSupported) as error:
                self.show_refusal(
                    f"The editor failed: {error}. The text is unchanged. To use another editor, "
                    "set VISUAL or EDITOR."
                )
            else:
                self.composer.put(text)

    def action_read(self) -> None:
        """Moves the focus between transcript and composer."""
        (self.transcript if self.composer.has_focus else self.composer).focus()
