"""What a program gives to the public runtime, and the runners that are built from it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack

from msgspec import Struct

from sapwood.app.agent_runner import AgentRunner
from sapwood.app.assembly import measured, tracing_for
from sapwood.app.connection import Connection
from sapwood.app.engines import engine_for, import_slow
from sapwood.app.space_runners import SpacePattern, SpaceRunners
from sapwood.config.api_keys import load_keys
from sapwood.config.config_file import Config, load_config
from sapwood.core.turn_params import TurnParams
from sapwood.engine import DriveLimits, LocalEngine
from sapwood.models import Models
from sapwood.turns.model_access import ModelAccess
from sapwood.turns.scheduler import Engine
from sapwood.turns.tool_calls import Toolbox
from sapwood.turns.trace import SharedTracing
from sapwood.workspace.combined_toolbox import CombinedToolbox
from sapwood.workspace.function_toolbox import FunctionTool, FunctionToolbox, function_tools
from sapwood.workspace.permissions.permission_rules import PermissionRules, parse_rules

ToolFunction = Callable[..., object]
"""A Python function that models may call: synchronous or asynchronous, with typed parameters."""


class RuntimeOptions(Struct, frozen=True):
    """The options of `sapwood.runtime`, checked."""

    functions: tuple[FunctionTool, ...]
    toolboxes: tuple[Toolbox, ...]
    rules: PermissionRules
    models: ModelAccess | Mapping[str, str] | None
    urls: Mapping[str, str]
    limits: DriveLimits | None
    spaces: SpacePattern | None
    engine: Engine | None
    commands: bool
    params: TurnParams | None
    deps: object = None
    for_workers: bool = False


def runtime_options(
    tools: Iterable[ToolFunction | Toolbox],
    permissions: Iterable[str],
    models: ModelAccess | Mapping[str, str] | None,
    urls: Mapping[str, str] | None,
    limits: DriveLimits | None,
    spaces: str | Sequence[str] | None,
    engine: Engine | None,
    commands: bool,
    params: TurnParams | None,
    deps: object = None,
) -> RuntimeOptions:
    """Checks the options. Raises `FunctionToolError` or `RuleError`."""
    functions: list[ToolFunction] = []
    toolboxes: list[Toolbox] = []
    for each in tools:
        if _is_toolbox(each):
            toolboxes.append(each)  # pyright: ignore[reportArgumentType] # it has the methods
        else:
            functions.append(each)  # pyright: ignore[reportArgumentType] # `function_tools` checks
    read = function_tools(functions)
    return RuntimeOptions(
        read,
        tuple(toolboxes),
        parse_rules(permissions, [each.name for each in read]),
        models,
        dict(urls or {}),
        limits,
        None if spaces is None else SpacePattern.of(spaces),
        engine,
        commands,
        params,
        deps,
    )


async def started_runners(
    connection: Connection, options: RuntimeOptions, stack: AsyncExitStack
) -> SpaceRunners:
    """Starts to drive agents. `stack` stops it and closes what was opened for it."""
    models, secrets = await _models(options, stack)
    spaces = options.spaces or SpacePattern((connection.space,))
    limits = options.limits or DriveLimits()
    engine = options.engine or _engine(connection, limits, spaces, options.for_workers)

    def make(of: Connection, engine_of_space: Engine) -> AgentRunner:
        toolbox = _toolbox(options, of)
        return AgentRunner(
            of,
            engine_of_space,
            models,
            toolbox,
            secrets,
            commands=options.commands,
            tracing=SharedTracing(tracing),
            params=options.params,
        )

    tracing = measured(tracing_for(Config()))
    stack.callback(tracing.close)
    runners = SpaceRunners(connection, engine, spaces, make)
    stack.push_async_callback(runners.close)
    await runners.start()
    return runners


async def _models(
    options: RuntimeOptions, stack: AsyncExitStack
) -> tuple[ModelAccess, Mapping[str, str]]:
    given = options.models
    if given is not None and not isinstance(given, Mapping):
        return given, {}
    keys = load_keys() if given is None else given
    configured = load_config().base_urls if given is None else {}
    urls = {**configured, **options.urls}
    models = Models(keys, urls=urls)
    stack.push_async_callback(models.aclose)
    await import_slow()
    return models, keys


def _engine(
    connection: Connection, limits: DriveLimits, spaces: SpacePattern, for_workers: bool
) -> Engine:
    limits = limits.shared() if spaces.has_several else limits
    if not connection.address:  # a log that the caller opened
        return LocalEngine(limits)
    configured = load_config()
    config = Config(
        database=connection.address,
        engine=configured.engine,
        temporal=configured.temporal,
    )
    return engine_for(config, connection, limits, spaces.covers, for_workers=for_workers)


def _toolbox(options: RuntimeOptions, connection: Connection) -> Toolbox:
    functions = FunctionToolbox(
        connection.space, options.functions, options.rules, deps=options.deps
    )
    borrowed = [_BorrowedToolbox(each) for each in options.toolboxes]
    return CombinedToolbox(functions, *borrowed) if borrowed else functions


class _BorrowedToolbox:
    """A toolbox of the caller. Several spaces use it, and the caller closes it."""

    def __init__(self, toolbox: Toolbox) -> None:
        self.specs, self.effect, self.run = toolbox.specs, toolbox.effect, toolbox.run

    async def close(self) -> None:
        """Does nothing."""


def _is_toolbox(given: object) -> bool:
    return all(callable(getattr(given, name, None)) for name in ("specs", "effect", "run"))
