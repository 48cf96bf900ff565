"""Builds an `AgentRunner` from a configuration: models, tools, permissions, engine, tracing.

Imports the libraries of a part only if the configuration uses that part.
"""

import logging
import os
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from sapwood.app.agent_runner import AgentRunner
from sapwood.app.connection import Connection
from sapwood.app.conversation_service import checkpoints_for, own_files
from sapwood.app.engines import (
    configured_limits,
    engine_for,
    import_slow,
    require_durable_engine,
)
from sapwood.app.space_runners import SpacePattern, SpaceRunners, space_folder
from sapwood.config.api_keys import keys_file
from sapwood.config.config_file import Config, McpServer, config_file, spans_address
from sapwood.config.folders import config_folder, data_folder
from sapwood.config.mcp_logins import mcp_logins_file
from sapwood.core.ids import AgentId, Space
from sapwood.core.model_calls import Failure, RetryWait
from sapwood.models import Models
from sapwood.models.model_routes import resolve
from sapwood.turns.scheduler import Engine
from sapwood.turns.tool_calls import Toolbox
from sapwood.turns.trace import SharedTracing, Tracing, Untraced

if TYPE_CHECKING:
    from sapwood.app.program_access import Programs
    from sapwood.workspace.background_jobs import BackgroundJobs
    from sapwood.workspace.mcp_client.mcp_toolbox import McpToolbox
    from sapwood.workspace.permissions.guarded_paths import PathGuards
    from sapwood.workspace.permissions.permission_gate import AskPermission, Grants, PermissionGate
    from sapwood.workspace.permissions.permission_rules import PermissionRules
    from sapwood.workspace.sandbox import Sandbox
    from sapwood.workspace.space_folder import SpaceFolder


_log = logging.getLogger("sapwood.telemetry")

_TENANT_VARIABLES = frozenset({"PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ"})
"""The variables of this process that commands of a tenant get."""

_SPAN_PROVIDERS = {"google": "gcp.gemini"}
"""Providers whose name in OpenTelemetry's conventions differs from ours."""


def assemble(
    connection: Connection,
    config: Config,
    keys: Mapping[str, str],
    *,
    allow: Sequence[str] = (),
    root: AgentId | None = None,
    engine: Engine | None = None,
    approve: "AskPermission | None" = None,
    ask_seconds: float | None = None,
    models: Models | None = None,
    tracing: Tracing | None = None,
    ends_with_answer: bool = False,
    on_wait: Callable[[RetryWait], None] | None = None,
) -> AgentRunner:
    """Returns a runner for the agents of this space, not started yet.

    `allow` are permission rules such as `shell(git *)` for the agent `root` and its descendants
    only, because this process may also drive agents of other users. A configured 'deny' overrides
    them. `engine` replaces the configured engine. `approve` asks the user about calls that no rule
    decides. Without it, such a question is put into the log, and the turn is parked for at most
    `ask_seconds` until somebody answers; 0 is no limit, and with None the call is denied at once.
    `models` and `tracing` are shared with other runners, and the caller closes them. A program that
    ends with the answer runs no hooks Stop: nothing would carry out the turn that one asks for.
    `on_wait` is that of `Models`.
    """
    if connection.server is not None:
        return connection.server.runner(connection)
    own = models is None
    models = models or Models(keys, urls=config.base_urls, on_wait=on_wait)
    grants = _grants(connection, allow, root)
    if approve is None and ask_seconds is not None:
        from sapwood.app.permission_questions import PermissionQuestions

        approve = PermissionQuestions(connection, seconds=ask_seconds).ask
    jobs = _background_jobs(connection)
    toolbox = toolbox_for(
        config,
        connection.folder,
        grants,
        approve,
        tuple(keys.values()),
        space=connection.space,
        jobs=jobs,
    )
    programs = programs_for(
        config, grants, approve, tuple(keys.values()), available=connection.folder is None
    )
    closing = [models.aclose, programs.close] if own else [programs.close]
    if config.hooks and connection.folder is None and not ends_with_answer:
        from sapwood.app.configured_hooks import StopHooks

        closing.append(StopHooks(connection, config).tasks.close)
    return AgentRunner(
        connection,
        engine or engine_for(config, connection),
        models,
        toolbox,
        keys,
        closing=closing,
        tracing=tracing or measured(tracing_for(config)),
        checkpoints=checkpoints_for(connection, config),
        reconfigure=models.reconfigure,
        programs=programs,
        fallback=config.fallback_models,
        jobs=jobs,
        title_model=config.title_model,
    )


