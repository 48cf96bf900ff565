"""pi as an agent provider: runs turns in its RPC mode, and changes its sessions.

A running pi reads its session again when it is told to switch to the same file, so changes are the
same rows whether the session runs here or is at rest.
"""

import asyncio
import hashlib
import os
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import msgspec
from msgspec import Struct, structs

from sapwood.core.content import PromptPart, Usage
from sapwood.core.ids import TranscriptRange
from sapwood.core.model_calls import Failure
from sapwood.core.program_session import NativeRows, ProgramSession
from sapwood.core.settings import READING_MODES, PermissionMode
from sapwood.programs.agent_provider import (
    History,
    ProgramInfo,
    ProviderAnswer,
    ProviderEvent,
    ProviderOptions,
    ProviderQuestion,
    ProviderReply,
    ProviderResult,
    SessionBusy,
    SyncResult,
    TurnEnd,
)
from sapwood.programs.installed_programs import require_found
from sapwood.programs.pi.history_change import (
    WantedTree,
    content_blocks,
    leaf_row,
    plan_rows,
    shown_sources,
    wanted_history,
)
from sapwood.programs.pi.process import PiProcess
from sapwood.programs.pi.program import PROGRAM
from sapwood.programs.pi.reader import PiReader
from sapwood.programs.pi.session_file import (
    SESSION_VARIABLE,
    PiSession,
    append_rows,
    create_session,
    require_at_rest,
    timestamp,
)
from sapwood.programs.pi.session_tree import SessionEntry
from sapwood.programs.pi.sessions import folder_name
from sapwood.programs.pi.turn_events import TurnEvents
from sapwood.programs.session_copy import newest_copy
from sapwood.programs.session_provider import SessionProvider, item_events, recorded_events
from sapwood.programs.transcripts.transcript_events import TranscriptTurn, unmasked

_EXTENSION = Path(__file__).with_name("extension.js")
_READING = "read,grep,find,ls"
_FREE_TOOLS: dict[PermissionMode, str] = {"all": "*", "accept-edits": "edit,write"}
_KILLED = "pi exited in the middle of this turn."
_COMPACTED = "pi compacted its own context during this turn."


class _Running(Struct):
    """A process of pi with a session. `questions` are those that wait for an answer."""

    process: PiProcess
    options: ProviderOptions
    is_busy: bool = False
    usage: Usage | None = None
    questions: set[str] = set()


