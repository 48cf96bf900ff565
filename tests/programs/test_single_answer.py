"""One answer of a program: how it is run, and what is made of its output. Programs are scripts."""

import json
import os
import sys
from pathlib import Path

import pytest

from sapwood.core.content import Usage
from sapwood.core.model_calls import Failure
from sapwood.programs.registry import ProgramExecutor
from sapwood.programs.single_answer import single_answer

CLAUDE_RESULT = {
    "type": "result",
    "is_error": False,
    "result": "Yes.",
    "total_cost_usd": 0.0021,
    "usage": {
        "input_tokens": 3,
        "output_tokens": 5,
        "cache_read_input_tokens": 100,
        "cache_creation_input_tokens": 20,
    },
}
CODEX_ROWS = [
    {"type": "thread.started", "thread_id": "t"},
    {"type": "item.completed", "item": {"type": "reasoning", "text": "Hm."}},
    {"type": "item.completed", "item": {"type": "agent_message", "text": "No."}},
    {"type": "turn.completed", "usage": {"input_tokens": 90, "cached_input_tokens": 40}},
]

SCRIPT = """\
#!{python}
import json, os, sys
if sys.argv[1] == "--version":
    print("{version}")
    sys.exit()
json.dump(
    {{"args": sys.argv[1:], "prompt": sys.stdin.read(), "folder": os.getcwd(),
      "env": dict(os.environ), "files": os.listdir(".")}},
    open(os.environ["RAN"], "w"),
)
{act}
"""


def program(folder: Path, name: str, act: str) -> dict[str, str]:
    """Installs a script as the program, and returns the environment to run it in."""
    version = "2.1.325 (Claude Code)" if name == "claude" else "codex-cli 0.163.0"
    path = folder / name
    path.write_text(SCRIPT.format(python=sys.executable, version=version, act=act))
    path.chmod(0o755)
    return {
        "PATH": f"{folder}:{os.environ['PATH']}",
        "HOME": str(folder),
        "SAPWOOD_DATA": str(folder / "data"),
        "RAN": str(folder / "ran.json"),
        "ANTHROPIC_API_KEY": "any",
        "OPENAI_API_KEY": "any",
        "CLAUDECODE": "1",
    }


def prints(*rows: object) -> str:
    return f"print({chr(10).join(json.dumps(row) for row in rows)!r})"


async def test_claude_code_runs_without_hooks_tools_and_session(tmp_path: Path) -> None:
    environ = program(tmp_path, "claude", prints(CLAUDE_RESULT))
    answer = await single_answer(
        ProgramExecutor("claude-code", "haiku"), "Is it?", environ, system="Judge.", dollars=0.05
    )
    assert (answer.text, answer.usage) == ("Yes.", Usage(123, 5, 100, 20, 2_100))
    ran = json.loads((tmp_path / "ran.json").read_text())
    arguments = " ".join(ran["args"])
    for wanted in ("--safe-mode", "--no-session-persistence", "--tools  ", "disableAllHooks"):
        assert wanted in arguments
    assert "--model haiku --system-prompt Judge. --max-budget-usd 0.05" in arguments
    assert ran["prompt"] == "Is it?"
    assert ran["files"] == []
    assert ran["env"]["SAPWOOD_NO_HOOKS"] == "1"
    assert "CLAUDECODE" not in ran["env"]
    assert "sapwood-judge-" in ran["folder"]


async def test_codex_runs_without_hooks_tools_and_session(tmp_path: Path) -> None:
    environ = program(tmp_path, "codex", prints(*CODEX_ROWS))
    answer = await single_answer(ProgramExecutor("codex"), "Is it?", environ, system="Judge.")
    assert (answer.text, answer.usage) == ("No.", Usage(90, 0, 40))
    ran = json.loads((tmp_path / "ran.json").read_text())
    arguments = " ".join(ran["args"])
    for wanted in ("--ephemeral", "--disable hooks", "--disable shell_tool", "mcp_servers={}"):
        assert wanted in arguments
    assert ran["prompt"] == "Judge.\n\nIs it?"
    assert ran["env"]["SAPWOOD_NO_HOOKS"] == "1"


@pytest.mark.parametrize(
    ("name", "act", "words"),
    [
        ("claude", "sys.exit('no credit')", "ended with 1: no credit"),
        ("claude", "print('Hello')", "could not be read"),
        ("claude", prints({**CLAUDE_RESULT, "is_error": True}), "Claude Code failed: Yes."),
        ("codex", prints({"type": "turn.failed", "error": {"message": "busy"}}), "failed: busy"),
        ("codex", "print('x' * 3_000_000)", "more than 2,000,000 bytes"),
    ],
)
async def test_no_answer_is_a_failure_that_says_why(
    tmp_path: Path, name: str, act: str, words: str
) -> None:
    executor = ProgramExecutor("claude-code" if name == "claude" else "codex")
    with pytest.raises(Failure, match=words):
        await single_answer(executor, "Is it?", program(tmp_path, name, act))


async def test_a_program_that_does_not_end_is_killed(tmp_path: Path) -> None:
    environ = program(tmp_path, "codex", "import time; time.sleep(600)")
    with pytest.raises(Failure, match="did not answer within 1 seconds"):
        await single_answer(ProgramExecutor("codex"), "Is it?", environ, seconds=1.0)
