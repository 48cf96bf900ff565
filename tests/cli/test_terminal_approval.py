"""`sapwood run` on a terminal shows all that a tool would do, and asks; without one it does not."""

import asyncio
import os
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from sapwood.api import Sapwood
from sapwood.cli.exit_codes import Exit
from sapwood.cli.run.terminal_approval import TerminalApproval
from sapwood.core.events import QuestionAnswered
from sapwood.core.ids import AgentId
from sapwood.workspace.permissions.permission_gate import (
    AllowAlways,
    AllowOnce,
    Deny,
    PermissionAnswer,
    PermissionOffer,
    PermissionQuestion,
)
from sapwood.workspace.permissions.permission_rules import parse_rules
from scripted_model import Reply, ScriptedModel, call
from tests.cli.calling import Database
from tests.cli.hostile_text import Terminal

COMMAND = "echo safe\x1b[2K\nrm -rf build" + "; true" * 40
EXACT, PREFIX = parse_rules(["allow shell(make)"]), parse_rules(["allow shell(make *)"])
QUESTION = PermissionQuestion(
    AgentId("child"),
    "/project",
    "shell",
    COMMAND,
    "why",
    COMMAND,
    EXACT,
    "docs",
    (
        PermissionOffer("once", "Only this call."),
        PermissionOffer("exact", "Exactly this.", EXACT),
        PermissionOffer("prefix", "All of these.", PREFIX),
    ),
)


@pytest.fixture
def terminal() -> Generator[tuple[int, int]]:
    """The two ends of a terminal: the person's and the program's."""
    person, program = os.openpty()
    yield person, program
    os.close(person)
    os.close(program)


async def asked(terminal: tuple[int, int], *typed: str) -> tuple[PermissionAnswer, str]:
    """The answer, and what was printed. Each text is typed after a prompt of its own."""
    person, program = terminal
    printed: list[str] = []
    approval = TerminalApproval(AgentId("root"), program, printed.append)
    asking = asyncio.ensure_future(approval.ask(QUESTION))
    async with asyncio.timeout(60):
        for number, text in enumerate(typed, 1):
            while sum(each.endswith(": ") for each in printed) < number:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            os.write(person, text.encode())
        return await asking, "".join(printed)


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        (["y\n"], AllowOnce()),
        (["yes\n"], AllowOnce()),
        (["a\n"], AllowAlways(EXACT)),
        (["p\n"], AllowAlways(PREFIX)),
        (["n\n"], Deny()),
        (["\x04"], Deny()),
        (["t\n", "use make\n"], Deny("use make")),
        (["\n", "what?\n", "n\n"], Deny()),
    ],
)
async def test_each_offer_has_its_key(
    terminal: tuple[int, int], typed: list[str], answer: PermissionAnswer
) -> None:
    assert (await asked(terminal, *typed))[0] == answer


async def test_all_of_it_is_printed_and_nothing_is_hidden(
    terminal: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    _, text = await asked(terminal, "n\n")
    lines = text.splitlines()
    assert "The model of 'child' wants to run a command" in lines
    assert "in /project" in lines
    assert "│ in the folder docs" in lines
    shown = "".join(line[2:] for line in lines if line[:2] in ("│ ", "↪ "))
    assert "echo safe␛[2Krm -rf build" + "; true" * 40 in shown
    assert max(map(len, lines)) <= 60
    assert "\x1b" not in text


async def test_a_sentence_of_ours_wraps_between_words(
    terminal: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "21")
    _, text = await asked(terminal, "n\n")
    assert "│ a allows: Exactly \n↪ this.\n" in text


async def test_what_was_typed_before_the_question_does_not_answer_it(
    terminal: tuple[int, int],
) -> None:
    os.write(terminal[0], b"y\n")
    assert (await asked(terminal, "n\n"))[0] == Deny()


@pytest.mark.parametrize(("typed", "made"), [(b"y\n", True), (b"n\n", False)])
def test_a_person_at_the_terminal_is_asked(
    model: ScriptedModel, home: Path, database: Database, typed: bytes, made: bool
) -> None:
    model.replies([Reply.of(call("write_file", path="a.txt", content="one line\n")), "Done."])
    terminal = Terminal(
        [sys.executable, "-m", "sapwood.cli", "run", "-a", "x", "--new", "-p", "Go"]
    )
    try:
        terminal.until(b"and Enter: ")
        assert b"The model wants to write a.txt" in terminal.written
        assert b"one line" in terminal.written
        question = terminal.written.index(b"The model wants")
        assert 0 <= terminal.written.find("→ write_file".encode()) < question
        assert not (home / "project" / "a.txt").exists()
        terminal.press(typed)
        assert terminal.end() == 0
    finally:
        terminal.close()
    assert (home / "project" / "a.txt").exists() is made

    async def stored(db: Sapwood) -> None:
        events = await (await db.find("x")).events()
        answers = [(e.actor.role, e.event) for e in events if isinstance(e.event, QuestionAnswered)]
        assert [(role, event.allowed) for role, event in answers] == [("human", made)]

    database(stored)


def test_ctrl_c_at_the_question_interrupts_the_turn(model: ScriptedModel, home: Path) -> None:
    model.replies([Reply.of(call("write_file", path="a.txt", content="x")), "Done."])
    terminal = Terminal(
        ["setsid", "--ctty", "--wait", sys.executable, "-m", "sapwood.cli", "run", "-p", "Go"]
    )
    try:
        terminal.until(b"and Enter: ")
        terminal.press(b"\x03")
        assert terminal.end() == Exit.INTERRUPTED
    finally:
        terminal.close()
    assert not (home / "project" / "a.txt").exists()


def test_without_a_terminal_to_type_on_nobody_is_asked(model: ScriptedModel, home: Path) -> None:
    model.replies([Reply.of(call("write_file", path="a.txt", content="x")), "Done."])
    run = f"{sys.executable} -m sapwood.cli run -p Go < /dev/null"
    terminal = Terminal(["sh", "-c", run])
    try:
        assert terminal.end() == 9
    finally:
        terminal.close()
    assert b"nobody can approve it" in terminal.written
    assert not (home / "project" / "a.txt").exists()