@asynccontextmanager
async def worker(
    connection: Connection,
    config: Config,
    keys: Mapping[str, str],
    *,
    at_once: int | None = None,
    spaces: SpacePattern | None = None,
) -> AsyncGenerator[SpaceRunners]:
    """Drives the agents of these spaces inside the block, those with unfinished work first.

    On exit open turns stay open, and another worker continues them. `at_once` is the largest
    number of agents driven at once. Without `spaces`, it serves the space of the connection, in
    which agents work in any folder. Agents of the given spaces work only in the folders that the
    configuration gives to them. Raises `EngineError` if the configured engine has no workers or is
    not installed.
    """
    require_durable_engine(config)
    config = config if at_once is None else structs.replace(config, workers=at_once)
    own = spaces is None
    spaces = spaces or SpacePattern((connection.space,))
    limits = configured_limits(config)
    limits = limits.shared() if spaces.has_several else limits

    def serves(space: Space) -> bool:
        return runners.serves(space)

    engine = engine_for(config, connection, limits, serves, for_workers=True)

    def make(of: Connection, engine_of_space: Engine) -> AgentRunner:
        of.folder = space_folder(config, of.space, own=own)
        return assemble(
            of,
            config,
            keys,
            engine=engine_of_space,
            ask_seconds=config.ask_seconds,
            models=models,
            tracing=SharedTracing(tracing),
        )

    tracing = measured(tracing_for(config))  # one exporter, however many spaces there are
    async with Models(keys, urls=config.base_urls) as models:
        runners = SpaceRunners(connection, engine, spaces, make)
        try:
            await import_slow()
            await runners.start()
            yield runners
        finally:
            await runners.close()
            tracing.close()


def measured(tracing: Tracing) -> Tracing:
    """Returns tracing that also counts and times everything in the numbers of this process."""
    from sapwood.metrics import METRICS
    from sapwood.telemetry.metrics_tracing import MetricsTracing

    return MetricsTracing(METRICS, tracing)


def tracing_for(config: Config, environ: Mapping[str, str] = os.environ) -> Tracing:
    """Returns tracing that sends spans to the configured collector, or tracing that does nothing.

    Imports OpenTelemetry only if an address is configured. Logs a warning if it is not installed.
    """
    if not spans_address(config, environ):
        return Untraced()
    try:
        from sapwood.telemetry.spans import ModelIdentity, otlp_spans
    except ModuleNotFoundError:
        _log.warning(
            "An OpenTelemetry endpoint is configured, but OpenTelemetry is not installed. Type: "
            "pip install 'sapwood[otel]'"
        )
        return Untraced()

    def identify(model: str) -> ModelIdentity:
        try:
            route = resolve(model, config.base_urls)
        except Failure:
            return ModelIdentity(model)
        return ModelIdentity(route.model, _SPAN_PROVIDERS.get(route.account, route.account))

    return otlp_spans(config.telemetry.endpoint, identify, content=config.telemetry.content)


@contextmanager
def exported_metrics(config: Config, environ: Mapping[str, str] = os.environ) -> Generator[None]:
    """Sends the numbers of this process to the configured collector inside the block, if any."""
    if not spans_address(config, environ):
        yield
        return
    try:
        from sapwood.metrics import METRICS
        from sapwood.telemetry.metrics_export import otlp_metrics
    except ModuleNotFoundError:
        yield  # `tracing_for` says so
        return
    stop = otlp_metrics(config.telemetry.endpoint, METRICS)
    try:
        yield
    finally:
        stop()


