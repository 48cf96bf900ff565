"""`sapwood context spawn`: an agent gets a handoff of a session, and its answer comes back."""

import json
import re
import subprocess
from pathlib import Path

from sapwood.cli.exit_codes import Exit
from scripted_model import ScriptedModel
from tests.cli.calling import Sapwooder
from tests.programs.transcripts.writing import ClaudeFile

SESSION = "4cfa198d-2bff-4ecc-8825-6583da7ea71a"


def talk(home: Path) -> ClaudeFile:
    """A session of Claude Code in the user's home."""
    file = ClaudeFile(home / ".claude" / "projects" / "-srv-wood", SESSION)
    file.user("Find out where herons nest.", cwd=str(Path.cwd()))
    file.says("In tall trees.")
    return file


def test_an_agent_gets_the_handoff_and_its_answer_is_mailed_back(
    sapwood: Sapwooder, home: Path, model: ScriptedModel
) -> None:
    talk(home)
    ran = sapwood(
        *("context", "spawn", "reviewer", "--with", "claude-sonnet-5-5"),
        *("--task", "Check the answer.", "--session", SESSION, "--json"),
    )
    assert ran.code == Exit.OK, ran.err
    told = json.loads(ran.out)
    assert told["mark"] == "spawn-reviewer"
    assert f"sapwood run --agent {told['child']}" in ran.err
    model.replies(["Herons nest in tall trees, indeed."])
    assert sapwood("run", "--agent", told["child"]).code == Exit.OK
    request = json.dumps(model.requests[-1].body)
    assert "Check the answer." in request
    assert "Find out where herons nest." in request
    mail = sapwood("do", told["agent"], "/check-mail --peek").out
    assert "Herons nest in tall trees, indeed." in mail


def test_it_works_in_a_worktree_of_its_own(
    sapwood: Sapwooder, home: Path, model: ScriptedModel
) -> None:
    talk(home)
    options = ("-c", "user.name=Ann", "-c", "user.email=ann@example.com")
    subprocess.run(["git", "init", "--quiet"], check=True)
    Path("a.txt").write_text("a\n")
    subprocess.run(["git", "add", "."], check=True)
    subprocess.run(["git", *options, "commit", "--quiet", "-m", "Start"], check=True)
    ran = sapwood(
        *("context", "--session", SESSION, "spawn", "fixer", "--json"),
        *("--with", "claude-sonnet-5-5", "--worktree", "fix"),
    )
    assert ran.code == Exit.OK, ran.err
    told = json.loads(ran.out)
    assert told["branch"] == "fix"
    assert (Path(told["worktree"]) / "a.txt").read_text() == "a\n"


def test_a_model_that_cannot_be_called_starts_nothing(sapwood: Sapwooder, home: Path) -> None:
    talk(home)
    ran = sapwood("context", "spawn", "reviewer", "--with", "claude-sonnet-5-5")
    assert ran.code == Exit.NO_MODEL
    assert "reviewer" not in sapwood("agents", "--all").out


def test_the_session_that_spawned_an_agent_stays_the_current_one(
    sapwood: Sapwooder, home: Path, model: ScriptedModel
) -> None:
    folder = re.sub(r"[^A-Za-z0-9]", "-", str(Path.cwd()))
    file = ClaudeFile(home / ".claude" / "projects" / folder, SESSION)
    file.user("Find out where herons nest.", cwd=str(Path.cwd()))
    file.says("In tall trees.")
    ran = sapwood("context", "spawn", "reviewer", "--with", "claude-sonnet-5-5", "--json")
    assert ran.code == Exit.OK, ran.err
    marked = json.loads(sapwood("mark", "HERE", "--json").out)
    assert marked["session"] == SESSION
