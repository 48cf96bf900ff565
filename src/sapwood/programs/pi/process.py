"""One running `pi --mode rpc`: JSON lines in and out, calls with their answers, a reliable end."""

import asyncio
import os
import signal
from asyncio.subprocess import PIPE, Process
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import count
from typing import Any

import msgspec

from sapwood.core.model_calls import Failure
from sapwood.programs.pi.turn_events import Record, decode_record

_LONGEST_LINE = 256 * 1024 * 1024
_SECONDS_TO_START = 60.0
_SECONDS_TO_ANSWER = 30.0
_SECONDS_TO_END = 5.0
_LAST_ERRORS = 40


class PiProcess:
    """The process of one session.

    `records` receives what happens in it, and None when the process has ended.
    """

    def __init__(self, process: Process) -> None:
        self._process = process
        self.records: asyncio.Queue[Record | None] = asyncio.Queue()
        self._numbers = count(1)
        self._answers: dict[str, asyncio.Future[Record]] = {}
        self._errors: deque[str] = deque(maxlen=_LAST_ERRORS)
        self._tasks = [
            asyncio.create_task(self._read_records()),
            asyncio.create_task(self._read_errors()),
        ]

    @classmethod
    async def start(
        cls, command: Sequence[str], folder: str, environ: Mapping[str, str]
    ) -> "PiProcess":
        """Starts pi in a process group of its own. Raises `Failure` if it cannot be started."""
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                cwd=folder,
                env=dict(environ),
                stdin=PIPE,
                stdout=PIPE,
                stderr=PIPE,
                limit=_LONGEST_LINE,
                start_new_session=True,
            )
        except OSError as error:
            reason = error.strerror or str(error)
            raise Failure("other", f"pi could not be started: {reason}.") from error
        return cls(process)

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether the process runs."""
        return self._process.returncode is None and not self._tasks[0].done()

    def send(self, record: Mapping[str, Any]) -> None:
        """Sends one line. Raises `Failure` if pi has ended."""
        stdin = self._process.stdin
        if stdin is None or stdin.is_closing() or not self.is_running:
            raise self.failure()
        stdin.write(msgspec.json.encode(record) + b"\n")

    async def session_file(self) -> str:
        """The path of the session, once pi has started. Raises `Failure`."""
        state = await self.call("get_state", seconds=_SECONDS_TO_START)
        return (state.data and state.data.session_file) or ""

    async def call(
        self, kind: str, *, seconds: float = _SECONDS_TO_ANSWER, **fields: object
    ) -> Record:
        """Calls a command and waits for its answer. Raises `Failure` if pi refuses it."""
        number = str(next(self._numbers))
        answer: asyncio.Future[Record] = asyncio.get_running_loop().create_future()
        self._answers[number] = answer
        try:
            self.send({"id": number, "type": kind, **fields})
            found = await asyncio.wait_for(answer, seconds)
        except TimeoutError as error:
            reason = f"pi did not answer within {seconds:.0f} seconds."
            raise Failure("other", reason, again=True) from error
        finally:
            self._answers.pop(number, None)
        if not found.success:
            raise Failure("other", f"pi refused {kind}: {found.error}")
        return found

    def failure(self) -> Failure:
        """Why pi cannot be used any more."""
        words = "\n".join(self._errors).strip().splitlines()
        return Failure("cut", f"pi exited: {words[-1]}" if words else "pi exited.", again=True)

    async def close(self) -> None:
        """Ends pi: by the end of its input, else by signals to its whole group."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        for number in (None, signal.SIGTERM, signal.SIGKILL):
            if number is not None:
                self._signal(number)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._process.wait(), _SECONDS_TO_END)
                break
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def kill(self) -> None:
        """Ends pi at once, with everything that it started."""
        self._signal(signal.SIGKILL)
        await self.close()

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    async def _read_records(self) -> None:
        stdout = self._process.stdout
        try:
            while stdout is not None and (line := await stdout.readline()):
                record = decode_record(line)
                if record is None:
                    continue
                waiting = self._answers.get(record.id) if record.type == "response" else None
                if waiting is not None and not waiting.done():
                    waiting.set_result(record)
                elif record.type != "response":
                    self.records.put_nowait(record)
            await asyncio.wait(self._tasks[1:], timeout=1.0)
        finally:
            self.records.put_nowait(None)
            for waiting in self._answers.values():
                if not waiting.done():
                    waiting.set_exception(self.failure())

    async def _read_errors(self) -> None:
        stderr = self._process.stderr
        while stderr is not None and (line := await stderr.readline()):
            self._errors.append(line.decode("utf-8", "replace").rstrip())
