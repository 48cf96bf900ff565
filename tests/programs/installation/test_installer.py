"""Installing adds, uninstalling takes out every byte of it, whatever happened in between."""

import json
import os
import re
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from sapwood.programs.installation.file_edits import InstallError, apply_edits, edit_lines
from sapwood.programs.installation.installer import (
    apply_install,
    apply_uninstall,
    plan_compaction,
    plan_install,
    plan_uninstall,
    read_record,
    record_file,
)
from sapwood.programs.installation.project_settings import plan_project
from sapwood.programs.program import Program
from sapwood.programs.registry import program, programs_with
from tests.programs.installation.conftest import CLAUDE, CODEX, Snapshot

COMMAND = ("/a folder/sapwood",)
BOTH = pytest.mark.parametrize("agent", programs_with("installer"), ids=lambda agent: agent.name)
Look = Callable[[], Snapshot]


def install(agent: Program) -> None:
    apply_install(agent, plan_install(agent, command=COMMAND))


def uninstall(agent: Program) -> None:
    apply_uninstall(agent, plan_uninstall(agent))


def limit(agent: Program, project: Path) -> None:
    for name, value in (("at", 100_000), ("automatic", "off")):
        apply_edits(list(plan_project(agent, project, name, value).edits))


@BOTH
def test_coming_and_going_leaves_no_trace(agent: Program, snapshot: Look) -> None:
    before = snapshot()
    install(agent)
    assert snapshot() != before
    uninstall(agent)
    assert snapshot() == before


@BOTH
def test_a_program_that_never_ran_has_no_folder_afterwards(
    agent: Program, home: Path, snapshot: Look
) -> None:
    agent.installer.settings_file({"HOME": str(home)}).unlink()
    agent.home({"HOME": str(home)}).rmdir()
    before = snapshot()
    install(agent)
    uninstall(agent)
    assert snapshot() == before


@BOTH
def test_looking_changes_nothing(agent: Program, snapshot: Look) -> None:
    before = snapshot()
    assert plan_install(agent, command=COMMAND).edits
    assert snapshot() == before


@BOTH
def test_installing_again_changes_nothing(agent: Program) -> None:
    install(agent)
    assert plan_install(agent, command=COMMAND).edits == ()


@BOTH
def test_uninstalling_what_is_not_there_changes_nothing(agent: Program) -> None:
    assert plan_uninstall(agent).edits == ()


@BOTH
def test_without_its_record_it_is_taken_out_all_the_same(agent: Program, home: Path) -> None:
    settings = agent.installer.settings_file({"HOME": str(home)})
    settings.write_text(settings.read_text().rstrip() + "\n")
    before = settings.read_bytes()
    install(agent)
    record_file(agent.name).unlink()
    uninstall(agent)
    assert settings.read_bytes() == before
    assert not any(folder.exists() for folder in agent.installer.folders({"HOME": str(home)}))


