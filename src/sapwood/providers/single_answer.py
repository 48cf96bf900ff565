"""One answer of an agent program, without a session: `claude -p` and `codex exec`.

The program gets no tools, no hooks, no plugins and no servers of the user, works in an empty folder
and stores no session. So the run leaves nothing in the user's lists and cannot start another one.
"""

import asyncio
import os
import signal
import tempfile
from asyncio.subprocess import PIPE
from collections.abc import Mapping
from contextlib import suppress

import msgspec
from msgspec import Struct

from sapwood.core.content import Usage
from sapwood.core.executor import ProgramExecutor
from sapwood.core.model_calls import Failure
from sapwood.providers.program_list import require_program

NO_HOOKS = "SAPWOOD_NO_HOOKS"
"""The variable that lets every hook of Sapwood return at once."""

_LONGEST_ANSWER = 2_000_000
"""Bytes of output that are read; more is a failure."""
_NESTED = ("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT")
"""Variables by which Claude Code notices that it was started by itself, and refuses."""

_CLAUDE = (
    *("-p", "--output-format", "json", "--safe-mode", "--no-session-persistence"),
    *("--strict-mcp-config", "--tools", "", "--settings", '{"disableAllHooks": true}'),
)
_CODEX = (
    *("exec", "--json", "--ephemeral", "--skip-git-repo-check", "--color", "never"),
    *("--sandbox", "read-only", "-c", "mcp_servers={}", "-c", "project_doc_max_bytes=0"),
    *("-c", "web_search=disabled", "--disable", "hooks", "--disable", "plugins"),
    *("--disable", "shell_tool", "--disable", "unified_exec", "--disable", "view_image"),
    *("--disable", "apps", "--disable", "multi_agent", "--disable", "goals"),
)


class SingleAnswer(Struct, frozen=True):
    """The text, and what it used."""

    text: str
    usage: Usage


async def single_answer(
    executor: ProgramExecutor,
    prompt: str,
    environ: Mapping[str, str] = os.environ,
    *,
    system: str = "",
    dollars: float = 0.0,
    seconds: float = 120.0,
) -> SingleAnswer:
    """Asks the program once. Raises `Failure` if it is not installed or does not answer.

    `dollars` is what it may spend; only Claude Code knows such a limit.
    """
    info = await asyncio.to_thread(require_program, executor, environ)
    is_claude = executor.program == "claude-code"
    command = [info.path, *(_CLAUDE if is_claude else _CODEX)]
    command += ["--model", executor.model] if executor.model else []
    if is_claude:
        command += ["--system-prompt", system] if system else []
        command += ["--max-budget-usd", f"{dollars:g}"] if dollars else []
    else:
        command += ["-"]
        prompt = f"{system}\n\n{prompt}" if system else prompt
    own = {name: value for name, value in environ.items() if name not in _NESTED}
    with tempfile.TemporaryDirectory(prefix="sapwood-judge-") as folder:
        output = await _run(command, folder, {**own, NO_HOOKS: "1"}, prompt, seconds)
    return _claude_answer(output) if is_claude else _codex_answer(output)


async def _run(
    command: list[str], folder: str, environ: Mapping[str, str], prompt: str, seconds: float
) -> bytes:
    """The output of the program, which runs in a process group of its own."""
    title = os.path.basename(command[0])
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            cwd=folder,
            env=dict(environ),
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            start_new_session=True,
        )
    except OSError as error:
        reason = error.strerror or str(error)
        raise Failure("other", f"{title} could not be started: {reason}.") from error
    try:
        async with asyncio.timeout(seconds):
            output, errors = await process.communicate(prompt.encode("utf-8", "replace"))
    except TimeoutError as error:
        raise Failure("other", f"{title} did not answer within {seconds:.0f} seconds.") from error
    finally:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
    if process.returncode and not output.strip():
        words = errors.decode("utf-8", "replace").strip().splitlines() or ["no message"]
        raise Failure("other", f"{title} ended with {process.returncode}: {words[-1][:300]}")
    if len(output) > _LONGEST_ANSWER:
        raise Failure("other", f"{title} answered with more than {_LONGEST_ANSWER:,} bytes.")
    return output


class _ClaudeUsage(Struct, frozen=True):
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0


class _ClaudeResult(Struct, frozen=True):
    result: str = ""
    is_error: bool = False
    total_cost_usd: float = 0.0
    usage: _ClaudeUsage = _ClaudeUsage()


def _claude_answer(output: bytes) -> SingleAnswer:
    try:
        found = msgspec.json.decode(output, type=_ClaudeResult)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise Failure("other", f"Claude Code's answer could not be read: {error}.") from error
    if found.is_error:
        raise Failure("other", f"Claude Code failed: {found.result[:300]}")
    used = found.usage
    read, written = used.cache_read_input_tokens, used.cache_creation_input_tokens
    usage = Usage(
        used.input_tokens + read + written,
        used.output_tokens,
        read,
        written,
        round(found.total_cost_usd * 1_000_000),
    )
    return SingleAnswer(found.result, usage)


class _CodexItem(Struct, frozen=True):
    type: str = ""
    text: str = ""


class _CodexUsage(Struct, frozen=True):
    input_tokens: int = 0
    cached_input_tokens: int = 0
    output_tokens: int = 0


class _CodexError(Struct, frozen=True):
    message: str = ""


class _CodexRow(Struct, frozen=True):
    type: str = ""
    item: _CodexItem = _CodexItem()
    usage: _CodexUsage = _CodexUsage()
    error: _CodexError = _CodexError()
    message: str = ""


def _codex_answer(output: bytes) -> SingleAnswer:
    text, failure, usage = "", "", Usage(0)
    for line in output.splitlines():
        try:
            row = msgspec.json.decode(line, type=_CodexRow)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue
        if row.type == "item.completed" and row.item.type == "agent_message":
            text = row.item.text
        elif row.type == "turn.completed":
            used = row.usage
            usage += Usage(used.input_tokens, used.output_tokens, used.cached_input_tokens)
        elif row.type in ("turn.failed", "error"):
            failure = row.error.message or row.message
    if not text:
        raise Failure("other", f"Codex failed: {failure[:300] or 'it gave no answer'}")
    return SingleAnswer(text, usage)
