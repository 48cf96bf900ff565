"""Shows the answers of the conversation service: lines, pages, and what follows from picking."""

import asyncio
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, assert_never

from sapwood.conversation.answers import (
    AgentsKilled,
    AgentTree,
    ArgumentNeeded,
    Changed,
    Compacted,
    ContextsCompared,
    ContextShown,
    ConversationStarted,
    FilesReverted,
    Forked,
    HelpShown,
    Left,
    MailRead,
    MailSent,
    MailShown,
    PassageShown,
    Prompted,
    RequestReplayed,
    SearchResults,
    SettingShown,
    SettingsShown,
    StillWaiting,
    Switched,
    Waited,
)
from sapwood.core.command_table import TABLE
from sapwood.core.errors import RefusedError, SapwoodError
from sapwood.core.ids import AgentId
from sapwood.core.refusals import NoConversation
from sapwood.display.text import one_line
from sapwood.tui.host import host

if TYPE_CHECKING:
    from textual.screen import Screen

    from sapwood.conversation.answers import Answer as CommandAnswer
    from sapwood.tui.conversation import Conversation
    from sapwood.workspace.permissions.asking import Answer, Question

__all__ = ["Pages"]


class Pages:
    """Opens pages over one conversation. Each is imported when it is first opened."""

    def __init__(self, conversation: "Conversation") -> None:
        self._conversation = conversation
        self._pages = {"history": self._history, "rewind": self._rewind}

    async def show(self, answer: "CommandAnswer") -> None:
        """Shows an answer: as a line, on a page, or by going to another conversation."""
        front, desk = self._conversation, self._conversation.desk
        match answer:
            case ConversationStarted(agent=agent, message=message):
                front.said(message)
                await front.switched(agent)
            case Switched(agent):
                await front.switched(agent)
            case Forked(child=child, taken_over=True):
                await front.switched(child)
                front.said(answer.message)
            case AgentTree() | MailShown():
                from sapwood.tui.screens.agents import AgentsPage

                self._push(AgentsPage(desk.connection, desk.agent), self._typed)
            case ContextShown(breakdown):
                from sapwood.tui.screens.context import ContextPage

                self._push(ContextPage(breakdown))
            case SearchResults(query):
                from sapwood.tui.screens.search import SearchPage

                self._push(SearchPage(desk.connection, query), self._go)
            case PassageShown(ref):
                front.go_to(ref.agent, ref.version)
            case RequestReplayed(agent, version=version):
                from sapwood.tui.screens.replay import ReplayPage

                self._push(ReplayPage(desk.session.service, agent, str(version or "")))
            case ContextsCompared():
                from sapwood.tui.screens.diff import DiffPage

                self._push(DiffPage(answer))
            case SettingsShown():
                from sapwood.tui.screens.settings import SettingsPage

                self._push(SettingsPage(desk.config))
            case HelpShown(rows):
                from sapwood.tui.screens.help import HelpPage

                self._push(HelpPage(desk.config.screen.keys, rows))
            case ArgumentNeeded():
                self._pick_argument(answer)
            case Left():
                front.leave()
            case (
                Changed()
                | Forked()
                | MailSent()
                | MailRead()
                | Waited()
                | StillWaiting()
                | AgentsKilled()
                | Compacted()
                | FilesReverted()
                | SettingShown()
            ):
                front.said(answer.message)
            case Prompted():
                pass  # the transcript shows it
            case _:
                assert_never(answer)

    async def open(self, name: str) -> None:
        """Opens a page that no command stands for, by its name."""
        try:
            await self._pages[name]()
        except SapwoodError as error:
            self._conversation.refused(str(error))

    def _pick_argument(self, needed: "ArgumentNeeded") -> None:
        """Lets the person pick what is missing, where there is a page for it."""
        desk = self._conversation.desk
        if "agent" in needed.argument.kinds:
            from sapwood.tui.screens.resume import ResumePage

            self._push(ResumePage(desk.connection, desk.folder), self._switch)
        elif "text" in needed.argument.kinds:
            from sapwood.tui.screens.search import SearchPage

            self._push(SearchPage(desk.connection), self._go)
        else:
            self._conversation.refused(needed.message)

    async def _history(self) -> None:
        from sapwood.tui.screens.history import HistoryPage

        self._push(HistoryPage(self._conversation.composer.sent), self._put)

    async def _rewind(self) -> None:
        from sapwood.tui.screens.rewind import RewindPage

        desk = self._conversation.desk
        if desk.agent is None:
            raise RefusedError(NoConversation())
        self._push(RewindPage(desk.connection, desk.agent), self._submit)

    async def ask(self, question: "Question") -> "Answer | None":
        """The answer to a question, whoever asks it; nothing if the page was closed instead."""
        from sapwood.tui.screens.ask import AskPage

        held, app = self._conversation.desk.connection, host(self._conversation)
        facts = await held.log.facts(held.space, question.agent)
        answered = asyncio.get_running_loop().create_future()

        def answer(given: "Answer | None") -> None:
            if not answered.done():
                answered.set_result(given)

        page = AskPage(question, one_line(facts.name) if facts and facts.name else question.agent)
        app.call_later(app.push_screen, page, answer)
        try:
            return await answered
        except asyncio.CancelledError:  # the turn was interrupted: nobody needs to know any more
            app.call_later(self._take_away, page)
            raise

    async def _take_away(self, page: "Screen[Answer | None]") -> None:
        if page.is_current:
            page.dismiss(None)

    def _push(
        self, page: "Screen[str | None]", then: Callable[[str | None], None] | None = None
    ) -> None:
        host(self._conversation).push_screen(page, then)

    def _typed(self, command: str | None) -> None:
        """A command that is whole is carried out, one that needs words is put into the composer."""
        if command is None:
            return
        if command.endswith(" "):
            self._put(command)
        else:
            self._submit(command)

    def _submit(self, command: str | None) -> None:
        if command is not None:
            self._conversation.submit(command)

    def _switch(self, picked: str | None) -> None:
        """To an agent, or to a transcript that becomes one."""
        if picked is not None and os.path.isabs(picked):
            self._conversation.bring(picked)
        elif picked is not None:
            self._conversation.submit(f"{TABLE['switch'].typed} {picked}")

    def _put(self, text: str | None) -> None:
        if text is not None:
            self._conversation.composer.put(text)

    def _go(self, place: str | None) -> None:
        if place is not None:
            agent, _, version = place.rpartition(":")
            self._conversation.go_to(AgentId(agent), int(version))