class PiProvider(SessionProvider[_Running]):
    """pi on this machine."""

    about = PROGRAM
    program = PROGRAM.name

    def __init__(
        self,
        data: Path | None = None,
        environ: Mapping[str, str] | None = None,
        under_test: ProgramInfo | None = None,
    ) -> None:
        super().__init__(data, environ, under_test)
        self._expected: dict[str, WantedTree] = {}

    async def start(
        self, options: ProviderOptions, session: ProgramSession | None = None
    ) -> ProgramSession:
        """Starts pi with a session, or with a new one. Raises `Failure`."""
        session = self._placed(session, options)
        async with self._lock(session):
            session = await self._start(session, options)
        self._installed.prove_in_background()
        return session

    async def send(
        self, session: ProgramSession, prompt: tuple[PromptPart, ...], turn: str
    ) -> AsyncIterator[ProviderEvent]:
        """Runs one turn and yields what happens; a `TurnEnd` comes last. Raises `Failure`."""
        running = self._live.get(session.id)
        if running is None or not running.process.is_running:
            raise Failure("cut", "pi is not running with this session.", again=True)
        async with self._lock(session):
            _require_idle(running, session)
            recorded = await self._attempt(session, running, turn)
            running.is_busy = not recorded
        for event in recorded:
            yield event
        if not recorded:
            try:
                async for event in self._run(session, running, prompt, turn):
                    yield event
            finally:
                running.is_busy = False

    async def interrupt(self, session: ProgramSession) -> None:
        """Stops the running turn. `send` then yields its `TurnEnd`."""
        running = self._live.get(session.id)
        if running is not None and running.is_busy:
            for question in list(running.questions):
                await self.answer(session, question, ProviderAnswer(False, "interrupted"))
            await running.process.call("abort")

    async def answer(self, session: ProgramSession, question: str, answer: ProviderAnswer) -> None:
        """Answers a question. One that is not open any more is left alone."""
        running = self._live.get(session.id)
        if running is not None and question in running.questions:
            running.questions.discard(question)
            value = "allowed" if answer.allowed else answer.reason or "This is not allowed."
            _reply(running.process, question, value)

    async def require_at_rest(self, session: ProgramSession) -> None:
        """Raises `SessionBusy` if another process may have the session open, or a turn runs."""
        running = self._live.get(session.id)
        if running is not None:
            _require_idle(running, session)
        stored = await asyncio.to_thread(PiSession, Path(session.path))
        await asyncio.to_thread(require_at_rest, stored, self._own)

    async def sync_session(
        self, session: ProgramSession | None, history: History, options: ProviderOptions
    ) -> SyncResult:
        """Brings the session to exactly this history, whether it is running here or at rest."""
        info = require_found(PROGRAM, await asyncio.to_thread(self._installed.prove))
        if session is not None and not info.in_place:
            await self.close(session)
            synced = await self.sync_session(None, history, options)
            return structs.replace(synced, loss=f"{info.reason} {synced.loss}".strip())
        session = self._placed(session, options)
        async with self._lock(session):
            running = self._live.get(session.id)
            if running is not None:
                _require_idle(running, session)
            try:
                return await self._sync_session(session, history, options)
            except (OSError, ValueError) as error:
                raise Failure("other", f"The pi session could not be changed: {error}.") from error

    # Processes

    async def _start(self, session: ProgramSession, options: ProviderOptions) -> ProgramSession:
        running = self._live.get(session.id)
        if running is not None:
            if running.process.is_running and running.options == options:
                return session
            _require_idle(running, session)
            await self.close(session)
        info = await asyncio.to_thread(self._installed.require)
        exists = await asyncio.to_thread(os.path.exists, session.path)
        if exists:
            stored = await asyncio.to_thread(PiSession, Path(session.path))
            await self._wait_for_rest(partial(require_at_rest, stored, self._own))
        own = ("--session", session.path) if exists else ("--session-id", session.id)
        command = [info.path, "--mode", "rpc", *own, "--extension", str(_EXTENSION)]
        command += ["--model", options.model] if options.model else []
        command += ["--append-system-prompt", options.system] if options.system else []
        command += ["--tools", _READING] if options.mode in READING_MODES else []
        free = _FREE_TOOLS.get(options.mode, "")
        environ = {name: self._environ[name] for name in self._environ}
        environ |= {**options.environment, "SAPWOOD_PI_FREE_TOOLS": free}
        environ[SESSION_VARIABLE] = session.id
        for name in PROGRAM.own_variables:
            environ.pop(name, None)
        process = await PiProcess.spawn(command, options.folder, environ)
        try:
            path = await process.session_file()
        except BaseException:
            await process.kill()
            raise
        self._live[session.id] = _Running(process, options, questions=set())
        return ProgramSession(PROGRAM.name, session.id, path or session.path)

    async def _run(
        self,
        session: ProgramSession,
        running: _Running,
        prompt: tuple[PromptPart, ...],
        turn: str,
    ) -> AsyncIterator[ProviderEvent]:
        process, events = running.process, TurnEvents(running.options.folder)
        reported: list[ProviderReply | ProviderResult] = []
        while not process.rows.empty():
            process.rows.get_nowait()  # left over from before
        content = [block for part in prompt for block in content_blocks(part)]
        given = msgspec.json.encode({"turn": turn, "content": content}).decode()
        await process.call("prompt", message=f"/sapwood-send {given}")
        while events.status is None and (record := await process.rows.get()) is not None:
            for event in events.feed(record):
                if isinstance(event, ProviderQuestion):
                    running.questions.add(event.question)
                elif isinstance(event, ProviderReply | ProviderResult):
                    reported.append(event)
                yield event
            while events.refused:
                _reply(process, events.refused.pop(), None)
        running.questions.clear()
        running.usage = events.last_usage or running.usage
        stored = await asyncio.to_thread(PiSession, Path(session.path))
        rows = _turn_rows(stored, session, turn)
        told = [_COMPACTED] if events.compacted else []
        told += self._differences(session, stored, turn)
        status, reason = events.status or "failed", events.reason
        if events.status is None:
            reason = str(process.failure())
            for event in _unreported(stored, turn, reported):
                yield event
        yield TurnEnd(status, reason, rows, events.usage, " ".join(told))

    def _differences(self, session: ProgramSession, stored: PiSession, turn: str) -> list[str]:
        """How the history before a turn differs from the one that it should have had."""
        wanted, mark = self._expected.pop(session.id, None), _mark(stored, turn)
        if wanted is None or mark is None:
            return []
        front, sources = shown_sources(stored, mark.parent)
        if (front, sources[: len(wanted.sources)]) == (wanted.front, wanted.sources):
            return []
        count = f"{len(sources)} messages of history where {len(wanted.sources)} were expected"
        return [f"pi's session had {count}. It was changed outside Sapwood."]

    async def _attempt(
        self, session: ProgramSession, running: _Running, turn: str
    ) -> list[ProviderEvent]:
        """The events of a turn that has run already; none if it has to run.

        A prompt that pi took and never answered is cut out of the session.
        """
        stored = await asyncio.to_thread(PiSession, Path(session.path))
        mark = _mark(stored, turn)
        if mark is None:
            return []
        found = _recorded(stored, mark)
        if found is not None and found.items:
            return recorded_events(found, _turn_rows(stored, session, turn), _KILLED)
        rows = [leaf_row(mark.parent)]
        try:
            await asyncio.to_thread(append_rows, stored, rows, self._copy(session), self._own)
        except (SessionBusy, OSError) as error:
            raise Failure("other", str(error), again=True) from error
        await running.process.call("switch_session", sessionPath=session.path)
        return []

    # Changes

    async def _sync_session(
        self, session: ProgramSession, history: History, options: ProviderOptions
    ) -> SyncResult:
        stored = await asyncio.to_thread(PiSession, Path(session.path))
        wanted = await asyncio.to_thread(
            wanted_history, history, stored, session.id, self._open_other
        )
        rows = plan_rows(stored, wanted)
        self._expected[session.id] = wanted
        running = self._live.get(session.id)
        if not stored.size:
            if not rows:
                return SyncResult(session, "nothing")
            await self.close(session)
            path = Path(session.path)
            ids = await asyncio.to_thread(create_session, path, session.id, options.folder, rows)
            if running is not None:
                await self._start(session, running.options)
            return SyncResult(session, "new_session", ids, wanted.loss)
        if not rows:
            return SyncResult(session, "nothing", loss=wanted.loss)
        await asyncio.to_thread(require_at_rest, stored, self._own)
        ids = await asyncio.to_thread(append_rows, stored, rows, self._copy(session), self._own)
        if running is not None and running.process.is_running:
            await running.process.call("switch_session", sessionPath=session.path)
        found = await asyncio.to_thread(PiSession, Path(session.path))
        front, sources = shown_sources(found, found.leaf)
        differs = (front, sources[: len(wanted.sources)]) != (wanted.front, wanted.sources)
        told = "The session's history differs from the one it was given." if differs else ""
        return SyncResult(session, "boundary", ids, wanted.loss, told)

    def _open_other(self, session: ProgramSession) -> PiSession | None:
        """Another session, or its private copy."""
        places = [Path(session.path)] if session.path else []
        if session.id.replace("-", "").replace("_", "").replace(".", "").isalnum():
            copy = newest_copy(self._copy(session))
            places += [copy] if copy else []
        found = (PiSession(path) for path in places)
        return next((each for each in found if each.size), None)

    def _placed(self, session: ProgramSession | None, options: ProviderOptions) -> ProgramSession:
        """The session with the path of its file, which need not be there yet."""
        session = session or ProgramSession(PROGRAM.name, str(uuid.uuid4()))
        if session.path:
            return session
        place = self._home / "sessions"
        found = next(iter(place.glob(f"*/*_{session.id}.jsonl")), None)
        name = f"{timestamp().replace(':', '-').replace('.', '-')}_{session.id}.jsonl"
        path = found or place / folder_name(options.folder) / name
        return ProgramSession(PROGRAM.name, session.id, str(path))

    def _copy(self, session: ProgramSession) -> Path:
        return self._data / "sessions" / PROGRAM.name / f"{session.id}.jsonl"

    @property
    def _own(self) -> frozenset[int]:
        return frozenset(each.process.pid for each in self._live.values())


