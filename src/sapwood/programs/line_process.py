"""A running program that reads and writes JSON lines: its rows, its answers, and a reliable end."""

import asyncio
import os
import re
import signal
from abc import ABC, abstractmethod
from asyncio.subprocess import PIPE, Process
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Generic, Self, TypeVar

import msgspec

from sapwood.core.model_calls import Failure

_MAX_LINE = 256 * 1024 * 1024
_SECONDS_TO_ANSWER = 30.0
_SECONDS_TO_END = 5.0
_SECONDS_FOR_ERRORS = 1.0
"""How long the end of the output waits for the end of the error output, which says why."""
_LAST_ERRORS = 40
_ERROR = re.compile(r"\w*Error\b.*: ")
"""The line that names an error. Node.js writes it in front of the places and of its own version."""

Row = TypeVar("Row")
Answer = TypeVar("Answer")


async def start_process(
    command: Sequence[str], folder: str, environ: Mapping[str, str], title: str
) -> Process:
    """Starts a program with pipes in a process group of its own. Raises `Failure`."""
    try:
        return await asyncio.create_subprocess_exec(
            *command,
            cwd=folder,
            env=dict(environ),
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            limit=_MAX_LINE,
            start_new_session=True,
        )
    except OSError as error:
        reason = error.strerror or str(error)
        raise Failure("other", f"{title} could not be started: {reason}.") from error


class LineProcess(ABC, Generic[Row, Answer]):
    """The process of one session.

    `rows` receives the lines of the running turn, and None when the process has ended.
    """

    title: str

    def __init__(self, process: Process) -> None:
        self._process = process
        self.rows: asyncio.Queue[Row | None] = asyncio.Queue()
        self._answers: dict[str, asyncio.Future[Answer]] = {}
        self._errors: deque[str] = deque(maxlen=_LAST_ERRORS)
        self._tasks = [
            asyncio.create_task(self._read_rows()),
            asyncio.create_task(self._read_errors()),
        ]

    @classmethod
    async def spawn(cls, command: Sequence[str], folder: str, environ: Mapping[str, str]) -> Self:
        """Starts the program in a process group of its own. Raises `Failure`."""
        return cls(await start_process(command, folder, environ, cls.title))

    @abstractmethod
    def take(self, line: bytes) -> None:
        """Takes in one line: a row, or an answer."""

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether the process runs."""
        return self._process.returncode is None and not self._tasks[0].done()

    @property
    def last_words(self) -> str:
        """The end of what the program wrote to its error output."""
        return "\n".join(self._errors).strip()

    @property
    def _takes_input(self) -> bool:
        """Whether a line can be sent. The input of a process closes before it has ended."""
        stdin = self._process.stdin
        return stdin is not None and not stdin.is_closing() and self.is_running

    def send(self, message: Mapping[str, Any]) -> None:
        """Sends one line. Raises `Failure` if the program has ended."""
        stdin = self._process.stdin
        if stdin is None or not self._takes_input:
            raise self.failure()
        stdin.write(msgspec.json.encode(message) + b"\n")

    async def ask(
        self, number: str, message: Mapping[str, Any], seconds: float = _SECONDS_TO_ANSWER
    ) -> Answer:
        """Sends a message with this number and waits for its answer. Raises `Failure`."""
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._answers[number] = answer
        try:
            if not self._takes_input:
                await asyncio.wait(self._tasks, timeout=_SECONDS_FOR_ERRORS)
            self.send(message)
            return await asyncio.wait_for(answer, seconds)
        except TimeoutError as error:
            reason = f"{self.title} did not answer within {seconds:.0f} seconds."
            raise Failure("other", reason, again=True) from error
        finally:
            self._answers.pop(number, None)

    def take_answer(self, number: str, answer: Answer) -> None:
        """Gives an answer to whoever waits for it."""
        waiting = self._answers.get(number)
        if waiting is not None and not waiting.done():
            waiting.set_result(answer)

    def failure(self) -> Failure:
        """Why the program cannot be used any more."""
        words = self.last_words.splitlines()
        named = [line for line in words if _ERROR.match(line)]
        reason = f": {(named or words)[-1]}" if words else "."
        return Failure("cut", f"{self.title} exited{reason}", again=True)

    async def close(self) -> None:
        """Ends the program: by the end of its input, else by signals to its whole group."""
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
        """Ends the program at once, with everything that it started."""
        self._signal(signal.SIGKILL)
        await self.close()

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    async def _read_rows(self) -> None:
        stdout = self._process.stdout
        try:
            while stdout is not None and (line := await stdout.readline()):
                self.take(line)
            await asyncio.wait(self._tasks[1:], timeout=_SECONDS_FOR_ERRORS)
        finally:
            self.rows.put_nowait(None)
            for waiting in self._answers.values():
                if not waiting.done():
                    waiting.set_exception(self.failure())

    async def _read_errors(self) -> None:
        stderr = self._process.stderr
        while stderr is not None and (line := await stderr.readline()):
            self._errors.append(line.decode("utf-8", "replace").rstrip())
