"""What a model gets about the folder in which `sapwood run` was started."""

import json
from pathlib import Path

from scripted_model import ScriptedModel
from tests.cli.calling import Sapwooder

TOKEN = "ghp_" + "a1B2" * 9


def system_of(model: ScriptedModel) -> str:
    """The system prompt of the last call, as JSON; empty if it has none."""
    body = model.requests[-1].body
    assert isinstance(body, dict)
    return json.dumps(body["system"]) if "system" in body else ""


def test_the_model_gets_folder_and_instructions(
    sapwood: Sapwooder, model: ScriptedModel, home: Path
) -> None:
    model.replies(["One.", "Two.", "Three."])
    file = home / "project" / "AGENTS.md"
    file.write_text(f"Use tabs. The token is {TOKEN}.")
    assert sapwood("run", "--agent", "a", "--new", "-p", "Hi", "--system", "Be brief.").code == 0
    first = system_of(model)
    assert f"Folder: {home / 'project'}" in first
    assert first.index("Folder:") < first.index("Use tabs.") < first.index("Be brief.")
    assert TOKEN not in first

    file.write_text("Use spaces.")
    assert sapwood("run", "--agent", "a", "-p", "Again").code == 0
    assert system_of(model) == first
    replayed = sapwood("replay", "a")
    assert "the hash matches" in replayed.out + replayed.err
    assert "instructions AGENTS.md" in replayed.out

    assert sapwood("do", "a", "/clear").code == 0
    assert sapwood("run", "--agent", "a", "-p", "Once more").code == 0
    assert "Use spaces." in system_of(model)
    assert "Use tabs." not in system_of(model)


def test_both_can_be_switched_off(sapwood: Sapwooder, model: ScriptedModel, home: Path) -> None:
    model.replies(["One."])
    (home / "project" / "AGENTS.md").write_text("Use tabs.")
    for name in ("default_prompt", "instructions"):
        assert sapwood("config", "set", f"context.{name}", "false").code == 0
    assert sapwood("run", "--agent", "a", "--new", "-p", "Hi").code == 0
    assert system_of(model) == ""
    assert "instructions.read" not in sapwood("log", "a").out


def test_context_counts_them(sapwood: Sapwooder, model: ScriptedModel, home: Path) -> None:
    model.replies(["One."])
    (home / "project" / "AGENTS.md").write_text("Use tabs. " * 400)
    assert sapwood("run", "--agent", "a", "--new", "-p", "Hi").code == 0
    assert json.loads(sapwood("context", "a", "--json").out)["blocks"]["system"]["tokens"] > 500