@BOTH
def test_a_newer_version_replaces_the_older_and_still_leaves_no_trace(
    agent: Program, home: Path, snapshot: Look, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = snapshot()
    install(agent)
    monkeypatch.setattr(agent.installer, "files", lambda command: {"README.md": b"newer\n"})  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    monkeypatch.setattr(agent.installer, "hooks", lambda files: ())  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    install(agent)
    folder = agent.installer.folders({"HOME": str(home)})[0]
    assert [path.name for path in folder.rglob("*") if path.is_file()] == ["README.md"]
    monkeypatch.undo()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_DATA_HOME", str(home / ".local/share"))
    uninstall(agent)
    assert snapshot() == before


def test_claude_code_gets_a_status_line_and_keeps_the_rest(home: Path) -> None:
    install(program("claude-code"))
    text = (home / ".claude/settings.json").read_text()
    assert text.startswith(CLAUDE.rstrip().removesuffix("}").rstrip())
    line = json.loads(text)["statusLine"]["command"]
    assert line == "'/a folder/sapwood' hook status-line"


def test_a_status_line_of_ones_own_stays_alone(home: Path) -> None:
    own = '{"statusLine": {"type": "command", "command": "mine"}}'
    (home / ".claude/settings.json").write_text(own)
    plan = plan_install(program("claude-code"), command=COMMAND)
    assert plan.settings is None
    assert "is unchanged" in plan.notes[0]


def test_settings_that_the_program_wrote_anew_get_their_old_bytes_back(home: Path) -> None:
    agent = program("claude-code")
    install(agent)
    file = home / ".claude/settings.json"
    file.write_text(json.dumps(json.loads(file.read_text()), indent=2, sort_keys=True))
    uninstall(agent)
    assert file.read_text() == CLAUDE


def test_settings_that_changed_since_lose_only_what_is_ours(home: Path) -> None:
    agent = program("claude-code")
    install(agent)
    file = home / ".claude/settings.json"
    file.write_text(file.read_text().replace('"sonnet"', '"opus"'))
    uninstall(agent)
    assert file.read_text() == CLAUDE.replace('"sonnet"', '"opus"')


def test_a_status_line_that_became_the_users_own_stays(home: Path) -> None:
    agent = program("claude-code")
    install(agent)
    file = home / ".claude/settings.json"
    text = file.read_text().replace("hook status-line", "other")
    file.write_text(text)
    uninstall(agent)
    assert file.read_text() == text


def test_settings_that_are_no_json_are_refused_and_nothing_changes(
    home: Path, snapshot: Look
) -> None:
    (home / ".claude/settings.json").write_text("{ mine")
    before = snapshot()
    with pytest.raises(InstallError, match="Nothing was changed"):
        install(program("claude-code"))
    assert snapshot() == before


def test_codex_gets_two_tables_at_the_end_and_no_trust(home: Path) -> None:
    install(program("codex"))
    text = (home / ".codex/config.toml").read_text()
    assert text.startswith(CODEX)
    told = tomllib.loads(text)
    assert told["plugins"]["sapwood@sapwood"] == {"enabled": True}
    assert "hooks" not in told


def test_trust_that_the_user_gave_goes_too(home: Path) -> None:
    agent = program("codex")
    install(agent)
    file = home / ".codex/config.toml"
    key = "sapwood@sapwood:hooks/hooks.json:pre_compact:0:0"
    file.write_text(file.read_text() + f'\n[hooks.state."{key}"]\ntrusted_hash = "sha256:1"\n')
    uninstall(agent)
    assert file.read_text() == CODEX


def test_what_the_user_trusts_otherwise_stays(home: Path) -> None:
    agent = program("codex")
    install(agent)
    file = home / ".codex/config.toml"
    others = '\n[hooks.state."mine:stop:0:0"]\ntrusted_hash = "sha256:2"\n'
    file.write_text(file.read_text() + others)
    uninstall(agent)
    assert file.read_text() == f"{CODEX}\n{others}"


def test_a_file_that_cannot_be_written_takes_everything_back(
    home: Path, snapshot: Look, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = program("codex")
    plan = plan_install(agent, command=COMMAND)
    before = snapshot()
    replace = os.replace

    def refuse(source: str, target: str) -> None:
        if target.endswith("config.toml"):
            raise PermissionError(13, "Permission denied", target)
        replace(source, target)

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(InstallError, match=r"config\.toml cannot be written"):
        apply_install(agent, plan)
    files = {name: content for name, content in snapshot().items() if content is not None}
    assert files == {name: content for name, content in before.items() if content is not None}
    assert read_record(agent.name) is None


def test_a_program_from_a_cache_is_told_to_be_installed() -> None:
    agent = program("claude-code")
    for path in ("/x/.cache/uv/archive-v0/W-ax/bin/sapwood", "/x/pipx/.cache/9/bin/sapwood"):
        notes = plan_install(agent, command=[path]).notes
        assert any("uv tool install sapwood" in note for note in notes)
    assert not any("uv tool" in note for note in plan_install(agent, command=COMMAND).notes)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = program("claude-code")
    assert not any("sapwood[mcp]" in note for note in plan_install(agent).notes)
    monkeypatch.setattr("sapwood.programs.installation.installer.find_spec", lambda name: None)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    assert any("sapwood[mcp]" in note for note in plan_install(agent).notes)


def test_the_change_is_shown_line_by_line(home: Path) -> None:
    plan = plan_install(program("claude-code"), command=COMMAND)
    shown = "\n".join(edit_lines(plan.edits, plan.folders))
    assert f"New: {home}/.claude/skills/sapwood (" in shown
    assert '+  "statusLine": {' in shown
    assert "README" not in shown


def test_a_link_to_settings_stays_a_link(home: Path) -> None:
    agent = program("claude-code")
    real = home / "dotfiles.json"
    file = home / ".claude/settings.json"
    file.rename(real)
    file.symlink_to(real)
    install(agent)
    assert file.is_symlink()
    uninstall(agent)
    assert file.is_symlink()
    assert real.read_text() == CLAUDE


TRUST = 'trusted_hash = "sha256:1"'
KEY = "sapwood@sapwood:hooks/hooks.json:pre_compact:0:0"


@pytest.mark.parametrize(
    "written",
    [
        f'\n[hooks.state]\n\n[hooks.state."{KEY}"]\n{TRUST}\n',
        f'\n[hooks]\n\n[hooks.state]\n\n[hooks.state."{KEY}"]\n{TRUST}\nenabled = true\n',
        f'\n[hooks.state]\n"{KEY}".{TRUST}\n',
        f'\n[hooks.state]\n"{KEY}" = {{ {TRUST} }}\n',
        f'\n[hooks]\nstate."{KEY}".{TRUST}\n',
        '\n[plugins."sapwood@sapwood".hooks]\nseen = true\n',
    ],
    ids=["header", "headers", "dotted", "inline", "dotted above", "more of the plugin"],
)
def test_whatever_codex_wrote_since_goes_too(home: Path, written: str) -> None:
    agent = program("codex")
    install(agent)
    file = home / ".codex/config.toml"
    file.write_text(file.read_text() + written)
    uninstall(agent)
    assert file.read_text() == CODEX


def test_an_empty_table_of_the_users_own_stays(home: Path) -> None:
    agent = program("codex")
    file = home / ".codex/config.toml"
    own = f"{CODEX}\n[features]\n\n[hooks.state]\n"
    file.write_text(own)
    install(agent)
    file.write_text(file.read_text() + f'\n[hooks.state."{KEY}"]\n{TRUST}\n')
    uninstall(agent)
    assert file.read_text() == own


def test_what_only_the_user_can_delete_is_shown_line_by_line(home: Path) -> None:
    agent = program("codex")
    install(agent)
    file = home / ".codex/config.toml"
    mixed = f'\n[hooks]\nstate = {{ "{KEY}" = {{ {TRUST} }}, mine = {{ {TRUST} }} }}\n'
    file.write_text(file.read_text() + mixed)
    with pytest.raises(InstallError) as caught:
        plan_uninstall(agent)
    assert "Could not edit" in str(caught.value)
    number = file.read_text().splitlines().index(mixed.splitlines()[2]) + 1
    assert f"\n  {number}: state = " in str(caught.value)


@BOTH
def test_a_file_that_changed_since_it_was_read_is_not_overwritten(
    agent: Program, home: Path
) -> None:
    plan = plan_install(agent, command=COMMAND)
    edit = plan.settings or plan.files[-1]
    edit.path.parent.mkdir(parents=True, exist_ok=True)
    before = (edit.before or b"") + b" \n"
    edit.path.write_bytes(before)
    with pytest.raises(InstallError, match="it changed in the meantime"):
        apply_install(agent, plan)
    assert edit.path.read_bytes() == before
    assert read_record(agent.name) is None


@BOTH
def test_the_record_of_a_private_settings_file_is_private(agent: Program) -> None:
    install(agent)
    file = record_file(agent.name)
    assert file.stat().st_mode & 0o077 == 0
    file.chmod(0o644)  # as an earlier version left it
    install(agent)
    assert file.stat().st_mode & 0o077 == 0


def configure(home: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "sapwood.toml").write_text(text)
    monkeypatch.setenv("SAPWOOD_CONFIG", str(home / "sapwood.toml"))


def settings_of(home: Path) -> tuple[dict[str, object], dict[str, object]]:
    claude = json.loads((home / ".claude/settings.json").read_text())
    return claude, tomllib.loads((home / ".codex/config.toml").read_text())


def test_when_to_compact_goes_into_the_settings_of_the_programs_and_out_again(
    home: Path, snapshot: Look, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = snapshot()
    agents = programs_with("installer")
    for agent in agents:
        assert plan_compaction(agent) is None  # it is not connected
        install(agent)
    for at in (120_000, 150_000):
        configure(home, f'[compaction]\nat = {at}\nautomatic = "off"\n', monkeypatch)
        for agent in agents:
            plan = plan_compaction(agent)
            assert plan is not None
            apply_install(agent, plan)
        claude, codex = settings_of(home)
        assert (claude["autoCompactWindow"], claude["autoCompactEnabled"]) == (at + 33_000, False)
        assert codex["model_auto_compact_token_limit"] == at
    configure(home, "", monkeypatch)
    for agent in agents:
        plan = plan_compaction(agent)
        assert plan is not None
        apply_install(agent, plan)
    assert "autoCompactWindow" not in settings_of(home)[0]
    assert "model_auto_compact_token_limit" not in settings_of(home)[1]
    configure(home, "[compaction]\nat = 120000\n", monkeypatch)
    for agent in agents:
        install(agent)
        uninstall(agent)
    (home / "sapwood.toml").unlink()
    assert snapshot() == before


ADDED = {
    "claude-code": {"permissions": {"deny": ["Bash"]}, "env": {"KEY": "1"}},
    "codex": {"projects": {"/work": {"trust_level": "trusted"}}},
    "pi": {"defaultModel": "claude-opus-5-5"},
}
"""Settings that a user or a program adds after the installation."""


def add_settings(agent: Program, home: Path) -> None:
    file = agent.installer.settings_file({"HOME": str(home)})
    file.parent.mkdir(parents=True, exist_ok=True)
    if agent.name == "codex":
        present = file.read_text() if file.exists() else ""
        file.write_text(f'{present}\n[projects."/work"]\ntrust_level = "trusted"\n')
    else:
        own: dict[str, object] = json.loads(file.read_text()) if file.exists() else {}
        file.write_text(json.dumps({**own, **ADDED[agent.name]}, indent=2))


def values_of(agent: Program, home: Path) -> dict[str, object]:
    text = agent.installer.settings_file({"HOME": str(home)}).read_text()
    return tomllib.loads(text) if agent.name == "codex" else json.loads(text)


@BOTH
def test_settings_added_before_a_limit_for_compactions_was_set_stay(
    agent: Program, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = values_of(agent, home)
    install(agent)
    add_settings(agent, home)
    for at in (150_000, 120_000):
        configure(home, f'[compaction]\nat = {at}\nautomatic = "off"\n', monkeypatch)
        plan = plan_compaction(agent)
        assert plan is not None
        apply_install(agent, plan)
    uninstall(agent)
    assert values_of(agent, home) == {**before, **ADDED[agent.name]}


@BOTH
def test_a_settings_file_that_others_filled_since_is_not_deleted(
    agent: Program, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent.installer.settings_file({"HOME": str(home)}).unlink()
    install(agent)
    add_settings(agent, home)
    configure(home, '[compaction]\nat = 150000\nautomatic = "off"\n', monkeypatch)
    install(agent)
    uninstall(agent)
    assert values_of(agent, home) == ADDED[agent.name]


def test_what_the_user_set_for_compactions_stays(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / ".claude/settings.json").write_text('{"autoCompactWindow": 200000}\n')
    (home / ".codex/config.toml").write_text("model_auto_compact_token_limit = 90000\n")
    configure(home, "[compaction]\nat = 120000\n", monkeypatch)
    for agent in programs_with("installer"):
        install(agent)
    claude, codex = settings_of(home)
    assert claude["autoCompactWindow"] == 200_000
    assert codex["model_auto_compact_token_limit"] == 90_000


def test_codex_says_that_it_always_compacts(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configure(home, '[compaction]\nautomatic = "ask"\n', monkeypatch)
    assert any("no setting that stops" in note for note in plan_install(program("codex")).notes)


def test_a_project_has_its_own_limit_and_uninstalling_removes_it(
    home: Path, snapshot: Look
) -> None:
    project = home / "project"
    (project / ".codex").mkdir(parents=True)
    (project / ".codex" / "config.toml").write_text('model = "gpt-5"\n')
    before = snapshot()
    for agent in programs_with("installer"):
        install(agent)
        for name, value in (("at", 120_000), ("automatic", "off"), ("at", 150_000)):
            apply_edits(list(plan_project(agent, project, name, value).edits))
    claude = json.loads((project / ".claude/settings.local.json").read_text())
    assert claude == {"autoCompactEnabled": False, "autoCompactWindow": 183_000}
    codex = tomllib.loads((project / ".codex/config.toml").read_text())
    assert codex == {"model": "gpt-5", "model_auto_compact_token_limit": 150_000}
    for agent in programs_with("installer"):
        uninstall(agent)
    assert snapshot() == before


@BOTH
def test_a_project_whose_settings_cannot_be_edited_does_not_keep_a_program_connected(
    agent: Program, home: Path
) -> None:
    install(agent)
    broken, whole = home / "broken", home / "whole"
    limit(agent, broken)
    limit(agent, whole)
    path = agent.project_file(broken)
    text = path.read_bytes() + b"\n// a comment = \n"
    path.write_bytes(text)
    plan = plan_uninstall(agent)
    apply_uninstall(agent, plan)
    assert path.read_bytes() == text
    assert not agent.project_file(whole).exists()
    assert read_record(agent.name) is None
    (note,) = plan.notes
    assert note.startswith(f"{path} cannot be edited: ")
    assert all(name in note for name in agent.hooks.compaction_values(100_000, False)[0])


@BOTH
def test_an_error_names_the_settings_file_that_cannot_be_edited(agent: Program, home: Path) -> None:
    install(agent)
    path = agent.project_file(home / "project")
    path.parent.mkdir(parents=True)
    path.write_text("// a comment = \n")
    with pytest.raises(InstallError, match=f"^{re.escape(str(path))} cannot be edited"):
        limit(agent, home / "project")


def test_a_limit_of_a_project_can_be_taken_back(home: Path) -> None:
    claude = program("claude-code")
    install(claude)
    for value in (120_000, None):
        apply_edits(list(plan_project(claude, home / "project", "at", value).edits))
    assert not (home / "project/.claude/settings.local.json").exists()
