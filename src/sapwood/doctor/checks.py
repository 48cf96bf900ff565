"""Checks what is configured, what can be reached, and what is missing.

Nothing is changed: a database that does not exist is not created.

Checks the engine that decides which process drives an agent.

Checks what agents work with: MCP servers, the sandbox, and checkpoints of this folder.
"""

import asyncio
import os
import platform
import re
import socket
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib import metadata
from typing import Protocol
from urllib.parse import urlsplit

from msgspec import structs

from sapwood.config.api_keys import KEY_VARIABLES, key_origins, load_keys
from sapwood.config.config_file import (
    Config,
    ConfigError,
    McpServer,
    config_file,
    load_config,
    spans_address,
)
from sapwood.core.checkpoint import Unsaved
from sapwood.core.model_calls import Failure
from sapwood.core.plural import counted
from sapwood.core.settings import Workspace
from sapwood.doctor import Finding as Finding
from sapwood.doctor.database_checks import Progress, check_database
from sapwood.doctor.program_checks import check_programs
from sapwood.engine import EngineError
from sapwood.engine.engine_plugin import DBOS_IS_AUTO, OWN_ENGINES, load_engine
from sapwood.models import window_of
from sapwood.models.model_routes import resolve
from sapwood.plugins import examine_plugins, plugin_names
from sapwood.programs.installed_programs import ready_programs
from sapwood.programs.registry import program_executor
from sapwood.workspace.mcp_client.mcp_toolbox import McpToolbox


async def check_engine(config: Config, *, online: bool) -> list[Finding]:
    """Whether the configured engine is installed and, of a plug-in, whether it can work.

    Those of Sapwood itself need no check.
    """
    if config.engine == "dbos":
        return [Finding("engine", "open", DBOS_IS_AUTO, "sapwood config set engine auto")]
    if config.engine in OWN_ENGINES:
        return []
    try:
        engine = load_engine(config.engine)
        return [Finding("engine", "ok", await engine.check(config))] if online else []
    except EngineError as problem:
        return [Finding("engine", "broken", str(problem))]


_SERVER_SECONDS = 15.0


class MakeToolboxes(Protocol):
    """Makes one toolbox for each configured MCP server, without starting the server."""

    def __call__(
        self, servers: Mapping[str, McpServer], *, start_timeout: float
    ) -> Sequence[McpToolbox]: ...


async def check_checkpoints(config: Config) -> Finding:
    """Checks whether changes of agents to this folder can be undone."""
    if not config.checkpoints.enabled:
        next_step = "sapwood config unset checkpoints.enabled"
        return Finding("checkpoints", "open", "switched off", next_step)
    from sapwood.workspace.checkpoints.git_checkpoints import GitCheckpoints

    root = await GitCheckpoints().root(Workspace(os.getcwd()))
    if isinstance(root, Unsaved):
        return Finding("checkpoints", "open", root.reason)
    return Finding("checkpoints", "ok", f"of {root}")


def check_sandbox(config: Config) -> Finding:
    """Checks whether commands of models are confined."""
    from sapwood.workspace.sandbox import sandbox_problem

    if config.sandbox == "off":
        next_step = "sapwood config set sandbox auto"
        return Finding(
            "sandbox", "open", "turned off: commands run with your permissions", next_step
        )
    problem = sandbox_problem()
    if not problem:
        network = "with" if config.sandbox_network else "without"
        return Finding("sandbox", "ok", f"bubblewrap, {network} network")
    effect = (
        "the shell tool is disabled"
        if config.sandbox == "on"
        else "commands run with your permissions"
    )
    status = "broken" if config.sandbox == "on" else "open"
    return Finding("sandbox", status, f"{problem}: {effect}", "sudo apt install bubblewrap")


async def check_servers(
    servers: Mapping[str, McpServer], make_toolboxes: MakeToolboxes
) -> list[Finding]:
    """Starts or calls every server, lists its tools, and stops it again."""
    boxes = make_toolboxes(servers, start_timeout=_SERVER_SECONDS)
    return await asyncio.gather(*map(_check_server, servers, boxes))


