"""The toolbox of the workspace: files, search and shell, each behind the permission rules."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from threading import Event
from typing import TypeVar

from msgspec import Struct

from sapwood.core.calling import Effect, ToolOutcome, ToolSpec, ToolUse
from sapwood.core.refusals import nearest
from sapwood.workspace.environment import environment_for_tools
from sapwood.workspace.errors import ToolError
from sapwood.workspace.permissions.acts import Act, FileAct, ShellAct
from sapwood.workspace.permissions.asking import Approve, Gate, Grants
from sapwood.workspace.permissions.rules import Rules
from sapwood.workspace.places import Place, locate, root_of
from sapwood.workspace.tools.arguments import (
    EditFile,
    ListFiles,
    ReadFile,
    SearchFiles,
    Shell,
    WriteFile,
    read_arguments,
    tool_spec,
)
from sapwood.workspace.tools.editing import edit_file, preview_edit
from sapwood.workspace.tools.listing import list_files
from sapwood.workspace.tools.reading import read_file
from sapwood.workspace.tools.searching import choose_files, search_files
from sapwood.workspace.tools.shell import run_shell
from sapwood.workspace.tools.writing import preview_write, write_file
from sapwood.workspace.walking import Stop

__all__ = ["WorkspaceToolbox"]

_SPECS = (
    tool_spec("read_file", "Shows a text file with line numbers.", ReadFile),
    tool_spec("list_files", "Lists files, without what .gitignore hides.", ListFiles),
    tool_spec("search_files", "Finds lines by a regular expression.", SearchFiles),
    tool_spec("write_file", "Writes a whole file; makes its folders.", WriteFile),
    tool_spec("edit_file", "Replaces old_text, which must stand in the file once.", EditFile),
    tool_spec(
        "shell",
        "Runs a command line without input. What it starts in the background ends with it.",
        Shell,
    ),
)
_READING = frozenset({"read_file", "list_files", "search_files"})
_Result = TypeVar("_Result")


class _Call(Struct, frozen=True):
    """One call, the workspace it is for, and what its agent was allowed beforehand."""

    use: ToolUse
    root: str
    granted: Rules

    @property
    def args(self) -> str:
        return self.use.call.args


class WorkspaceToolbox:
    """Tools for the files of whatever workspace a call names.

    Without `approve`, what the rules would ask about is denied, unless `grants` has it. `secrets`
    are known values, such as keys for models: programs do not get them, and their masks do not get
    into files.
    """

    def __init__(
        self,
        rules: Rules = (),
        approve: Approve | None = None,
        *,
        grants: Grants | None = None,
        environment: Mapping[str, str] = os.environ,
        secrets: Collection[str] = (),
    ) -> None:
        self._gate = Gate(rules, approve, grants)
        self._known = tuple(secrets)
        self._environment = environment_for_tools(environment, secrets)
        self._tools: dict[str, Callable[[_Call], Awaitable[ToolOutcome]]] = {
            "read_file": self._read,
            "list_files": self._list,
            "search_files": self._search,
            "write_file": self._write,
            "edit_file": self._edit,
            "shell": self._shell,
        }

    async def specs(self) -> Sequence[ToolSpec]:
        """The same six at every time."""
        return _SPECS

    def effect(self, use: ToolUse) -> Effect:
        """Reading has none."""
        return "none" if use.call.name in _READING else "some"

    async def run(self, use: ToolUse) -> ToolOutcome:
        """Runs the call, or says why not."""
        name = use.call.name
        tool = self._tools.get(name)
        if tool is None:
            close = " or ".join(nearest(name, tuple(self._tools))) or ", ".join(self._tools)
            return ToolOutcome(f"There is no tool {name}. Try {close}.", error=True)
        try:
            root = await asyncio.to_thread(root_of, use.workspace)
            granted = await self._gate.granted_to(use.agent)
            return await tool(_Call(use, root, granted))
        except ToolError as error:
            return ToolOutcome(str(error), error=True)
        except OSError as error:
            return ToolOutcome(f"{name} failed: {error.strerror or error}.", error=True)

    async def close(self) -> None:
        """Nothing outlives a call."""

    async def _read(self, call: _Call) -> ToolOutcome:
        wanted = read_arguments("read_file", call.args, ReadFile)
        place = await self._allowed(call, wanted.path)
        return ToolOutcome(await asyncio.to_thread(read_file, place, wanted.offset, wanted.limit))

    async def _list(self, call: _Call) -> ToolOutcome:
        wanted = read_arguments("list_files", call.args, ListFiles)
        place = await self._allowed(call, wanted.path)
        text = await _in_thread(
            lambda stop: list_files(place, wanted.glob, wanted.depth, wanted.ignored, stop)
        )
        return ToolOutcome(text)

    async def _search(self, call: _Call) -> ToolOutcome:
        wanted = read_arguments("search_files", call.args, SearchFiles)
        place = await self._allowed(call, wanted.path)

        def may_read(path: str) -> bool:
            act = FileAct("search_files", path, reads=True, kin="read_file")
            return self._gate.decision(act, call.root, call.granted).verdict == "allow"

        searched = await _in_thread(lambda stop: choose_files(place, wanted, may_read, stop))
        return ToolOutcome(await search_files(place, wanted, searched, self._environment))

    async def _write(self, call: _Call) -> ToolOutcome:
        wanted = read_arguments("write_file", call.args, WriteFile)
        place = await self._allowed(
            call, wanted.path, lambda place: preview_write(place, wanted.content)
        )
        return ToolOutcome(await asyncio.to_thread(write_file, place, wanted.content, self._known))

    async def _edit(self, call: _Call) -> ToolOutcome:
        wanted = read_arguments("edit_file", call.args, EditFile)
        change = (wanted.old_text, wanted.new_text, wanted.all)
        place = await self._allowed(call, wanted.path, lambda place: preview_edit(place, *change))
        return ToolOutcome(await asyncio.to_thread(edit_file, place, *change, self._known))

    async def _shell(self, call: _Call) -> ToolOutcome:
        wanted = read_arguments("shell", call.args, Shell)
        place = await asyncio.to_thread(locate, call.root, wanted.cwd)
        if not place.is_inside:
            raise ToolError(f"{wanted.cwd} is outside of the workspace. Give a folder in it.")
        await self._gate.require(ShellAct("shell", wanted.command), call.use.agent, call.root)
        result = await run_shell(wanted.command, place, wanted.timeout, self._environment)
        return ToolOutcome(result.text, error=result.failed)

    async def _allowed(
        self, call: _Call, path: str, preview: Callable[[Place], str] | None = None
    ) -> Place:
        """The place of a path, if the rules or a person allow what the tool does there."""
        place = await asyncio.to_thread(locate, call.root, path)
        act = _file_act(call.use.call.name, place)
        shown = ""
        if preview and self._gate.decision(act, call.root, call.granted).verdict == "ask":
            shown = await asyncio.to_thread(preview, place)
        await self._gate.require(act, call.use.agent, call.root, shown)
        return place


def _file_act(tool: str, place: Place) -> Act:
    reads = tool in _READING
    return FileAct(tool, place.shown, reads, "read_file" if reads else "write_file")


async def _in_thread(work: Callable[[Stop], _Result]) -> _Result:
    """Runs what goes through many files, and has it stop when the call is cancelled."""
    stop = Event()
    try:
        return await asyncio.to_thread(work, stop.is_set)
    finally:
        stop.set()
