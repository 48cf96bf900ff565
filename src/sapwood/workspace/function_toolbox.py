"""The toolbox of Python functions: how a program gives its own functions to models."""

import asyncio
import contextvars
import inspect
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import Future
from functools import partial
from threading import Thread
from typing import Any, Literal, TypeVar, cast, overload

import msgspec
from msgspec import Struct

from sapwood.core.errors import PluginError
from sapwood.core.ids import AgentId, Space
from sapwood.core.model_calls import AnswerAwaited, Effect, ToolOutcome, ToolSpec, ToolUse
from sapwood.core.refusals import nearest
from sapwood.plugins import load_plugin
from sapwood.workspace.permissions.permission_decision import OtherAction
from sapwood.workspace.permissions.permission_gate import AskPermission, PermissionGate
from sapwood.workspace.permissions.permission_rules import PermissionRule, PermissionRules
from sapwood.workspace.tool_output import ToolBlocked, ToolError, truncate
from sapwood.workspace.tools.function_signature import (
    FunctionSignature,
    FunctionToolError,
    ToolContext,
    read_signature,
)
from sapwood.workspace.tools.tool_arguments import read_arguments

_Function = TypeVar("_Function", bound=Callable[..., object])
Retry = Literal["never", "by_key"]
_OPTIONS = "__sapwood_tool__"
_log = logging.getLogger("sapwood.tools")


class _Options(Struct, frozen=True):
    name: str = ""
    effect: Effect = "some"


class FunctionTool(Struct, frozen=True):
    """A function that models may call, and whether it may run twice."""

    function: Callable[..., object]
    signature: FunctionSignature
    effect: Effect = "some"

    @property
    def name(self) -> str:
        """The name by which models call it."""
        return self.signature.spec.name


@overload
def tool(function: _Function, /) -> _Function: ...


@overload
def tool(
    *, name: str = "", reads: bool = False, retry: Retry = "never"
) -> Callable[[_Function], _Function]: ...


def tool(
    function: Callable[..., object] | None = None,
    /,
    *,
    name: str = "",
    reads: bool = False,
    retry: Retry = "never",
) -> object:
    """Says more about a function that is given to models as a tool. The function stays the same.

    `name` is the name that models see, by default that of the function. `reads` says that the
    function changes nothing: then calls may run at the same time, and again after a crash.
    `retry="by_key"` says that the function does the same thing only once for each
    `ToolContext.call`: a call that a crash cut off is run again with the same id, one at a time.
    Otherwise the model is told that the outcome of such a call is unknown. A function without this
    decorator can be a tool too.

    >>> @tool(reads=True)
    ... def weather(city: str) -> str:
    ...     return f"Snow in {city}."
    >>> weather("Oslo")
    'Snow in Oslo.'
    """

    def mark(marked: _Function) -> _Function:
        keyed: Effect = "keyed" if retry == "by_key" else "some"
        setattr(marked, _OPTIONS, _Options(name, "none" if reads else keyed))
        return marked

    return mark if function is None else mark(function)


def function_tools(functions: Iterable[Callable[..., object]]) -> tuple[FunctionTool, ...]:
    """Reads the signatures of functions. Raises `FunctionToolError` if one cannot be a tool."""
    tools: dict[str, FunctionTool] = {}
    for function in functions:
        if not callable(function):
            raise FunctionToolError(f"A tool must be a function, not {type(function).__name__}.")
        options = cast("_Options", getattr(function, _OPTIONS, _Options()))
        read = FunctionTool(function, read_signature(function, options.name), options.effect)
        if read.name in tools:
            raise FunctionToolError(f"Two tools are named {read.name}. Rename one of them.")
        tools[read.name] = read
    return tuple(tools.values())


def plugin_tools(names: Iterable[str]) -> tuple[FunctionTool, ...]:
    """Returns the tools of plug-ins with these names.

    One that cannot be used is left out, with a warning: the agents work on without it.
    """
    tools: dict[str, FunctionTool] = {}
    for name in names:
        try:
            found = load_plugin("tools", name)
            if found is None:
                raise PluginError(f"There is no plug-in with the tool '{name}'.")
            (read,) = function_tools([cast("Callable[..., object]", found)])
            tools.setdefault(read.name, read)
        except (PluginError, FunctionToolError) as error:
            _log.warning("%s Agents work without it.", error)
    return tuple(tools.values())