def _require_idle(running: _Running, session: ProgramSession) -> None:
    if running.is_busy:
        raise SessionBusy(f"pi session {session.id} runs a turn. Wait for its end, or stop it.")


def _reply(process: PiProcess, question: str, value: str | None) -> None:
    answer = {"cancelled": True} if value is None else {"value": value}
    process.send({"type": "extension_ui_response", "id": question, **answer})


def _mark(stored: PiSession, turn: str) -> SessionEntry | None:
    """The entry on the present path behind which this turn was sent last."""
    path = stored.path_of(stored.leaf)
    return next((each for each in reversed(path) if each.turn == turn), None)


def _turn_entries(stored: PiSession, mark: SessionEntry) -> list[SessionEntry]:
    """The messages of the turn behind a mark."""
    path = stored.path_of(stored.leaf)
    rest = path[path.index(mark) + 1 :]
    end = next((place for place, each in enumerate(rest) if each.turn), len(rest))
    return [entry for entry in rest[:end] if entry.is_spoken]


def _turn_rows(stored: PiSession, session: ProgramSession, turn: str) -> NativeRows | None:
    mark = _mark(stored, turn)
    entries = _turn_entries(stored, mark) if mark is not None else []
    if not entries:
        return None
    digest = hashlib.sha256(b"".join(map(stored.line, entries))).hexdigest()
    passage = TranscriptRange(entries[0].id, entries[-1].id, entries[-1].start)
    return NativeRows(session, passage, digest)


def _recorded(stored: PiSession, mark: SessionEntry) -> TranscriptTurn | None:
    reader = PiReader(unmasked)
    for entry in _turn_entries(stored, mark):
        reader.feed(stored.line(entry), entry.start)
    reader.finish()
    return next((each for each in reader.events if isinstance(each, TranscriptTurn)), None)


def _unreported(
    stored: PiSession, turn: str, reported: Sequence[ProviderReply | ProviderResult]
) -> list[ProviderReply | ProviderResult]:
    """What a pi that was killed in a turn had written to its session and not yet to its output."""
    mark = _mark(stored, turn)
    found = _recorded(stored, mark) if mark is not None else None
    replies = sum(isinstance(each, ProviderReply) for each in reported)
    results = {each.call for each in reported if isinstance(each, ProviderResult)}
    missing: list[ProviderReply | ProviderResult] = []
    for event in item_events(found) if found is not None else ():
        if isinstance(event, ProviderResult):
            missing += [event] if event.call not in results else []
        elif replies:
            replies -= 1
        else:
            missing.append(event)
    return missing


PROVIDER = PiProvider
