"""Calls one JSON-RPC method of a program over its standard streams, then stops the program."""

import asyncio
import json
import os
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, cast

_MAX_LINE = 1 << 24


class NoAnswer(Exception):
    """The program could not be started, answered with an error, or did not answer in time."""


async def call_program(
    command: Sequence[str],
    initialize: Mapping[str, object],
    initialized: str,
    method: str,
    params: Mapping[str, object],
    *,
    environ: Mapping[str, str] = os.environ,
    seconds: float = 10.0,
) -> dict[str, Any]:
    """Starts the program and returns the result of one method. Raises `NoAnswer`."""
    try:
        program = await asyncio.create_subprocess_exec(
            *command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=environ, limit=_MAX_LINE
        )
    except OSError as error:
        raise NoAnswer(f"{command[0]}: {error.strerror}") from error
    try:
        async with asyncio.timeout(seconds):
            await _call(program, 1, "initialize", initialize)
            await _send(program, {"method": initialized})
            return await _call(program, 2, method, params)
    except TimeoutError:
        raise NoAnswer(f"no answer within {seconds:g} seconds") from None
    except (OSError, ValueError) as error:
        raise NoAnswer(str(error)) from error
    finally:
        with suppress(ProcessLookupError):
            program.kill()
        await program.wait()


async def _call(
    program: Process, number: int, method: str, params: Mapping[str, object]
) -> dict[str, Any]:
    await _send(program, {"id": number, "method": method, "params": params})
    assert program.stdout is not None
    while line := await program.stdout.readline():
        message: object = json.loads(line)
        answer = cast("dict[str, Any]", message) if isinstance(message, dict) else {}
        if answer.get("id") == number and ("result" in answer or "error" in answer):
            if "error" in answer:
                raise NoAnswer(str(answer["error"].get("message", "an error")))
            return answer["result"]
    raise NoAnswer("it exited without answering")


async def _send(program: Process, message: Mapping[str, object]) -> None:
    assert program.stdin is not None
    program.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    await program.stdin.drain()