class FunctionToolbox:
    """Runs Python functions as tools of the agents of one space.

    The program that gives a function allows its calls. A rule that denies it or asks a person
    takes precedence. `approve` asks a person. `deps` are for the functions.
    """

    def __init__(
        self,
        space: Space,
        tools: Sequence[FunctionTool],
        rules: PermissionRules = (),
        approve: AskPermission | None = None,
        deps: object = None,
    ) -> None:
        self._space = space
        self._deps = deps
        self._tools = {each.name: each for each in tools}
        given = tuple(PermissionRule("allow", name) for name in self._tools)
        self._gate = PermissionGate((*rules, *given), approve)

    async def specs(self) -> Sequence[ToolSpec]:
        """The tools, in the order in which they were given."""
        return tuple(each.signature.spec for each in self._tools.values())

    def effect(self, use: ToolUse) -> Effect:
        """What the function says of itself."""
        found = self._tools.get(use.call.name)
        return found.effect if found else "some"

    async def run(self, use: ToolUse) -> ToolOutcome:
        """Runs the function. An exception becomes an error that has no words of the exception.

        A `ToolError` is for the model, so its words are sent. Others may name hosts or keys: only
        their class is sent, and the log of the process has the rest.
        """
        name = use.call.name
        found = self._tools.get(name)
        if found is None:
            close = " or ".join(nearest(name, tuple(self._tools)))
            hint = f" Did you mean {close}?" if close else ""
            return ToolOutcome(f"There is no tool {name}.{hint}", error=True)
        try:
            arguments = read_arguments(name, use.call.args, found.signature.arguments)
            await self._allow(found, use)
            return ToolOutcome(_result_text(await self._call(found, arguments, use)))
        except AnswerAwaited:
            raise
        except ToolBlocked as blocked:
            return ToolOutcome(str(blocked), error=True, blocked=blocked.remedy)
        except ToolError as error:
            return ToolOutcome(str(error), error=True)
        except Exception as error:
            raised = error.__cause__ or error if isinstance(error, _Exited) else error
            _log.error("The tool %s raised", name, exc_info=raised)
            return ToolOutcome(f"{name} failed with {type(raised).__name__}.", error=True)

    async def close(self) -> None:
        """Does nothing: functions leave nothing open here."""

    async def _allow(self, found: FunctionTool, use: ToolUse) -> None:
        workspace = use.workspace.worktree or use.workspace.folder
        action = OtherAction(found.name, found.effect == "none")
        agent, call = AgentId(use.agent), use.call
        await self._gate.require(action, agent, workspace, call.args, use.mode, call.id)

    async def _call(self, found: FunctionTool, arguments: Struct, use: ToolUse) -> object:
        given = {
            name: getattr(arguments, name) for name in found.signature.arguments.__struct_fields__
        }
        if found.signature.context:
            given[found.signature.context] = ToolContext(
                self._space,
                use.agent,
                use.call.id,
                use.tags.owner,
                use.tags.labels,
                {each.name: each.value for each in use.tags.metadata},
                use.trace,
                self._deps,
                use.actor,
            )
        function = partial(found.function, **given)
        result = (
            function()
            if inspect.iscoroutinefunction(found.function)
            else await _result_in_thread(function)
        )
        return await _awaited(result) if inspect.isawaitable(result) else result


class _Exited(Exception):
    """A function raised what would end the process or the task, not only the call: its cause."""


async def _awaited(work: Awaitable[object]) -> object:
    try:
        return await work
    except Exception:
        raise
    except BaseException as error:
        if _is_meant_for_us(error):
            raise
        raise _Exited from error


def _is_meant_for_us(error: BaseException) -> bool:
    """Whether this task is ended from outside, and not by what its function does."""
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is not None and task.cancelling() > 0
    return isinstance(error, KeyboardInterrupt | GeneratorExit)


async def _result_in_thread(function: Callable[[], object]) -> object:
    """Runs a function in a thread of its own: one that never returns takes no place from others."""
    ended = Future[tuple[object, BaseException | None]]()
    ended.set_running_or_notify_cancel()  # a cancelled call goes on in its thread
    run = contextvars.copy_context().run
    Thread(target=run, args=(_run_to_end, function, ended), name="sapwood-tool").start()
    result, error = await asyncio.wrap_future(ended)
    if error is None:
        return result
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        raise error
    raise _Exited from error


def _run_to_end(
    function: Callable[[], object], ended: Future[tuple[object, BaseException | None]]
) -> None:
    try:
        result = function()
    except BaseException as error:
        ended.set_result((None, error))
    else:
        ended.set_result((result, None))


def _result_text(result: Any) -> str:
    """The result as text: as it is, or as JSON. Raises `ToolError` if it is neither."""
    if result is None:
        return "Done."
    if isinstance(result, str):
        return truncate(result)
    try:
        return truncate(msgspec.json.encode(result).decode())
    except (TypeError, msgspec.MsgspecError) as error:
        raise TypeError(f"a result that cannot be serialized as JSON: {error}") from error
