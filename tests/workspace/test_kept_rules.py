"""'Always' outlasts the process, holds for one project, and is kept outside of it."""

from pathlib import Path

import pytest

from sapwood.core.ids import AgentId
from sapwood.workspace.permissions.kept_rules import KeptRules
from sapwood.workspace.permissions.permission_decision import ShellAction
from sapwood.workspace.permissions.permission_gate import (
    AllowAlways,
    PermissionAnswer,
    PermissionGate,
    PermissionQuestion,
)
from sapwood.workspace.permissions.permission_rules import parse_rules
from sapwood.workspace.tool_output import ToolBlocked, ToolError

ME = AgentId("abc123")


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAPWOOD_CONFIG", str(tmp_path / "home" / "config.toml"))


async def always(question: PermissionQuestion) -> PermissionAnswer:
    return AllowAlways()


@pytest.mark.parametrize(
    "command", ["make test", "echo \"$HOME\" > 'a b'\n\ttrue", 'echo 木 \\* "']
)
async def test_always_outlasts_the_process(tmp_path: Path, command: str) -> None:
    db = str(tmp_path / "wood")
    action = ShellAction("shell", command)
    await PermissionGate((), always, project=KeptRules()).require(action, ME, db)
    later = PermissionGate((), None, project=KeptRules())
    await later.require(action, ME, db)
    with pytest.raises(ToolBlocked):
        await later.require(action, ME, str(tmp_path / "other"))
    with pytest.raises(ToolBlocked):
        await later.require(ShellAction("shell", command + " x"), ME, db)


async def test_a_denial_of_the_project_is_stronger_than_the_configuration(tmp_path: Path) -> None:
    kept = KeptRules()
    kept.add(str(tmp_path), parse_rules(["deny shell(rm *)"]))
    gate = PermissionGate(parse_rules(["allow shell"]), None, project=kept)
    with pytest.raises(ToolBlocked, match="deny shell"):
        await gate.require(ShellAction("shell", "rm a"), ME, str(tmp_path))


async def test_a_damaged_file_allows_nothing(tmp_path: Path) -> None:
    kept = KeptRules()
    kept.add(str(tmp_path), parse_rules(["allow shell(ls)"]))
    Path(kept.path).write_text("not [ toml", encoding="utf-8")  # noqa: ASYNC240 # a tiny file
    with pytest.raises(ToolError, match="Permissions cannot be read"):
        await PermissionGate((), None, project=kept).require(
            ShellAction("shell", "ls"), ME, str(tmp_path)
        )
