"""What is connected with Claude Code and Codex, and whether it works. Looks and changes nothing."""

import asyncio
import os
import shutil
import time
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sapwood.app.findings import Finding
from sapwood.app.folders import data_folder, journal_file
from sapwood.app.installing.agents import AGENTS, Agent
from sapwood.app.installing.asking import NoAnswer, ask_program
from sapwood.app.installing.edits import InstallError
from sapwood.app.installing.install import plan_install
from sapwood.app.installing.plugin_files import own_command
from sapwood.app.installing.records import read_record
from sapwood.garden.journal import read_acts

__all__ = ["examine_agents"]

_SECONDS = 10.0
_DAY = 86_400


async def examine_agents(environ: Mapping[str, str] = os.environ) -> list[Finding]:
    """Each program, whether it is connected, and what came of it."""
    findings: list[Finding] = []
    for agent in AGENTS:
        program = shutil.which(agent.program, path=environ.get("PATH"))
        version = await _version(program) if program else ""
        findings.append(_connection(agent, version, environ))
        if read_record(agent.name) is not None:
            findings.append(_last_run(agent))
            if agent.name == "codex" and program:
                findings.append(await _trust(program, environ))
    if any(read_record(agent.name) for agent in AGENTS):
        findings += [*_failures(), await _server(environ)]
    return findings


async def _version(program: str) -> str:
    """What the program says of its version, shortened to figures."""
    try:
        async with asyncio.timeout(_SECONDS):
            asked = await asyncio.create_subprocess_exec(
                program, "--version", stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL
            )
            out, _ = await asked.communicate()
    except (OSError, TimeoutError):
        return "version unknown"
    words = out.decode("utf-8", "replace").split()
    return next((word for word in words if word[:1].isdigit()), "version unknown")


def _connection(agent: Agent, version: str, environ: Mapping[str, str]) -> Finding:
    record = read_record(agent.name)
    then = f"sapwood install {agent.name}"
    if record is None:
        if not version:
            return Finding(agent.name, "open", f"{agent.program} is not on the path")
        return Finding(agent.name, "open", f"{agent.program} {version}, not connected", then)
    found = f"{agent.program} {version}" if version else f"{agent.program} is not on the path"
    try:
        stale = plan_install(agent, environ).edits
    except InstallError as error:
        return Finding(agent.name, "broken", str(error))
    if stale:
        says = f"{found}, connected, but {len(stale)} files are not as this Sapwood writes them"
        return Finding(agent.name, "open", says, then)
    return Finding(agent.name, "ok", f"{found}, connected (plugin {record.version})")


def _last_run(agent: Agent) -> Finding:
    topic = f"{agent.name} hooks"
    folder = data_folder() / "tending" / "sessions" / "ran"
    marks = list(folder.glob(f"{agent.name}.*"))
    if not marks:
        return Finding(topic, "open", "none has run yet: start a session")
    newest = max(marks, key=lambda mark: mark.stat().st_mtime)
    minutes = int(time.time() - newest.stat().st_mtime) // 60
    when = "just now" if not minutes else f"{minutes:,} min ago"
    return Finding(topic, "ok", f"{newest.suffix[1:]} ran {when}")


async def _trust(program: str, environ: Mapping[str, str]) -> Finding:
    """Codex is asked itself whether its user lets our hooks run."""
    topic = "codex trust"
    try:
        answer = await ask_program(
            (program, "app-server"),
            {"clientInfo": {"name": "sapwood", "version": "0"}},
            "initialized",
            "hooks/list",
            {"cwds": [str(Path.cwd())]},
            environ=environ,
            seconds=_SECONDS,
        )
    except NoAnswer as error:
        return Finding(topic, "open", f"codex does not say: {error}")
    hooks: list[dict[str, Any]] = [hook for each in answer["data"] for hook in each["hooks"]]
    ours = [hook for hook in hooks if hook.get("pluginId") == "sapwood@sapwood"]
    trusted = [hook for hook in ours if hook.get("trustStatus") in ("trusted", "managed")]
    if not ours:
        then = "codex plugin add sapwood@sapwood"
        return Finding(topic, "broken", "codex does not load the plugin", then)
    if len(trusted) < len(ours):
        says = f"codex waits for your review: {len(trusted)} of {len(ours)} hooks are trusted"
        return Finding(topic, "open", says, "codex, then /hooks")
    return Finding(topic, "ok", f"all {len(ours)} hooks are trusted")


def _failures() -> list[Finding]:
    since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - _DAY))
    failed = [act for act in read_acts(journal_file()) if act.did == "failed" and act.at >= since]
    if not failed:
        return []
    says = f"{len(failed)} failed in the last day, the last: {failed[-1].says}"
    return [Finding("hooks", "broken", says, "sapwood journal --did failed")]


async def _server(environ: Mapping[str, str]) -> Finding:
    """The MCP server, started and asked for its tools as an agent would."""
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "sapwood doctor", "version": "0"},
    }
    command = (*own_command(), "mcp")
    try:
        answer = await ask_program(
            command, hello, "notifications/initialized", "tools/list", {}, environ=environ
        )
    except NoAnswer as error:
        return Finding("mcp server", "broken", f"`sapwood mcp` does not answer: {error}")
    names = ", ".join(tool["name"] for tool in answer["tools"])
    return Finding("mcp server", "ok", f"`sapwood mcp` offers {names}")
