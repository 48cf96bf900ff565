"""A session that runs in a process of Claude Code: its turns, its questions, its rewinds.

Claude Code edits a file only if it has read it. After a trim it has forgotten that, so it is told
again which files it knew, if they have not changed since.
"""

import asyncio
import os
import time
import uuid
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw, Struct, structs

from sapwood.core.content import PromptPart, ToolCall, Usage
from sapwood.core.program_session import ProgramSession
from sapwood.core.settings import READING_MODES
from sapwood.programs.agent_provider import (
    ProviderAnswer,
    ProviderEvent,
    ProviderOptions,
    TurnEnd,
)
from sapwood.programs.claude_code.output_stream import (
    ClaudeTurnStream,
    ControlAnswer,
    StreamRow,
    decode_stream_row,
)
from sapwood.programs.claude_code.program import PROGRAM
from sapwood.programs.claude_code.request_check import ExpectedRequest, difference
from sapwood.programs.claude_code.row_forms import prompt_blocks
from sapwood.programs.claude_code.rows import decode_row, parts_of
from sapwood.programs.claude_code.transcript import LinkRow, Transcript, file_size
from sapwood.programs.claude_code.turn_record import wait_for_rows
from sapwood.programs.line_process import LineProcess
from sapwood.programs.prompt_parts import prompt_text
from sapwood.programs.transcripts.transcript_events import microseconds

_READ_ONLY = "Bash,Edit,MultiEdit,NotebookEdit,Write"
_REWOUND = b'"rewound":true'
_COST = b'"totalCostUSD":'
_TAIL = 256 * 1024
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


_TOOLS = frozenset({"Read", "Edit", "Write", "MultiEdit"})
_SLACK_US = 2_000_000
"""A row is written a moment after its tool has run."""

_MAX_FILES = 500


class KnownFile(Struct, frozen=True):
    """A file, and the time of its last change in milliseconds."""

    path: str
    mtime: int


class _Arguments(Struct):
    file_path: str = ""


