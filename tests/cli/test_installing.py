"""`sapwood install`, `uninstall` and `journal`: shown first, asked, told."""

import json
from pathlib import Path

import pytest

from sapwood.programs.installation.plugin_files import PLUGIN
from tests.cli.calling import Sapwooder


@pytest.fixture(autouse=True)
def own_settings(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    (home / ".claude").mkdir()
    (home / ".claude/settings.json").write_text('{"model": "sonnet"}\n')


def test_a_dry_run_shows_the_change_and_makes_none(sapwood: Sapwooder, home: Path) -> None:
    ran = sapwood("install", "claude-code", "--dry-run")
    assert ran.code == 0
    assert '+{"model": "sonnet", "statusLine"' in ran.out
    assert ran.out.endswith("Nothing was changed.\n")
    shipped = json.loads((PLUGIN / "hooks/hooks.json").read_text("utf-8"))["hooks"]
    named = [line.split()[0] for line in ran.out.splitlines() if "calls sapwood hook" in line]
    assert named == list(shipped)
    assert (
        "SessionStart (resume, clear, compact, fork)  calls sapwood hook session-start" in ran.out
    )
    assert not (home / ".claude/skills").exists()


def test_a_dry_run_says_whether_the_program_is_installed(
    sapwood: Sapwooder, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAPWOOD_CLAUDE", str(home / "claude"))
    words = "Claude Code is not installed. Install it with: "
    assert words in sapwood("install", "claude-code", "--dry-run").out
    (home / "claude").write_text("#!/bin/sh\n")
    (home / "claude").chmod(0o755)
    assert words not in sapwood("install", "claude-code", "--dry-run").out


def test_a_dry_run_names_the_hooks_of_each_program(sapwood: Sapwooder, home: Path) -> None:
    (home / ".codex").mkdir()
    (home / ".pi/agent").mkdir(parents=True)
    assert "  PreCompact " in sapwood("install", "codex", "--dry-run").out
    shown = sapwood("install", "pi", "--dry-run").out
    assert "  session_before_compact  calls sapwood hook pre-compact\n" in shown
    assert shown.count("calls sapwood hook") == 5


def test_a_no_changes_nothing(sapwood: Sapwooder, home: Path) -> None:
    ran = sapwood("install", "claude-code", stdin="n\n")
    assert "Make these changes?" in ran.out
    assert not (home / ".claude/skills").exists()


def test_installing_and_uninstalling_are_told_by_the_journal(
    sapwood: Sapwooder, home: Path
) -> None:
    told = sapwood("install", "claude-code", "--yes").out
    assert "Sapwood is set up for Claude Code. It takes effect in your next session." in told
    assert (home / ".claude/skills/sapwood/hooks/hooks.json").exists()
    assert "already" in sapwood("install", "claude-code").out
    assert "Removed from claude-code." in sapwood("uninstall", "--yes").out
    assert not (home / ".claude/skills").exists()
    acts = [json.loads(line) for line in sapwood("journal", "--json").out.splitlines()]
    assert [act["did"] for act in acts] == ["installed", "uninstalled"]
    assert "Connected to claude-code." in sapwood("journal").out
    assert "Connected" not in sapwood("journal", "--did", "uninstalled").out


def test_settings_that_change_while_the_question_is_open_are_kept(
    sapwood: Sapwooder, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = home / ".claude/settings.json"
    changed = '{"model": "sonnet", "permissions": {"deny": ["Bash"]}}\n'

    def change_and_agree(*_: object, **__: object) -> bool:
        settings.write_text(changed)
        return True

    monkeypatch.setattr("click.confirm", change_and_agree)
    ran = sapwood("install", "claude-code")
    assert ran.code == 0
    assert "changed while Sapwood was waiting" in ran.out
    assert json.loads(settings.read_text())["permissions"] == {"deny": ["Bash"]}
    assert "statusLine" in settings.read_text()
    sapwood("uninstall", "--yes")
    assert settings.read_text() == changed


def test_a_program_that_cannot_be_disconnected_does_not_keep_the_other(
    sapwood: Sapwooder, home: Path
) -> None:
    for agent in ("claude-code", "codex"):
        sapwood("install", agent, "--yes")
    config = home / ".codex/config.toml"
    config.write_text(config.read_text() + "not toml: sapwood\n")
    ran = sapwood("uninstall", "--yes")
    assert ran.code == 1
    assert "Removed from claude-code." in ran.out
    assert "codex is still connected." in ran.err
    assert "not toml: sapwood" in ran.err
    assert not (home / ".claude/skills").exists()


def test_a_project_that_cannot_be_restored_is_named_and_keeps_nothing_connected(
    sapwood: Sapwooder, home: Path
) -> None:
    sapwood("install", "claude-code", "--yes")
    sapwood("config", "set", "--project", "compaction.at", "100000")
    settings = home / "project/.claude/settings.local.json"
    text = settings.read_text() + "// mine\n"
    settings.write_text(text)
    ran = sapwood("uninstall", "--yes")
    assert ran.code == 0, ran.err
    assert "Removed from claude-code." in ran.out
    assert f"{settings} cannot be edited" in ran.out
    assert "autoCompactWindow = 133000" in ran.out
    assert settings.read_text() == text


def test_codex_users_are_told_to_review_the_hooks(sapwood: Sapwooder) -> None:
    assert "/hooks" in sapwood("install", "codex", "-y").out.replace("\n", " ")


def test_uninstalling_nothing_says_so(sapwood: Sapwooder) -> None:
    assert sapwood("uninstall").out == "Sapwood is not connected to any agent.\n"
    assert sapwood("uninstall", "codex").out == "Sapwood is not connected to codex.\n"


def test_an_empty_journal_says_how_to_begin(sapwood: Sapwooder) -> None:
    assert "sapwood install claude-code" in sapwood("journal").out
    assert sapwood("journal", "--json").out == ""


def test_settings_that_cannot_be_edited_are_an_error_and_stay(
    sapwood: Sapwooder, home: Path
) -> None:
    (home / ".claude/settings.json").write_text("{ mine")
    ran = sapwood("install", "claude-code", "-y")
    assert ran.code == 1
    assert "settings.json cannot be edited" in ran.err
    assert (home / ".claude/settings.json").read_text() == "{ mine"


def test_the_doctor_says_what_is_connected(
    sapwood: Sapwooder, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(program(home, "claude", "echo '9.9.9 (Claude Code)'")))

    def found() -> dict[str, tuple[str, str]]:
        lines = sapwood("doctor", "--offline", "--json").out.splitlines()
        return {told["topic"]: (told["state"], told["says"]) for told in map(json.loads, lines)}

    assert found()["claude-code"] == ("open", "claude 9.9.9, not connected")
    assert found()["codex"] == ("open", "codex is not on the PATH")
    sapwood("install", "claude-code", "-y")
    after = found()
    assert after["claude-code"][0] == "ok"
    assert after["claude-code"][1].startswith("claude 9.9.9, connected (plugin ")
    assert after["claude-code hooks"] == ("open", "none has run yet; start a session to see one")
    (home / ".claude/skills/sapwood/hooks/hooks.json").write_text("{}")
    assert found()["claude-code"][0] == "open"


def program(home: Path, name: str, does: str) -> Path:
    folder = home / "bin"
    folder.mkdir()
    (folder / name).write_text(f"#!/bin/sh\n{does}\n")
    (folder / name).chmod(0o755)
    return folder


def test_without_a_terminal_installing_says_what_to_give(sapwood: Sapwooder, home: Path) -> None:
    ran = sapwood("install", "codex", stdin="")
    assert ran.code != 0
    assert "--yes" in ran.err
    assert "Nothing was changed" in ran.err


@pytest.fixture
def claude(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program `claude` on PATH."""
    program = tmp_path / "bin/claude"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))


@pytest.mark.usefixtures("claude")
@pytest.mark.parametrize(("answer", "judge"), [("y", "claude-code"), ("n", "off")])
def test_the_judge_is_offered_once(sapwood: Sapwooder, answer: str, judge: str) -> None:
    ran = sapwood("install", "claude-code", stdin=f"y\n{answer}\n")
    assert "Let Claude Code judge" in ran.out
    assert ran.code == 0
    assert sapwood("config", "get", "tending.judge").out == f"{judge}\n"
    assert "Let Claude Code judge" not in sapwood("install", "claude-code", stdin="y\n").out


@pytest.mark.usefixtures("claude")
def test_the_judge_is_not_offered_when_nobody_can_answer(sapwood: Sapwooder) -> None:
    assert "Let Claude Code judge" not in sapwood("install", "claude-code", "--yes").out
    assert sapwood("install", "claude-code", stdin="").code == 0
    assert sapwood("config", "get", "tending.judge").out == "off\n"
    assert "Let Claude Code judge" in sapwood("install", "claude-code", stdin="n\n").out


def test_a_program_that_is_not_installed_is_not_offered_as_judge(
    sapwood: Sapwooder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "Let Claude Code judge" not in sapwood("install", "claude-code", stdin="y\ny\n").out
