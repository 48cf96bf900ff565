"""A thread that runs in an app server of ours: its turns, and changes of its history."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any  # the server's answers are JSON

from msgspec import Raw

from sapwood.core.content import PromptPart, Usage
from sapwood.core.model_calls import Failure
from sapwood.core.program_session import ProgramSession
from sapwood.programs.agent_provider import (
    ProviderAnswer,
    ProviderEvent,
    ProviderOptions,
    SessionBusy,
    TurnEnd,
)
from sapwood.programs.codex.app_server import (
    AppServer,
    CodexEnded,
    CodexRefused,
    ServerRequest,
)
from sapwood.programs.codex.history_change import (
    HistoryChange,
    difference_in_rows,
    difference_in_tokens,
)
from sapwood.programs.codex.live_turn import CodexTurn
from sapwood.programs.codex.permissions import permission_params
from sapwood.programs.codex.program import PROGRAM
from sapwood.programs.codex.response_items import picture_url
from sapwood.programs.codex.thread_history import (
    HistoryItem,
    RolloutReader,
    ThreadHistory,
    ThreadTurn,
)
from sapwood.programs.codex.turn_rows import TurnRows
from sapwood.programs.prompt_parts import prompt_text

_INTERRUPT_SECONDS = 10.0


class LiveThread:
    """A thread in a server of its own.

    `wanted` is the history that it was brought to last; the next turn is compared with it.
    """

    def __init__(
        self,
        server: AppServer,
        home: Path,
        opened: Mapping[str, Any],
        options: ProviderOptions,
    ) -> None:
        self.server = server
        self.options = options
        self.id = str(opened["thread"]["id"])
        self.path = Path(opened["thread"]["path"] or "")
        self.wanted: Sequence[HistoryItem] | None = None
        self.usage: Usage | None = None
        self._sandbox = opened.get("sandbox")
        self.reader = RolloutReader(home)
        self._busy = False
        self._turn: CodexTurn | None = None
        self._stopping = False

    @property
    def process(self) -> AppServer:
        """The server, as the process of this thread."""
        return self.server

    @property
    def session(self) -> ProgramSession:
        """The session as others name it."""
        return ProgramSession(PROGRAM.name, self.id, str(self.path))

    def fits(self, options: ProviderOptions) -> bool:
        """Whether the server can go on with these options: a model can be changed at any turn."""
        now = self.options
        return (now.folder, now.system, now.mode, now.environment) == (
            options.folder,
            options.system,
            options.mode,
            options.environment,
        )

    def require_idle(self) -> None:
        """Raises `SessionBusy` while a turn runs, or while the history changes.

        Codex itself accepts a change in the middle of a turn, and loses the turn.
        """
        if self._busy:
            raise SessionBusy("Codex is working on a turn. Wait for it, or interrupt it.")

    async def history(self) -> ThreadHistory:
        """The history in its files; empty before its first turn."""
        try:
            return await asyncio.to_thread(self.reader.read, self.path)
        except FileNotFoundError:
            return ThreadHistory()

    async def change(self, change: HistoryChange) -> None:
        """Reverts the thread and appends items. Raises `SessionBusy` while a turn runs."""
        self.require_idle()
        self._busy = True
        try:
            if change.before is not None:
                params = {"threadId": self.id, "beforeTurnId": change.before.id}
                reverted = await self.server.call("thread/revert", **params)
                self.path = Path(reverted["thread"]["path"])
            if change.items:
                items = [Raw(item.payload) for item in change.items]
                params = {"threadId": self.id, "items": items}
                await self.server.call_raw("thread/inject_items", params)
        finally:
            self._busy, self._stopping = False, False

    async def run_turn(
        self, prompt: tuple[PromptPart, ...], client: str
    ) -> AsyncIterator[ProviderEvent]:
        """Runs a turn, or repeats the events of one that the thread already has."""
        self.require_idle()
        self._busy = True
        turn: CodexTurn | None = None
        try:
            found = (await self.history()).turn_of_client(client)
            if found is not None:
                for event in self._repeat(found):
                    yield event
                return
            turn = self._turn = await self._start_turn(prompt, client)
            if self._stopping:
                await self.interrupt()
            async for event in turn.events():
                yield event
            self.usage = turn.usage or self.usage
            yield await self._turn_end(turn)
        except (CodexEnded, CodexRefused) as error:
            raise Failure("cut", f"{error} The turn can be sent again.", again=True) from error
        finally:
            self._busy, self._turn, self._stopping = False, None, False
            if turn is not None and turn.end is None:
                await self.server.kill()  # nobody waits for the end of the turn

    def _repeat(self, turn: ThreadTurn) -> list[ProviderEvent]:
        """The events of a turn that was sent before, from its rows."""
        rows = TurnRows(turn.path, turn.first, turn.id)
        rows.read()
        events: list[ProviderEvent] = [*rows.new_events({}, at_once=True)]
        native = rows.native(ProgramSession(PROGRAM.name, self.id, str(turn.path)))
        if rows.ending == "task_complete":
            return [*events, TurnEnd("completed", rows=native)]
        reason = "" if rows.ending else "Codex exited before the turn ended."
        return [*events, TurnEnd("interrupted", reason, native)]

    async def _start_turn(self, prompt: tuple[PromptPart, ...], client: str) -> CodexTurn:
        size = self.path.stat().st_size if self.path.exists() else 0
        self._forget_events()
        params: dict[str, Any] = {
            "threadId": self.id,
            "input": [item for part in prompt for item in _input(part)],
            "clientUserMessageId": client,
            "approvalPolicy": permission_params(self.options.mode).approval,
        }
        if self._sandbox is not None:
            params["sandboxPolicy"] = self._sandbox
        if self.options.model:
            params["model"] = self.options.model
        started = await self.server.call("turn/start", **params)
        turn = str(started["turn"]["id"])
        rows = TurnRows(self.path, size, turn)
        return CodexTurn(self.server, self.id, turn, rows, self.options)

    def _forget_events(self) -> None:
        """Forgets what happened before the turn; a question is refused."""
        while not self.server.events.empty():
            message = self.server.events.get_nowait()
            if message is None:
                raise CodexEnded("Codex ended.")
            if isinstance(message, ServerRequest):
                self.server.refuse(message.id, "No turn is running.")

    async def _turn_end(self, turn: CodexTurn) -> TurnEnd:
        """The end of the turn. Its usage is in its replies."""
        native = turn.rows.native(self.session)
        difference = await self._difference(turn)
        end = turn.end
        match end.status if end else "":
            case "completed":
                return TurnEnd("completed", rows=native, difference=difference)
            case "interrupted":
                return TurnEnd("interrupted", rows=native, difference=difference)
            case _:
                reason = end.error.message if end and end.error else "Codex gave no reason."
                return TurnEnd("failed", reason, native, difference=difference)

    async def _difference(self, running: CodexTurn) -> str:
        found: list[str] = []
        if self.wanted is not None:
            history = await self.history()
            turn = next((each for each in history.turns if each.id == running.id), None)
            if turn is not None:
                rows = difference_in_rows(history, turn, self.wanted)
                found.append(rows or difference_in_tokens(history, turn, self.wanted))
            self.wanted = None
        if running.rows.was_compacted:
            found.append("Codex compacted its own session during this turn.")
        return " ".join(filter(None, found))

    def answer(self, question: str, answer: ProviderAnswer) -> None:
        """Answers a question of the running turn."""
        if self._turn is not None:
            self._turn.answer(question, answer)

    async def interrupt(self) -> None:
        """Interrupts the running turn. A server that does not react is killed."""
        turn = self._turn
        self._stopping = self._busy  # a turn that is being started is interrupted then
        if turn is None or turn.end is not None:
            return
        try:
            async with asyncio.timeout(_INTERRUPT_SECONDS):
                await self.server.call("turn/interrupt", threadId=self.id, turnId=turn.id)
        except CodexRefused:
            return  # the turn has ended meanwhile
        except (TimeoutError, CodexEnded):
            await self.server.kill()


def _input(part: PromptPart) -> list[dict[str, object]]:
    """A part of a prompt: its text, and after the name of a picture its content."""
    items: list[dict[str, object]] = [
        {"type": "text", "text": prompt_text(part), "text_elements": []}
    ]
    if url := picture_url(part):
        items.append({"type": "image", "url": url})
    return items