def known_files(transcript: Transcript, rows: Iterable[LinkRow]) -> list[KnownFile]:
    """The files that the tools in these rows read or wrote, and that are unchanged since."""
    times: dict[str, int] = {}
    for row in rows:
        if row.type != "assistant":
            continue
        content = transcript.bytes_of(row)
        if b'"file_path"' not in content or (decoded := decode_row(content)) is None:
            continue
        parts = parts_of(decoded.message.content if decoded.message else None)
        for part in parts:
            if isinstance(part, ToolCall) and part.name in _TOOLS and (path := _path(part)):
                times[path] = max(times.get(path, 0), microseconds(decoded.timestamp))
    found: list[KnownFile] = []
    for path, seen in times.items():
        try:
            changed = os.stat(path).st_mtime_ns
        except OSError:
            continue
        if changed // 1_000 <= seen + _SLACK_US:
            found.append(KnownFile(path, changed // 1_000_000 + 1))
    return found[-_MAX_FILES:]


def _path(call: ToolCall) -> str:
    try:
        return msgspec.json.decode(call.args, type=_Arguments).file_path
    except (msgspec.MsgspecError, ValueError):
        return ""


class RunningSession:
    """The process of a session. `is_busy` is true while a turn runs."""

    def __init__(
        self, process: ClaudeProcess, session: ProgramSession, options: ProviderOptions
    ) -> None:
        self.process = process
        self.session = session
        self.options = options
        self.is_busy = False
        self.usage: Usage | None = None
        self._cost = 0.0
        self._questions: dict[str, Raw] = {}

    @classmethod
    async def start(
        cls,
        program: str,
        session: ProgramSession,
        options: ProviderOptions,
        environ: Mapping[str, str],
    ) -> "RunningSession":
        """Starts the program with a session that it has, or with a new one. Raises `Failure`."""
        resume = file_size(session.path) is not None
        command = _command(program, session, options, resume=resume)
        process = await ClaudeProcess.start(command, options.folder, environ)
        running = cls(process, session, options)
        if resume:
            running._cost = await asyncio.to_thread(_cost_so_far, session.path)
        return running

    @property
    def can_be_used(self) -> bool:
        """Whether the process runs."""
        return self.process.is_running

    async def run(
        self, prompt: tuple[PromptPart, ...], own: str, expected: ExpectedRequest | None
    ) -> AsyncIterator[ProviderEvent]:
        """Runs a turn; `own` is the id for the row of the prompt. Raises `Failure`."""
        process, stream = self.process, ClaudeTurnStream(self.options.folder)
        while not process.rows.empty():
            process.rows.get_nowait()  # left over from before
        since = time.time_ns() // 1_000
        path = self.session.path
        offset = file_size(path) or 0
        process.send(_user_message(self.session.id, own, prompt))
        while stream.result is None and (row := await process.rows.get()) is not None:
            if row.type == "control_request" and row.request is not None and row.request_id:
                self._questions[row.request_id] = row.request.input
            for event in stream.feed(row):
                yield event
        for event in stream.flush():
            yield event
        self._questions.clear()
        end = await self._end(stream, own, offset)
        told = end.difference
        if expected is not None:
            texts = [prompt_text(part) for part in prompt]
            found = await asyncio.to_thread(difference, Path(path), since, expected, texts)
            told = f"{told} {found}".strip()
        yield structs.replace(end, difference=told)

    async def interrupt(self) -> None:
        """Stops the running turn."""
        await self.process.request("interrupt")

    def answer(self, question: str, answer: ProviderAnswer) -> None:
        """Answers a question. One that is not open any more is left alone."""
        asked = self._questions.pop(question, None)
        if asked is None:
            return
        if answer.allowed:
            self.process.answer(question, {"behavior": "allow", "updatedInput": asked})
        else:
            reason = answer.reason or "The user does not allow this."
            self.process.answer(question, {"behavior": "deny", "message": reason})

    async def rewind(self, target: str, newest: str) -> bool:
        """Has the program remove a prompt and everything after it. Returns whether it did so."""
        answer = await self.process.request(
            "rewind_conversation",
            target_message_uuid=target,
            last_seen_user_message_uuid=newest,
        )
        return answer.subtype == "success" and _REWOUND in bytes(answer.response)

    async def remember_files(self, files: Iterable[KnownFile]) -> None:
        """Tells the program which files it has read, so that it may edit them."""
        for file in files:
            await self.process.request("seed_read_state", path=file.path, mtime=file.mtime)

    async def _end(self, stream: ClaudeTurnStream, own: str, offset: int) -> TurnEnd:
        rows = await asyncio.to_thread(wait_for_rows, self.session, offset, own, stream.last_row)
        self.usage = stream.last_usage or self.usage
        usage, result = stream.usage, stream.result
        told = "Claude Code compacted its own context during this turn." * stream.compacted
        if result is None:
            if rows is not None and stream.last_row not in ("", rows.passage.last):
                rows = None  # it did not write all that it told: the next turn writes it again
            reason = "Claude Code exited in the middle of the turn"
            words = self.process.last_words.splitlines()
            return TurnEnd(
                "failed", f"{reason}: {words[-1]}" if words else reason, rows, usage, told
            )
        if result.cost is not None:
            spent, self._cost = max(0.0, result.cost - self._cost), result.cost
            usage = structs.replace(usage or Usage(0), cost=round(spent * 1_000_000))
        return TurnEnd(result.status, result.reason, rows, usage, told)


def _command(
    program: str, session: ProgramSession, options: ProviderOptions, *, resume: bool
) -> list[str]:
    command = [program, "-p", "--input-format", "stream-json", "--output-format", "stream-json"]
    command += ["--verbose", "--include-partial-messages", "--permission-prompt-tool", "stdio"]
    command += ["--resume" if resume else "--session-id", session.id]
    command += ["--model", options.model] if options.model else []
    command += ["--append-system-prompt", options.system] if options.system else []
    command += ["--permission-mode", "acceptEdits"] if options.mode == "accept-edits" else []
    command += ["--disallowedTools", _READ_ONLY] if options.mode in READING_MODES else []
    return command


def _user_message(session: str, own: str, prompt: tuple[PromptPart, ...]) -> dict[str, object]:
    """A prompt that the program sends as it is: without files for `@` and commands for `/`."""
    blocks = [block for part in prompt for block in prompt_blocks(part)]
    return {
        "type": "user",
        "uuid": own,
        "session_id": session,
        "parent_tool_use_id": None,
        "client_composed": True,
        "message": {"role": "user", "content": blocks[0]["text"] if len(blocks) == 1 else blocks},
    }


def _cost_so_far(path: str) -> float:
    """The cost that the program stored last, in dollars; 0 if there is none."""
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.path.getsize(path) - _TAIL))
            tail = file.read()
    except OSError:
        return 0.0
    digits = tail.rpartition(_COST)[2].partition(b",")[0] if _COST in tail else b""
    try:
        return float(digits)
    except ValueError:
        return 0.0
