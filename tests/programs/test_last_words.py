"""A program that ended before it was asked anything: its last words say why."""

import asyncio
from asyncio.subprocess import PIPE, Process

import pytest

from sapwood.core.model_calls import Failure
from sapwood.programs.claude_code.running_session import ClaudeProcess
from sapwood.programs.codex.app_server import AppServer, ServerEnded


async def ended() -> Process:
    program = "echo 'no licence' >&2"
    process = await asyncio.create_subprocess_shell(program, stdin=PIPE, stdout=PIPE, stderr=PIPE)
    await process.wait()
    return process


async def test_claude_code() -> None:
    claude = ClaudeProcess(await ended())
    with pytest.raises(Failure, match=r"Claude Code exited: no licence"):
        await claude.request("initialize")
    await claude.close()


async def test_codex() -> None:
    codex = AppServer(await ended())
    with pytest.raises(ServerEnded, match=r"Codex ended unexpectedly: no licence"):
        await codex.call("initialize")
    await codex.close(1)
