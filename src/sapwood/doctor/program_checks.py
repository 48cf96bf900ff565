"""Checks the connections with agent programs, and changes nothing.

Tests on this machine which agent programs allow that their sessions are changed in place.
"""

import asyncio
import os
import shutil
import time
from collections.abc import Mapping

from msgspec import Struct

from sapwood.config.folders import data_folder, journal_file
from sapwood.doctor import Finding
from sapwood.journal import read_entries
from sapwood.programs.agent_provider import ProgramInfo
from sapwood.programs.installation.file_edits import InstallError
from sapwood.programs.installation.installer import plan_install, read_record
from sapwood.programs.installation.plugin_files import own_command
from sapwood.programs.installed_programs import installed_program, make_provider, printed_version
from sapwood.programs.json_rpc import NoAnswer, call_program
from sapwood.programs.program import Program
from sapwood.programs.registry import programs_with

_DAY = 86_400


async def check_programs(environ: Mapping[str, str] = os.environ) -> list[Finding]:
    """Checks for each program whether it is connected, and whether its hooks and server work."""
    findings: list[Finding] = []
    agents = programs_with("installer")
    for agent in agents:
        executable = shutil.which(agent.executable, path=environ.get("PATH"))
        version = ""
        if executable:
            version = await asyncio.to_thread(printed_version, executable) or "version unknown"
        findings.append(_connection_finding(agent, version, environ))
        if agent.runs_turns:
            findings += await asyncio.to_thread(_turns_findings, agent, environ)
        if read_record(agent.name) is not None and "hooks" in agent.parts:
            findings.append(_last_run(agent))
            if executable and (asked := agent.hooks.trust):
                trust = await asked(executable, environ)
                topic = f"{agent.name} trust"
                findings.append(Finding(topic, trust.state, trust.message, trust.next_step))
    if any(read_record(agent.name) for agent in agents):
        findings += [*_failures(), await _server(environ)]
    return findings


def _connection_finding(agent: Program, version: str, environ: Mapping[str, str]) -> Finding:
    record = read_record(agent.name)
    next_step = f"sapwood install {agent.name}"
    found = f"{agent.executable} {version}" if version else f"{agent.executable} is not on the PATH"
    if record is None:
        if not version:
            return Finding(agent.name, "open", found)
        return Finding(agent.name, "open", f"{found}, not connected", next_step)
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


def _turns_findings(agent: Program, environ: Mapping[str, str]) -> list[Finding]:
    """Whether the program can run turns for Sapwood, and whether its sessions can be changed."""
    topic = f"{agent.name} turns"
    info = installed_program(agent.name, environ)
    if info is None:
        return [Finding(topic, "open", f"{agent.title} is not installed", agent.install)]
    runs = Finding(topic, "ok", f"{info.version} can run turns: sapwood --with {agent.name}")
    if info.logged_in is False:
        runs = Finding(topic, "open", f"{agent.title} is not logged in", agent.log_in)
    return [runs, _in_place_finding(agent, info)]


def _in_place_finding(agent: Program, info: ProgramInfo) -> Finding:
    """Whether the program's sessions can be changed in place, as far as it was tested."""
    topic = f"{agent.name} sessions"
    if info.in_place:
        return Finding(topic, "ok", f"{info.version} was tested here: changed in place")
    message = info.reason or "not tested yet; the first change of a session will test it"
    return Finding(topic, "open", message, f"sapwood programs{' --again' * bool(info.reason)}")


def _last_run(agent: Program) -> Finding:
    topic = f"{agent.name} hooks"
    folder = data_folder() / "tending" / "sessions" / "ran"
    runs = list(folder.glob(f"{agent.name}.*"))
    if not runs:
        return Finding(topic, "open", "none has run yet; start a session to see one")
    newest = max(runs, key=lambda run: run.stat().st_mtime)
    minutes = int(time.time() - newest.stat().st_mtime) // 60
    when = "just now" if not minutes else f"{minutes:,} min ago"
    return Finding(topic, "ok", f"{newest.suffix[1:]} ran {when}")


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


class ProgramReport(Struct, frozen=True, omit_defaults=True):
    """An installed program, and the result of its test. `tested` is a time in microseconds."""

    program: str
    version: str
    path: str
    in_place: bool
    tested: int
    reason: str = ""


def examine_programs(*, again: bool = False) -> list[ProgramReport]:
    """Tests each installed program that was not tested, or all of them `again`.

    A test takes some seconds, starts the program in a scratch home, and reads nothing of the user.
    """
    found: list[ProgramReport] = []
    for each in programs_with("probe"):
        info = make_provider(each.name, environ=os.environ).prove(again=again)
        if info is not None:
            found.append(
                ProgramReport(
                    each.name,
                    info.version,
                    info.path,
                    bool(info.in_place),
                    int(info.tested * 1_000_000),
                    info.reason,
                )
            )
    return found
