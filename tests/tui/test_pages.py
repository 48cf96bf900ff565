"""The pages over the conversation: what they show, and what follows from picking."""

from pathlib import Path

import pytest

from sapwood.api import Sapwood
from sapwood.app.connection import connect
from sapwood.imports.importer import Importer
from tests.programs.transcripts.writing import ClaudeFile
from tests.tui.stage import Stage, on_stage, until

FIXTURES = sorted(
    (Path(__file__).parents[1] / "programs" / "transcripts" / "fixtures").glob("*.jsonl")
)


async def on_page(stage: Stage, line: str, words: str) -> None:
    """Types a command and waits for its page."""
    await stage.type(line)
    await stage.sees(words)


async def is_back(stage: Stage) -> None:
    """Waits until the conversation is on top again."""
    await until(lambda: stage.app.screen is stage.app.conversation)


async def test_the_agents_page_shows_mail_and_begins_an_answer_to_it() -> None:
    connection = await connect(":memory:")
    db = Sapwood(connection)
    agent = await db.start("root")
    child = await agent.fork(name="child")
    await child.send(agent, "Eleven nests.")
    async with on_stage(agent.id, connection=connection) as stage:
        await on_page(stage, "/agents", "Eleven nests.")
        await stage.pilot.press("down")
        await stage.sees(f"{child.id} · idle")
        await stage.pilot.press("ctrl+n")
        await is_back(stage)
        assert stage.conversation.composer.text == f"/send {child.id} "
        await stage.pilot.press(*"Thanks", "enter")
        await stage.sees("Thanks")
        assert [letter.text for letter in (await child.state()).inbox] == ["Thanks"]
    await connection.close()


@pytest.mark.night
async def test_another_conversation_is_picked_by_what_it_is_called() -> None:
    connection = await connect(":memory:")
    db = Sapwood(connection)
    agent = await db.start("herons")
    other = await db.start("storks")
    await other.record("Where do storks nest?", "On roofs.")
    async with on_stage(agent.id, connection=connection) as stage:
        await stage.pilot.press("ctrl+l")
        await stage.sees("Conversations")
        await stage.pilot.press(*"stork")
        await stage.sees("┃ Where do storks nest?")
        await stage.pilot.press("enter")
        await stage.sees("On roofs.")
        assert stage.app.controller.agent == other.id
    await connection.close()


async def test_search_goes_to_a_place_in_another_conversation() -> None:
    connection = await connect(":memory:")
    db = Sapwood(connection)
    agent = await db.start("herons")
    other = await db.start("storks")
    await other.record("Where do storks nest?", "On chimneys.")
    for number in range(40):
        await other.record(f"Question {number}?", f"Answer {number}.")
    async with on_stage(agent.id, connection=connection) as stage:
        await on_page(stage, "/recall chimneys", "turn 1")
        await stage.pilot.press("enter")
        await stage.sees("On chimneys.")
        assert stage.app.controller.agent == other.id
        assert stage.transcript.cursor is not None
    await connection.close()


async def test_settings_hide_what_may_be_secret_and_change_what_is_picked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "config.toml"
    file.write_text(
        'database = "postgresql://me:pass-word@localhost/sapwood"\n'
        '[servers.notes]\ncommand = ["notes"]\n[servers.notes.env]\nTOKEN = "tok-en"\n',
        encoding="utf-8",
    )
    monkeypatch.setenv("SAPWOOD_CONFIG", str(file))
    async with on_stage() as stage:
        await on_page(stage, "/config", "context.cap")
        assert "pass-word" not in stage.screen()
        await stage.pilot.press(*"TOKEN")
        await stage.sees("servers.notes.env.TOKEN")
        assert "tok-en" not in stage.screen()
        await stage.pilot.press("enter")
        await stage.pilot.pause()
        assert "tok-en" not in stage.screen()
        await stage.pilot.press("escape", *"screen.bell", "enter")
        await stage.pilot.press(*["backspace"] * 5, *"false", "enter")
        await until(lambda: "bell = false" in file.read_text(encoding="utf-8"))
        assert "tok-en" in file.read_text(encoding="utf-8")


