"""Shells complete commands, options, agents and marks."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from sapwood.cli.entry import run
from tests.cli.calling import Sapwooder

Completing = Callable[[str], list[str]]


@pytest.fixture
def complete(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Completing:
    """What a shell is offered for a line; the last word is what is being typed."""

    def offered(line: str) -> list[str]:
        words = line.split(" ")
        monkeypatch.setenv("_SAPWOOD_COMPLETE", "bash_complete")
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
        capsys.readouterr()
        run([])
        printed = capsys.readouterr()
        assert printed.err == ""
        return [each.partition(",")[2] for each in printed.out.splitlines() if each]

    return offered


def test_commands_are_completed(complete: Completing) -> None:
    assert complete("sapwood co") == ["context", "continue", "compact", "config", "completion"]
    assert complete("sapwood config s") == ["set"]


def test_options_are_completed(complete: Completing) -> None:
    assert complete("sapwood run --al") == ["--allow"]


def test_agents_are_completed_by_name_and_id(complete: Completing, demo: str) -> None:
    assert complete("sapwood log d") == ["demo"]
    assert complete("sapwood run --agent a") == ["abc123"]


def test_marks_are_completed(complete: Completing, demo: str) -> None:
    assert complete("sapwood diff demo S") == ["START"]
    assert complete("sapwood fork demo ") == ["START"]


def test_settings_and_servers_are_completed(complete: Completing, sapwood: Sapwooder) -> None:
    sapwood("config", "set", "servers.docs", '{url = "https://docs.example/mcp"}')
    sapwood("config", "set", "servers.files", '{command = ["files"]}')
    assert complete("sapwood config set screen.pri") == ["screen.print_on_leaving"]
    assert "budget.cost" in complete("sapwood config get ")
    assert complete("sapwood config unset budget.cos") == ["budget.cost"]
    assert complete("sapwood mcp login ") == ["docs"]
    assert complete("sapwood mcp logout d") == ["docs"]


def test_a_list_in_bash_has_titles_and_what_is_inserted_has_none(
    complete: Completing, demo: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMP_TYPE", "9")
    assert complete("sapwood open ") == ["demo", "abc123"]
    monkeypatch.setenv("COMP_TYPE", "63")
    assert complete("sapwood open ") == ["demo  (abc123)", "abc123  (demo)"]
    assert complete("sapwood open a") == ["abc123"]


def test_nothing_is_made_or_printed_where_there_is_no_database(
    complete: Completing, home: Path
) -> None:
    assert complete("sapwood log d") == []
    assert list(home.rglob("*.db")) == []


def test_another_database_is_looked_into(complete: Completing, demo: str, home: Path) -> None:
    assert complete(f"sapwood log -d {home / 'other.db'} d") == []


def test_a_broken_configuration_stays_silent(complete: Completing, home: Path) -> None:
    file = home / ".config/sapwood/config.toml"
    file.parent.mkdir(parents=True)
    file.write_text("model = ")
    assert complete("sapwood log d") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_a_script(sapwood: Sapwooder, shell: str) -> None:
    ran = sapwood("completion", shell)
    assert ran.code == 0
    assert "_SAPWOOD_COMPLETE" in ran.out


def test_bash_takes_the_script(sapwood: Sapwooder) -> None:
    script = sapwood("completion", "bash").out
    checked = subprocess.run(["bash", "-n"], input=script, text=True, check=False)
    assert checked.returncode == 0
    assert 'COMP_TYPE="$COMP_TYPE"' in script


def test_another_shell_is_refused(sapwood: Sapwooder) -> None:
    assert sapwood("completion", "tcsh").code == 2
