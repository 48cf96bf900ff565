"""One answer of an agent program, without a session.

The program gets no tools, no hooks, no plugins and no servers of the user, works in an empty folder
and stores no session. So the run leaves nothing in the user's lists and cannot start another one.
"""

import asyncio
import os
import signal
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from typing import Protocol

from msgspec import Struct

from sapwood.core.content import Usage
from sapwood.core.model_calls import Failure
from sapwood.programs.installed_programs import require_program
from sapwood.programs.line_process import start_process
from sapwood.programs.registry import ProgramExecutor, program

NO_HOOKS = "SAPWOOD_NO_HOOKS"
"""The variable that lets every hook of Sapwood return at once."""

_MAX_ANSWER = 2_000_000
"""Bytes of output that are read; more is a failure."""


class SingleAnswer(Struct, frozen=True):
    """The text, and what it used."""

    text: str
    usage: Usage


class SingleQuestion(Struct, frozen=True):
    """What a program is asked. An empty `model` is its own choice, 0 `dollars` are no limit."""

    prompt: str
    system: str = ""
    model: str = ""
    dollars: float = 0.0


class AnswerFormat(Protocol):
    """The part `single_answer` of a program: its command line and its output."""

    def arguments(self, question: SingleQuestion) -> list[str]:
        """The arguments of the program."""
        ...

    def given(self, question: SingleQuestion) -> str:
        """The text that the program reads from its standard input."""
        ...

    def answer(self, output: bytes) -> SingleAnswer:
        """Reads what the program printed. Raises `Failure`."""
        ...


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

    `dollars` is what it may spend, if the program knows such a limit.
    """
    info = await asyncio.to_thread(require_program, executor, environ)
    asked = program(executor.program)
    form = asked.single_answer
    question = SingleQuestion(prompt, system, executor.model, dollars)
    own = {name: value for name, value in environ.items() if name not in asked.own_variables}
    with tempfile.TemporaryDirectory(prefix="sapwood-judge-") as folder:
        command = [info.path, *form.arguments(question)]
        given = form.given(question)
        output = await _run(command, folder, {**own, NO_HOOKS: "1"}, given, seconds)
    return form.answer(output)


async def _run(
    command: list[str], folder: str, environ: Mapping[str, str], prompt: str, seconds: float
) -> bytes:
    """The output of the program, which runs in a process group of its own."""
    title = os.path.basename(command[0])
    process = await start_process(command, folder, environ, title)
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
    if len(output) > _MAX_ANSWER:
        raise Failure("other", f"{title} answered with more than {_MAX_ANSWER:,} bytes.")
    return output
