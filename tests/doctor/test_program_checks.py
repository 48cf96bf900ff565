"""The doctor asks the programs themselves, and a program that says nothing spoils nothing."""

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from sapwood.context_actions.hook_memory import HookMemory
from sapwood.doctor import program_checks as checking
from sapwood.doctor.program_checks import check_programs
from sapwood.journal import add_to_journal
from sapwood.programs import registry
from sapwood.programs.installation.installer import apply_install, plan_install
from sapwood.programs.json_rpc import NoAnswer, call_program

SERVER = """\
import json, sys
if "--version" in sys.argv:
    print("codex-cli 9.9.9")
    sys.exit()
for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        print(json.dumps({"method": "a/notification"}), flush=True)
        answer = ANSWERS.get(asked["method"], {"result": {}})
        print(json.dumps({"id": asked["id"], **answer}), flush=True)
"""


def program(folder: Path, answers: Mapping[str, object], name: str = "codex") -> str:
    """A program that answers these methods."""
    folder.mkdir(exist_ok=True)
    file = folder / name
    file.write_text(f"#!{sys.executable}\nANSWERS = {answers!r}\n{SERVER}")
    file.chmod(0o755)
    return str(folder)


def hooks(*trust: str) -> dict[str, object]:
    ours = [{"pluginId": "sapwood@sapwood", "trustStatus": each} for each in trust]
    others = [{"pluginId": "other@x", "trustStatus": "untrusted"}]
    return {"hooks/list": {"result": {"data": [{"hooks": [*ours, *others]}]}}}


@pytest.fixture
def connected(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Codex is connected; the MCP server is one that answers."""
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "SAPWOOD_DATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / ".local/share"))
    agent = registry.program("codex")
    apply_install(agent, plan_install(agent))
    tools = {"tools/list": {"result": {"tools": [{"name": "context"}]}}}
    place = program(tmp_path / "server", tools, "sapwood")
    monkeypatch.setattr(checking, "own_command", lambda: (f"{place}/sapwood",))
    return tmp_path


async def found(home: Path, path: str) -> dict[str, tuple[str, str]]:
    environ = {"HOME": str(home), "PATH": path}
    return {each.topic: (each.state, each.message) for each in await check_programs(environ)}


@pytest.mark.parametrize(
    ("trust", "state", "says"),
    [
        (("trusted", "trusted"), "ok", "all 2 hooks are trusted"),
        (("trusted", "modified"), "open", "codex needs your review: 1 of 2 hooks are trusted"),
        ((), "broken", "codex does not load the plugin"),
    ],
)
async def test_codex_is_asked_for_its_trust(
    connected: Path, trust: tuple[str, ...], state: str, says: str
) -> None:
    told = await found(connected, program(connected / "bin", hooks(*trust)))
    assert told["codex trust"] == (state, says)
    assert told["codex"][1].startswith("codex 9.9.9, connected")


async def test_a_codex_that_does_not_know_the_question_is_no_error(connected: Path) -> None:
    answers = {"hooks/list": {"error": {"message": "unknown method"}}}
    told = await found(connected, program(connected / "bin", answers))
    assert told["codex trust"] == ("open", "codex did not answer: unknown method")


async def test_the_server_is_started_and_asked_for_its_tools(connected: Path) -> None:
    told = await found(connected, "")
    assert told["mcp server"] == ("ok", "`sapwood mcp` offers context")
    assert "codex trust" not in told


async def test_a_hook_that_ran_and_one_that_failed_are_told(connected: Path) -> None:
    folder = connected / ".local/share/sapwood/tending"
    assert (await found(connected, ""))["codex hooks"][0] == "open"
    HookMemory(str(folder), "ran").put("codex.pre-compact", "")
    add_to_journal("failed", "The hook stop did nothing: ValueError: x")
    told = await found(connected, "")
    assert told["codex hooks"] == ("ok", "pre-compact ran just now")
    assert told["hooks"][0] == "broken"
    assert "The hook stop did nothing" in told["hooks"][1]


async def test_a_program_that_says_nothing_is_given_up(tmp_path: Path) -> None:
    file = tmp_path / "silent"
    file.write_text("#!/bin/sh\nexec sleep 60\n")
    file.chmod(0o755)
    with pytest.raises(NoAnswer, match="no answer within"):
        await call_program((str(file),), {}, "ready", "method", {}, seconds=0.2)


async def test_a_program_that_talks_nonsense_is_no_error(tmp_path: Path) -> None:
    file = tmp_path / "loud"
    file.write_text("#!/bin/sh\necho nonsense\n")
    file.chmod(0o755)
    with pytest.raises(NoAnswer):
        await call_program((str(file),), {}, "ready", "method", {}, seconds=5)


async def test_a_program_that_is_not_there_is_no_error(tmp_path: Path) -> None:
    with pytest.raises(NoAnswer, match="No such file"):
        await call_program((str(tmp_path / "gone"),), {}, "ready", "method", {})
