"""The adapter for opencode."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any  # answers are JSON

from msgspec import structs

from sapwood.core.content import File, PromptPart, Usage
from sapwood.core.ids import TranscriptRange
from sapwood.core.model_calls import Failure
from sapwood.core.program_session import NativeRows, ProgramSession
from sapwood.programs.agent_provider import (
    History,
    ProviderAnswer,
    ProviderEvent,
    ProviderOptions,
    SessionBusy,
    SyncMethod,
    SyncResult,
    TurnEnd,
)
from sapwood.programs.opencode.history_change import (
    Event,
    Ids,
    MessageForm,
    WantedMessages,
    plan_events,
    shown_content,
    wanted_history,
)
from sapwood.programs.opencode.live_turn import OpencodeTurn
from sapwood.programs.opencode.permissions import permission_environment
from sapwood.programs.opencode.program import PROGRAM
from sapwood.programs.opencode.reader import OpencodeReader
from sapwood.programs.opencode.server import OpencodeEnded, OpencodeRefused, OpencodeServer
from sapwood.programs.opencode.session_database import NAME, processes_with
from sapwood.programs.opencode.session_log import SessionLog, as_object, copy_log, read_log
from sapwood.programs.opencode.sessions import SESSIONS, session_path
from sapwood.programs.prompt_parts import PICTURES, prompt_text
from sapwood.programs.session_provider import SessionProvider, item_events
from sapwood.programs.transcripts.transcript_events import TranscriptTurn

_TURN = "sapwood"
"""The key of a part's metadata that has the id of our turn."""
_INTERRUPT_SECONDS = 10.0
_ATTEMPTS = 4
"""After a turn opencode still writes for a moment: an event of its own may come between ours."""


class _Outrun(SessionBusy):
    """Another event came first. Events of ours before it were applied; `keys` are those of all."""

    def __init__(self, message: str, keys: tuple[str, ...]) -> None:
        super().__init__(message)
        self.keys = keys


class _Live:
    """A session in a server of its own."""

    def __init__(self, server: OpencodeServer, session: str, options: ProviderOptions) -> None:
        self.server = server
        self.id = session
        self.options = options
        self.busy = False
        self.usage: Usage | None = None

    @property
    def process(self) -> OpencodeServer:
        """The server, as the process of this session."""
        return self.server

    def fits(self, options: ProviderOptions) -> bool:
        """Whether the server can continue with these options."""
        now = self.options
        return (now.folder, now.mode, now.environment) == (
            options.folder,
            options.mode,
            options.environment,
        )

    def require_idle(self) -> None:
        """Raises `SessionBusy` while a turn runs: opencode would accept a change in it."""
        if self.busy:
            raise SessionBusy("opencode is working on a turn. Wait for it, or interrupt it.")


