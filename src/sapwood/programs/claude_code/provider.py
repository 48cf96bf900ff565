"""Claude Code as an agent provider: runs turns in its process, and changes its sessions."""

import asyncio
import os
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial
from pathlib import Path

from msgspec import structs

from sapwood.core.content import PromptPart, Usage
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
from sapwood.programs.claude_code.history_rows import HistoryRows, rows_for_history
from sapwood.programs.claude_code.installed_program import (
    is_logged_in,
    program_path,
    session_path,
)
from sapwood.programs.claude_code.loaded_history import comes_to, gives, tail_cut
from sapwood.programs.claude_code.program import PROGRAM
from sapwood.programs.claude_code.request_check import ExpectedRequest, expected_request
from sapwood.programs.claude_code.running_session import RunningSession, known_files
from sapwood.programs.claude_code.session_file import SessionFile
from sapwood.programs.claude_code.transcript import (
    LinkRow,
    Transcript,
    file_size,
    read_transcript,
)
from sapwood.programs.claude_code.turn_record import (
    find_attempt,
    last_usage,
    native_rows,
)
from sapwood.programs.installed_programs import require_found
from sapwood.programs.session_provider import SessionProvider, recorded_events

_KILLED = "Claude Code exited in the middle of this turn."
_ENTRYPOINT = "sdk-sapwood"
"""Written into the transcript. Claude Code's own list of sessions leaves those of `sdk-cli` out."""


