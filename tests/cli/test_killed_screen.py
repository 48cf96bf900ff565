"""A screen that is killed right after a prompt appeared on it has stored the prompt (T4).

A screen whose terminal is gone ends.
"""

import sys

import pytest

from sapwood.api import Sapwood
from sapwood.core.event_texts import event_texts
from sapwood.core.events import TurnStarted
from scripted_model import ScriptedModel
from tests.cli.calling import Database, Sapwooder
from tests.cli.hostile_text import Terminal

PROMPT = "storks-in-oslo"


@pytest.mark.parametrize("face", [(), ("--inline",)], ids=["full", "inline"])
def test_a_prompt_on_the_screen_outlasts_kill_9(
    face: tuple[str, ...], model: ScriptedModel, database: Database, sapwood: Sapwooder
) -> None:
    model.replies(["On roofs."])
    terminal = Terminal([sys.executable, "-m", "sapwood.cli", *face])
    try:
        terminal.until("╭".encode())  # the composer is there
        terminal.press(PROMPT.encode())
        terminal.until(PROMPT.encode())
        sent = len(terminal.written)
        terminal.press(b"\r")
        terminal.until(b"#1", sent)  # the number of the turn
    finally:
        terminal.close()  # kill -9

    found: list[str] = []

    async def read(db: Sapwood) -> None:
        for agent in await db.agents():
            events = await (await db.find(agent.agent)).events()
            found.extend(
                event_texts(e.event).search for e in events if isinstance(e.event, TurnStarted)
            )

    database(read)
    assert found == [PROMPT]
    assert "On roofs." in sapwood("run", "--continue").out


@pytest.mark.parametrize("face", [(), ("--inline",)], ids=["full", "inline"])
def test_a_screen_ends_when_a_terminal_that_does_not_control_it_closes(
    face: tuple[str, ...], model: ScriptedModel
) -> None:
    terminal = Terminal([sys.executable, "-m", "sapwood.cli", *face])
    terminal.until("╭".encode())
    assert terminal.hang_up() in (0, 1)
