"""Every command explains itself, at any width."""

import re

import click
import pytest
from click.testing import CliRunner

from sapwood.cli.command import Command, Commands
from sapwood.cli.root import FIRST, SECTIONS, group_of, root, summary_lines


def command(name: str) -> click.Command:
    found = root.get_command(click.Context(root), name)
    assert found is not None
    return found


def every_command() -> list[tuple[str, ...]]:
    """The words of each command, `config set` and its like included."""
    paths: list[tuple[str, ...]] = []
    for name in summary_lines():
        paths.append((name,))
        found = command(name)
        if isinstance(found, Commands):
            paths += [(name, inner) for inner in found.list_commands(click.Context(found))]
    return paths


@pytest.mark.parametrize("name", list(summary_lines()))
def test_the_line_in_the_list_is_the_first_sentence_of_the_help(name: str) -> None:
    help_ = command(name).help
    assert help_ is not None
    assert help_.split("\n\n")[0].rstrip(".") == summary_lines()[name]


@pytest.mark.parametrize("path", every_command(), ids=" ".join)
def test_every_command_has_examples_of_its_own(path: tuple[str, ...]) -> None:
    shown = CliRunner().invoke(root, [*path, "--help"]).output
    examples = shown.partition("Examples:\n")[2].partition("\n\n")[0]
    assert f"sapwood {' '.join(path)}" in examples


@pytest.mark.parametrize("path", [(), *every_command()], ids=lambda path: " ".join(path) or "root")
def test_help_fits_a_terminal_of_forty_columns(path: tuple[str, ...]) -> None:
    shown = CliRunner().invoke(root, [*path, "--help"], env={"COLUMNS": "40"}).output
    wide = [line for line in shown.splitlines() if len(line) > 40]
    unbreakable = [line for line in wide if len(line.split()) == 1 or re.search(r"['\"].* ", line)]
    assert wide == unbreakable


def test_options_of_every_command_are_shown_apart() -> None:
    shown = CliRunner().invoke(root, ["log", "--help"]).output
    assert shown.index("--follow") < shown.index("Options for every command:")
    assert shown.index("Options for every command:") < shown.index("--database")


def test_the_program_alone_shows_its_help_and_ends_well() -> None:
    ran = CliRunner().invoke(root, [])
    assert ran.exit_code == 0
    assert ran.output.startswith("Usage: sapwood") or ran.output.startswith("Usage: root")


def test_every_command_is_made_by_us() -> None:
    assert all(isinstance(command(name), Command | Commands) for name in summary_lines())


def test_the_help_page_explains_ten_commands_and_names_all() -> None:
    shown = CliRunner().invoke(root, ["--help"], env={"COLUMNS": "200"}).output
    assert len(FIRST) == 10
    explained = [name for name, line in summary_lines().items() if line in shown]
    assert sorted(explained) == sorted(FIRST)
    assert [name for name in summary_lines() if not re.search(rf"\b{name}\b", shown)] == []


def test_help_without_a_topic_explains_every_command() -> None:
    shown = CliRunner().invoke(root, ["help"], env={"COLUMNS": "200"}).output
    assert [line for line in summary_lines().values() if line not in shown] == []


@pytest.mark.parametrize("title", list(SECTIONS))
def test_help_of_a_group_explains_its_commands(title: str) -> None:
    shown = CliRunner().invoke(root, ["help", group_of(title)]).output
    assert shown.startswith(f"{title}:\n")
    assert [name for name in SECTIONS[title] if f"  {name} " not in shown] == []


def test_help_of_a_command_is_its_own_help() -> None:
    ran = CliRunner().invoke(root, ["help", "clear"])
    assert (
        ran.output.splitlines()[2:]
        == CliRunner().invoke(root, ["clear", "--help"]).output.splitlines()[2:]
    )
    wrong = CliRunner().invoke(root, ["help", "clera"])
    assert wrong.exit_code == 2
    assert "Did you mean clear" in wrong.output


def test_the_examples_of_help_work() -> None:
    shown = CliRunner().invoke(root, ["help", "--help"]).output
    examples = re.findall(r"^  sapwood help (\w+)$", shown, re.MULTILINE)
    assert examples
    assert [each for each in examples if CliRunner().invoke(root, ["help", each]).exit_code] == []


def test_no_group_has_the_name_of_a_command() -> None:
    assert {group_of(title) for title in SECTIONS} & set(summary_lines()) == set()
