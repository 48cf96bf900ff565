"""The adapter for Codex."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from sapwood.config.toml_edit import parse_toml
from sapwood.core.content import PromptPart
from sapwood.core.model_calls import Failure
from sapwood.core.program_session import ProgramSession
from sapwood.programs.agent_provider import (
    History,
    ProgramInfo,
    ProviderAnswer,
    ProviderEvent,
    ProviderOptions,
    SessionBusy,
    SyncResult,
)
from sapwood.programs.codex.app_server import AppServer, CodexEnded, CodexRefused
from sapwood.programs.codex.contents import is_waiting
from sapwood.programs.codex.history_change import (
    ForkSource,
    HistoryChange,
    fork_source,
    has_same,
    is_revertible,
    plan_change,
)
from sapwood.programs.codex.live_thread import LiveThread
from sapwood.programs.codex.program import PROGRAM
from sapwood.programs.codex.response_items import WantedItems, wanted_history
from sapwood.programs.codex.rows import decode_item
from sapwood.programs.codex.server_starts import ServerStarts, open_elsewhere
from sapwood.programs.codex.sessions import current_file
from sapwood.programs.codex.thread_at_rest import (
    append_history,
    hold_thread,
    is_open,
    replacement_rows,
)
from sapwood.programs.codex.thread_history import HistoryItem, RolloutReader
from sapwood.programs.session_copy import extend_copy
from sapwood.programs.session_provider import SessionProvider

_KEYS = ("CODEX_API_KEY", "OPENAI_API_KEY")


def is_logged_in(environ: Mapping[str, str]) -> bool | None:
    """Whether there are credentials; None if a provider of the user's own needs others."""
    home = PROGRAM.home(environ)
    if any(environ.get(key) for key in _KEYS) or _has_credentials(home / "auth.json"):
        return True
    return None if _has_own_provider(home / "config.toml") else False


def _has_credentials(path: Path) -> bool:
    try:
        found = msgspec.json.decode(path.read_bytes(), type=dict[str, object])
    except (OSError, msgspec.MsgspecError):
        return False
    return bool(found.get("tokens") or found.get("OPENAI_API_KEY"))


def _has_own_provider(path: Path) -> bool:
    try:
        provider = parse_toml(path.read_text("utf-8")).get("model_provider", "openai")
    except (OSError, ValueError):
        return False
    return provider != "openai"


