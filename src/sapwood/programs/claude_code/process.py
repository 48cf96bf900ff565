"""One running Claude Code: JSON lines in and out, requests with their answers, a reliable end."""

import asyncio
import os
import signal
import uuid
from asyncio.subprocess import PIPE, Process
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from sapwood.core.model_calls import Failure
from sapwood.programs.claude_code.turn_stream import (
    ControlAnswer,
    StreamRow,
    decode_stream_row,
)

_LONGEST_LINE = 256 * 1024 * 1024
_SECONDS_TO_START = 60.0
_SECONDS_TO_ANSWER = 30.0
_SECONDS_TO_END = 5.0
_SECONDS_FOR_ERRORS = 1.0
"""How long the end of the output waits for the end of the error output, which says why."""
_LAST_ERRORS = 40


class ClaudeProcess:
    """The process of one session.

    `rows` receives the lines of the running turn, and None when the process has ended.
    """

    def __init__(self, process: Process) -> None:
        self._process = process
        self.rows: asyncio.Queue[StreamRow | None] = asyncio.Queue()
        self._answers: dict[str, asyncio.Future[ControlAnswer]] = {}
        self._errors: deque[str] = deque(maxlen=_LAST_ERRORS)
        self._tasks = [
            asyncio.create_task(self._read_rows()),
            asyncio.create_task(self._read_errors()),
        ]

    @classmethod
    async def start(
        cls, command: Sequence[str], folder: str, environ: Mapping[str, str]
    ) -> "ClaudeProcess":
        """Starts the program in a process group of its own, and waits until it is ready.

        Raises `Failure` if it cannot be started.
        """
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
            raise Failure("other", f"Claude Code could not be started: {reason}.") from error
        running = cls(process)
        try:
            await running.request("initialize", seconds=_SECONDS_TO_START)
        except BaseException:
            await running.kill()
            raise
        return running

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

    def send(self, message: Mapping[str, Any]) -> None:
        """Sends one line. Raises `Failure` if the program has ended."""
        stdin = self._process.stdin
        if stdin is None or stdin.is_closing() or not self.is_running:
            raise self.failure()
        stdin.write(msgspec.json.encode(message) + b"\n")

    async def request(
        self, subtype: str, *, seconds: float = _SECONDS_TO_ANSWER, **fields: object
    ) -> ControlAnswer:
        """Asks the program and waits for its answer. Raises `Failure`."""
        number = str(uuid.uuid4())
        answer: asyncio.Future[ControlAnswer] = asyncio.get_running_loop().create_future()
        self._answers[number] = answer
        request = {"subtype": subtype, **fields}
        try:
            if not self.is_running:
                await asyncio.wait(self._tasks, timeout=_SECONDS_FOR_ERRORS)
            self.send({"type": "control_request", "request_id": number, "request": request})
            return await asyncio.wait_for(answer, seconds)
        except TimeoutError as error:
            raise Failure(
                "other", f"Claude Code did not answer within {seconds:.0f} seconds.", again=True
            ) from error
        finally:
            self._answers.pop(number, None)

    def answer(self, request: str, response: Mapping[str, Any]) -> None:
        """Answers a request of the program. Raises `Failure` if it has ended."""
        content = {"subtype": "success", "request_id": request, "response": dict(response)}
        self.send({"type": "control_response", "response": content})

    def failure(self) -> Failure:
        """Why the program cannot be used any more."""
        words = self.last_words.splitlines()
        reason = f": {words[-1]}" if words else "."
        return Failure("cut", f"Claude Code exited{reason}", again=True)

    async def close(self) -> None:
        """Ends the program: by the end of its input, else by signals to its whole group."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        for number in (None, signal.SIGTERM, signal.SIGKILL):
            if number is not None:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(self._process.pid, number)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._process.wait(), _SECONDS_TO_END)
                break
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def kill(self) -> None:
        """Ends the program at once, with everything that it started."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        await self.close()

    async def _read_rows(self) -> None:
        stdout = self._process.stdout
        try:
            while stdout is not None and (line := await stdout.readline()):
                row = decode_stream_row(line)
                if row is None:
                    continue
                if row.type == "control_response" and row.response is not None:
                    waiting = self._answers.get(row.response.request_id)
                    if waiting is not None and not waiting.done():
                        waiting.set_result(row.response)
                else:
                    self.rows.put_nowait(row)
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
