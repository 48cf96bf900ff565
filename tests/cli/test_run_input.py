"""What `sapwood run` reads beside its prompt, and which agent it continues."""

import json
from pathlib import Path

import pytest

from sapwood.cli.console import INPUT_LIMIT
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
