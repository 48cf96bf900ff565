"""Access to agent programs: their providers, the permissions of their tools, and prices.

A question of a program is decided by the same rules, kept answers and modes as a call of our own
tools, and a person is asked in the same way.
"""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from sapwood.conversation.configured_models import NO_PROGRAMS
from sapwood.core.content import Usage
from sapwood.core.model_calls import Failure
from sapwood.core.state import State
from sapwood.programs import registry
from sapwood.programs.agent_provider import AgentProvider, ProviderQuestion, ToolPermit
from sapwood.programs.installed_programs import make_provider
from sapwood.programs.program import ToolKind
from sapwood.programs.registry import program_executor

if TYPE_CHECKING:
    from sapwood.workspace.permissions.guarded_paths import PathGuards
    from sapwood.workspace.permissions.permission_decision import ToolAction
    from sapwood.workspace.permissions.permission_gate import PermissionGate


_NO_TOOLS: Mapping[str, ToolKind] = {}
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
        from sapwood.workspace.safe_paths import root_of
        from sapwood.workspace.tool_output import ToolBlocked, ToolError

        try:
            root = await asyncio.to_thread(root_of, state.workspace)
            executor = program_executor(state.settings.model)
            tools = registry.program(executor.program).tools if executor else _NO_TOOLS
            action = await asyncio.to_thread(self._action, question, root, tools)
            preview = question.preview or question.subject
            mode = state.settings.permission_mode
            await self._gate.require(action, state.agent, root, preview, mode)
        except ToolBlocked as blocked:
            return ToolPermit(False, str(blocked), blocked.remedy)
        except ToolError as error:
            return ToolPermit(False, str(error))
        return ToolPermit(True)

    def price(self, model: str, usage: Usage) -> int:
        from sapwood.models import price_of

        price = price_of(model, usage) if model else None
        return price.millionths if price is not None else 0

    async def close(self) -> None:
        """Ends the programs that were started here."""
        providers, self._providers = list(self._providers.values()), {}
        await asyncio.gather(*(provider.close() for provider in providers), return_exceptions=True)

    def _action(
        self, question: ProviderQuestion, root: str, tools: Mapping[str, ToolKind]
    ) -> "ToolAction":
        """What the call does, in the terms of our rules. Raises `ToolError` for hidden text."""
        from sapwood.workspace.permissions.permission_decision import OtherAction, ShellAction
        from sapwood.workspace.safe_paths import locate, require_visible

        kind = tools.get(question.tool, "changes_nothing")
        path = _path_of(question)
        match kind:
            case "shell":
                require_visible(question.subject, "command", lines=True)
                folder = locate(root, question.folder or ".")
                astray = self._guards.words_astray(folder, question.subject)
                return ShellAction("shell", question.subject, folder.shown, astray)
            case "write_file" | "edit_file" if path:
                return self._file_action(kind, root, path, reads=False)
            case "read_file" if path:
                return self._file_action(kind, root, path, reads=True)
            case "list_files" | "search_files":
                return self._file_action(kind, root, path or ".", reads=True)
            case _:
                require_visible(question.preview, "call", lines=True)
                return OtherAction(question.tool)

    def _file_action(self, tool: str, root: str, path: str, *, reads: bool) -> "ToolAction":
        from sapwood.workspace.permissions.permission_decision import FileAction
        from sapwood.workspace.safe_paths import locate

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
