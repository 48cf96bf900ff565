"""The adapter for Codex."""

import asyncio
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sapwood.config.folders import data_folder
from sapwood.core.content import PromptPart, Usage
from sapwood.core.model_calls import Failure
from sapwood.core.program_session import ProgramSession
from sapwood.providers.codex.app_server import AppServer, RequestRefused, ServerEnded
from sapwood.providers.codex.fork_source import ForkSource, fork_source
from sapwood.providers.codex.history_change import HistoryChange, has_same, plan_change
from sapwood.providers.codex.installed_program import PROGRAM, find_codex
from sapwood.providers.codex.live_thread import LiveThread
from sapwood.providers.codex.permissions import permission_params
from sapwood.providers.codex.response_items import WantedHistory, wanted_history
from sapwood.providers.codex.rollout_files import codex_home, current_file
from sapwood.providers.codex.thread_at_rest import (
    append_history,
    hold_thread,
    is_open,
    replacement_rows,
)
from sapwood.providers.codex.thread_history import HistoryItem, RolloutReader
from sapwood.providers.session_copy import extend_copy
from sapwood.runtime.agent_provider import (
    Assumed,
    History,
    ProgramInfo,
    ProviderAnswer,
    ProviderEvent,
    ProviderOptions,
    SessionBusy,
)

__all__ = ["CodexProvider"]

_CLOSE_SECONDS = 1.5
_RELEASE_SECONDS = 8.0
_POLL_SECONDS = 0.1


