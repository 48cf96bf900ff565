"""The screen, `sapwood show` and `sapwood export` show the same rows in the same order."""

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from sapwood.api import Agent, Sapwood
from sapwood.app.connection import connect
from sapwood.core.commands import Fork
from sapwood.core.content import Note, RecordedReply, RecordedResult, Text, Thinking, ToolCall
from sapwood.core.ids import AgentId
from sapwood.core.timeline.rows import Fold
from tests.cli.calling import Database, Sapwooder
from tests.tui.stage import on_stage, until

AGENT = AgentId("rich01")
CHILD = AgentId("child1")
WIDTH = 150

# One phrase for each row, in the order of the rows.
FIRST = ["First question?", "First answer."]
SECOND = ["Second question?", "Let me look.", "read_file", "line one", "Second answer."]
ASIDE = ["Aside question?", "Aside answer."]
CLIPPED = ["Third question?", "Third answer.", "Fourth question?", "Fourth answer."]
IN_VIEW = [
    "Pinned style: One sentence.",
    "2 messages pruned · /clear 1",
    "4 messages pruned · /compact",
    "What was said so far.",
    "◆ START",
    "2 messages pruned · /rewind START",
    "Rewound to START",
    "model can't see above · 2 turns clipped",
    "Undone",
    "cap = 300",
    "Fifth question?",
    "Fifth answer.",
    f"Forked. Child: {CHILD}",
    f"From {CHILD}: The tests pass.",
    f"mail from {CHILD}",
    "Sixth question?",
    "The mail may matter.",
    "Half an ans",
    "interrupted",
]


def everything() -> list[str]:
    """The rows with every fold open: what left view stands where it was said."""
    found: list[str] = []
    for phrase in IN_VIEW:
        if phrase.startswith("model can't see above"):
            found += CLIPPED
        found.append(phrase)
        if phrase.endswith("/clear 1"):
            found += FIRST
        elif phrase.endswith("/compact"):
            found += SECOND
        elif phrase.endswith("/rewind START"):
            found += ASIDE
    return found


async def talk(db: Sapwood) -> None:
    """Clears, compacts, rewinds, undoes, overflows the window, forks, gets mail, is interrupted."""
    agent = await db.start("rich", id=AGENT, model="claude-sonnet-5-5", cap=0)
    await agent.pin("style", "One sentence.")
    await agent.record("First question?", "First answer.")
    call = ToolCall("c1", "read_file", '{"path": "a.py"}')
    await agent.record(
        "Second question?",
        RecordedReply((Text("Let me look."), call)),
        RecordedResult("c1", "line one"),
        "Second answer.",
    )
    await agent.clear(1)
    await agent.compact("What was said so far.")
    await agent.mark("START")
    await agent.record("Aside question?", "Aside answer.")
    await agent.rewind("START")
    await agent.record("Third question? " + "word " * 60, "Third answer. " + "word " * 60)
    await agent.record("Fourth question? " + "word " * 60, "Fourth answer. " + "word " * 60)
    await agent.clear(1)
    await agent.undo()
    await agent.configure(cap=300)
    await agent.record("Fifth question? " + "word " * 60, "Fifth answer. " + "word " * 60)
    child = Agent(db.connection, CHILD)
    await agent.do(Fork(agent.id, child.id, None, ""))
    await child.send(agent, "The tests pass.")
    await agent.record(
        [Note("mail", "It is green.", CHILD), Text("Sixth question?")],
        RecordedReply((Thinking("The mail may matter."), Text("Half an ans"))),
        status="interrupted",
        reason="by the user",
    )


def sequence(text: str, phrases: Sequence[str]) -> list[str]:
    """The phrases in the order in which a text holds them, each as often as it is there."""
    flat = " ".join(text.split())
    found = [(m.start(), p) for p in phrases for m in re.finditer(re.escape(p), flat)]
    return [phrase for _, phrase in sorted(found)]


def screen_text(home: Path, *, folds_open: bool) -> str:
    """What the screen shows of the conversation, from the first line to the last."""

    async def read() -> str:
        connection = await connect(str(home / ".local" / "share" / "sapwood" / "sapwood.db"))
        async with on_stage(AGENT, connection=connection, size=(WIDTH, 160)) as stage:
            page = stage.transcript.page
            await until(lambda: bool(page.shown) and "Half an ans" in stage.text())
            for fold in [row for row in page.shown if isinstance(row, Fold) and folds_open]:
                await stage.transcript.go_to(fold.key)
                await stage.transcript.action_open()
            await stage.transcript.action_start()
            text = stage.text()
        await connection.close()
        return text

    return asyncio.run(read())


@pytest.fixture
def rich(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    database(talk)


def test_every_face_shows_the_rows_that_the_model_sees_in_one_order(
    sapwood: Sapwooder, rich: None, home: Path
) -> None:
    faces = {
        "show": sapwood("show", AGENT).out,
        "export": sapwood("export", AGENT).out,
        "text": sapwood("export", AGENT, "--format", "text").out,
        "screen": screen_text(home, folds_open=False),
    }
    for face, text in faces.items():
        assert sequence(text, IN_VIEW) == IN_VIEW, face
        assert sequence(text, [*FIRST, *SECOND, *ASIDE]) == [], face


def test_every_face_shows_all_rows_in_one_order(sapwood: Sapwooder, rich: None, home: Path) -> None:
    phrases = everything()
    faces = {
        "show": sapwood("show", AGENT, "--everything", "--whole").out,
        "export": sapwood("export", AGENT, "--everything").out,
        "text": sapwood("export", AGENT, "--everything", "--format", "text").out,
        "screen": screen_text(home, folds_open=True),
    }
    for face, text in faces.items():
        assert sequence(text, phrases) == phrases, face


def test_show_says_where_messages_left_view_and_how_to_bring_them_back(
    sapwood: Sapwooder, demo: str
) -> None:
    sapwood("do", demo, "/clear 1")
    shown = sapwood("show", demo).out
    assert "2 messages pruned · /clear 1 · out of view; /undo brings them back" in shown
    sapwood("do", demo, "/undo")
    assert "pruned" not in sapwood("show", demo).out


def test_show_of_a_clipped_conversation_has_the_divider_and_not_what_is_above_it(
    sapwood: Sapwooder, rich: None
) -> None:
    shown = sapwood("show", AGENT).out
    assert "▲ model can't see above · 2 turns clipped" in shown
    assert "Third question?" not in shown
    assert "Third question?" in sapwood("show", AGENT, "--everything").out


def test_show_has_the_summary_and_the_request_that_a_fork_inherits(
    sapwood: Sapwooder, demo: str, database: Database
) -> None:
    async def compact(db: Sapwood) -> None:
        agent = Agent(db.connection, AgentId("abc123"))
        await agent.compact("Birds were discussed.")
        await agent.fork(name="twig")

    database(compact)
    for agent in (demo, "twig"):
        shown = sapwood("show", agent).out
        assert "[Summary of the conversation before this point]\nBirds were discussed." in shown
        assert "verbatim]\nAnd storks?" in shown


def test_show_does_not_repeat_a_summary_that_a_later_clear_took_out_of_view(
    sapwood: Sapwooder, demo: str, database: Database
) -> None:
    async def compact(db: Sapwood) -> None:
        agent = Agent(db.connection, AgentId("abc123"))
        await agent.compact("Birds were discussed.")
        await agent.clear()

    database(compact)
    shown = sapwood("show", demo).out
    assert "is out of view" in shown
    assert "Birds were discussed." not in shown
    assert "Birds were discussed." in sapwood("show", demo, "--everything").out