class OpencodeProvider(SessionProvider[_Live]):
    """Runs turns in opencode, each session in a server of its own, and changes its sessions."""

    about = PROGRAM
    program = PROGRAM.name

    async def start(
        self, options: ProviderOptions, session: ProgramSession | None = None
    ) -> ProgramSession:
        """Starts a server with a session, or with a new one."""
        live = await self._open(options, session)
        self._installed.prove_in_background()
        return self._session(live.id)

    async def send(
        self, session: ProgramSession, prompt: tuple[PromptPart, ...], turn: str
    ) -> AsyncIterator[ProviderEvent]:
        """Runs one turn and yields what happens."""
        live = self._running(session)
        if live is None:
            raise Failure("cut", "opencode is not running with this session.", again=True)
        live.require_idle()
        live.busy = True
        ended = False
        try:
            log = await self._log(live.id)
            if known := _prompt_of_turn(log, turn):
                for event in self._repeat(live, known, log):
                    yield event
                ended = True
                return
            before = {each.id for each in log.present}
            running = OpencodeTurn(live.server, live.id, live.options)
            async for event in self._run(live, running, prompt, turn):
                yield event
            live.usage = running.usage or live.usage
            ended = True
            yield await self._turn_end(live, running, before)
        except (OpencodeEnded, OpencodeRefused) as error:
            raise Failure("cut", f"{error} The turn can be sent again.", again=True) from error
        finally:
            live.busy = False
            if not ended:
                await live.server.kill()  # nobody waits for the end of the turn

    async def interrupt(self, session: ProgramSession) -> None:
        """Stops the running turn. A server that does not react is killed."""
        live = self._running(session)
        if live is None or not live.busy:
            return
        try:
            async with asyncio.timeout(_INTERRUPT_SECONDS):
                await live.server.call("POST", f"/session/{live.id}/abort", {})
        except (TimeoutError, OpencodeEnded, OpencodeRefused):
            await live.server.kill()

    async def answer(self, session: ProgramSession, question: str, answer: ProviderAnswer) -> None:
        """Answers a question; one that is over needs no answer."""
        live = self._running(session)
        if live is None:
            return
        reply: dict[str, str] = {"reply": "once"}
        if not answer.allowed:
            reply = {"reply": "reject", "message": answer.reason or "The user did not allow it."}
        try:
            await live.server.call("POST", f"/permission/{question}/reply", reply)
        except (OpencodeRefused, OpencodeEnded):
            return

    async def require_at_rest(self, session: ProgramSession) -> None:
        """Raises `SessionBusy` if a turn runs in the session, here or in another process."""
        if (live := self._running(session)) is not None:
            live.require_idle()
        await self._require_no_open_turn(await self._log(session.id))

    async def sync_session(
        self, session: ProgramSession | None, history: History, options: ProviderOptions
    ) -> SyncResult:
        """Brings the session to exactly this history."""
        if session is None:
            return await self._new_session(history, options)
        async with self._lock(session):
            if (live := self._running(session)) is not None:
                live.require_idle()
            log = await self._log(session.id)
            await self._require_no_open_turn(log)
            wanted = await self._wanted(history, log, session.id)
            if shown_content(log) == wanted.content:
                return SyncResult(self._session(session.id), "nothing", (), wanted.loss)
            info = await asyncio.to_thread(self._installed.prove)
            if info is not None and info.in_place is False:
                made = await self._new_session(history, options)
                reasons = " ".join(filter(None, (info.reason, made.loss)))
                return SyncResult(made.session, made.by, made.rows, reasons, made.difference)
        live = await self._open(options, session)
        async with self._lock(session):
            return await self._change(live, wanted)

    # Servers

    @property
    def _copies(self) -> Path:
        return self._data / "programs" / PROGRAM.name

    def _session(self, session: str) -> ProgramSession:
        return ProgramSession(PROGRAM.name, session, str(session_path(self._home, session)))

    def _running(self, session: ProgramSession) -> _Live | None:
        live = self._live.get(session.id)
        return live if live is not None and live.server.is_running else None

    async def _open(self, options: ProviderOptions, session: ProgramSession | None) -> _Live:
        """The server of a session, or a new one. Raises `Failure`."""
        if session is None:
            server = await self._start_server(options)
            made = await self._asked(server, "POST", "/session", {})
            live = self._live[str(made["id"])] = _Live(server, str(made["id"]), options)
            return live
        async with self._lock(session):
            if (live := self._running(session)) is not None:
                if live.fits(options):
                    live.options = options
                    return live
                await self.close(session)
            server = await self._start_server(options)
            await self._asked(server, "GET", f"/session/{session.id}")
            live = self._live[session.id] = _Live(server, session.id, options)
            return live

    async def _start_server(self, options: ProviderOptions) -> OpencodeServer:
        info = await asyncio.to_thread(self._installed.require)
        environ = {**self._environ, **options.environment}
        environ |= permission_environment(options.mode, environ)
        try:
            return await OpencodeServer.start(info.path, options.folder, environ)
        except (OSError, OpencodeEnded) as error:
            raise Failure("other", f"opencode {info.version} did not start: {error}") from error

    async def _asked(
        self, server: OpencodeServer, method: str, path: str, body: object = None
    ) -> Any:
        """The answer of a server that was just started. Without one, the server is ended."""
        try:
            return await server.call(method, path, body)
        except (OpencodeRefused, OpencodeEnded) as error:
            await server.kill()
            raise Failure("other", f"opencode could not open the session: {error}") from error

    async def _require_no_open_turn(self, log: SessionLog) -> None:
        """Raises `SessionBusy` if another opencode works on a turn.

        A turn whose opencode was killed has no end either, but then no process has it.
        """
        if not _is_open(log):
            return
        own = {each.server.pid for each in self._live.values()}
        if await asyncio.to_thread(processes_with, self._home / NAME) - own - {os.getpid()}:
            raise SessionBusy(
                "Another opencode is running a turn in this session. Wait for it, or interrupt it "
                "there."
            )

    # Turns

    async def _log(self, session: str) -> SessionLog:
        try:
            return await asyncio.to_thread(read_log, self._home, session, self._copies)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            message = f"opencode's session {session} cannot be read: {reason}"
            raise Failure("other", message) from error

    async def _run(
        self, live: _Live, running: OpencodeTurn, prompt: tuple[PromptPart, ...], turn: str
    ) -> AsyncIterator[ProviderEvent]:
        body: dict[str, object] = {"parts": _prompt_parts(prompt, turn)}
        if live.options.system:
            body["system"] = live.options.system
        if model := _model(live.options.model):
            body["model"] = model
        stream = live.server.events()
        await anext(stream)  # from here on nothing is missed
        await live.server.call("POST", f"/session/{live.id}/prompt_async", body)
        async for event in running.events(stream):
            yield event

    async def _turn_end(self, live: _Live, running: OpencodeTurn, before: set[str]) -> TurnEnd:
        log = await self._log(live.id)
        new = [each for each in log.present if each.id not in before]
        rows = None
        if new:
            passage = TranscriptRange(new[0].id, new[-1].id, max(each.last for each in new))
            rows = NativeRows(self._session(live.id), passage, turn=new[0].id)
        difference = "opencode compacted its own session during this turn." * running.was_compacted
        if running.aborted:
            return TurnEnd("interrupted", rows=rows, difference=difference)
        if running.error:
            return TurnEnd("failed", running.error, rows, difference=difference)
        return TurnEnd("completed", rows=rows, difference=difference)

    def _repeat(self, live: _Live, prompt: str, log: SessionLog) -> list[ProviderEvent]:
        """The events of a turn that was sent before."""
        reader = OpencodeReader()
        for _, row, offset in SESSIONS.rows(session_path(self._home, live.id)):
            reader.feed(row, offset)
        reader.finish()
        turns = [each for each in reader.events if isinstance(each, TranscriptTurn)]
        turn = next(each for each in reversed(turns) if each.first.key == prompt)
        events = item_events(turn)
        passage = TranscriptRange(turn.first.key, turn.last.key, turn.last.offset)
        rows = NativeRows(self._session(live.id), passage, turn=prompt)
        if turn.status == "completed":
            return [*events, TurnEnd("completed", rows=rows)]
        reason = turn.reason or "opencode exited before the turn ended."
        return [*events, TurnEnd("interrupted", reason, rows)]

    # Changes of a history

    async def _wanted(self, history: History, log: SessionLog, session: str) -> WantedMessages:
        return await asyncio.to_thread(
            wanted_history, history, log, session, self._home, self._copies
        )

    async def _change(self, live: _Live, wanted: WantedMessages) -> SyncResult:
        live.require_idle()
        live.busy = True
        try:
            await asyncio.to_thread(copy_log, self._home, live.id, self._copies)
            keys: tuple[str, ...] = ()
            for _ in range(_ATTEMPTS - 1):
                try:
                    made = await self._replay(live, wanted)
                    return structs.replace(made, rows=keys + made.rows)
                except _Outrun as outrun:
                    keys += outrun.keys
            made = await self._replay(live, wanted)
            return structs.replace(made, rows=keys + made.rows)
        except OSError as error:
            raise Failure("other", f"The session could not be copied: {error}") from error
        finally:
            live.busy = False

    async def _replay(self, live: _Live, wanted: WantedMessages) -> SyncResult:
        log = await self._log(live.id)
        await self._require_no_open_turn(log)
        form = await self._form(live, log)
        events = plan_events(log, wanted, form)
        if not events:
            return SyncResult(self._session(live.id), "nothing", (), wanted.loss)
        ids = Ids()
        rows = [
            {"id": ids.make("evt"), "aggregateID": live.id, "seq": log.seq + place}
            | {"type": kind, "data": data}
            for place, (kind, data) in enumerate(events, start=1)
        ]
        keys = (*(str(row["id"]) for row in rows), *_message_ids(events))
        body = {"directory": live.options.folder, "events": rows}
        try:
            await live.server.call("POST", "/sync/replay", body)
        except OpencodeRefused as error:
            if (await self._log(live.id)).seq != log.seq:
                message = "The session changed in the meantime. Wait for its turn, then try again."
                raise _Outrun(message, keys) from error
            raise Failure("other", f"opencode refused the change: {error}") from error
        except OpencodeEnded as error:
            raise Failure("cut", str(error), again=True) from error
        after = await self._log(live.id)
        difference = ""
        if shown_content(after) != wanted.content:
            difference = "opencode's session differs from the history that it was given."
        return SyncResult(self._session(live.id), _by(events), keys, wanted.loss, difference)

    async def _form(self, live: _Live, log: SessionLog) -> MessageForm:
        """The model of new messages: that of the options, of the session, else the default."""
        chosen = _model(live.options.model)
        for message in reversed(log.present if not chosen else []):
            if message.is_prompt and message.info.get("model"):
                chosen = message.info["model"]
                break
        if not chosen:
            settings = await live.server.call("GET", "/config")
            chosen = _model(str(settings.get("model") or ""))
        if not chosen:
            found = await live.server.call("GET", "/config/providers")
            provider, model = next(iter(found["default"].items()), ("opencode", "unknown"))
            chosen = {"providerID": provider, "modelID": model}
        return MessageForm(live.id, live.options.folder, chosen["providerID"], chosen["modelID"])

    async def _new_session(self, history: History, options: ProviderOptions) -> SyncResult:
        """A new session that is given the history."""
        live = await self._open(options, None)
        log = await self._log(live.id)
        wanted = await self._wanted(history, log, live.id)
        if not wanted.content:
            return SyncResult(self._session(live.id), "new_session", (), wanted.loss)
        made = await self._change(live, wanted)
        return SyncResult(made.session, "new_session", made.rows, made.loss, made.difference)


