"""Whatever goes wrong ends in a sentence on stderr and a code that scripts can rely on."""

import errno
import logging
import os
import pty
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from sapwood.app import conversation_service
from sapwood.cli.error_messages import error_message, exit_code_for
from sapwood.cli.exit_codes import MEANINGS, Exit
from sapwood.cli.invocation import Invocation
from sapwood.cli.log_files import log_to_folder
from sapwood.cli.root import NAMES_ELSEWHERE, summary_lines
from sapwood.core.errors import LogError, SapwoodError
from sapwood.core.model_calls import Failure
from scripted_model import ScriptedModel
from tests.cli.calling import Sapwooder


def test_the_codes_are_a_promise() -> None:
    assert {code.name: int(code) for code in Exit} == {
        "OK": 0,
        "FAILED": 1,
        "USAGE": 2,
        "NO_MODEL": 3,
        "DATABASE": 4,
        "INTERRUPTED": 5,
        "TIMED_OUT": 6,
        "UNREACHABLE": 7,
        "NO_SESSION": 8,
        "BLOCKED": 9,
    }
    assert set(MEANINGS) == set(Exit)


def test_a_mistyped_command_names_the_nearest(sapwood: Sapwooder) -> None:
    ran = sapwood("doctr")
    assert (ran.code, ran.out) == (Exit.USAGE, "")
    assert "There is no command 'doctr'. Did you mean doctor" in ran.err


@pytest.mark.parametrize(
    ("word", "ours"), [("list", "agents"), ("rm", "erase"), ("web", "serve"), ("resume", "open")]
)
def test_a_command_of_other_programs_names_ours(word: str, ours: str, sapwood: Sapwooder) -> None:
    ran = sapwood(word)
    assert ran.code == Exit.USAGE
    assert f"There is no command '{word}'. Did you mean {ours}?" in ran.err


def test_the_commands_named_instead_exist() -> None:
    assert set(NAMES_ELSEWHERE.values()) <= summary_lines().keys()
    assert not NAMES_ELSEWHERE.keys() & summary_lines().keys()


def test_a_mistyped_option_is_a_matter_of_usage(sapwood: Sapwooder) -> None:
    ran = sapwood("agents", "--jsno")
    assert ran.code == Exit.USAGE
    assert "--json" in ran.err


def test_a_prompt_without_its_option_is_shown_how(sapwood: Sapwooder) -> None:
    ran = sapwood("run", "hello", "there")
    assert ran.code == Exit.USAGE
    assert 'Put the prompt after -p, in quotes: sapwood run -p "' in ran.err


def test_a_number_that_is_none_is_called_so(sapwood: Sapwooder) -> None:
    assert "'abc' is not a valid number." in sapwood("run", "-p", "x", "--timeout", "abc").err
    assert "'x' is not a valid whole number." in sapwood("log", "demo", "-n", "x").err


def test_a_full_disk_is_the_first_thing_to_know(
    sapwood: Sapwooder, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = shutil.disk_usage(home)._replace(free=0)

    def asked(folder: Path) -> object:
        return full

    monkeypatch.setattr("shutil.disk_usage", asked)
    told, code = error_message(LogError("disk I/O error"), Invocation())
    assert code == Exit.DATABASE
    assert told.startswith("There is no disk space left at ")
    assert "I/O" not in told
    told, code = error_message(SapwoodError("The turn of x is still open."), Invocation())
    assert code == Exit.DATABASE
    assert told.startswith("The turn of x is still open. There is no disk space left at ")
    file = home / "notes.db"
    file.write_text("no database at all " * 100)
    ran = sapwood("doctor", "--offline", "-d", str(file))
    assert "is full" in " ".join(ran.out.split())


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("no_key", Exit.NO_MODEL),
        ("bad_key", Exit.NO_MODEL),
        ("no_model", Exit.NO_MODEL),
        ("no_network", Exit.UNREACHABLE),
        ("overloaded", Exit.UNREACHABLE),
        ("cut", Exit.UNREACHABLE),
        ("too_long", Exit.FAILED),
        ("refused", Exit.FAILED),
        (None, Exit.FAILED),
    ],
)
def test_each_kind_of_failed_call_has_its_code(kind: str | None, code: Exit) -> None:
    assert exit_code_for(kind) == code


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Failure("no_key", "There is no key."), Exit.NO_MODEL),
        (SapwoodError("No."), Exit.FAILED),
        (FileNotFoundError(errno.ENOENT, "No such file", "x.md"), Exit.FAILED),
        (OSError(errno.ENOSPC, "No space left on device"), Exit.FAILED),
        (ModuleNotFoundError("Type: pip install 'sapwood[postgres]'"), Exit.FAILED),
    ],
)
def test_an_error_becomes_a_sentence(home: Path, error: Exception, code: Exit) -> None:
    sentence, found = error_message(error, Invocation())
    assert found == code
    assert sentence.endswith((".", "'"))
    assert "Traceback" not in sentence


