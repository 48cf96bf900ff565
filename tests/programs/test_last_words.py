"""A program that ended before it was asked anything: its last words say why."""

import asyncio
import shlex
from asyncio.subprocess import PIPE, Process

import pytest

from sapwood.core.model_calls import Failure
from sapwood.programs.claude_code.running_session import ClaudeProcess
from sapwood.programs.codex.app_server import AppServer, CodexEnded
from sapwood.programs.pi.process import PiProcess

_NODE = """cli.js:2
import { createRequire, enableCompileCache } from "node:module";

SyntaxError: 'node:module' has no export named 'enableCompileCache'
    at async ModuleJob.run (node:internal/modules/esm/module_job:320:5)

Node.js v20.20.2"""


async def ended(words: str = "no licence") -> Process:
    program = f"echo {shlex.quote(words)} >&2"
    process = await asyncio.create_subprocess_shell(program, stdin=PIPE, stdout=PIPE, stderr=PIPE)
    await process.wait()
    return process


async def test_claude_code() -> None:
    claude = ClaudeProcess(await ended())
    with pytest.raises(Failure, match=r"Claude Code exited: no licence"):
        await claude.request("initialize")
    await claude.close()


async def test_a_program_of_nodejs() -> None:
    pi = PiProcess(await ended(_NODE))
    with pytest.raises(Failure, match=r"pi exited: SyntaxError: 'node:module' has no export"):
        await pi.call("get_state")
    await pi.close()


async def test_codex() -> None:
    codex = AppServer(await ended())
    with pytest.raises(CodexEnded, match=r"Codex ended unexpectedly: no licence"):
        await codex.call("initialize")
    await codex.close(1)