async def _check_server(name: str, box: McpToolbox) -> Finding:
    topic = f"server: {name}"
    try:
        tools = len(await box.specs())
    finally:
        await box.close()
    if box.trouble:
        return Finding(topic, "broken", box.trouble)
    if box.notice:
        return Finding(topic, "open", box.notice)
    return Finding(topic, "ok", f"offers {counted(tools, 'tool')}")


RequireModel = Callable[[str, Config, Mapping[str, str]], None]
"""Raises `Failure` if a call to a model would fail for want of a key or a package."""

_SECONDS = 5.0
_PACKAGE = re.compile(r"(?P<package>[A-Za-z0-9._-]+)")
_EXTRA = re.compile(
    rf"{_PACKAGE.pattern}(\[(?P<inner>[^\]]+)\])?[^;]*;"
    r".*extra == ['\"](?P<extra>[^'\"]+)['\"]"
)


_ADDRESS_VARIABLES = {
    "anthropic": "ANTHROPIC_BASE_URL",
    "openai": "OPENAI_BASE_URL",
    "google": "GOOGLE_GEMINI_BASE_URL",
}


async def examine(
    overrides: Mapping[str, str],
    require_model: RequireModel,
    make_toolboxes: MakeToolboxes,
    *,
    environ: Mapping[str, str] = os.environ,
    online: bool = True,
    progress: Progress | None = None,
) -> list[Finding]:
    """Runs every check. `overrides` replace configured values; `online` allows network access.

    `progress` is called with the number of events read so far, when reading takes over a second.
    """
    findings = [_versions()]
    try:
        config = structs.replace(load_config(environ), **overrides)
        keys = load_keys(environ)
    except ConfigError as error:
        next_step = '$EDITOR "$(sapwood config path)"'
        return [*findings, Finding("configuration", "broken", str(error), next_step)]
    findings += [_configuration(environ), *await check_database(config, progress), *_keys(environ)]
    findings += await _model(config, keys, require_model, environ, online=online)
    findings += _unread_addresses(config, environ)
    findings += await check_engine(config, online=online)
    if online and config.servers:
        findings += await check_servers(config.servers, make_toolboxes)
    findings += [await check_checkpoints(config), check_sandbox(config)]
    findings += await check_programs(environ)
    return [
        *findings,
        *_extras(),
        *_plugins(config),
        _log_folder(config),
        *_telemetry(config, environ),
    ]


def _versions() -> Finding:
    message = (
        f"{metadata.version('sapwood')} on Python {platform.python_version()}, "
        f"SQLite {sqlite3.sqlite_version}"
    )
    return Finding("sapwood", "ok", message)


def _configuration(environ: Mapping[str, str]) -> Finding:
    file = config_file(environ)
    if file.exists():
        return Finding("configuration", "ok", str(file))
    return Finding("configuration", "ok", f"{file} (does not exist; using the defaults)")


def _keys(environ: Mapping[str, str]) -> list[Finding]:
    origins = key_origins(environ)
    found = [Finding(f"key: {name}", "ok", f"from {where}") for name, where in origins.items()]
    missing = [name for name in KEY_VARIABLES if name not in origins]
    if not origins:
        message = "none is stored for any provider"
        return [Finding("keys", "open", message, "sapwood config key anthropic")]
    return [*found, *(Finding(f"key: {name}", "open", "none") for name in missing)]


async def _model(
    config: Config,
    keys: Mapping[str, str],
    require_model: RequireModel,
    environ: Mapping[str, str],
    *,
    online: bool,
) -> list[Finding]:
    if not config.model:
        ready = await asyncio.to_thread(ready_programs, environ)
        proposed = ready[0] if ready else "claude-sonnet-5-5"
        next_step = f"sapwood config set model {proposed}"
        message = "none is set; only conversations in Sapwood itself need one"
        return [Finding("model", "open", message, next_step)]
    try:
        require_model(config.model, config, keys)
    except Failure as failure:
        return [Finding("model", "broken", f"{config.model}: {failure}")]
    window = window_of(config.model)
    takes = f"takes {window:,} tokens" if window else "the size of its window is unknown"
    if (executor := program_executor(config.model)) is not None:
        takes = f"{executor.title} runs the turns"
    findings = [Finding("model", "ok", f"{config.model}, {takes}")]
    if online and program_executor(config.model) is None:
        findings.append(await _reach(resolve(config.model, config.base_urls).url))
    return findings


