"""The toolbox of the workspace: files, search and shell, all subject to permission rules."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from threading import Event
from typing import TypeVar

from msgspec import Struct, structs

from sapwood.core.model_calls import Effect, ToolOutcome, ToolSpec, ToolUse
from sapwood.core.refusals import nearest
from sapwood.workspace.background_jobs import BackgroundJobs
from sapwood.workspace.confinement import Confinement, Need
from sapwood.workspace.file_walk import ShouldStop
from sapwood.workspace.instructions import nested_instructions
from sapwood.workspace.permissions.guarded_paths import PathGuards
from sapwood.workspace.permissions.permission_decision import FileAction, ShellAction, ToolAction
from sapwood.workspace.permissions.permission_gate import (
    PermissionGate,
)
from sapwood.workspace.permissions.permission_rules import PermissionRules
from sapwood.workspace.programs import environment_for_tools
from sapwood.workspace.safe_paths import ResolvedPath, locate, require_visible, root_of
from sapwood.workspace.sandbox import Sandbox, TenantSandbox, sandbox_problem
from sapwood.workspace.space_folder import SpaceFolder
from sapwood.workspace.tool_output import ToolBlocked, ToolError
from sapwood.workspace.tools.file_changes import (
    edit_file,
    preview_edit,
    preview_write,
    shown_diff,
    write_file,
)
from sapwood.workspace.tools.file_reader import read_file
from sapwood.workspace.tools.file_search import list_files, search_files, select_files
from sapwood.workspace.tools.shell_tool import ShellResult, run_shell
from sapwood.workspace.tools.tool_arguments import (
    EditFile,
    Jobs,
    ListFiles,
    ReadFile,
    SearchFiles,
    Shell,
    WriteFile,
    read_arguments,
    tool_spec,
)

_SPECS = (
    tool_spec("read_file", "Shows a text file with line numbers.", ReadFile),
    tool_spec("list_files", "Lists files, without what .gitignore hides.", ListFiles),
    tool_spec("search_files", "Finds lines by a regular expression.", SearchFiles),
    tool_spec("write_file", "Writes a whole file; makes its folders.", WriteFile),
    tool_spec(
        "edit_file", "Replaces old_text, which must occur exactly once in the file.", EditFile
    ),
    tool_spec(
        "shell",
        "Runs a command line without input. What it starts in the background ends with it.",
        Shell,
    ),
)
_JOBS = tool_spec("jobs", "Lists background commands of shell, reads one or ends it.", Jobs)
_JOB_SECONDS = 7 * 86_400.0
_JOB_BYTES = 10_000
_KEEPS_RUNNING = "It keeps running in the background after the turn."
_WANTS: dict[Need, str] = {
    "network": "It needs the network.",
    "protected": "It needs to write protected files, such as .git/config, that make programs run.",
    "outside": "It needs to run outside the sandbox, where it can do anything that you can.",
}
_READING = frozenset({"read_file", "list_files", "search_files"})
_HARMLESS = _READING | {"jobs"}
_Result = TypeVar("_Result")


class _Call(Struct, frozen=True):
    """One call, the folder of its workspace, and the rules granted to its agent."""

    use: ToolUse
    root: str
    granted: PermissionRules

    @property
    def args(self) -> str:
        return self.use.call.args


class WorkspaceToolbox:
    """Tools for the files of the workspace that each call names.

    `gate` decides about calls; without one, no rule allows any. `secrets` are known values, such as
    API keys: programs do not get them, and masks of them are not written to files. `guards` knows
    the files that only a rule for exactly that path allows. `sandbox` confines commands where the
    system can; with `requires_sandbox` no command runs where it cannot. A command that the sandbox
    confines, without network and with its files saved, is not asked about, unless
    `asks_in_sandbox`.

    With a `folder`, no file outside of it is opened, whatever rules and people say. Commands then
    run only in the sandbox of tenants, with a network if `folder_network` says so. `jobs` runs
    commands in the background; without it there are none. With `instructions`, a call that reads or
    writes a file also returns the AGENTS.md and CLAUDE.md of the folders above it.
    """

    def __init__(
        self,
        gate: PermissionGate | None = None,
        *,
        environment: Mapping[str, str] = os.environ,
        secrets: Collection[str] = (),
        guards: PathGuards | None = None,
        sandbox: Sandbox | None = None,
        requires_sandbox: bool = False,
        asks_in_sandbox: bool = False,
        folder: SpaceFolder | None = None,
        folder_network: bool = False,
        jobs: BackgroundJobs | None = None,
        instructions: bool = False,
    ) -> None:
        self._gate = gate or PermissionGate()
        self._guards = guards or PathGuards()
        self._sandbox = Confinement(sandbox, self._guards) if sandbox else None
        self._asks_in_sandbox = asks_in_sandbox
        self._requires_sandbox = requires_sandbox
        self._folder = folder
        self._tenant = TenantSandbox(folder.path, folder_network) if folder else None
        self._jobs = jobs
        self._instructions = instructions
        self._secrets = tuple(secrets)
        self._environment = environment_for_tools(environment, secrets)
        self._tools: dict[str, Callable[[_Call], Awaitable[ToolOutcome]]] = {
            "read_file": self._read,
            "list_files": self._list,
            "search_files": self._search,
            "write_file": self._write,
            "edit_file": self._edit,
            "shell": self._shell,
        }
        if jobs is not None:
            self._tools["jobs"] = self._read_jobs

    async def specs(self) -> Sequence[ToolSpec]:
        """The tools, always the same."""
        return _SPECS if self._jobs is None else (*_SPECS, _JOBS)

    def effect(self, use: ToolUse) -> Effect:
        """`none` for tools that only read."""
        return "none" if use.call.name in _HARMLESS else "some"

    async def run(self, use: ToolUse) -> ToolOutcome:
        """Runs the call; an outcome with `error` says why it failed or was not allowed."""
        name = use.call.name
        tool = self._tools.get(name)
        if tool is None:
            close = " or ".join(nearest(name, tuple(self._tools))) or ", ".join(self._tools)
            return ToolOutcome(f"There is no tool {name}. Try {close}.", error=True)
        try:
            root = await asyncio.to_thread(root_of, use.workspace)
            if self._folder is not None and not self._folder.holds(root):
                raise ToolError("The workspace was moved out of this space's folder.")
            granted = await self._gate.granted_to(use.agent)
            return await tool(_Call(use, root, granted))
        except ToolBlocked as blocked:
            return ToolOutcome(str(blocked), error=True, blocked=blocked.remedy)
        except ToolError as error:
            return ToolOutcome(str(error), error=True)
        except OSError as error:
            return ToolOutcome(f"{name} failed: {error.strerror or error}.", error=True)

    async def close(self) -> None:
        """Ends the background commands."""
        if self._jobs is not None:
            await self._jobs.close()

    async def _read(self, call: _Call) -> ToolOutcome:
        wanted = read_arguments("read_file", call.args, ReadFile)
        place = await self._allowed(call, wanted.path)
        text = await asyncio.to_thread(read_file, place, wanted.offset, wanted.limit)
        return ToolOutcome(text, instructions=await self._instructions_for(call, place))

    async def _list(self, call: _Call) -> ToolOutcome:
        wanted = read_arguments("list_files", call.args, ListFiles)
        require_visible(wanted.glob, "glob")
        place = await self._allowed(call, wanted.path)
        text = await _in_thread(
            lambda stop: list_files(place, wanted.glob, wanted.depth, wanted.ignored, stop)
        )
        return ToolOutcome(text)

    async def _search(self, call: _Call) -> ToolOutcome:
        wanted = read_arguments("search_files", call.args, SearchFiles)
        require_visible(wanted.pattern, "pattern", lines=True)
        require_visible(wanted.glob, "glob")
        place = await self._allowed(call, wanted.path)

        def may_read(path: str) -> bool:
            guard = self._guards.against_reading_name(os.path.join(call.root, path), path)
            action = FileAction("search_files", path, True, "read_file", guard)
            return self._gate.decision(action, call.root, call.granted).verdict == "allow"

        selected = await _in_thread(lambda stop: select_files(place, wanted, may_read, stop))
        return ToolOutcome(await search_files(place, wanted, selected, self._environment))

    async def _write(self, call: _Call) -> ToolOutcome:
        wanted = read_arguments("write_file", call.args, WriteFile)
        place = await self._allowed(
            call, wanted.path, lambda place: preview_write(place, wanted.content)
        )
        diff = await asyncio.to_thread(preview_write, place, wanted.content)
        done, data = await asyncio.to_thread(write_file, place, wanted.content, self._secrets)
        await self._keep_written(place, data)
        above = await self._instructions_for(call, place)
        return ToolOutcome(done, diff=shown_diff(diff), instructions=above)

    async def _edit(self, call: _Call) -> ToolOutcome:
        wanted = read_arguments("edit_file", call.args, EditFile)
        change = (wanted.old_text, wanted.new_text, wanted.all, self._secrets)
        place = await self._allowed(call, wanted.path, lambda place: preview_edit(place, *change))
        diff = await asyncio.to_thread(preview_edit, place, *change)
        done, data = await asyncio.to_thread(edit_file, place, *change)
        await self._keep_written(place, data)
        above = await self._instructions_for(call, place)
        return ToolOutcome(done, diff=shown_diff(diff), instructions=above)

    async def _keep_written(self, place: ResolvedPath, data: bytes) -> None:
        if self._sandbox is not None:
            await asyncio.to_thread(self._sandbox.keep_written, place, data)

    async def _instructions_for(
        self, call: _Call, place: ResolvedPath
    ) -> tuple[tuple[str, str], ...]:
        """The instructions of the folders above a file, as far as rules allow to read them."""
        if not self._instructions or not place.is_inside:
            return ()
        found = await asyncio.to_thread(nested_instructions, call.root, place.shown)
        actions = [(each, FileAction("read_file", each[0], reads=True)) for each in found]
        return tuple(
            each
            for each, action in actions
            if self._gate.decision(action, call.root, call.granted).verdict == "allow"
        )

    async def _shell(self, call: _Call) -> ToolOutcome:
        wanted = read_arguments("shell", call.args, Shell)
        require_visible(wanted.command, "command", lines=True)
        place = await asyncio.to_thread(locate, call.root, wanted.cwd)
        if not place.is_inside:
            raise ToolError(f"{wanted.cwd} is outside the workspace. Give a folder in it.")
        if self._tenant is not None:
            return await self._tenant_shell(call, wanted, place, self._tenant)
        astray = await asyncio.to_thread(self._guards.words_astray, place, wanted.command)
        sandbox = await self._sandbox_for(call.root)
        change = await asyncio.to_thread(sandbox.change, call.root) if sandbox else ""
        unsearched = await asyncio.to_thread(sandbox.unsearched, call.root) if sandbox else ""
        plain = ShellAction("shell", wanted.command, place.shown, astray)
        action = self._with_needs(plain, call, wanted.needs, sandbox, change, unsearched)
        if wanted.background:  # no checkpoint undoes what it does later
            wants = f"{_KEEPS_RUNNING} {action.wants}".strip()
            action = structs.replace(action, is_confined=False, wants=wants)
        await self._require(action, call)
        if sandbox and change:
            await asyncio.to_thread(sandbox.accept, call.root)
        used = None if "outside" in wanted.needs else sandbox
        if wanted.background:
            return await self._start_job(call, wanted, place, used)
        result = await run_shell(
            wanted.command, place, wanted.timeout, self._environment, used, wanted.needs
        )
        if sandbox and action.must_ask:  # a person allowed it, so it may have changed .git
            await asyncio.to_thread(sandbox.accept, call.root)
        return ToolOutcome(result.text, error=result.failed)

    async def _start_job(
        self, call: _Call, wanted: Shell, place: ResolvedPath, sandbox: Confinement | None
    ) -> ToolOutcome:
        if self._jobs is None:
            raise ToolError("Commands cannot run in the background here. Leave background out.")

        def run(on_output: Callable[[bytes], None]) -> Awaitable[ShellResult]:
            return run_shell(
                wanted.command,
                place,
                _JOB_SECONDS,
                self._environment,
                sandbox,
                wanted.needs,
                max_bytes=_JOB_BYTES,
                on_output=on_output,
            )

        number = await self._jobs.start(call.use.agent, wanted.command, call.use.call.id, run)
        return ToolOutcome(
            f"Job {number} runs in the background. Call jobs with job: {number} for its output."
        )

    async def _read_jobs(self, call: _Call) -> ToolOutcome:
        wanted = read_arguments("jobs", call.args, Jobs)
        assert self._jobs is not None
        agent = call.use.agent
        if not wanted.job:
            return ToolOutcome(self._jobs.listed(agent))
        if wanted.end:
            return ToolOutcome(await self._jobs.end(agent, wanted.job))
        return ToolOutcome(self._jobs.read(agent, wanted.job))

    async def _tenant_shell(
        self, call: _Call, wanted: Shell, place: ResolvedPath, sandbox: TenantSandbox
    ) -> ToolOutcome:
        """Runs a command in the folder of a space. Nobody can allow it more than the sandbox."""
        if wanted.needs:
            raise ToolError("Commands in this space cannot leave the sandbox. Omit needs.")
        if wanted.background:
            raise ToolError("Commands in this space cannot run in the background.")
        if problem := await asyncio.to_thread(sandbox_problem):
            raise ToolError(f"shell needs a sandbox here, and there is none: {problem}.")
        action = ShellAction("shell", wanted.command, place.shown)
        await self._require(action, call)
        result = await run_shell(wanted.command, place, wanted.timeout, self._environment, sandbox)
        return ToolOutcome(result.text, error=result.failed)

    def _with_needs(
        self,
        action: ShellAction,
        call: _Call,
        needs: Sequence[Need],
        sandbox: Confinement | None,
        change: str,
        unsearched: str,
    ) -> ShellAction:
        """The command with what it asks for, and whether it needs to ask."""
        if sandbox is None:
            return action
        wants = " ".join(
            filter(None, [change, unsearched, *(_WANTS[need] for need in dict.fromkeys(needs))])
        )
        is_confined = (
            not wants
            and not sandbox.has_network()
            and not self._asks_in_sandbox
            and call.use.is_saved
        )
        must_ask = bool(change) or bool({"protected", "outside"} & set(needs))
        return structs.replace(action, is_confined=is_confined, wants=wants, must_ask=must_ask)

    async def _sandbox_for(self, root: str) -> Confinement | None:
        """The sandbox of a command. Raises `ToolError` if one is required and cannot be used."""
        if self._sandbox is None:
            return None
        problem = await asyncio.to_thread(sandbox_problem)
        if root == "/":
            problem = "the workspace is the whole file system"
        if not problem:
            return self._sandbox
        if not self._requires_sandbox:
            return None
        raise ToolError(
            f"shell needs a sandbox (sandbox = on), and there is none: {problem}. Tell the user to "
            "install bubblewrap, or to type sapwood config set sandbox auto."
        )

    async def _allowed(
        self, call: _Call, path: str, preview: Callable[[ResolvedPath], str] | None = None
    ) -> ResolvedPath:
        """The place of a path. Raises `ToolError` unless rules or a person allow the action."""
        place = await asyncio.to_thread(locate, call.root, path)
        if self._folder is not None and not place.is_inside:
            raise ToolError(f"{path} is outside the workspace. Give a path inside it.")
        action = await asyncio.to_thread(self._file_action, call.use.call.name, place)
        shown = ""
        decision = self._gate.decision(action, call.root, call.granted, call.use.mode)
        if preview and decision.verdict == "ask":
            shown = await asyncio.to_thread(preview, place)
        await self._require(action, call, shown)
        return place

    async def _require(self, action: ToolAction, call: _Call, shown: str = "") -> None:
        """Asks where the rules want a question. Raises `ToolError` if the action is not allowed."""
        use = call.use
        await self._gate.require(action, use.agent, call.root, shown, use.mode, use.call.id)

    def _file_action(self, tool: str, place: ResolvedPath) -> FileAction:
        if tool not in _READING:
            guard = self._guards.against_writing(place)
            return FileAction(tool, place.shown, False, "write_file", guard)
        # Listing shows names only, and a search looks at each file that it finds.
        guard = "" if tool == "list_files" else self._guards.against_reading(place)
        return FileAction(tool, place.shown, True, "read_file", guard)


async def _in_thread(work: Callable[[ShouldStop], _Result]) -> _Result:
    """Runs work in a thread and makes it stop when the call is cancelled."""
    stop = Event()
    try:
        return await asyncio.to_thread(work, stop.is_set)
    finally:
        stop.set()
