"""`/pin NAME @FILE`: the file is read when it is pinned, and again before each prompt."""

import os
from pathlib import Path

import pytest

from sapwood.conversation.answers import Changed, ContextShown, Prompted
from sapwood.conversation.call import Services
from sapwood.conversation.script import CommandStep
from sapwood.conversation.service import ConversationService
from sapwood.core.command_table import TABLE
from sapwood.core.commands import CompleteTurn, StartAgent
from sapwood.core.events import SYSTEM, Pin, PinAdded
from sapwood.core.refusals import PinnedFileUnreadable
from sapwood.core.settings import Settings, Workspace
from sapwood.testing.core_harness import CharacterCounter
from sapwood.turns.dispatch import Dispatcher
from sapwood.workspace.permissions.kept_rules import RuleSources
from sapwood.workspace.pinned_file import PINNED_FILE_BYTES
from tests.conversation.spaces import TestSpace, service_of
from tests.store.memory_log import MemoryLog
from tests.turns.commanding import AGENT, SPACE, Desk


@pytest.fixture
async def desk(log: MemoryLog, tmp_path: Path) -> Desk:
    """An agent that works in a folder with one file."""
    desk = Desk(log)
    (tmp_path / "rules.md").write_text("Be brief.\n")
    workspace = Workspace(folder=str(tmp_path))
    await desk.do(StartAgent(AGENT, settings=Settings("scripted"), workspace=workspace))
    return desk


async def runs(desk: Desk, name: str, args: str = "") -> object:
    return await service_of(desk).answer(AGENT, CommandStep(TABLE[name], args))


async def asks(desk: Desk, text: str = "ask") -> Prompted:
    """Prompts, and ends the turn."""
    answer = await service_of(desk).prompt(AGENT, text)
    assert isinstance(answer, Prompted), answer
    await desk.do(CompleteTurn(AGENT), actor=SYSTEM)
    return answer


async def pins(desk: Desk) -> tuple[Pin, ...]:
    return (await desk.dispatcher.open(AGENT)).state.pins


async def pinned_texts(desk: Desk) -> list[str]:
    """The text of every pin that was ever stored."""
    events = await desk.log.read(desk.space, AGENT)
    return [each.event.pin.text for each in events if isinstance(each.event, PinAdded)]


async def test_a_file_is_pinned_with_its_text_and_its_source(desk: Desk) -> None:
    answer = await runs(desk, "pin", "style @rules.md")
    assert isinstance(answer, Changed)
    assert answer.message == "Pinned 'style' from rules.md."
    assert await pins(desk) == (Pin("style", "Be brief.\n", "rules.md"),)


async def test_a_changed_file_is_pinned_again_before_the_next_prompt(
    desk: Desk, tmp_path: Path
) -> None:
    await runs(desk, "pin", "style @rules.md")
    await asks(desk)
    assert await pinned_texts(desk) == ["Be brief.\n"]
    (tmp_path / "rules.md").write_text("Be thorough.\n")
    answer = await asks(desk)
    assert answer.message == ""
    assert await pins(desk) == (Pin("style", "Be thorough.\n", "rules.md"),)
    await asks(desk)
    assert await pinned_texts(desk) == ["Be brief.\n", "Be thorough.\n"]


@pytest.mark.parametrize("change", ["missing", "empty", "too large", "a symlink out"])
async def test_a_file_that_cannot_be_read_any_more_leaves_its_last_text(
    desk: Desk, tmp_path: Path, change: str
) -> None:
    await runs(desk, "pin", "style @rules.md")
    file = tmp_path / "rules.md"
    match change:
        case "missing":
            file.unlink()
        case "empty":
            file.write_text("\n")
        case "too large":
            file.write_text("x" * (PINNED_FILE_BYTES + 1))
        case _:
            file.unlink()
            os.symlink("/etc/hostname", file)
    answer = await asks(desk)
    assert answer.message.startswith(
        "The pin 'style' keeps its previous text, because rules.md could "
    )
    assert "/unpin style" in answer.message
    assert await pins(desk) == (Pin("style", "Be brief.\n", "rules.md"),)


async def test_after_unpin_the_file_is_not_read(desk: Desk, tmp_path: Path) -> None:
    await runs(desk, "pin", "style @rules.md")
    await runs(desk, "unpin", "style")
    (tmp_path / "rules.md").unlink()
    assert (await asks(desk)).message == ""
    assert await pins(desk) == ()


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("none.md", "There is no such file."),
        ("/etc/hostname", "It is outside the workspace."),
        ("../rules.md", "'../rules.md' contains '..'."),
        ("folder", "It is a folder."),
        ("id_rsa", "id_rsa is protected: it may hold private keys or passwords (ssh)."),
        ("picture.png", "It is not text."),
        ("large.txt", "It is larger than 200,000 bytes."),
    ],
)
async def test_what_cannot_be_pinned_is_refused(
    desk: Desk, tmp_path: Path, path: str, reason: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "id_rsa").write_text("key")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\0\0")
    (tmp_path / "large.txt").write_text("x" * (PINNED_FILE_BYTES + 1))
    answer = await runs(desk, "pin", f"name @{path}")
    assert isinstance(answer, PinnedFileUnreadable)
    assert answer.reason.startswith(reason)
    assert await pins(desk) == ()


async def test_a_rule_against_reading_a_file_holds_for_pins(desk: Desk) -> None:
    space = TestSpace(desk.log, desk.space, desk.dispatcher)
    rules = RuleSources(configured=("deny read_file(rules.md)",))
    service = ConversationService(Services(space, permissions=rules))
    answer = await service.answer(AGENT, CommandStep(TABLE["pin"], "style @rules.md"))
    assert isinstance(answer, PinnedFileUnreadable)
    assert "deny read_file(rules.md)" in answer.reason


async def test_text_that_only_begins_with_an_at_sign_is_text(desk: Desk) -> None:
    await runs(desk, "pin", "owner @ada decides.")
    assert await pins(desk) == (Pin("owner", "@ada decides."),)


async def test_a_quoted_path_may_have_spaces(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "my rules.md").write_text("Be kind.")
    await runs(desk, "pin", 'style @"my rules.md"')
    assert await pins(desk) == (Pin("style", "Be kind.", "my rules.md"),)


async def test_the_context_names_the_file_of_a_pin(desk: Desk) -> None:
    await runs(desk, "pin", "style @rules.md")
    shown = await runs(desk, "context")
    assert isinstance(shown, ContextShown)
    assert shown.breakdown.pinned_files == {"style": "rules.md"}
    assert [item.name for item in shown.breakdown.largest] == ["style from rules.md"]


async def test_secrets_of_a_file_are_masked_and_make_no_event_at_each_prompt(
    log: MemoryLog, desk: Desk
) -> None:
    desk.dispatcher = Dispatcher(
        log,
        SPACE,
        lambda model: CharacterCounter(),
        mask=lambda text: text.replace("brief", "[masked]"),
    )
    await runs(desk, "pin", "style @rules.md")
    await asks(desk)
    assert await pinned_texts(desk) == ["Be [masked].\n"]
