"""Which page answers what, and what follows when something was picked on it."""

import asyncio
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from sapwood.app.comparing import compare
from sapwood.core.errors import SapwoodError
from sapwood.core.ids import AgentId
from sapwood.display.text import one_line
from sapwood.tui.host import host

if TYPE_CHECKING:
    from textual.screen import Screen

    from sapwood.tui.conversation import Conversation
    from sapwood.workspace.permissions.asking import Answer, Question

__all__ = ["Pages"]


class Pages:
    """Opens pages over one conversation. Each is imported when it is first opened."""

    def __init__(self, conversation: "Conversation") -> None:
        self._conversation = conversation

    async def open(self, name: str, args: str = "") -> None:
        """Opens a page by its name, or by that of the command that asks for it."""
        try:
            await self._open(name, args)
        except SapwoodError as error:
            self._conversation.refused(str(error))

    async def _open(self, name: str, args: str) -> None:
        desk = self._conversation.desk
        held = desk.connection
        match name:
            case "help":
                from sapwood.tui.screens.help import HelpPage

                self._push(HelpPage(desk.config.screen.keys, args))
            case "agents" | "check-mail":
                from sapwood.tui.screens.agents import AgentsPage

                self._push(AgentsPage(held, desk.agent), self._typed)
            case "resume" | "switch":
                from sapwood.tui.screens.resume import ResumePage

                self._push(ResumePage(held, desk.folder), self._switch)
            case "search" | "recall":
                from sapwood.tui.screens.search import SearchPage

                self._push(SearchPage(held, args), self._go)
            case "config" | "settings":
                from sapwood.tui.screens.settings import SettingsPage

                self._push(SettingsPage(desk.config))
            case "history":
                from sapwood.tui.screens.history import HistoryPage

                self._push(HistoryPage(self._conversation.composer.sent), self._put)
            case _:
                await self._of_agent(name, args)

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

    async def _of_agent(self, name: str, args: str) -> None:
        """Pages that need a conversation."""
        desk = self._conversation.desk
        held, opened = desk.connection, await desk.opened()
        if opened is None or desk.agent is None:
            raise SapwoodError("There is no conversation yet. Write a first message.")
        match name:
            case "context":
                from sapwood.tui.screens.context import ContextPage

                self._push(ContextPage(opened, held.counter_for(opened.state.settings.model)))
            case "rewind":
                from sapwood.tui.screens.rewind import RewindPage

                self._push(RewindPage(held, opened), self._submit)
            case "replay":
                from sapwood.tui.screens.replay import ReplayPage

                self._push(ReplayPage(held, desk.agent, args))
            case "diff":
                from sapwood.tui.screens.diff import DiffPage

                places = args.split()
                if not 1 <= len(places) <= 2:
                    raise SapwoodError("Name one mark or two. Type it as /diff A B.")
                self._push(DiffPage(await compare(held, desk.agent, places[0], *places[1:])))
            case _:
                raise SapwoodError(f"There is no page '{name}'.")

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
            self._conversation.submit(f"/switch {picked}")

    def _put(self, text: str | None) -> None:
        if text is not None:
            self._conversation.composer.put(text)

    def _go(self, place: str | None) -> None:
        if place is not None:
            agent, _, version = place.rpartition(":")
            self._conversation.go_to(AgentId(agent), int(version))