def _by(events: list[Event]) -> SyncMethod:
    kinds = {kind for kind, _ in events}
    return "inject" if "message.part.updated.1" in kinds else "cut"


def _message_ids(events: list[Event]) -> list[str]:
    return [str(data["info"]["id"]) for kind, data in events if kind == "message.updated.1"]


def _prompt_of_turn(log: SessionLog, turn: str) -> str:
    """The prompt that was sent for a turn of ours; empty if there is none."""
    for message in log.present:
        for part in message.parts.values():
            if message.is_prompt and as_object(part.get("metadata")).get(_TURN) == turn:
                return message.id
    return ""


def _is_open(log: SessionLog) -> bool:
    """Whether the last answer has not ended."""
    last = log.present[-1:]
    if not last or last[0].is_prompt:
        return False
    info = last[0].info
    return not info.get("error") and not as_object(info.get("time")).get("completed")


def _model(name: str) -> dict[str, str]:
    """The provider and the model in `PROVIDER/MODEL`; empty without a provider."""
    provider, _, model = name.partition("/")
    return {"providerID": provider, "modelID": model} if model else {}


def _prompt_parts(prompt: tuple[PromptPart, ...], turn: str) -> list[dict[str, object]]:
    parts: list[dict[str, object]] = []
    for part in prompt:
        text = prompt_text(part)
        parts.append({"type": "text", "text": text, "metadata": {_TURN: turn}})
        if isinstance(part, File) and part.media_type in PICTURES:
            parts.append({"type": "file", "mime": part.media_type, "url": part.data_url})
    return parts


PROVIDER = OpencodeProvider
