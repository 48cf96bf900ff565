"""What the providers of all programs share: the installed program and its live sessions."""

import asyncio
import os
from collections.abc import Callable, Mapping
from functools import reduce
from operator import add
from pathlib import Path
from typing import ClassVar, Generic, Protocol, TypeVar

from sapwood.config.folders import data_folder
from sapwood.core.content import RecordedReply, Usage
from sapwood.core.model_calls import Failure
from sapwood.core.program_session import NativeRows, ProgramSession
from sapwood.programs.agent_provider import (
    ProgramInfo,
    ProviderEvent,
    ProviderReply,
    ProviderResult,
    SessionBusy,
    TurnEnd,
)
from sapwood.programs.probe.proved_program import ProvedProgram
from sapwood.programs.program import Program
from sapwood.programs.transcripts.transcript_events import TranscriptTurn

_SECONDS_TO_REST = 10.0
_PAUSE = 0.05


class ProgramProcess(Protocol):
    """A process that was started for a session."""

    async def close(self) -> None:
        """Ends it, and kills it if it does not end."""
        ...

    async def kill(self) -> None:
        """Ends it at once, with everything that it started."""
        ...


class LiveSession(Protocol):
    """A session that runs here."""

    @property
    def process(self) -> ProgramProcess:
        """The process that has the session open."""
        ...

    @property
    def usage(self) -> Usage | None:
        """The tokens of its last request; None if none ran here."""
        ...


Live = TypeVar("Live", bound=LiveSession)


def item_events(turn: TranscriptTurn) -> list[ProviderReply | ProviderResult]:
    """The replies and results of a turn that a program has run already."""
    return [
        ProviderReply(item.parts, item.model, item.usage)
        if isinstance(item, RecordedReply)
        else ProviderResult(item.call, item.content, item.error)
        for item in turn.items
    ]


def recorded_events(
    turn: TranscriptTurn, rows: NativeRows | None, killed: str
) -> list[ProviderEvent]:
    """The events of a turn that a program has run already: its tool calls must not run twice.

    `killed` is why a turn without an end was interrupted.
    """
    used = [item.usage for item in turn.items if isinstance(item, RecordedReply) and item.usage]
    usage = reduce(add, used) if used else None
    if turn.status == "open":
        return [*item_events(turn), TurnEnd("interrupted", killed, rows, usage)]
    return [*item_events(turn), TurnEnd(turn.status, turn.reason, rows, usage)]


class SessionProvider(Generic[Live]):
    """A program on this machine and its live sessions, by the ids of the sessions.

    `data` is the folder for private copies of sessions, and `environ` what the program is started
    with. Nothing is started before `start`. The program `under_test` is that of a probe.
    """

    about: ClassVar[Program]

    def __init__(
        self,
        data: Path | None = None,
        environ: Mapping[str, str] | None = None,
        under_test: ProgramInfo | None = None,
    ) -> None:
        self._data = data or data_folder()
        self._environ = os.environ if environ is None else environ
        self._installed = ProvedProgram(
            self.about, data, self._path, self._environment, self._is_logged_in, under_test
        )
        self._live: dict[str, Live] = {}
        self._locks: dict[str, asyncio.Lock] = {}

    def find(self) -> ProgramInfo | None:
        """The installed program; None if there is none."""
        return self._installed.find()

    def prove(self, *, again: bool = False) -> ProgramInfo | None:
        """The installed program, which is probed unless it was; None if there is none."""
        return self._installed.prove(again=again)

    async def usage(self, session: ProgramSession) -> Usage | None:
        """The tokens of the session's last request here; None if none ran here."""
        live = self._live.get(session.id)
        return live.usage if live is not None else None

    async def close(self, session: ProgramSession | None = None) -> None:
        """Ends the process of this session, or all of them."""
        ids = list(self._live) if session is None else [session.id]
        found = [self._live.pop(each) for each in ids if each in self._live]
        await asyncio.gather(*(each.process.close() for each in found))
        if session is None:
            await self._installed.stop()

    async def kill(self) -> None:
        """Ends all processes at once, with everything that they started."""
        found = [self._live.pop(each) for each in list(self._live)]
        await asyncio.gather(*(each.process.kill() for each in found))

    @property
    def _home(self) -> Path:
        return self.about.home(self._environ)

    def _path(self) -> str | None:
        return self.about.executable_path(self._environ)

    def _environment(self) -> Mapping[str, str]:
        return self._environ

    def _is_logged_in(self, environ: Mapping[str, str]) -> bool | None:
        """Whether there are credentials; None if that cannot be known."""
        return None

    def _lock(self, session: ProgramSession) -> asyncio.Lock:
        """A change of a session may end its process: nobody else starts one meanwhile."""
        return self._locks.setdefault(session.id, asyncio.Lock())

    async def _wait_for_rest(self, require_at_rest: Callable[[], None]) -> None:
        """Waits while a process from before a crash finishes its turn. Raises `Failure`.

        `require_at_rest` raises `SessionBusy` until then.
        """
        clock = asyncio.get_running_loop().time
        until = clock() + _SECONDS_TO_REST
        while True:
            try:
                return await asyncio.to_thread(require_at_rest)
            except SessionBusy as busy:
                if clock() > until:
                    raise Failure("other", str(busy), again=True, after=2.0) from busy
            await asyncio.sleep(_PAUSE)
