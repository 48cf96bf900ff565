"""A tool call that no permission rule decides asks the person at the screen."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from textual import events

from sapwood.core.events import ToolFinished
from sapwood.tui.screens.permission_page import PermissionPage
from tests.tui.stage import Stage, on_stage, until

WRITE = 'Write. [[tool: write_file {"path": "a.txt", "content": "one\\n"}]] [[say: Done.]]'
TWICE = WRITE.replace("[[say", '[[tool: write_file {"path": "a.txt", "content": "two\\n"}]] [[say')


async def results(stage: Stage) -> list[str]:
    """What the tools of the conversation said."""
    held, agent = stage.app.controller.connection, stage.app.controller.agent
    assert agent is not None
    events = [each.event for each in await held.log.read(held.space, agent)]
    return [event.content for event in events if isinstance(event, ToolFinished)]


async def test_yes_lets_it_once_and_shows_what_would_be_done(tmp_path: Path) -> None:
    async with on_stage(folder=str(tmp_path)) as stage:
        await stage.type(TWICE)
        await stage.sees("Allow this?")
        assert "+one" in stage.screen()
        assert not (tmp_path / "a.txt").exists()
        await stage.pilot.press("y")
        await stage.sees("+two")
        assert (tmp_path / "a.txt").read_text(encoding="utf-8") == "one\n"
        await stage.pilot.press("enter")
        await stage.sees("Done.")
        assert (tmp_path / "a.txt").read_text(encoding="utf-8") == "two\n"


async def test_always_asks_no_second_time(tmp_path: Path) -> None:
    async with on_stage(folder=str(tmp_path)) as stage:
        await stage.type(TWICE)
        await stage.sees("allow write_file(a.txt)")
        await stage.pilot.press("a")
        await stage.sees("Done.")
        assert (tmp_path / "a.txt").read_text(encoding="utf-8") == "two\n"


async def test_no_is_told_with_its_reason(tmp_path: Path) -> None:
    async with on_stage(folder=str(tmp_path)) as stage:
        await stage.type(WRITE)
        await stage.sees("Allow this?")
        await stage.pilot.press("t")
        await stage.pilot.press(*"later", "enter")
        await stage.sees("Done.")
        assert (await results(stage))[0].endswith("The user said no: later")
        assert not (tmp_path / "a.txt").exists()


async def test_escape_says_no_and_stops_the_turn(tmp_path: Path) -> None:
    async with on_stage(folder=str(tmp_path)) as stage:
        await stage.type(WRITE)
        await stage.sees("Allow this?")
        await stage.pilot.press("escape")
        await stage.sees("interrupted")
        await until(lambda: stage.app.screen is stage.conversation)
        assert not (tmp_path / "a.txt").exists()


async def test_escape_in_the_reason_goes_back_to_the_answers(tmp_path: Path) -> None:
    async with on_stage(folder=str(tmp_path), size=(80, 24)) as stage:
        await stage.type(WRITE)
        await stage.sees("Allow this?")
        await stage.pilot.press("t")
        await stage.sees("esc goes back")
        await stage.pilot.press(*"no", "escape")
        await stage.sees("esc denies and stops the turn")
        assert isinstance(stage.app.screen, PermissionPage)
        await stage.pilot.press("y")
        await stage.sees("Done.")
        assert (tmp_path / "a.txt").exists()


async def test_a_question_goes_when_the_turn_is_interrupted_elsewhere(tmp_path: Path) -> None:
    async with on_stage(folder=str(tmp_path)) as stage:
        await stage.type(WRITE)
        await stage.sees("Allow this?")
        assert await stage.app.controller.interrupt()
        await until(lambda: not isinstance(stage.app.screen, PermissionPage))
        await stage.sees("interrupted")


async def types(stage: Stage, *keys: str) -> None:
    """Presses keys at once, as somebody who does not look at the screen."""
    for key in keys:
        stage.app.post_message(stage.key(key))
    await stage.app.key_order.handled()
    await stage.pilot.pause()


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The notices of the page, which an application in a test does not draw."""
    notices: list[str] = []

    def notify(page: PermissionPage, words: str) -> None:
        notices.append(words)

    monkeypatch.setattr(PermissionPage, "notify", notify)
    return notices


async def test_a_text_that_is_typed_at_a_question_answers_nothing(
    tmp_path: Path, told: list[str]
) -> None:
    async with on_stage(folder=str(tmp_path), delay=0.02) as stage:
        await stage.type(WRITE)
        await stage.sees("Allow this?")
        await types(stage, "slash", *"yany", "enter")
        assert isinstance(stage.app.screen, PermissionPage)
        assert len(told) == 1
        assert "What you type is not sent." in told[0]
        await stage.pilot.press("n")
        await stage.sees("Done.")
        assert not (tmp_path / "a.txt").exists()
        assert stage.conversation.composer.text == "/yany"