class ClaudeCodeProvider(SessionProvider[RunningSession]):
    """Claude Code on this machine."""

    about = PROGRAM
    program = PROGRAM.name

    def __init__(
        self,
        data: Path | None = None,
        environ: Mapping[str, str] | None = None,
        under_test: ProgramInfo | None = None,
    ) -> None:
        super().__init__(data, environ, under_test)
        self._options: dict[str, ProviderOptions] = {}
        self._expected: dict[str, Callable[[], ExpectedRequest]] = {}
        self._left: dict[str, tuple[Transcript, list[LinkRow]]] = {}

    async def start(
        self, options: ProviderOptions, session: ProgramSession | None = None
    ) -> ProgramSession:
        """Starts the program with a session, or with a new one. Raises `Failure`.

        A session that runs with these options already stays as it is.
        """
        session = session or ProgramSession(PROGRAM.name, str(uuid.uuid4()))
        session = self._placed(session, options)
        async with self._lock(session):
            await self._start(session, options)
        self._installed.prove_in_background()
        return session

    async def send(
        self, session: ProgramSession, prompt: tuple[PromptPart, ...], turn: str
    ) -> AsyncIterator[ProviderEvent]:
        """Runs one turn and yields what happens; a `TurnEnd` comes last. Raises `Failure`."""
        options = self._options.get(session.id)
        if options is None:
            raise Failure("other", f"Claude Code session {session.id} was not started.")
        session = self._placed(session, options)
        async with self._lock(session):
            self._require_idle(session)
            own, recorded = await self._attempt(session, options, turn)
            running = None if recorded else await self._start(session, options)
            if running is not None:
                running.is_busy = True
        for event in recorded:
            yield event
        if running is not None:
            try:
                expect = self._expected.pop(session.id, None)
                expected = await asyncio.to_thread(expect) if expect else None
                async for event in running.run(prompt, own, expected):
                    yield event
            finally:
                running.is_busy = False

    async def interrupt(self, session: ProgramSession) -> None:
        """Stops the running turn. `send` then yields its `TurnEnd`."""
        running = self._live.get(session.id)
        if running is not None and running.is_busy:
            await running.interrupt()

    async def answer(self, session: ProgramSession, question: str, answer: ProviderAnswer) -> None:
        """Answers a question. One that is not open any more is left alone."""
        running = self._live.get(session.id)
        if running is not None:
            running.answer(question, answer)

    async def require_at_rest(self, session: ProgramSession) -> None:
        """Raises `SessionBusy` if another process has the session open, or a turn runs here."""
        options = self._options.get(session.id) or ProviderOptions(os.getcwd())
        self._require_idle(session)
        file = self._file(self._placed(session, options), options)
        await asyncio.to_thread(file.require_at_rest)

    async def sync_session(
        self, session: ProgramSession | None, history: History, options: ProviderOptions
    ) -> SyncResult:
        """Brings the session to exactly this history, whether it is running here or at rest.

        Raises `SessionBusy` if another process has the session open, and `Failure`.
        """
        info = require_found(PROGRAM, await asyncio.to_thread(self._installed.prove))
        if session is not None and not info.in_place:
            return await self._sync_elsewhere(session, history, options, info)
        session = session or ProgramSession(PROGRAM.name, str(uuid.uuid4()))
        session = self._placed(session, options)
        async with self._lock(session):
            self._require_idle(session)
            try:
                return await self._sync_session(session, history, options, info)
            except OSError as error:
                reason = error.strerror or str(error)
                raise Failure(
                    "other", f"The Claude Code session could not be changed: {reason}."
                ) from error

    async def usage(self, session: ProgramSession) -> Usage | None:
        """The tokens of the session's last request, as the program reports them."""
        running = self._live.get(session.id)
        if running is not None and running.usage is not None:
            return running.usage
        return await asyncio.to_thread(last_usage, Path(session.path))

    async def _start(self, session: ProgramSession, options: ProviderOptions) -> RunningSession:
        running = self._live.get(session.id)
        if running is not None and running.can_be_used and running.options == options:
            return running
        self._require_idle(session)
        await self.close(session)
        info = await asyncio.to_thread(self._installed.require)
        if file_size(session.path) is not None:
            await self._wait_for_rest(self._file(session, options).require_at_rest)
            info = await asyncio.to_thread(self._installed.prove) or info
            if info.in_place:
                await self._close_open_turn(session, options, info.version)
        environ = self._environment(options.environment)
        running = await RunningSession.start(info.path, session, options, environ)
        self._live[session.id] = running
        self._options[session.id] = options
        left = self._left.pop(session.id, None)
        if left is not None:
            await running.remember_files(await asyncio.to_thread(known_files, *left))
        return running

    async def _close_open_turn(
        self, session: ProgramSession, options: ProviderOptions, version: str
    ) -> None:
        file = self._file(session, options, version)
        try:
            await asyncio.to_thread(file.close_open_turn)
        except (SessionBusy, OSError) as error:
            raise Failure("other", str(error), again=True) from error

    async def _attempt(
        self, session: ProgramSession, options: ProviderOptions, turn: str
    ) -> tuple[str, list[ProviderEvent]]:
        """The id for the row of the prompt, and the events of a turn that has run already.

        A prompt that the program took and never answered is cut out of the session.
        """
        path = Path(session.path)
        if file_size(path) is None:
            return find_attempt(Transcript(path), session.id, turn).next, []
        running = self._live.get(session.id)
        if running is None or not running.can_be_used:
            await self._wait_for_rest(self._file(session, options).require_at_rest)
        transcript = await asyncio.to_thread(read_transcript, path)
        attempt = find_attempt(transcript, session.id, turn)
        if attempt.turn is not None:
            first, last = attempt.turn.first.key, attempt.turn.last.key
            rows = native_rows(transcript, session, first, last)
            return attempt.last, recorded_events(attempt.turn, rows, _KILLED)
        if attempt.is_open:
            await self.close(session)
            file = self._file(session, options, transcript.version)
            try:
                await asyncio.to_thread(file.cut_before, attempt.last)
            except (SessionBusy, OSError) as error:
                raise Failure("other", str(error), again=True) from error
        return attempt.next, []

    async def _sync_session(
        self, session: ProgramSession, history: History, options: ProviderOptions, info: ProgramInfo
    ) -> SyncResult:
        running = self._live.get(session.id)
        file = self._file(session, options, info.version)
        if file_size(file.path) is None:
            if running is not None and not history.turns and not history.front:
                return SyncResult(session, "nothing")
            await self.close(session)
            synced = await asyncio.to_thread(file.write_new, history)
            return await self._restarted(synced, options, running)
        before = await asyncio.to_thread(read_transcript, file.path)
        wanted = await asyncio.to_thread(
            rows_for_history, history, before, file.context, file.open_other
        )
        self._expected[session.id] = partial(expected_request, before, wanted, history)
        if gives(before, wanted) and not wanted.new:
            return SyncResult(session, "nothing", loss=wanted.loss)
        if running is not None and await self._cut(running, before, wanted):
            return SyncResult(session, "cut", loss=wanted.loss)
        kept = set(wanted.uuids)
        left = [row for row in before.loaded() or () if row.uuid not in kept]
        self._left[session.id] = before, left
        await self.close(session)
        synced = await asyncio.to_thread(file.sync_session, history, before)
        return await self._restarted(synced, options, running)

    async def _sync_elsewhere(
        self, session: ProgramSession, history: History, options: ProviderOptions, info: ProgramInfo
    ) -> SyncResult:
        """Writes a new session, because the probe of the program failed."""
        await self.close(session)
        synced = await self.sync_session(None, history, options)
        return structs.replace(synced, loss=f"{info.reason} {synced.loss}".strip())

    async def _restarted(
        self, synced: SyncResult, options: ProviderOptions, running: RunningSession | None
    ) -> SyncResult:
        """Starts the program again if it ran before."""
        if running is not None:
            await self._start(synced.session, options)
        return synced

    async def _cut(self, running: RunningSession, before: Transcript, wanted: HistoryRows) -> bool:
        """Has the running program remove the last turns itself. Returns whether it did."""
        cut = tail_cut(before, wanted) if running.can_be_used else None
        if cut is None or not await running.rewind(*cut):
            return False
        return await asyncio.to_thread(comes_to, before.path, wanted)

    def _require_idle(self, session: ProgramSession) -> None:
        running = self._live.get(session.id)
        if running is not None and running.is_busy and running.can_be_used:
            raise SessionBusy("Claude Code is working on a turn. Wait for it, or stop it first.")

    def _file(
        self, session: ProgramSession, options: ProviderOptions, version: str = ""
    ) -> SessionFile:
        running = self._live.get(session.id)
        return SessionFile(
            session,
            home=PROGRAM.home(self._environment(options.environment)),
            copies=self._data / "sessions" / PROGRAM.name,
            folder=options.folder,
            version=version,
            own=frozenset({running.process.pid}) if running else frozenset(),
        )

    def _placed(self, session: ProgramSession, options: ProviderOptions) -> ProgramSession:
        """The session with the path of its transcript."""
        if session.path and os.path.exists(session.path):
            return session
        path = session_path(session.id, options.folder, self._environment(options.environment))
        return structs.replace(session, path=str(path))

    def _path(self) -> str | None:
        return program_path(self._environment())

    def _is_logged_in(self, environ: Mapping[str, str]) -> bool | None:
        return is_logged_in(environ)

    def _environment(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        own = self._environ
        kept = {name: own[name] for name in own if name not in PROGRAM.own_variables}
        return {**kept, "CLAUDE_CODE_ENTRYPOINT": _ENTRYPOINT, **(more or {})}


PROVIDER = ClaudeCodeProvider