class CodexProvider:
    """Runs turns in Codex, each thread in an app server of its own, and changes its threads.

    `data` is the folder for private copies; `environ` is the environment that servers inherit.
    """

    program = PROGRAM

    def __init__(self, data: Path | None = None, environ: Mapping[str, str] | None = None) -> None:
        self._data = data
        self._environ = os.environ if environ is None else environ
        self._live: dict[str, LiveThread] = {}

    def find(self) -> ProgramInfo | None:
        """The installed Codex; None if there is none."""
        return find_codex(self._environ)

    async def start(
        self, options: ProviderOptions, session: ProgramSession | None = None
    ) -> ProgramSession:
        """Starts a server with a thread, or with a new one."""
        if session is not None and (live := self._running(session)) is not None:
            if live.fits(options):
                live.options = options
                return live.session
            await self.close(session)
        return (await self._open(options, session)).session

    async def send(
        self, session: ProgramSession, prompt: tuple[PromptPart, ...], turn: str
    ) -> AsyncIterator[ProviderEvent]:
        """Runs one turn and yields what happens."""
        live = self._running(session)
        if live is None:
            raise Failure("cut", "Codex is not running with this session.", again=True)
        async for event in live.run_turn(prompt, turn):
            yield event

    async def interrupt(self, session: ProgramSession) -> None:
        """Stops the running turn."""
        if (live := self._running(session)) is not None:
            await live.interrupt()

    async def answer(self, session: ProgramSession, question: str, answer: ProviderAnswer) -> None:
        """Answers a question."""
        if (live := self._running(session)) is not None:
            live.answer(question, answer)

    async def usage(self, session: ProgramSession) -> Usage | None:
        """The tokens of the thread's last request here; None if none ran here."""
        live = self._live.get(session.id)
        return live.usage if live is not None else None

    async def close(self, session: ProgramSession | None = None) -> None:
        """Ends the server of this thread, or all of them."""
        ids = list(self._live) if session is None else [session.id]
        threads = [self._live.pop(each) for each in ids if each in self._live]
        await asyncio.gather(*(each.server.close(_CLOSE_SECONDS) for each in threads))

    async def require_at_rest(self, session: ProgramSession) -> None:
        """Raises `SessionBusy` if the thread runs a turn here, or another process has it open."""
        live = self._running(session)
        if live is not None:
            live.require_idle()
        elif await asyncio.to_thread(is_open, self._home, session.id):
            raise SessionBusy(_open_elsewhere(session.id))

    async def assume(
        self, session: ProgramSession | None, history: History, options: ProviderOptions
    ) -> Assumed:
        """Brings the thread to exactly this history."""
        home = self._home
        wanted = await asyncio.to_thread(wanted_history, history, home, self._copies)
        if session is None:
            return await self._new_thread(history, wanted, options)
        live = self._running(session)
        if live is not None:
            live.require_idle()
            reader = live.reader
            now = await live.history()
        else:
            reader = RolloutReader(home)
            now = await asyncio.to_thread(lambda: reader.read(self._file(session)))
        if has_same(now.items, wanted.items):
            return Assumed(session if live is None else live.session, "nothing", (), wanted.loss)
        info = await asyncio.to_thread(self.find)
        if info is not None and not info.supported:
            wanted.losses.insert(0, _untried(info, session))
            return await self._new_thread(history, wanted, options)
        if live is None:
            return await self._change_at_rest(session, wanted, reader)
        return await self._change_live(live, wanted)

    # Threads that run here

    @property
    def _home(self) -> Path:
        return codex_home(self._environ)

    @property
    def _copies(self) -> Path:
        return (self._data or data_folder()) / "programs" / PROGRAM

    def _running(self, session: ProgramSession) -> LiveThread | None:
        live = self._live.get(session.id)
        return live if live is not None and live.server.is_running else None

    async def _open(
        self,
        options: ProviderOptions,
        session: ProgramSession | None,
        fork: ForkSource | None = None,
        server: AppServer | None = None,
    ) -> LiveThread:
        """Opens a new thread, a thread of the user, or a fork of one, in a server of its own."""
        server = server or await self._start_server(options)
        try:
            opened = await self._open_thread(server, options, session, fork)
        except (ServerEnded, RequestRefused) as error:
            await server.kill()
            raise Failure("other", f"Codex could not open the session: {error}") from error
        except BaseException:
            await server.kill()
            raise
        live = LiveThread(server, self._home, opened, options)
        self._live[live.id] = live
        return live

    async def _start_server(self, options: ProviderOptions) -> AppServer:
        info = await asyncio.to_thread(self.find)
        if info is None:
            raise Failure(
                "no_model",
                "Codex was not found. Install it with `npm install -g @openai/codex`, or set "
                "SAPWOOD_CODEX to its path.",
            )
        if info.logged_in is False:
            raise Failure("no_key", "Nobody is logged in to Codex. Run `codex login`.")
        environ = {**self._environ, **options.environment}
        try:
            return await AppServer.start(info.path, options.folder, environ)
        except (OSError, ServerEnded, RequestRefused) as error:
            raise Failure("other", f"Codex {info.version} did not start: {error}") from error

    async def _open_thread(
        self,
        server: AppServer,
        options: ProviderOptions,
        session: ProgramSession | None,
        fork: ForkSource | None,
    ) -> Any:
        permissions = permission_params(options.mode)
        params: dict[str, object] = {
            "cwd": options.folder,
            "approvalPolicy": permissions.approval,
            "sandbox": permissions.sandbox,
        }
        if options.model:
            params["model"] = options.model
        if options.system:
            params["developerInstructions"] = options.system
        if fork is not None:
            last = {"threadId": fork.thread, "lastTurnId": fork.turn, "excludeTurns": True}
            return await server.call("thread/fork", **last, **params)
        if session is None:
            return await server.call("thread/start", **params)
        await self._wait_for_release(session.id)
        return await server.call("thread/resume", threadId=session.id, excludeTurns=True, **params)

    async def _wait_for_release(self, thread: str) -> None:
        """A server whose client was killed holds its thread for some more seconds."""
        for _ in range(round(_RELEASE_SECONDS / _POLL_SECONDS)):
            if not await asyncio.to_thread(is_open, self._home, thread):
                return
            await asyncio.sleep(_POLL_SECONDS)
        raise Failure("other", _open_elsewhere(thread), again=True)

    # Changes of a history

    async def _change_live(self, live: LiveThread, wanted: WantedHistory) -> Assumed:
        change = plan_change(await live.history(), wanted.items)
        await asyncio.to_thread(self._copy, live.path)
        if change.by != "replace":
            rows = await self._try_change(live, change, wanted.items)
            if rows is not None:
                by = "cut" if change.by == "cut" else "inject"
                return Assumed(live.session, by, rows, wanted.loss)
        return await self._change_by_restart(live, wanted)

    async def _change_by_restart(self, live: LiveThread, wanted: WantedHistory) -> Assumed:
        """Ends the server, changes the thread at rest, and goes on in another server.

        The other server starts before the first one ends, so that most of the time is saved.
        """
        server = await self._start_server(live.options)
        try:
            await live.server.kill()
            assumed = await self._change_at_rest(live.session, wanted, live.reader)
        except BaseException:
            await server.kill()
            raise
        again = await self._open(live.options, assumed.session, server=server)
        again.wanted = wanted.items
        return Assumed(again.session, assumed.by, assumed.rows, assumed.loss)

    async def _try_change(
        self, live: LiveThread, change: HistoryChange, wanted: Sequence[HistoryItem]
    ) -> tuple[str, ...] | None:
        """The rows that the server appended; None if it did not take the change over."""
        try:
            await live.change(change)
            history = await live.history()
        except RequestRefused:
            return None
        except ServerEnded as error:
            raise Failure("cut", str(error), again=True) from error
        if not has_same(history.items, wanted):
            return None
        live.wanted = wanted
        return history.last_rows(len(change.items))

    async def _change_at_rest(
        self, session: ProgramSession, wanted: WantedHistory, reader: RolloutReader
    ) -> Assumed:
        path, rows = await asyncio.to_thread(self._append, session, wanted.items, reader)
        session = ProgramSession(PROGRAM, session.id, str(path))
        return Assumed(session, "boundary" if rows else "nothing", rows, wanted.loss)

    def _append(
        self, session: ProgramSession, wanted: Sequence[HistoryItem], reader: RolloutReader
    ) -> tuple[Path, tuple[str, ...]]:
        with hold_thread(self._home, session.id):
            path = self._file(session)
            size = path.stat().st_size
            history = reader.read(path)
            if has_same(history.items, wanted):
                return path, ()
            self._copy(path)
            rows = append_history(path, size, replacement_rows(history, wanted, datetime.now(UTC)))
            return path, rows

    def _file(self, session: ProgramSession) -> Path:
        path = current_file(self._home, session.id)
        if path is None:
            raise Failure("other", f"Codex has no session {session.id} any more.")
        return path

    def _copy(self, path: Path) -> None:
        """Copies a file of Codex before it is changed; there is nothing to copy before a turn."""
        if path.exists():
            extend_copy(path, self._copies / path.name)

    async def _new_thread(
        self, history: History, wanted: WantedHistory, options: ProviderOptions
    ) -> Assumed:
        """A fork of the thread that has this history, else a new thread that is given it."""
        source = await asyncio.to_thread(fork_source, history, wanted.items, self._home)
        if source is not None:
            live = await self._open(options, None, source)
            if has_same((await live.history()).items, wanted.items):
                live.wanted = wanted.items
                return Assumed(live.session, "new_session", (), wanted.loss)
            await self.close(live.session)
        live = await self._open(options, None)
        rows: tuple[str, ...] = ()
        if wanted.items:
            change = HistoryChange("inject", None, tuple(wanted.items))
            found = await self._try_change(live, change, wanted.items)
            if found is None:
                await self.close(live.session)
                raise Failure("other", "Codex did not take the history over into a new session.")
            rows = found
        live.wanted = wanted.items
        return Assumed(live.session, "new_session", rows, wanted.loss)


def _open_elsewhere(thread: str) -> str:
    return f"The session {thread} is open in another Codex. Close it there, then try again."


def _untried(info: ProgramInfo, session: ProgramSession) -> str:
    return (
        f"Codex {info.version} has not been tried with Sapwood, so its session {session.id} was "
        "left as it is, and the history was given to a new session."
    )
