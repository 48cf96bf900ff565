"""The folder of a space: where the agents of a tenant work, and nowhere else.

Everything that opens files for an agent asks here: tools, instructions and pins. So the rule holds
for conversations that are in the log already, whoever started them.
"""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from sapwood.core.commands import Command
from sapwood.core.machine_paths import FoundPath, found_paths
from sapwood.core.model_calls import Effect, ToolOutcome, ToolSpec, ToolUse
from sapwood.core.refusals import FolderNotAllowed
from sapwood.core.settings import Workspace

if TYPE_CHECKING:
    from sapwood.turns.tool_calls import Toolbox


class SpaceFolder(Struct, frozen=True):
    """The folder of a space, without symlinks. Agents of a space with an empty path have no files.

    A worktree is not allowed, wherever it is: git would run programs that the tenant configured.
    """

    path: str = ""

    def holds(self, path: str) -> bool:
        """Whether a path leads into the folder, after following its symlinks."""
        if not self.path or "\0" in path or not os.path.isabs(path):
            return False
        real = os.path.realpath(path)
        return real == self.path or real.startswith(self.path.rstrip("/") + "/")

    def confined(self, workspace: Workspace) -> Workspace:
        """The workspace if it is allowed, else one without a folder."""
        is_allowed = not workspace.worktree and self.holds(workspace.folder)
        return workspace if is_allowed else Workspace()

    def paths_outside(self, command: Struct) -> list[str]:
        """The paths of the machine in a command that lead out of the folder.

        A relative path counts too: a worker in another folder would begin there.
        """
        return [each.path for each in found_paths(command) if not self.holds(each.path)]

    def refusal(self, command: Command) -> FolderNotAllowed | None:
        """Why a command is refused: it names a path of the machine outside the folder."""
        for found in found_paths(command):
            if not self._allows(found):
                return FolderNotAllowed(found.path)
        return None

    def _allows(self, found: FoundPath) -> bool:
        is_folder = (found.holder, found.field) == (Workspace.__name__, "folder")
        return is_folder and self.holds(found.path)


class ConfinedToolbox:
    """A toolbox whose calls get a workspace only if it is in the folder of the space."""

    def __init__(self, inner: "Toolbox", folder: SpaceFolder) -> None:
        self._inner = inner
        self._folder = folder

    async def specs(self) -> Sequence[ToolSpec]:
        """The tools of the inner toolbox."""
        return await self._inner.specs()

    def effect(self, use: ToolUse) -> Effect:
        """The effect that the inner toolbox names."""
        return self._inner.effect(use)

    async def run(self, use: ToolUse) -> ToolOutcome:
        """Runs the call in the folder of the space, or without a folder."""
        confined = self._folder.confined(use.workspace)
        return await self._inner.run(structs.replace(use, workspace=confined))

    async def close(self) -> None:
        """Closes the inner toolbox."""
        await self._inner.close()
