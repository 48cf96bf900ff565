"""Asks on the terminal of `sapwood run` whether a tool may run, when no permission rule decides.

It prints all of what would be done, with invisible characters made visible, behind a bar that no
text can pass. What was typed before the question does not answer it.
"""

import asyncio
import os
import sys
import termios
from collections.abc import Callable, Iterator
from contextlib import suppress

import click

from sapwood.cli.console import columns
from sapwood.core.events import QuestionAsked, Recorded
from sapwood.core.ids import AgentId
from sapwood.display.permission_text import (
    AnswerChoice,
    ApprovalLine,
    answer_choices,
    approval_lines,
    request_sentence,
    wrapped_rows,
)
from sapwood.display.text import visible
from sapwood.workspace.permissions.permission_gate import (
    Deny,
    PermissionAnswer,
    PermissionQuestion,
)

_BAR = "│ "
_CONTINUED = "↪ "
_PRINTED_SECONDS = 2.0
"""How long a question waits until what came before it in the log was printed."""

_WORDS = {"yes": "y", "always": "a", "no": "n"}


def can_ask() -> bool:
    """Whether a person sees stderr and can type on stdin: no pipes, and not in the background."""
    if sys.stdin is None or sys.stdin.closed or sys.stderr is None:
        return False
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    try:
        return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except OSError:  # a terminal that does not control this process: it has no background
        return True


class TerminalApproval:
    """Asks one question at a time. `fd` is the terminal to read from.

    `agent` is the agent whose events the run prints.
    """

    def __init__(
        self, agent: AgentId, fd: int = 0, write: Callable[[str], None] | None = None
    ) -> None:
        self._agent = agent
        self._fd = fd
        self._write = write or _print
        self._one_at_a_time = asyncio.Lock()
        self._printed = asyncio.Event()

    def note_printed(self, recorded: Recorded) -> None:
        """Notes that an event was printed. A question is asked after what came before it."""
        if isinstance(recorded.event, QuestionAsked):
            self._printed.set()

    async def ask(self, question: PermissionQuestion) -> PermissionAnswer:
        """Prints the question and returns the answer. It is cancelled if another answer counts."""
        async with self._one_at_a_time:
            if question.agent == self._agent:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._printed.wait(), _PRINTED_SECONDS)
                self._printed.clear()
            for line in question_lines(question, self._agent):
                self._write(f"{line}\n")
            for choice in answer_choices(question):
                self._write(f"  {choice.key}  {choice.words}\n")
            try:
                return await self._answer(answer_choices(question))
            except asyncio.CancelledError:
                self._write("\nThe question was answered elsewhere, or the turn has ended.\n")
                raise

    async def _answer(self, choices: list[AnswerChoice]) -> PermissionAnswer:
        keys = {choice.key: choice for choice in choices}
        while True:
            typed = await self._typed(f"Type {', '.join(keys)} and Enter: ")
            if typed is None:
                return Deny()
            word = typed.strip().casefold()
            choice = keys.get(_WORDS.get(word, word))
            if choice is None:
                continue
            if choice.answer is None:
                return choice.given((await self._typed(f"{choice.hint}: ") or "").strip())
            return choice.answer

    async def _typed(self, prompt: str) -> str | None:
        """The next line that is typed after the prompt; None at the end of the input."""
        loop = asyncio.get_running_loop()
        typed: asyncio.Future[bytes] = loop.create_future()

        def read() -> None:
            try:
                data = os.read(self._fd, 4096)
            except OSError:
                data = b""
            if not typed.done():
                typed.set_result(data)

        with suppress(termios.error):
            termios.tcflush(self._fd, termios.TCIFLUSH)
        self._write(prompt)
        loop.add_reader(self._fd, read)
        try:
            data = await typed
        finally:
            loop.remove_reader(self._fd)
        return data.decode(errors="replace") if data else None


def question_lines(question: PermissionQuestion, shown: AgentId | None = None) -> Iterator[str]:
    """The lines of a question: who wants what and where, and all that would be done.

    Names the agent, unless it is the one that is `shown`.
    """
    name = "" if question.agent == shown else str(question.agent)
    yield ""
    yield _one_row(request_sentence(question, name))
    if question.workspace:
        yield _one_row(f"in {question.workspace}")
    if question.why:
        yield _one_row(question.why)
    for line in approval_lines(question):
        yield from _rows(line, columns())


def _one_row(text: str) -> str:
    return visible(text).replace("\n", "␊")


def _rows(line: ApprovalLine, width: int) -> Iterator[str]:
    """The rows of a line. The terminal wraps none of them."""
    for number, row in enumerate(wrapped_rows(line, width - len(_BAR) - 1)):
        yield (_CONTINUED if number else _BAR) + "".join(text for text, _ in row)


def _print(text: str) -> None:
    click.echo(text, nl=False, err=True)
    sys.stderr.flush()
