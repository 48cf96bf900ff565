"""A workspace with its tools, for tests that call tools."""

import asyncio
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from sapwood.core.content import ToolCall
from sapwood.core.ids import AgentId
from sapwood.core.model_calls import ToolOutcome, ToolUse
from sapwood.core.settings import Workspace
from sapwood.turns.tool_calls import Toolbox
from sapwood.workspace.permissions.permission_gate import AskPermission, PermissionGate
from sapwood.workspace.permissions.permission_rules import parse_rules
from sapwood.workspace.workspace_toolbox import WorkspaceToolbox

_Found = TypeVar("_Found")


class ToolWorkspace:
    """A workspace folder and the tools for it, everything in it allowed unless rules say else."""

    def __init__(
        self,
        folder: Path,
        rules: Sequence[str] = ("allow *",),
        approve: AskPermission | None = None,
        secrets: Sequence[str] = (),
        path: str = os.environ["PATH"],
    ) -> None:
        self.folder = folder
        environment = {**os.environ, "PATH": path}
        self.box: Toolbox = WorkspaceToolbox(
            PermissionGate(parse_rules(rules), approve, secrets=secrets),
            environment=environment,
            secrets=secrets,
        )

    def put(self, path: str, content: str | bytes) -> Path:
        """A file of the workspace."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        return file

    async def call(self, tool: str, **arguments: object) -> ToolOutcome:
        """What comes of a call."""
        return await self.box.run(use_of(tool, json.dumps(arguments), self.folder))

    async def done(self, tool: str, **arguments: object) -> str:
        """The content of a call that goes well."""
        outcome = await self.call(tool, **arguments)
        assert not outcome.error, outcome.content
        return outcome.content

    async def refused(self, tool: str, **arguments: object) -> str:
        """The content of a call that does not."""
        outcome = await self.call(tool, **arguments)
        assert outcome.error, outcome.content
        return outcome.content


def use_of(tool: str, arguments: str, folder: Path | str) -> ToolUse:
    """A call as the runtime hands it on."""
    return ToolUse(AgentId("abc123"), Workspace(folder=str(folder)), ToolCall("1", tool, arguments))


async def until(look: Callable[[], _Found]) -> _Found:
    """What `look` finds, once it finds something. The test's own time-out bounds the wait."""
    while True:
        found = look()
        if found:
            return found
        await asyncio.sleep(0.001)


def is_running(pid: int) -> bool:
    """Whether a process lives; one that is on its way out, or dead and not buried, does not."""
    process = Path(f"/proc/{pid}")
    if not Path("/proc/self/stat").exists():
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        return True
    try:
        state = (process / "stat").read_text().rpartition(")")[2].split()[0]
        return state not in "ZX" and bool((process / "cmdline").read_bytes())
    except (FileNotFoundError, ProcessLookupError):
        return False