class CodexProvider(SessionProvider[LiveThread]):
    """Runs turns in Codex, each thread in an app server of its own, and changes its threads."""

    about = PROGRAM
    program = PROGRAM.name

    def __init__(
        self,
        data: Path | None = None,
        environ: Mapping[str, str] | None = None,
        under_test: ProgramInfo | None = None,
    ) -> None:
        super().__init__(data, environ, under_test)
        self._servers = ServerStarts(self._installed, self._environ, self._home)

    async def start(
        self, options: ProviderOptions, session: ProgramSession | None = None
    ) -> ProgramSession:
        """Starts a server with a thread, or with a new one."""
        started = await self._start(options, session)
        self._installed.prove_in_background()
        return started

    async def _start(
        self, options: ProviderOptions, session: ProgramSession | None
    ) -> ProgramSession:
        if session is None:
            return (await self._open(await self._servers.start(options), options)).session
        async with self._lock(session):
            if (live := self._running(session)) is not None:
                if live.fits(options):
                    live.options = options
                    return live.session
                await self.close(session)
            server = await self._servers.start(options)
            return (await self._open(server, options, session)).session

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

    async def close(self, session: ProgramSession | None = None) -> None:
        """Ends the server of this thread, or all of them."""
        ids = list(self._live) if session is None else [session.id]
        spares = (self._servers.drop(each) for each in ids)
        await asyncio.gather(super().close(session), *spares)

    async def kill(self) -> None:
        """Ends all servers at once, with everything that they started."""
        await super().kill()
        await self._servers.drop_all()

    async def require_at_rest(self, session: ProgramSession) -> None:
        """Raises `SessionBusy` if the thread runs a turn here, or another process has it open."""
        live = self._running(session)
        if live is not None:
            live.require_idle()
        elif await asyncio.to_thread(is_open, self._home, session.id):
            raise SessionBusy(open_elsewhere(session.id))

    async def sync_session(
        self, session: ProgramSession | None, history: History, options: ProviderOptions
    ) -> SyncResult:
        """Brings the thread to exactly this history."""
        thread = session.id if session else ""
        wanted = await asyncio.to_thread(wanted_history, history, self._home, self._copies, thread)
        if session is None:
            return await self._new_thread(history, wanted, options)
        async with self._lock(session):
            try:
                return await self._sync_session(session, history, wanted, options)
            except OSError as error:
                reason = error.strerror or str(error)
                raise Failure(
                    "other", f"The Codex session could not be changed: {reason}."
                ) from error

    async def _sync_session(
        self,
        session: ProgramSession,
        history: History,
        wanted: WantedItems,
        options: ProviderOptions,
    ) -> SyncResult:
        live = self._running(session)
        if live is not None:
            live.require_idle()
            reader = live.reader
            now = await live.history()
        else:
            reader = RolloutReader(self._home)
            now = await asyncio.to_thread(lambda: reader.read(self._file(session)))
        wanted.items += _waiting(now.items, wanted.items)
        if has_same(now.items, wanted.items):
            return SyncResult(session if live is None else live.session, "nothing", (), wanted.loss)
        info = await asyncio.to_thread(self._installed.prove)
        if info is not None and not info.in_place:
            wanted.losses.insert(0, info.reason)
            return await self._new_thread(history, wanted, options)
        if live is None:
            return await self._change_at_rest(session, wanted, reader)
        return await self._change_live(live, wanted)

    # Threads that run here

    def _is_logged_in(self, environ: Mapping[str, str]) -> bool | None:
        return is_logged_in(environ)

    @property
    def _copies(self) -> Path:
        return self._data / "programs" / PROGRAM.name

    def _running(self, session: ProgramSession) -> LiveThread | None:
        live = self._live.get(session.id)
        return live if live is not None and live.server.is_running else None

    async def _open(
        self,
        server: AppServer,
        options: ProviderOptions,
        session: ProgramSession | None = None,
        fork: ForkSource | None = None,
    ) -> LiveThread:
        live = await self._servers.open(server, options, session, fork)
        self._live[live.id] = live
        return live

    # Changes of a history

    async def _change_live(self, live: LiveThread, wanted: WantedItems) -> SyncResult:
        change = plan_change(await live.history(), wanted.items)
        await asyncio.to_thread(self._copy, live.path)
        if change.by != "replace":
            rows = await self._try_change(live, change, wanted.items)
            if rows is not None:
                by = "cut" if change.by == "cut" else "inject"
                return SyncResult(live.session, by, rows, wanted.loss)
        return await self._change_by_restart(live, wanted)

    async def _change_by_restart(self, live: LiveThread, wanted: WantedItems) -> SyncResult:
        """Ends the server, changes the thread at rest, and continues in another server.

        The other server was started before, so that most of the time is saved.
        """
        server = await self._servers.take(live.id, live.options)
        try:
            await live.server.kill()
            synced = await self._change_at_rest(live.session, wanted, live.reader)
        except BaseException:
            await server.kill()
            raise
        again = await self._open(server, live.options, synced.session)
        again.wanted = wanted.items
        self._servers.prepare(live.id, live.options)
        return SyncResult(again.session, synced.by, synced.rows, synced.loss)

    async def _try_change(
        self, live: LiveThread, change: HistoryChange, wanted: Sequence[HistoryItem]
    ) -> tuple[str, ...] | None:
        """The rows that the server appended; None if it did not take the change over."""
        try:
            await live.change(change)
            history = await live.history()
        except CodexRefused:
            return None
        except CodexEnded as error:
            raise Failure("cut", str(error), again=True) from error
        if not has_same(history.items, wanted):
            return None
        live.wanted = wanted
        if not is_revertible(history):
            self._servers.prepare(live.id, live.options)
        return history.last_rows(len(change.items))

    async def _change_at_rest(
        self, session: ProgramSession, wanted: WantedItems, reader: RolloutReader
    ) -> SyncResult:
        path, rows = await asyncio.to_thread(self._append, session, wanted.items, reader)
        session = ProgramSession(PROGRAM.name, session.id, str(path))
        return SyncResult(session, "boundary" if rows else "nothing", rows, wanted.loss)

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
            raise Failure("other", f"Codex no longer has session {session.id}.")
        return path

    def _copy(self, path: Path) -> None:
        """Copies a file of Codex before it is changed; there is nothing to copy before a turn."""
        if path.exists():
            extend_copy(path, self._copies / path.name)

    async def _new_thread(
        self, history: History, wanted: WantedItems, options: ProviderOptions
    ) -> SyncResult:
        """A fork of the thread that has this history, else a new thread that is given it."""
        source = await asyncio.to_thread(fork_source, history, wanted.items, self._home)
        if source is not None:
            server = await self._servers.start(options)
            live = await self._open(server, options, None, source)
            if has_same((await live.history()).items, wanted.items):
                live.wanted = wanted.items
                return SyncResult(live.session, "new_session", (), wanted.loss)
            await self.close(live.session)
        live = await self._open(await self._servers.start(options), options)
        rows: tuple[str, ...] = ()
        if wanted.items:
            change = HistoryChange("inject", None, tuple(wanted.items))
            found = await self._try_change(live, change, wanted.items)
            if found is None:
                await self.close(live.session)
                raise Failure("other", "Codex did not copy the history to a new session.")
            rows = found
        live.wanted = wanted.items
        return SyncResult(live.session, "new_session", rows, wanted.loss)


def _waiting(now: Sequence[HistoryItem], wanted: Sequence[HistoryItem]) -> list[HistoryItem]:
    """What waits for the next prompt behind the last wanted item."""
    found: list[HistoryItem] = []
    for item in reversed(now):
        if not is_waiting(decode_item(item.payload)):
            ends_alike = bool(wanted) and item.is_same(wanted[-1])
            return found if ends_alike else []
        found.insert(0, item)
    return []


PROVIDER = CodexProvider
