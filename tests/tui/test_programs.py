"""Claude Code and Codex as executors, on the screen. The programs are fakes."""

from collections.abc import Sequence

import pytest

from sapwood.config.config_file import Config
from sapwood.tui.screens.first_run_page import FirstRunPage
from tests.tui.stage import on_stage, until
from tests.turns.fake_provider import FakeProgram, Says, Step, Uses, fake_programs


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> dict[str, FakeProgram]:
    """The fakes by name, in place of the real providers. Two of them are installed."""
    fakes = fake_programs()

    def make(program: str, *_: object, **__: object) -> FakeProgram:
        return fakes[program]

    for module in ("sapwood.programs.installed_programs", "sapwood.app.program_access"):
        monkeypatch.setattr(f"{module}.make_provider", make)
    return fakes


async def test_a_conversation_changes_to_a_program_and_a_clear_reaches_its_session(
    programs: dict[str, FakeProgram],
) -> None:
    claude = programs["claude-code"]
    async with on_stage() as stage:
        await stage.type("/model claude-code")
        await until(lambda: stage.conversation.composer.text == "")
        await stage.type("one")
        await stage.sees("heard one")
        await stage.type("two")
        await stage.sees("heard two")
        await stage.type("/clear 1")
        await until(lambda: list(claude.sessions.values()) == [["two", "heard two"]])
        await stage.type("/undo")
        whole = ["one", "heard one", "two", "heard two"]
        await until(lambda: list(claude.sessions.values()) == [whole])


async def test_a_question_of_the_program_is_asked_on_the_screen(
    programs: dict[str, FakeProgram], tmp_path_factory: pytest.TempPathFactory
) -> None:
    def plan(heard: str) -> Sequence[Step]:
        return [Uses("Bash", '{"command": "make test"}', asks="make test"), Says("It ran.")]

    programs["claude-code"].plan = plan
    async with on_stage(folder=str(tmp_path_factory.mktemp("project"))) as stage:
        await stage.type("/model claude-code")
        await until(lambda: stage.conversation.composer.text == "")
        await stage.type("Test it.")
        await stage.sees("make test")
        await stage.sees("Allow once")
        await stage.pilot.press("y")
        await stage.sees("It ran.")
        [answer] = programs["claude-code"].answers.values()
        assert answer.allowed


async def test_the_first_run_offers_programs_that_are_ready_first(
    programs: dict[str, FakeProgram],
) -> None:
    programs["codex"].logged_in = False
    async with on_stage() as stage:
        stage.app.push_screen(FirstRunPage(Config(database=":memory:")))
        await stage.sees("✓ ready")
        shown = stage.screen()
        assert shown.index("claude-code") < shown.index("claude-sonnet-5-5")
        assert "codex  " not in shown
