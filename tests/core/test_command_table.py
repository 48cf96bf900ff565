"""The table: the one place where commands are described."""

from typing import get_args

import pytest

from sapwood.core.command_table import TABLE, UNTYPED, SlashCommand
from sapwood.core.commands import Command

# What the design gives to whom, and what may not run under an open turn.
FOR_MODELS = "mark clear drop fork send check-mail wait kill compact recall bring todo"
HUMAN_ONLY = (
    "rewind edit retry undo redo new start agents switch archive unarchive rename answer context "
    "pin unpin "
    "replay diff revert shell jobs accept-plan use btw goal init review "
    "model system config permissions help exit"
)
BLOCKED = "accept-plan init clear drop rewind edit retry undo redo compact bring new archive revert"


def test_models_have_exactly_the_commands_of_the_design() -> None:
    assert [command.name for command in TABLE.for_models] == FOR_MODELS.split()


def test_people_have_all_commands() -> None:
    assert sorted(TABLE.names) == sorted(
        [*FOR_MODELS.split(), *HUMAN_ONLY.split(), "load", "quit", "sessions", "resume", "search"]
    )


def test_who_gives_a_command_of_the_core_stands_in_one_place() -> None:
    typed = {each for row in TABLE.rows for each in row.decides}
    assert typed | UNTYPED.keys() == set(get_args(Command))
    assert not typed & UNTYPED.keys()


def test_quit_is_another_word_for_exit() -> None:
    assert TABLE["quit"] is TABLE["exit"]


def test_what_moves_the_context_waits_for_the_running_turn() -> None:
    assert [c.name for c in TABLE.rows if not c.during_turn] == [
        name for name in (c.name for c in TABLE.rows) if name in BLOCKED.split()
    ]


def test_every_name_is_there_once() -> None:
    listed = [name for command in TABLE.rows for name in (command.name, *command.aliases)]
    assert len(listed) == len(set(listed)) == len(TABLE.names)


@pytest.mark.parametrize("command", TABLE.rows, ids=lambda command: command.name)
def test_every_command_can_be_explained_in_one_line(command: SlashCommand) -> None:
    assert command.help
    assert not command.help.endswith(".")
    assert len(f"{command.line}  {command.help}") <= 100
    assert command.line.startswith(f"/{command.name}")
