"""Checks the connections with Claude Code and Codex, and changes nothing."""

import asyncio
import os
import shutil
import time
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sapwood.config.folders import data_folder, journal_file
from sapwood.core.executor import PROGRAMS
from sapwood.doctor import Finding
from sapwood.doctor.json_rpc import NoAnswer, call_program
from sapwood.install.agent_program import AGENT_PROGRAMS, AgentProgram
from sapwood.install.file_edits import InstallError
from sapwood.install.installation import read_record
from sapwood.install.installer import plan_install
from sapwood.install.plugin_files import own_command
from sapwood.journal import read_entries
from sapwood.providers.program_list import installed_program

_SECONDS = 10.0
_DAY = 86_400


async def check_programs(environ: Mapping[str, str] = os.environ) -> list[Finding]:
    """Checks for each program whether it is connected, and whether its hooks and server work."""
    findings: list[Finding] = []
    for agent in AGENT_PROGRAMS:
        program = shutil.which(agent.program, path=environ.get("PATH"))
        version = await _version(program) if program else ""
        findings.append(_connection_finding(agent, version, environ))
        findings.append(await asyncio.to_thread(_turns_finding, agent.name, environ))
        if read_record(agent.name) is not None:
            findings.append(_last_run(agent))
            if agent.name == "codex" and program:
                findings.append(await _trust(program, environ))
    if any(read_record(agent.name) for agent in AGENT_PROGRAMS):
        findings += [*_failures(), await _server(environ)]
    return findings


async def _version(program: str) -> str:
    """The version number that the program prints."""
    try:
        async with asyncio.timeout(_SECONDS):
            process = await asyncio.create_subprocess_exec(
                program, "--version", stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL
            )
            out, _ = await process.communicate()
    except (OSError, TimeoutError):
        return "version unknown"
    words = out.decode("utf-8", "replace").split()
    return next((word for word in words if word[:1].isdigit()), "version unknown")


def _connection_finding(agent: AgentProgram, version: str, environ: Mapping[str, str]) -> Finding:
    record = read_record(agent.name)
    next_step = f"sapwood install {agent.name}"
    if record is None:
        if not version:
            return Finding(agent.name, "open", f"{agent.program} is not on the PATH")
        return Finding(agent.name, "open", f"{agent.program} {version}, not connected", next_step)
    found = f"{agent.program} {version}" if version else f"{agent.program} is not on the PATH"
    try:
        stale = plan_install(agent, environ).edits
    except InstallError as error:
        return Finding(agent.name, "broken", str(error))
    if stale:
        message = (
            f"{found}, connected, but {len(stale)} files differ from what this version of Sapwood "
            "writes"
        )
        return Finding(agent.name, "open", message, next_step)
    return Finding(agent.name, "ok", f"{found}, connected (plugin {record.version})")


def _turns_finding(program: str, environ: Mapping[str, str]) -> Finding:
    """Whether the program can run turns for Sapwood."""
    topic, about = f"{program} turns", PROGRAMS[program]
    info = installed_program(program, environ)
    if info is None:
        return Finding(topic, "open", f"{about.title} is not installed", about.install)
    if info.logged_in is False:
        return Finding(topic, "open", f"{about.title} is not logged in", about.log_in)
    tried = (
        ""
        if info.supported
        else (
            "; this version is untested: Sapwood writes new sessions instead of changing existing "
            "ones"
        )
    )
    return Finding(topic, "ok", f"{info.version} can run turns: sapwood --with {program}{tried}")


def _last_run(agent: AgentProgram) -> Finding:
    topic = f"{agent.name} hooks"
    folder = data_folder() / "tending" / "sessions" / "ran"
    runs = list(folder.glob(f"{agent.name}.*"))
    if not runs:
        return Finding(topic, "open", "none has run yet; start a session to see one")
    newest = max(runs, key=lambda run: run.stat().st_mtime)
    minutes = int(time.time() - newest.stat().st_mtime) // 60
    when = "just now" if not minutes else f"{minutes:,} min ago"
    return Finding(topic, "ok", f"{newest.suffix[1:]} ran {when}")


async def _trust(program: str, environ: Mapping[str, str]) -> Finding:
    """Asks Codex whether its user has trusted Sapwood's hooks."""
    topic = "codex trust"
    try:
        answer = await call_program(
            (program, "app-server"),
            {"clientInfo": {"name": "sapwood", "version": "0"}},
            "initialized",
            "hooks/list",
            {"cwds": [str(Path.cwd())]},
            environ=environ,
            seconds=_SECONDS,
        )
    except NoAnswer as error:
        return Finding(topic, "open", f"codex did not answer: {error}")
    hooks: list[dict[str, Any]] = [hook for each in answer["data"] for hook in each["hooks"]]
    ours = [hook for hook in hooks if hook.get("pluginId") == "sapwood@sapwood"]
    trusted = [hook for hook in ours if hook.get("trustStatus") in ("trusted", "managed")]
    if not ours:
        next_step = "codex plugin add sapwood@sapwood"
        return Finding(topic, "broken", "codex does not load the plugin", next_step)
    if len(trusted) < len(ours):
        message = f"codex needs your review: {len(trusted)} of {len(ours)} hooks are trusted"
        return Finding(topic, "open", message, "codex, then /hooks")
    return Finding(topic, "ok", f"all {len(ours)} hooks are trusted")


def _failures() -> list[Finding]:
    since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - _DAY))
    failed = [
        entry
        for entry in read_entries(journal_file())
        if entry.kind == "failed" and entry.at >= since
    ]
    if not failed:
        return []
    message = f"{len(failed)} failed in the last day; most recently: {failed[-1].message}"
    return [Finding("hooks", "broken", message, "sapwood journal --did failed")]


async def _server(environ: Mapping[str, str]) -> Finding:
    """Starts the MCP server and lists its tools, as an agent would."""
    initialize = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "sapwood doctor", "version": "0"},
    }
    command = (*own_command(), "mcp")
    try:
        answer = await call_program(
            command, initialize, "notifications/initialized", "tools/list", {}, environ=environ
        )
    except NoAnswer as error:
        return Finding("mcp server", "broken", f"`sapwood mcp` does not answer: {error}")
    names = ", ".join(tool["name"] for tool in answer["tools"])
    return Finding("mcp server", "ok", f"`sapwood mcp` offers {names}")
