"""The plugin folder is whole, and calls Sapwood in a way that fails open."""

import json
import os
import re
import subprocess
from importlib.metadata import version
from pathlib import Path

import pytest

from sapwood.hooks.runner import HOOKS, SECONDS
from sapwood.programs.installation.plugin_files import PLUGIN, plugin_files, plugin_version


def commands(hooks: bytes) -> dict[str, tuple[str, int]]:
    told = json.loads(hooks)["hooks"]
    return {
        event: (matchers[0]["hooks"][0]["command"], matchers[0]["hooks"][0]["timeout"])
        for event, matchers in told.items()
    }


def test_the_version_is_that_of_the_package() -> None:
    assert plugin_version() == version("sapwood")


def test_every_hook_is_called_under_its_own_name() -> None:
    called = commands(plugin_files(("/x/sapwood",))["hooks/hooks.json"])
    names = {event: re.sub(r"(?<!^)(?=[A-Z])", "-", event).lower() for event in called}
    assert {*names.values(), "status-line"} == set(HOOKS)
    for event, name in names.items():
        assert called[event][0].endswith(f"exec /x/sapwood hook {name}")


def test_the_programs_wait_longer_than_a_hook_takes() -> None:
    waits = {event: wait for event, (_, wait) in commands(_shipped()).items()}
    assert min(waits.values()) > SECONDS
    assert waits["SessionEnd"] <= 3  # Codex cuts it there, and complains about more


@pytest.mark.parametrize("files", [None, ("/nowhere/sapwood",)], ids=["shipped", "installed"])
def test_a_sapwood_that_is_gone_is_no_error(files: tuple[str] | None, tmp_path: Path) -> None:
    hooks = plugin_files(files)["hooks/hooks.json"] if files else _shipped()
    empty = {"PATH": str(tmp_path)}
    for command, _ in commands(hooks).values():
        done = subprocess.run(
            ["/bin/sh", "-c", command], env=empty, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_folder_with_spaces_is_called_all_the_same(tmp_path: Path) -> None:
    program = tmp_path / "a folder" / "sapwood"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho called $*\n")
    program.chmod(0o755)
    called = commands(plugin_files((str(program),))["hooks/hooks.json"])
    done = subprocess.run(
        ["/bin/sh", "-c", called["Stop"][0]], capture_output=True, text=True, check=True
    )
    assert done.stdout == "called hook stop\n"


def test_the_server_is_called_without_a_shell() -> None:
    server = json.loads(plugin_files(("python", "-m", "sapwood.cli"))[".mcp.json"])
    told = server["mcpServers"]["sapwood"]
    assert [told["command"], *told["args"]] == ["python", "-m", "sapwood.cli", "mcp"]


def test_the_server_gets_the_variables_that_say_where_things_are() -> None:
    """Codex gives a server only the variables that it names, and hooks get all of them."""
    server = json.loads(plugin_files(("sapwood",))[".mcp.json"])["mcpServers"]["sapwood"]
    wanted = {"SAPWOOD_CONFIG", "SAPWOOD_DATA", "SAPWOOD_DATABASE", "SAPWOOD_SPACE", "CODEX_HOME"}
    assert wanted <= set(server["env_vars"])


def test_nothing_in_the_folder_names_a_place_that_only_one_program_knows() -> None:
    for folder, _, names in os.walk(PLUGIN):
        for name in names:
            assert "CLAUDE_PLUGIN_ROOT" not in (Path(folder) / name).read_text(encoding="utf-8")


def _shipped() -> bytes:
    return (PLUGIN / "hooks" / "hooks.json").read_bytes()


def test_slash_commands_run_the_installed_sapwood_and_nothing_else() -> None:
    files = plugin_files(("/usr/my tools/sapwood",))
    text = files["commands/clear.md"].decode()
    assert "!`'/usr/my tools/sapwood' context clear $ARGUMENTS --later`" in text
    assert "allowed-tools: Bash('/usr/my tools/sapwood' context clear:*)" in text
    assert "!`sapwood" not in text
    shipped = (PLUGIN / "commands" / "clear.md").read_text()
    assert "!`sapwood context clear $ARGUMENTS --later`" in shipped
