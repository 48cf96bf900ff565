"""Instructions of sub folders join the result of the first call there, and only once in view."""

import asyncio
from pathlib import Path

from sapwood.api import Sapwood
from sapwood.app.agent_runner import AgentRunner
from sapwood.app.connection import connect
from sapwood.core.content import ToolCall
from sapwood.core.events import ToolFinished
from sapwood.core.view import Request
from sapwood.engine import LocalEngine
from sapwood.testing import FakeModel
from sapwood.workspace.permissions.permission_gate import PermissionGate
from sapwood.workspace.permissions.permission_rules import parse_rules
from sapwood.workspace.workspace_toolbox import WorkspaceToolbox


def _reads(request: Request, heard: str) -> list[ToolCall] | str:
    if not heard.startswith("Read "):
        return "Done."
    paths = heard.removeprefix("Read ").split()
    return [
        ToolCall(f"c{place}", "read_file", f'{{"path": "{path}"}}')
        for place, path in enumerate(paths)
    ]


async def _results(folder: Path, *prompts: str, rules: tuple[str, ...] = ()) -> list[list[str]]:
    """The results of the reads of each turn; a prompt with a slash is a command."""
    connection = await connect(":memory:")
    tools = WorkspaceToolbox(PermissionGate(parse_rules(rules)), instructions=True)
    runner = AgentRunner(connection, LocalEngine(), FakeModel(_reads), tools)
    found: list[list[str]] = []
    try:
        await runner.start()
        agent = await Sapwood(connection).start("demo", model="m", folder=str(folder))
        for prompt in prompts:
            before = (await agent.state()).version
            await agent.run_command(prompt)
            if prompt.startswith("/"):
                continue
            await runner.wake(agent.id)
            found.append([])
            async with asyncio.timeout(30):
                async for recorded in agent.follow(before):
                    if isinstance(recorded.event, ToolFinished):
                        found[-1].append(recorded.event.content)
                    if recorded.kind == "turn.completed":
                        break
    finally:
        await runner.close()
        await connection.close()
    return found


def _workspace(folder: Path) -> None:
    for name, text in {
        "AGENTS.md": "Top.",
        "a.txt": "a",
        "web/AGENTS.md": "Use tabs.",
        "web/CLAUDE.md": "Use tabs.",
        "web/one.txt": "1",
        "web/two.txt": "2",
        "web/deep/AGENTS.md": "Use spaces.",
        "web/deep/three.txt": "3",
        "vendor/x/AGENTS.md": "Obey the vendor.",
        "vendor/x/four.txt": "4",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


async def test_they_join_once_and_again_after_they_left_the_view(tmp_path: Path) -> None:
    _workspace(tmp_path)
    top, first, second, deep, cleared = await _results(
        tmp_path,
        "Read a.txt vendor/x/four.txt",
        "Read web/one.txt web/two.txt",
        "Read web/one.txt",
        "Read web/deep/three.txt",
        "/clear",
        "Read web/deep/three.txt",
    )
    assert not any("Instructions" in each for each in top)
    whole = "\n".join(first)
    assert whole.count("[Instructions for files in web, from web/AGENTS.md, up to ") == 1
    assert whole.count("Use tabs.") == 1, "the same text under two names is given once"
    assert "Instructions" not in second[0]
    assert "from web/deep/AGENTS.md" in deep[0]
    assert "Use tabs." not in deep[0]
    assert "Use tabs." in cleared[0]
    assert "Use spaces." in cleared[0]


async def test_a_rule_keeps_them_out(tmp_path: Path) -> None:
    _workspace(tmp_path)
    [[result]] = await _results(tmp_path, "Read web/one.txt", rules=("deny read_file(*.md)",))
    assert "Instructions" not in result
