"""Access to agent programs: their providers, the permissions of their tools, and prices.

A question of a program is decided by the same rules, kept answers and modes as a call of our own
tools, and a person is asked in the same way.
"""

import asyncio
from typing import TYPE_CHECKING

import msgspec

from sapwood.conversation.configured_models import NO_PROGRAMS
from sapwood.core.content import Usage
from sapwood.core.model_calls import Failure
from sapwood.core.state import State
from sapwood.providers.program_list import make_provider
from sapwood.runtime.agent_provider import AgentProvider, ProviderQuestion, ToolPermit

if TYPE_CHECKING:
    from sapwood.workspace.permissions.guarded_paths import PathGuards
    from sapwood.workspace.permissions.permission_decision import ToolAction
    from sapwood.workspace.permissions.permission_gate import PermissionGate


_SHELLS = frozenset({"Bash", "exec_command", "shell"})
_WRITERS = {
    "Write": "write_file",
    "Edit": "edit_file",
    "MultiEdit": "edit_file",
    "NotebookEdit": "edit_file",
}
_READERS = {"Read": "read_file", "NotebookRead": "read_file", "LS": "list_files"}
_SEARCHES = {"Glob": "list_files", "Grep": "search_files"}
_PATHS = ("file_path", "notebook_path", "path")


class Programs:
    """The agent programs of this machine. A provider is made at its first use."""

    def __init__(
        self, gate: "PermissionGate", guards: "PathGuards", *, available: bool = True
    ) -> None:
        self._available = available
        self._gate = gate
        self._guards = guards
        self._providers: dict[str, AgentProvider] = {}

    def provider(self, program: str) -> AgentProvider:
        """The provider of this program. Raises `Failure` if there is none, or if it may not run."""
        if not self._available:
            raise Failure("no_model", NO_PROGRAMS)
        known = self._providers.get(program)
        if known is None:
            known = self._providers[program] = make_provider(program)
        return known

    async def permit(self, state: State, question: ProviderQuestion) -> ToolPermit:
        """Decides about a tool call of a program, and asks a person if the rules want it."""
        from sapwood.workspace.places import root_of
        from sapwood.workspace.tool_output import ToolBlocked, ToolError

        try:
            root = await asyncio.to_thread(root_of, state.workspace)
            action = await asyncio.to_thread(self._action, question, root)
            preview = question.preview or question.subject
            mode = state.settings.permission_mode
            await self._gate.require(action, state.agent, root, preview, mode)
        except ToolBlocked as blocked:
            return ToolPermit(False, str(blocked), blocked.remedy)
        except ToolError as error:
            return ToolPermit(False, str(error))
        return ToolPermit(True)

    def price(self, model: str, usage: Usage) -> int:
        """The price of a call by the price list, in millionths of a dollar; 0 if unknown."""
        from sapwood.models import price_of

        price = price_of(model, usage) if model else None
        return price.millionths if price is not None else 0

    async def close(self) -> None:
        """Ends the programs that were started here."""
        providers, self._providers = list(self._providers.values()), {}
        await asyncio.gather(*(provider.close() for provider in providers), return_exceptions=True)

    def _action(self, question: ProviderQuestion, root: str) -> "ToolAction":
        """What the call does, in the terms of our rules. Raises `ToolError` for hidden text."""
        from sapwood.workspace.control_characters import require_visible
        from sapwood.workspace.permissions.permission_decision import OtherAction, ShellAction
        from sapwood.workspace.places import locate

        tool = question.tool
        if tool in _SHELLS:
            require_visible(question.subject, "command", lines=True)
            folder = locate(root, question.folder or ".")
            astray = self._guards.words_astray(folder, question.subject)
            return ShellAction("shell", question.subject, folder.shown, astray)
        path = _path_of(question)
        if tool in _WRITERS and path:
            return self._file_action(_WRITERS[tool], root, path, reads=False)
        if tool in _READERS and path:
            return self._file_action(_READERS[tool], root, path, reads=True)
        if tool in _SEARCHES:
            return self._file_action(_SEARCHES[tool], root, path or ".", reads=True)
        require_visible(question.preview, "call", lines=True)
        return OtherAction(tool)

    def _file_action(self, tool: str, root: str, path: str, *, reads: bool) -> "ToolAction":
        from sapwood.workspace.permissions.permission_decision import FileAction
        from sapwood.workspace.places import locate

        place = locate(root, path)
        if not reads:
            return FileAction(
                tool, place.shown, False, "write_file", self._guards.against_writing(place)
            )
        guard = "" if tool == "list_files" else self._guards.against_reading(place)
        return FileAction(tool, place.shown, True, "read_file", guard)


def _path_of(question: ProviderQuestion) -> str:
    """The path that a call names; empty if it names none."""
    try:
        arguments = msgspec.json.decode(question.arguments, type=dict[str, object])
    except (msgspec.MsgspecError, ValueError):
        return ""
    values = (arguments.get(name) for name in _PATHS)
    return next((value for value in values if isinstance(value, str) and value), "")
