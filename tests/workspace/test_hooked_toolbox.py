"""Hooks of the person run around tool calls, with the JSON and the exit codes of Claude Code."""

import json
import logging
from pathlib import Path

import pytest

from sapwood.core.model_calls import ToolOutcome
from sapwood.workspace.event_hooks import EventHook, EventHooks
from sapwood.workspace.hooked_toolbox import HookedToolbox
from sapwood.workspace.permissions.permission_gate import PermissionGate
from sapwood.workspace.permissions.permission_rules import parse_rules
from sapwood.workspace.workspace_toolbox import WorkspaceToolbox
from tests.workspace.tool_calls import use_of


async def _written(folder: Path, *hooks: EventHook) -> ToolOutcome:
    tools = HookedToolbox(
        WorkspaceToolbox(PermissionGate(parse_rules(["allow *"]))), EventHooks(hooks)
    )
    return await tools.run(use_of("write_file", '{"path": "a.txt", "content": "oak"}', folder))


async def test_exit_code_2_blocks_the_call_with_the_reason(tmp_path: Path) -> None:
    command = "cat > seen.json; echo 'not here' >&2; exit 2"
    hook = EventHook("guard", "PreToolUse", command, "write_.*")
    outcome = await _written(tmp_path, hook)
    assert outcome.error
    assert outcome.content == "write_file was blocked by the hook guard: not here"
    assert outcome.blocked
    assert not (tmp_path / "a.txt").exists()
    seen = json.loads((tmp_path / "seen.json").read_text())
    assert seen.pop("session_id")
    assert seen.pop("tool_use_id")
    assert seen == {
        "transcript_path": "",
        "cwd": str(tmp_path),
        "permission_mode": "ask",
        "hook_event_name": "PreToolUse",
        "tool_name": "write_file",
        "tool_input": {"path": "a.txt", "content": "oak"},
    }


async def test_a_hook_after_the_call_sees_the_result_and_can_object(tmp_path: Path) -> None:
    hook = EventHook("lint", "PostToolUse", "cat > seen.json; echo 'no newline' >&2; exit 2")
    outcome = await _written(tmp_path, hook)
    assert not outcome.error
    assert outcome.content.endswith("\n[The hook lint says: no newline]")
    assert (tmp_path / "a.txt").read_text() == "oak"
    seen = json.loads((tmp_path / "seen.json").read_text())
    assert seen["tool_response"]["is_error"] is False
    assert seen["tool_response"]["content"] in outcome.content


@pytest.mark.parametrize("command", ["exit 0", "exit 1", "no-such-program", "sleep 600"])
async def test_any_other_end_changes_nothing(
    tmp_path: Path, command: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        hooks = (
            EventHook("first", "PreToolUse", command, seconds=0.2),
            EventHook("other", "PreToolUse", "exit 2", "shell|read_file"),
        )
        outcome = await _written(tmp_path, *hooks)
    assert not outcome.error
    assert (tmp_path / "a.txt").read_text() == "oak"
    assert bool(caplog.records) == (command != "exit 0")
