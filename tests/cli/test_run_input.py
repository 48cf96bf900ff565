"""What `sapwood run` reads beside its prompt, and which agent it continues."""

import json
import os
import sys
from collections.abc import Generator
from pathlib import Path
from threading import Thread

import pytest

from sapwood.cli import console
from sapwood.cli.console import INPUT_LIMIT
from sapwood.cli.entry import run
from sapwood.cli.exit_codes import Exit
from scripted_model import ScriptedModel
from tests.cli.calling import Sapwooder


def asked(model: ScriptedModel) -> str:
    """The last prompt that the model got, as JSON."""
    return json.dumps(model.requests[-1].body)


def test_files_are_sent_with_the_first_prompt(sapwood: Sapwooder, model: ScriptedModel) -> None:
    Path("dot.gif").write_bytes(b"GIF89a\2\0\1\0")
    Path("empty.png").write_bytes(b"")
    model.replies(["A dot."])
    ran = sapwood("run", "-p", "What is it?", "--file", "dot.gif", "--agent", "demo", "--new")
    assert ran.out == "A dot.\n", ran.err
    assert "[image: dot.gif, image/gif, 10 bytes, 2 x 1]" in sapwood("show", "demo").out
    missing = sapwood("run", "-p", "And this?", "--file", "none.png")
    assert "none.png cannot be read" in missing.err
    assert "empty.png is empty" in sapwood("run", "-p", "This?", "--file", "empty.png").err
    bare = sapwood("run", "-p", "/mark A", "--file", "dot.gif")
    assert "--file needs a prompt" in bare.err


def test_a_pipe_is_read_beside_the_prompt(sapwood: Sapwooder, model: ScriptedModel) -> None:
    model.replies(["Fine."])
    assert sapwood("run", "-p", "Review", stdin="- return x\n/clear\n").code == 0
    assert "Review\\n\\n- return x\\n/clear" in asked(model)


def test_a_long_input_is_cut_and_says_so(sapwood: Sapwooder, model: ScriptedModel) -> None:
    model.replies(["Fine."])
    ran = sapwood("run", "-p", "Review", stdin="x" * (INPUT_LIMIT + 10))
    assert f"longer than {INPUT_LIMIT:,} bytes" in ran.err
    assert "the rest was left out" in asked(model)


def test_continue_stays_in_its_folder(
    sapwood: Sapwooder, model: ScriptedModel, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model.replies(["One.", "Two."])
    assert sapwood("run", "-p", "Hello!").code == 0
    other = home / "other"
    other.mkdir()
    monkeypatch.chdir(other)
    refused = sapwood("run", "-c", "-p", "Go on.")
    assert refused.code != 0
    assert "in this folder" in refused.err
    monkeypatch.chdir(home / "project")
    assert sapwood("run", "-c", "-p", "Go on.").out == "Two.\n"


def test_json_has_dollars_iso_times_and_idle_agents(
    sapwood: Sapwooder, model: ScriptedModel
) -> None:
    model.replies(["One."])
    end = json.loads(sapwood("run", "-p", "Hello!", "--json").out.splitlines()[-1])
    assert "cost" not in end["used"]
    assert end["used"]["cost_usd"] >= 0
    summary = json.loads(sapwood("agents", "--json").out)
    assert (summary["status"], summary["name"]) == ("idle", "Hello!")
    assert summary["updated"].startswith("20")
    assert summary["updated"].endswith("+00:00")
    agent = summary["agent"]
    assert sapwood("export", agent, "--json").out == sapwood("export", agent, "-f", "json").out


@pytest.fixture
def open_pipe(monkeypatch: pytest.MonkeyPatch) -> Generator[int]:
    """The writing end of a pipe that is stdin and stays open."""
    reading, writing = os.pipe()
    with os.fdopen(reading, encoding="utf-8") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        yield writing
        os.close(writing)


@pytest.mark.parametrize("args", [["-p", "Review"], ["-p", "Review", "--input", "-"], []])
def test_the_time_limit_holds_while_stdin_is_open(
    args: list[str],
    model: ScriptedModel,
    open_pipe: int,
    capsys: pytest.CaptureFixture[str],
) -> None:
    os.write(open_pipe, b"some input")
    assert run(["run", *args, "--timeout", "0.1"]) == Exit.TIMED_OUT
    assert "stdin was still open after 0.1 seconds. If there is" in capsys.readouterr().err
    assert not model.requests


def test_a_run_says_what_it_waits_for_if_stdin_is_silent(
    model: ScriptedModel,
    open_pipe: int,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(console, "_SILENCE_SECONDS", 0.0)
    assert run(["run", "-p", "Review", "--timeout", "0.2"]) == Exit.TIMED_OUT
    printed = capsys.readouterr().err
    assert printed.count("Waiting for the end of stdin. If there is no input, add: <") == 1


def test_a_pipe_that_ends_is_read_whole(
    model: ScriptedModel, open_pipe: int, capsys: pytest.CaptureFixture[str]
) -> None:
    model.replies(["Fine."])

    def write() -> None:
        for number in range(20_000):
            os.write(open_pipe, f"{number} ".encode())
        os.dup2(os.open(os.devnull, os.O_RDONLY), open_pipe)

    writer = Thread(target=write)
    writer.start()
    assert run(["run", "-p", "Review", "--timeout", "60"]) == Exit.OK
    writer.join()
    assert capsys.readouterr().out == "Fine.\n"
    assert "0 1 2 3" in asked(model)
    assert "19998 19999" in asked(model)