def test_a_database_that_is_none_is_left_alone(sapwood: Sapwooder, home: Path) -> None:
    file = home / "notes.db"
    file.write_text("These are my notes, and they are long enough to be looked at. " * 20)
    ran = sapwood("agents", "--database", str(file))
    assert ran.code == Exit.DATABASE
    assert "is not a database" in ran.err
    assert file.read_text().startswith("These are my notes")


def test_a_folder_that_is_not_there_is_said(sapwood: Sapwooder, home: Path) -> None:
    ran = sapwood("agents", "-d", str(home / "nowhere" / "x.db"))
    assert ran.code == Exit.DATABASE
    assert "Check that its folder exists" in ran.err


def test_a_server_that_is_away_is_said_without_its_password(sapwood: Sapwooder) -> None:
    ran = sapwood("agents", "-d", "postgresql://ada:geheim@127.0.0.1:1/none")
    assert ran.code == Exit.DATABASE
    assert "geheim" not in ran.err


def test_a_broken_configuration_names_the_file(
    sapwood: Sapwooder, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = home / "mine.toml"
    monkeypatch.setenv("SAPWOOD_CONFIG", str(file))
    for text in ("model = ", 'modl = "gpt-5"', "[context]\ncap = -1"):
        file.write_text(text)
        ran = sapwood("agents")
        assert ran.code == Exit.USAGE
        assert str(file) in ran.err


def test_a_defect_goes_to_the_log_file_and_not_to_the_screen(
    sapwood: Sapwooder, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("nobody thought of this")

    monkeypatch.setattr(conversation_service, "offline_service", broken)
    ran = sapwood("agents")
    assert ran.code == Exit.FAILED
    assert "Traceback" not in ran.err
    assert "nobody thought of this" in ran.err
    log = home / ".local/state/sapwood/log/sapwood.log"
    assert str(log) in ran.err
    assert "ZeroDivisionError" in log.read_text()
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert stat.S_IMODE(log.parent.parent.stat().st_mode) == 0o700
    assert "Traceback" in sapwood("agents", "--debug").err


def test_a_reader_that_stops_is_no_failure(home: Path, demo: str) -> None:
    reading, writing = os.pipe()
    command = [sys.executable, "-m", "sapwood.cli", "log", demo]
    os.close(reading)
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (Exit.OK, "")


def test_a_full_disk_under_the_output_is_said(home: Path, demo: str) -> None:
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "sapwood.cli", "log", demo]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == Exit.FAILED
    assert done.stderr == "Error: The disk is full. Free some space and try again.\n"


def test_a_full_disk_has_one_code_whatever_could_not_be_written(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def is_full(folder: Path) -> bool:
        return True

    monkeypatch.setattr("sapwood.cli.error_messages.is_full", is_full)
    errors = (
        LogError("It cannot be written."),
        OSError(errno.ENOSPC, "No space left on device"),
        OSError(errno.ENOSPC, "No space left on device", "engine.db"),
    )
    for error in errors:
        sentence, code = error_message(error, Invocation())
        assert code == Exit.DATABASE
        assert "There is no disk space left" in sentence


def test_colours_are_for_terminals(program: Sapwooder, demo: str) -> None:
    assert "\x1b" not in program("log", demo).out


def test_colours_can_be_forced_and_forbidden(
    program: Sapwooder, demo: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[" in program("log", demo).out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in program("log", demo).out


def test_a_terminal_that_knows_few_characters_gets_what_it_knows(
    program: Sapwooder, demo: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    monkeypatch.setenv("PYTHONUTF8", "0")
    sapwood = program("do", demo, "/clear 1")
    assert sapwood.code == 0
    assert program("show", demo).code == 0


@pytest.mark.parametrize("words", [("--with", "nosuch"), ("open", "--with", "nosuch")])
def test_an_unknown_program_is_named_with_those_there_are(
    sapwood: Sapwooder, words: tuple[str, ...]
) -> None:
    ran = sapwood(*words)
    assert ran.code != 0
    assert "There is no model 'nosuch', and no agent program of that name" in ran.err
    assert "claude-code, codex, opencode, pi" in ran.err
    assert "Usage:" not in ran.out


@pytest.mark.parametrize("words", [("open",), ("--inline",)])
def test_the_screen_needs_a_terminal(sapwood: Sapwooder, words: tuple[str, ...]) -> None:
    ran = sapwood(*words)
    assert ran.code != 0
    assert "The screen needs a terminal. Without one, type: sapwood run -p" in ran.err
    assert not ran.out


def test_a_message_in_the_log_has_no_control_characters_and_no_forged_line(tmp_path: Path) -> None:
    with log_to_folder(tmp_path, 0) as file:
        logging.getLogger("sapwood.wood").info("a\x1b]0;pwn\x07\u202e\x9bb\nFORGED LINE: ok")
    assert file is not None
    first, second = file.read_text().splitlines()
    assert first.endswith("sapwood.wood: a␛]0;pwn␇\\u202e\\u009bb")
    assert second == "  FORGED LINE: ok"


def test_a_log_that_cannot_be_written_adds_no_error(home: Path) -> None:
    command = [sys.executable, "-m", "sapwood.cli", "mcp", "list"]
    ran = subprocess.run(
        ["sh", "-c", 'ulimit -f 0; exec "$@"', "sh", *command],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (Exit.OK, "")


@pytest.mark.parametrize("words", [("run", "-p", "Hello!"), ("doctor", "--offline")])
def test_a_folder_that_was_deleted_is_said(
    sapwood: Sapwooder, model: ScriptedModel, home: Path, words: tuple[str, ...]
) -> None:
    os.rmdir(home / "project")
    ran = sapwood(*words)
    os.chdir(home)
    assert ran.code == Exit.FAILED
    assert "This folder no longer exists. Change to another one and try again." in ran.err
    assert "report" not in ran.err


@pytest.mark.parametrize("variable", ["SAPWOOD_CONFIG", "SAPWOOD_DATABASE", "SAPWOOD_DATA"])
def test_a_home_of_nobody_is_said(
    sapwood: Sapwooder, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "~no-such-user/x")
    ran = sapwood("agents")
    assert ran.code == Exit.USAGE
    assert "A path starts with ~ and a name that is no user of this machine." in ran.err


def test_an_odd_number_of_columns_is_passed_over(
    sapwood: Sapwooder, demo: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "²")
    assert sapwood("show", demo).code == Exit.OK


@pytest.mark.parametrize("name", ["config.toml", "keys.toml"])
def test_a_byte_order_mark_is_passed_over(sapwood: Sapwooder, home: Path, name: str) -> None:
    file = home / ".config" / "sapwood" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    text = 'model = "gpt-5"' if name == "config.toml" else 'anthropic = "sk-ant-none"'
    file.write_text(text, encoding="utf-8-sig")
    file.chmod(0o600)
    ran = sapwood("doctor", "--offline", "--json")
    assert "TOML" not in ran.out + ran.err
    assert str(file) in ran.out


@pytest.mark.parametrize(("stream", "kept"), [(1, "stderr"), (2, "stdout")])
def test_a_closed_stream_is_no_error(home: Path, stream: int, kept: str) -> None:
    command = f'exec "{sys.executable}" -m sapwood.cli --version {stream}>&-'
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=120)
    assert done.returncode == Exit.OK
    assert "Traceback" not in done.stderr
    assert ("sapwood" in done.stdout) == (kept == "stdout")


def test_the_screen_needs_a_terminal_for_what_it_draws_on(home: Path) -> None:
    main, side = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "sapwood.cli"],
        stdin=side,
        stdout=side,
        stderr=subprocess.PIPE,
        timeout=120,
        check=False,
    )
    os.close(main)
    os.close(side)
    assert done.returncode != Exit.OK
    assert b"The screen needs a terminal" in done.stderr
