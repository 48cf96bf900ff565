"""One running Claude Code: requests with their answers, and questions of the program."""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from sapwood.programs.claude_code.program import PROGRAM
from sapwood.programs.claude_code.turn_stream import (
    ControlAnswer,
    StreamRow,
    decode_stream_row,
)
from sapwood.programs.line_process import LineProcess

_SECONDS_TO_START = 60.0
_SECONDS_TO_ANSWER = 30.0


class ClaudeProcess(LineProcess[StreamRow, ControlAnswer]):
    """The process of one session."""

    title = PROGRAM.title

    @classmethod
    async def start(
        cls, command: Sequence[str], folder: str, environ: Mapping[str, str]
    ) -> "ClaudeProcess":
        """Starts the program, and waits until it is ready. Raises `Failure`."""
        running = await cls.spawn(command, folder, environ)
        try:
            await running.request("initialize", seconds=_SECONDS_TO_START)
        except BaseException:
            await running.kill()
            raise
        return running

    async def request(
        self, subtype: str, *, seconds: float = _SECONDS_TO_ANSWER, **fields: object
    ) -> ControlAnswer:
        """Asks the program and waits for its answer. Raises `Failure`."""
        number = str(uuid.uuid4())
        request = {"subtype": subtype, **fields}
        message = {"type": "control_request", "request_id": number, "request": request}
        return await self.ask(number, message, seconds)

    def answer(self, request: str, response: Mapping[str, Any]) -> None:
        """Answers a request of the program. Raises `Failure` if it has ended."""
        content = {"subtype": "success", "request_id": request, "response": dict(response)}
        self.send({"type": "control_response", "response": content})

    def take(self, line: bytes) -> None:
        """Takes in one line."""
        row = decode_stream_row(line)
        if row is not None and row.type == "control_response" and row.response is not None:
            self.take_answer(row.response.request_id, row.response)
        elif row is not None:
            self.rows.put_nowait(row)