async def test_a_setting_is_named_while_its_value_is_typed_and_a_wrong_one_is_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "config.toml"
    monkeypatch.setenv("SAPWOOD_CONFIG", str(file))
    async with on_stage(size=(80, 24)) as stage:
        await on_page(stage, "/config", "database")
        await stage.pilot.press(*"context.cap", "enter")
        await stage.sees("New value for context.cap")
        assert "The list is empty." not in stage.screen()
        await stage.pilot.press(*"5000x9", "enter")
        await stage.sees("'context.cap' cannot be '5000x9'")
        await stage.pilot.press("escape")
        await stage.sees("Type to filter")
        await stage.pilot.press(*"context.cap", "enter", *"50000", "enter")
        await until(lambda: file.exists() and "cap = 50000\n" in file.read_text(encoding="utf-8"))


async def test_the_palette_names_every_argument() -> None:
    async with on_stage() as stage:
        await stage.pilot.press("ctrl+p")
        await stage.sees("/agents")
        await stage.pilot.press(*"fork")
        await stage.sees("/fork [MARK] [--worktree [BRANCH]]")


async def test_a_difference_and_a_rewind_say_what_would_change() -> None:
    connection = await connect(":memory:")
    agent = await Sapwood(connection).start("herons")
    await agent.record("Where do herons nest?", "In trees.")
    await agent.mark("BEFORE")
    await agent.record("And storks?", "On roofs.")
    async with on_stage(agent.id, connection=connection) as stage:
        await on_page(stage, "/diff BEFORE", "1 turn in both.")
        assert "And storks?" in stage.screen()
        await stage.pilot.press("escape")
        await is_back(stage)
        await stage.pilot.press("f3")
        await stage.sees("leaves view: 1 turn")
        await stage.pilot.press("enter")
        await stage.sees("Rewound to BEFORE")
    await connection.close()


async def test_a_filter_that_nothing_matches_hides_the_undo_too_and_enter_does_nothing() -> None:
    connection = await connect(":memory:")
    agent = await Sapwood(connection).start("herons")
    await agent.record("Where do herons nest?", "In trees.")
    await agent.record("And storks?", "On roofs.")
    await agent.run_command("/clear 1")
    async with on_stage(agent.id, connection=connection) as stage:
        await stage.pilot.press("f3")
        await stage.sees("undo the last context command")
        before = (await agent.state()).version
        await stage.pilot.press(*"nowhere", "enter")
        await stage.sees("No turn or mark matches")
        assert "undo the last" not in stage.screen()
        await stage.pilot.press("enter")
        await stage.pilot.pause()
        assert (await agent.state()).version == before
        assert "No turn or mark matches" in stage.screen()
    await connection.close()


@pytest.mark.filterwarnings("ignore:The model .* is deprecated:DeprecationWarning")
@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
async def test_an_imported_conversation_is_read_marked_and_forked_from(path: Path) -> None:
    connection = await connect(":memory:")
    done = await Importer(connection, idle_seconds=float("inf")).bring(path)
    async with on_stage(done.agent, connection=connection) as stage:
        await until(lambda: bool(stage.text().strip()))
        await on_page(stage, "/replay", "No model has been called yet.")
        await stage.pilot.press("escape")
        await is_back(stage)
        await stage.type("/mark HERE")
        await stage.sees("◆ HERE ─")
        await stage.type("Go on.")
        await stage.sees("was imported from")
        stage.server.replies(["I go on here."])
        stage.conversation.composer.text = ""
        await stage.type("/fork -- Go on.")
        await stage.sees("I go on here.")
        assert stage.app.controller.agent != done.agent
    await connection.close()


async def test_what_another_program_said_in_this_folder_is_listed_and_imported_when_picked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    folder = tmp_path / "claude" / "projects" / "-srv-wood"
    folder.mkdir(parents=True)
    file = ClaudeFile(folder)
    file.user("Plant an oak.")
    file.says("Planted.")
    async with on_stage(folder="/srv/wood") as stage:
        await stage.pilot.press("ctrl+l")
        await stage.sees("claude-code 5e55")
        await stage.sees("┃ Plant an oak.")
        await stage.pilot.press("enter")
        await stage.sees("Planted.")
        await stage.sees("from claude-code")
        file.user("And a lime.")
        file.says("Planted, too.")
        file.user("Thanks.")
        file.says("Welcome.")
        agent = stage.app.controller.agent
        await stage.conversation.open(agent)
        await stage.sees("Planted, too.")
        await stage.pilot.press("ctrl+l")
        await stage.sees("Conversations")
        await stage.sees("Plant an oak.")
        await until(lambda: "not imported yet" not in stage.screen(), shown=stage.screen)