async def _reach(url: str) -> Finding:
    """Opens a connection and sends nothing, not even a key."""
    parts = urlsplit(url)
    secure = parts.scheme == "https"
    port = parts.port or (443 if secure else 80)
    place = parts.netloc.rpartition("@")[2]
    try:
        async with asyncio.timeout(_SECONDS):
            _, writer = await asyncio.open_connection(parts.hostname, port, ssl=secure or None)
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()
    except (OSError, TimeoutError) as problem:
        why = str(problem) or "no answer"
        if isinstance(problem, socket.gaierror):
            why = "its name was not found. Check the network and the address."
        return Finding("network", "broken", f"{place} cannot be reached: {why}")
    return Finding("network", "ok", f"{place} can be reached")


def _unread_addresses(config: Config, environ: Mapping[str, str]) -> list[Finding]:
    """Addresses of proxies that are set for other programs, and that Sapwood does not read."""
    return [
        Finding(
            f"address: {provider}",
            "open",
            f"{variable} is set, but Sapwood does not read it",
            f'sapwood config set base_urls.{provider} "${variable}"',
        )
        for provider, variable in _ADDRESS_VARIABLES.items()
        if environ.get(variable) and provider not in config.base_urls
    ]


def _extras() -> list[Finding]:
    """Which extras of `pip install 'sapwood[…]'` are installed, and which are not."""
    wanted = {n: found for n, found in _required_by_extras("sapwood").items() if n != "all"}
    here = [name for name in sorted(wanted) if all(_has(*each) for each in wanted[name])]
    missing = [name for name in sorted(wanted) if name not in here]
    found = [Finding("extras", "ok", ", ".join(here))] if here else []
    if missing:
        message = f"not installed: {', '.join(missing)}"
        found.append(Finding("extras", "open", message, "pip install 'sapwood[NAME]'"))
    return found


def _required_by_extras(package: str) -> dict[str, list[tuple[str, str]]]:
    """For each extra of an installed package, what it requires: packages, and extras of them."""
    wanted: dict[str, list[tuple[str, str]]] = {}
    for line in metadata.requires(package) or []:
        if (found := _EXTRA.match(line)) and found["package"].lower() != package:
            wanted.setdefault(found["extra"], []).append((found["package"], found["inner"] or ""))
    return wanted


def _has(package: str, extra: str) -> bool:
    """Whether a package is installed, with what this extra of it requires."""
    if not _is_installed(package):
        return False
    if not package.startswith("sapwood-"):
        return True
    own = [line for line in metadata.requires(package) or [] if ";" not in line]
    needed = [found["package"] for line in own if (found := _PACKAGE.match(line))]
    inner = _required_by_extras(package).get(extra, [])
    return all(map(_is_installed, needed)) and all(_has(*each) for each in inner)


def _plugins(config: Config) -> list[Finding]:
    """The distributions with plug-ins; one that cannot be loaded is broken."""
    found = [
        Finding("plug-in", "broken", " ".join(problems))
        if problems
        else Finding("plug-in", "ok", distribution)
        for distribution, problems in examine_plugins().items()
    ]
    missing = set(config.tools) - set(plugin_names("tools"))
    return found + [
        Finding("tool", "broken", f"no plug-in has the configured tool '{name}'")
        for name in sorted(missing)
    ]


def _is_installed(package: str) -> bool:
    try:
        metadata.version(package)
    except metadata.PackageNotFoundError:
        return False
    return True


def _log_folder(config: Config) -> Finding:
    folder = config.log_folder
    existing = next(each for each in (folder, *folder.parents) if each.exists())
    if os.access(existing, os.W_OK):
        return Finding("log file", "ok", str(folder / "sapwood.log"))
    return Finding("log file", "open", f"{folder} cannot be written; nothing is logged")


def _telemetry(config: Config, environ: Mapping[str, str]) -> list[Finding]:
    """The collector that gets spans, if one is configured."""
    address = spans_address(config, environ)
    if not address:
        return []
    content = " with the text of conversations" if config.telemetry.content else ""
    if not _is_installed("opentelemetry-sdk"):
        missing = f"for {address}, but cannot be sent: the otel extra is not installed"
        return [Finding("spans", "broken", missing, "pip install 'sapwood[otel]'")]
    return [Finding("spans", "ok", f"sent to {address}{content}")]