def require_rules(lines: Iterable[str]) -> None:
    """Raises `RuleError` for the first line that is not a permission rule."""
    from sapwood.workspace.permissions.permission_rules import parse_rules

    parse_rules(lines)


def server_toolboxes(
    servers: Mapping[str, McpServer],
    gate: "Callable[[], PermissionGate] | None" = None,
    *,
    start_timeout: float | None = None,
    operator: bool = False,
    beside: Iterable[str] = (),
) -> "list[McpToolbox]":
    """Returns a toolbox for each MCP server. A server starts when its tools are first listed.

    `gate` makes what decides about the calls of one toolbox. With `operator`, they are for people
    of other spaces, who cannot log in to a server. `beside` are all servers of the configuration,
    if not all are wanted: a server whose tools could pose as those of another has none.
    """
    from sapwood.config.server_names import server_name_problems
    from sapwood.workspace.mcp_client.mcp_connection import McpEndpoint
    from sapwood.workspace.mcp_client.mcp_toolbox import McpToolbox, ToolChoice

    problems = server_name_problems(beside or servers)
    timeout = McpEndpoint().start_timeout if start_timeout is None else start_timeout
    return [
        McpToolbox(
            name,
            McpEndpoint(
                command=server.command,
                url=server.url,
                env=server.env,
                headers=server.headers,
                start_timeout=timeout,
                operator=operator,
            ),
            gate() if gate else None,
            ToolChoice(server.enabled_tools, server.disabled_tools),
            problems.get(name, ""),
        )
        for name, server in servers.items()
    ]


def _background_jobs(connection: Connection) -> "BackgroundJobs":
    from sapwood.app.job_log import AgentJobLog
    from sapwood.workspace.background_jobs import BackgroundJobs

    return BackgroundJobs(AgentJobLog(connection), connection.masked)


def toolbox_for(
    config: Config,
    folder: "SpaceFolder | None",
    grants: "Grants | None" = None,
    approve: "AskPermission | None" = None,
    secrets: Sequence[str] = (),
    *,
    space: Space,
    jobs: "BackgroundJobs | None" = None,
) -> Toolbox:
    """Returns the tools of agents that may work in any folder, or only in that of their space.

    Agents with a folder of their space have no tools of plug-ins: these run outside the sandbox.
    """
    from sapwood.workspace.permissions.kept_rules import KeptRules
    from sapwood.workspace.permissions.permission_gate import PermissionGate
    from sapwood.workspace.permissions.permission_rules import parse_rules
    from sapwood.workspace.workspace_toolbox import WorkspaceToolbox

    rules = parse_rules(config.permissions)
    gate = partial(PermissionGate, rules, approve, grants, KeptRules(), secrets)
    if folder is not None:
        return _confined_toolbox(config, gate, approve, secrets, folder)
    toolbox = WorkspaceToolbox(
        gate(),
        secrets=secrets,
        guards=_guards(config),
        sandbox=sandbox_of(config),
        requires_sandbox=config.sandbox == "on",
        asks_in_sandbox=config.sandbox_ask,
        jobs=jobs,
        instructions=config.context.instructions,
    )
    from sapwood.workspace.combined_toolbox import CombinedToolbox
    from sapwood.workspace.web_toolbox import WebToolbox

    asking = _question_tool(approve, secrets)
    servers = server_toolboxes(config.servers, gate)
    plugins = _plugin_tools(config.tools, space, rules, approve)
    combined = CombinedToolbox(toolbox, WebToolbox(gate()), *asking, *plugins, *servers)
    if not config.hooks:
        return combined
    from sapwood.app.configured_hooks import event_hooks
    from sapwood.workspace.hooked_toolbox import HookedToolbox

    return HookedToolbox(combined, event_hooks(config))


def _question_tool(approve: "AskPermission | None", secrets: Sequence[str]) -> list[Toolbox]:
    """The tool by which a model asks the person; none where nobody can answer."""
    from sapwood.workspace.question_toolbox import QuestionToolbox

    return [QuestionToolbox(approve, secrets)] if approve else []


