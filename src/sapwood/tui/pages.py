"""Shows the answers of the conversation service as messages and pages.

A page returns what the person picked; `Pages` then runs the command or opens the conversation.
"""

import asyncio
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, assert_never

from msgspec import structs

from sapwood.conversation import answers
from sapwood.core.command_table import TABLE, Argument
from sapwood.core.errors import RefusedError, SapwoodError
from sapwood.core.events import GoalEnded
from sapwood.core.ids import AgentId, EventRef
from sapwood.core.refusals import NoConversation

if TYPE_CHECKING:
    from textual.screen import Screen

    from sapwood.tui.conversation_screen import ConversationScreen
    from sapwood.workspace.permissions.permission_gate import PermissionAnswer, PermissionQuestion


class Pages:
    """Opens pages over one screen. The module of a page is imported when it is first opened."""

    def __init__(self, host: "ConversationScreen") -> None:
        self._host = host
        self._offered = ""
        self._pages = {
            "history": self._history,
            "message": self._message,
            "offer": self._offer,
            "rewind": self._rewind,
        }

    async def show(self, answer: answers.Answer) -> None:
        """Shows an answer: as a message, on a page, or by opening another conversation."""
        host, controller = self._host, self._host.controller
        match answer:
            case answers.ConversationStarted(agent=agent, message=message):
                host.show_message(message)
                await host.open(agent)
            case answers.Switched(agent):
                await host.open(agent)
            case answers.Forked(child=child, taken_over=True):
                await host.open(child)
                host.show_message(answer.message)
            case answers.AgentTree() | answers.MailShown():
                from sapwood.tui.screens.resume_page import AgentsPage

                self._push(AgentsPage(controller.connection, controller.agent), self._typed)
            case answers.ContextShown(breakdown):
                from sapwood.tui.screens.context_pages import ContextPage

                self._push(ContextPage(breakdown, host.cost))
            case answers.SearchResults(query):
                from sapwood.tui.screens.search_pages import SearchPage

                self._push(SearchPage(controller.connection, query), self._go)
            case answers.PassageShown(ref):
                host.go_to(ref.agent, ref.version)
            case answers.RequestReplayed(agent, version=version):
                from sapwood.tui.screens.rewind_page import ReplayPage

                self._push(ReplayPage(controller.session.service, agent, str(version or "")))
            case answers.ContextsCompared():
                from sapwood.tui.screens.context_pages import DiffPage

                self._push(DiffPage(answer))
            case answers.SettingsShown():
                from sapwood.tui.screens.settings_page import SettingsPage

                self._push(SettingsPage(controller.config))
            case answers.HelpShown(rows):
                from sapwood.tui.screens.modal_page import HelpPage

                self._push(HelpPage(controller.config.screen.keys, rows))
            case answers.JobShown():
                host.show_message(answer.message, from_end=True)
            case answers.ArgumentNeeded():
                self._pick_argument(answer)
            case answers.PromptToEdit(prompt=prompt):
                host.show_message(answer.message)
                host.composer.put(prompt)
            case answers.Left():
                host.leave()
            case answers.Changed(events=[*_, last]) if await self._ended_goal(last):
                pass  # the transcript says it at its end
            case (
                answers.Changed()
                | answers.Forked()
                | answers.MailSent()
                | answers.MailRead()
                | answers.Waited()
                | answers.StillWaiting()
                | answers.AgentsKilled()
                | answers.Compacted()
                | answers.FilesReverted()
                | answers.SettingShown()
                | answers.PermissionsShown()
            ):
                host.show_message(answer.message)
            case answers.Prompted(offer=offer):  # the transcript shows the prompt
                self._offered = offer.line if offer and not offer.is_brought else ""
                if answer.message:
                    host.show_message(answer.message)
            case _:
                assert_never(answer)

    async def _ended_goal(self, at: EventRef) -> bool:
        connection = self._host.controller.connection
        found = await connection.log.read(connection.space, at.agent, at.version, at.version)
        return any(isinstance(each.event, GoalEnded) for each in found)

    async def open(self, name: str) -> None:
        """Opens a page that has a key but no command, by its name."""
        try:
            await self._pages[name]()
        except SapwoodError as error:
            self._host.show_refusal(str(error))

    def _pick_argument(self, needed: answers.ArgumentNeeded) -> None:
        """Opens a page to pick the missing argument from; refuses if there is no such page."""
        controller = self._host.controller
        if "agent" in needed.argument.kinds:
            from sapwood.tui.screens.resume_page import ResumePage

            self._push(ResumePage(controller.connection, controller.folder), self._switch)
        elif "model" in needed.argument.kinds:
            from sapwood.conversation.model_setup import ModelSetup
            from sapwood.tui.screens.settings_page import ModelPage

            self._push(ModelPage(needed.message, ModelSetup(controller.config)), self._choose_model)
        elif _takes_turns(needed.argument) and controller.agent is not None:
            from sapwood.tui.screens.drop_page import DropPage

            self._push(DropPage(controller.connection, controller.agent), self._submit)
        elif "turn" in needed.argument.kinds and controller.agent is not None:
            from sapwood.tui.screens.rewind_page import RewindPage

            line = TABLE[needed.command].typed
            marks = "mark" in needed.argument.kinds
            page = RewindPage(controller.connection, controller.agent, line, marks=marks)
            self._push(page, self._submit)
        elif "text" in needed.argument.kinds:
            from sapwood.tui.screens.search_pages import SearchPage

            self._push(SearchPage(controller.connection), self._go)
        else:
            self._host.show_refusal(needed.message)

    async def _history(self) -> None:
        from sapwood.tui.screens.search_pages import HistoryPage

        self._push(HistoryPage(self._host.composer.sent), self._put)

    async def _message(self) -> None:
        from sapwood.tui.screens.modal_page import MessagePage

        if self._host.message:
            self._push(MessagePage(self._host.message))

    async def _offer(self) -> None:
        if not self._offered:
            self._host.show_refusal(
                "There is nothing to bring back: your last prompt mentioned nothing out of view."
            )
            return
        self._host.composer.put(self._offered)

    async def _rewind(self) -> None:
        from sapwood.tui.screens.rewind_page import RewindPage

        controller = self._host.controller
        if controller.agent is None:
            raise RefusedError(NoConversation())
        self._push(RewindPage(controller.connection, controller.agent), self._submit)

    def ask_for_model(self) -> None:
        """Asks for a model, and uses it from now on; also for a conversation that has none."""
        from sapwood.config.api_keys import load_keys
        from sapwood.config.config_file import load_config
        from sapwood.tui.screens.first_run_page import FirstRunPage

        host, controller = self._host, self._host.controller
        config = controller.config
        page = FirstRunPage(config)

        def use(model: str | None) -> None:
            if model is None:
                return
            urls = {**config.base_urls, **load_config().base_urls}
            changed = structs.replace(config, model=model, base_urls=urls)
            controller.configure(changed, {**controller.keys, **load_keys()})
            if controller.agent is not None:
                host.submit(f"{TABLE['model'].typed} {model}")
            else:
                host.refresh_soon()
                host.show_message(page.said)

        self._push(page, use)

    def ask_for_key(self, model: str, why: str, *, is_missing: bool = False) -> None:
        """Asks for an API key, because the provider rejected the present one or there is none."""
        from sapwood.conversation.model_setup import ModelSetup
        from sapwood.tui.screens.modal_page import KeyPage

        controller, host = self._host.controller, self._host
        setup = ModelSetup(controller.config)
        account = setup.account(model).account
        if not account:
            return
        page = KeyPage(setup, model, why, is_missing=is_missing)
        again = "Press enter" if is_missing else "Press ↑ and enter"

        def use(key: str | None) -> None:
            if key is not None:
                keys = {**controller.keys, account: key}
                controller.configure(controller.config, keys)
                host.show_message(f"{page.said} {again} to send it again.")

        self._push(page, use)

    async def ask(self, question: "PermissionQuestion") -> "PermissionAnswer | None":
        """Asks the person whether a tool may run; returns None if the page was closed instead."""
        from sapwood.tui.screens.permission_page import PermissionPage

        connection, app = self._host.controller.connection, self._host.application
        summary = await connection.log.summary(connection.space, question.agent)
        answered = asyncio.get_running_loop().create_future()

        def answer(picked: "PermissionAnswer | None") -> None:
            if not answered.done():
                answered.set_result(picked)

        is_shown = question.agent == self._host.controller.agent
        name = summary.name if summary and summary.name else str(question.agent)
        page = PermissionPage(question, "" if is_shown else name, self._host.composer)
        app.call_later(app.push_screen, page, answer)
        try:
            return await answered
        except asyncio.CancelledError:  # the turn was interrupted, so the question is void
            app.call_later(self._close, page)
            raise

    async def _close(self, page: "Screen[PermissionAnswer | None]") -> None:
        if page.is_current:
            page.dismiss(None)

    def _push(
        self, page: "Screen[str | None]", then: Callable[[str | None], None] | None = None
    ) -> None:
        self._host.application.push_screen(page, then)

    def _typed(self, command: str | None) -> None:
        """Runs a complete command; puts one that needs more words into the composer."""
        if command is None:
            return
        if command.endswith(" "):
            self._put(command)
        else:
            self._submit(command)

    def _submit(self, command: str | None) -> None:
        if command is not None:
            self._host.submit(command)

    def _switch(self, picked: str | None) -> None:
        """Switches to an agent, or imports a transcript, which is given by its path."""
        if picked is not None and os.path.isabs(picked):
            self._host.import_session(picked)
        elif picked is not None:
            self._host.submit(f"{TABLE['switch'].typed} {picked}")

    def _choose_model(self, model: str | None) -> None:
        if model is not None and model.endswith(":"):  # of a provider, to be completed
            self._host.composer.put(f"{TABLE['model'].typed} {model}")
        elif model is not None:
            self._host.submit(f"{TABLE['model'].typed} {model}")

    def _put(self, text: str | None) -> None:
        if text is not None:
            self._host.composer.put(text)

    def _go(self, place: str | None) -> None:
        if place is not None:
            agent, _, version = place.rpartition(":")
            self._host.go_to(AgentId(agent), int(version))


def _takes_turns(argument: Argument) -> bool:
    """Whether a person picks several turns for the argument."""
    return argument.repeats and argument.kinds == ("turn",)