@pytest.mark.usefixtures("permission_page_takes_its_time")
@pytest.mark.parametrize("text", ["add a test", "yes", "please"])
async def test_a_message_begun_as_a_question_opens_answers_nothing_and_is_kept(
    text: str, tmp_path: Path
) -> None:
    async with on_stage(folder=str(tmp_path), delay=0.02) as stage:
        await stage.type(WRITE)
        await stage.sees("Allow this?")
        await types(stage, *text, "enter")
        assert isinstance(stage.app.screen, PermissionPage)
        assert stage.conversation.composer.text == text
        assert not (tmp_path / "a.txt").exists()
        await stage.pilot.press("y")
        await stage.sees("Done.")
        assert (tmp_path / "a.txt").exists()


@pytest.mark.usefixtures("permission_page_takes_its_time")
async def test_a_key_typed_before_the_question_was_shown_answers_nothing_when_it_arrives(
    tmp_path: Path,
) -> None:
    async with on_stage(folder=str(tmp_path)) as stage:
        late = stage.key("y")
        await stage.type(WRITE)
        await stage.sees("Allow this?")
        page = stage.app.screen
        assert isinstance(page, PermissionPage)
        await until(lambda: page.takes_answers)
        stage.app.post_message(late)
        await stage.app.key_order.handled()
        assert stage.app.screen is page
        assert stage.conversation.composer.text == "y"
        await stage.pilot.press("n")
        await stage.sees("Done.")


async def test_enter_answers_nothing_while_a_message_is_in_the_composer(
    tmp_path: Path, told: list[str]
) -> None:
    async with on_stage(folder=str(tmp_path)) as stage:
        await stage.type(TWICE)
        stage.conversation.composer.put("and then ")
        await stage.sees("Allow this?")
        await stage.pilot.press("enter")
        assert "or ↓ and enter" in told[-1]
        assert not (tmp_path / "a.txt").exists()
        await stage.pilot.press("down", "enter")
        await stage.sees("+two")
        await stage.pilot.press("n")
        await stage.sees("Done.")
        assert (tmp_path / "a.txt").read_text(encoding="utf-8") == "one\n"
        assert stage.conversation.composer.text == "and then "


async def test_a_paste_at_a_question_is_kept_in_the_composer(tmp_path: Path) -> None:
    async with on_stage(folder=str(tmp_path)) as stage:
        await stage.type(WRITE)
        await stage.sees("Allow this?")
        stage.app.post_message(events.Paste("\n".join("abcdefghijkl")))
        composer = stage.conversation.composer
        await until(lambda: composer.text == "[paste 1: 12 lines · tab opens]")
        await stage.pilot.press("n")
        await stage.sees("Done.")


@pytest.mark.night
async def test_who_is_typing_answers_nothing_by_accident(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = SimpleNamespace(monotonic=lambda: 100.0)  # no time passes between two letters
    monkeypatch.setattr("sapwood.tui.conversation_screen.time", clock)
    async with on_stage(folder=str(tmp_path), delay=0.02) as stage:
        await stage.type(WRITE)
        for letter in "yyyyyyyyyyyyyyyyyyyy":
            await stage.pilot.press(letter)
            await stage.pilot.pause(0.1)
            assert not isinstance(stage.app.screen, PermissionPage)
        clock.monotonic = lambda: 200.0
        await stage.sees("Allow this?")
        assert stage.conversation.composer.text == "y" * 20
        assert not (tmp_path / "a.txt").exists()
        await stage.pilot.press("n")
        await stage.sees("Done.")


async def test_a_child_in_the_background_asks_by_its_name(tmp_path: Path) -> None:
    async with on_stage(folder=str(tmp_path)) as stage:
        stage.server.replies(["Hello."])
        await stage.type("Hello?")
        await stage.sees("Hello.")
        await stage.type(f"/fork -- {WRITE}")
        await stage.sees("Write. [[tool: write_file")
        await stage.sees("wants to write a.txt")
        await stage.pilot.press("n")
        await until(lambda: stage.app.screen is stage.conversation)
        assert not (tmp_path / "a.txt").exists()


async def test_the_change_of_an_approved_edit_stays_in_the_transcript(tmp_path: Path) -> None:
    async with on_stage(folder=str(tmp_path)) as stage:
        await stage.type(WRITE)
        await stage.sees("Allow this?")
        await stage.pilot.press("y")
        await stage.sees("Done.")
        await stage.sees("+one")


async def test_the_reason_of_a_question_is_wrapped_and_not_cut(tmp_path: Path) -> None:
    async with on_stage(folder=str(tmp_path), size=(80, 24)) as stage:
        call = '{"command": "touch a", "needs": ["outside"]}'
        await stage.type(f"Run. [[tool: shell {call}]] [[say: Done.]]")
        await stage.sees("Allow this?")
        await stage.sees("you can.")
        await stage.pilot.press("n")
        await stage.sees("Done.")