def _plugin_tools(
    names: Sequence[str], space: Space, rules: "PermissionRules", approve: "AskPermission | None"
) -> list[Toolbox]:
    """The functions of plug-ins with these names, as one toolbox."""
    from sapwood.workspace.function_toolbox import FunctionToolbox, plugin_tools

    tools = plugin_tools(names)
    return [FunctionToolbox(space, tools, rules, approve)] if tools else []


def _confined_toolbox(
    config: Config,
    gate: "Callable[[], PermissionGate]",
    approve: "AskPermission | None",
    secrets: Sequence[str],
    folder: "SpaceFolder",
) -> Toolbox:
    """The tools of a space with one folder, or without any: its people are not the operator.

    Commands run only in a sandbox that shows nothing but the system and that folder.
    """
    from sapwood.workspace.combined_toolbox import CombinedToolbox
    from sapwood.workspace.space_folder import ConfinedToolbox
    from sapwood.workspace.web_toolbox import WebToolbox
    from sapwood.workspace.workspace_toolbox import WorkspaceToolbox

    servers = {name: server for name, server in config.servers.items() if server.spaces}
    parts: list[Toolbox] = [
        *_question_tool(approve, secrets),
        *server_toolboxes(servers, gate, operator=True, beside=config.servers),
    ]
    if folder.path:
        tools = WorkspaceToolbox(
            gate(),
            environment={k: v for k, v in os.environ.items() if k in _TENANT_VARIABLES},
            secrets=secrets,
            guards=_guards(config),
            folder=folder,
            folder_network=config.folders_network,
            instructions=config.context.instructions,
        )
        parts.insert(0, tools)
    if config.folders_network:
        parts.append(WebToolbox(gate()))
    return ConfinedToolbox(CombinedToolbox(*parts), folder)


def programs_for(
    config: Config,
    grants: "Grants | None" = None,
    approve: "AskPermission | None" = None,
    secrets: Sequence[str] = (),
    *,
    available: bool = True,
) -> "Programs":
    """Returns the agent programs of this machine; none of them is started yet.

    Those that are not `available` fail: they would run as the operator, outside the sandbox.
    """
    from sapwood.app.program_access import Programs
    from sapwood.workspace.permissions.kept_rules import KeptRules
    from sapwood.workspace.permissions.permission_gate import PermissionGate
    from sapwood.workspace.permissions.permission_rules import parse_rules

    rules = parse_rules(config.permissions)
    gate = PermissionGate(rules, approve, grants, KeptRules(), tuple(secrets))
    return Programs(gate, _guards(config), available=available)


def sandbox_of(config: Config) -> "Sandbox | None":
    """What confines commands, with Sapwood's own files hidden; None if it is switched off."""
    if config.sandbox == "off":
        return None
    from sapwood.workspace.sandbox import Sandbox

    hidden = [config_folder(), data_folder(), config_file(), keys_file(), mcp_logins_file()]
    own = [os.path.realpath(path) for path in (*map(str, hidden), *own_files(config.address))]
    return Sandbox(config.sandbox_network, config.sandbox_readable, tuple(dict.fromkeys(own)))


def _guards(config: Config) -> "PathGuards":
    """Guards Sapwood's own files: settings, rules, keys, database, archives."""
    from sapwood.workspace.permissions.guarded_paths import PathGuards

    own = [config_folder(), data_folder(), config_file(), keys_file(), mcp_logins_file()]
    own += [] if "://" in config.address else [Path(config.address).expanduser()]
    return PathGuards(map(str, own), str(keys_file()))


def _grants(connection: Connection, allow: Sequence[str], root: AgentId | None) -> "Grants | None":
    """Returns a function that gives the allowed rules to `root` and its descendants only."""
    if not allow or root is None:
        return None
    from sapwood.workspace.permissions.permission_rules import parse_rules

    rules = parse_rules(f"allow {rule}" for rule in allow)

    async def granted(agent: AgentId) -> "PermissionRules":
        if agent == root or root in await connection.log.ancestors(connection.space, agent):
            return rules
        return ()

    return granted
