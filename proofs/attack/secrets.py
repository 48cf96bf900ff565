"""Attacks on secrets: costly text, stored keys, files that other users can read."""

import base64
import json
import os
import stat
import subprocess
from pathlib import Path

from proofs.attack.registry import attack, held
from proofs.attack.victim import Victim

_TOKEN = "ghp_" + "aB3dE6gH9j" * 3 + "kL5mN7"  # the shape of a key; no key
_ANTHROPIC = "sk-" + "ant-" + "api03-" + "Zy9xW8vU7t" * 9 + "AA"


@attack("S4", "make the program search a file for secrets for minutes")
def costly_files(victim: Victim) -> None:
    texts = {
        "jwt": "-eyJ" * 50_000,
        "key": "sk-ant-" * 28_000,
        "pem": "-----BEGIN RSA PRIVATE KEY-----" + " " * 200_000,
        "word": "a" * 200_000,
        "equals": "password=" * 22_000,
    }
    (victim.project / "README.md").write_text("Hello.")
    plain = _reads(victim, "README.md")
    for name, text in texts.items():
        (victim.project / name).write_text(text)
        spent = _reads(victim, name)
        held(spent < plain + 3.0, f"{name}: {spent:.1f} s of CPU, {plain:.1f} s for a short file")


def _reads(victim: Victim, path: str) -> float:
    prompt = f"Go. [[tool: read_file {json.dumps({'path': path})}]] [[say: finished]]"
    ended = victim.ask(prompt, "--timeout", "150")
    held("finished" in ended.out, f"reading {path} did not end: {ended.err[-300:]}")
    return ended.cpu


@attack("S5", "have a key stored with a prompt, a reply, an argument or a result")
def stored_keys(victim: Victim) -> None:
    line = base64.b64encode(_ANTHROPIC.encode()).decode()
    (victim.project / "log.txt").write_text(
        f"one\\n{_TOKEN}\n\x1b[31m{_TOKEN}\x1b[0m\n%20{_TOKEN}%20\n"
        f"DB_PASS={_TOKEN}\ncurl -u me:{_TOKEN} x\n"
    )
    victim.run("run", "-p", f"My key is {_TOKEN}. [[say: It is {_TOKEN}.]]")
    prompt = (
        '[[tool: read_file {"path": "log.txt"}]]'
        f' [[tool: shell {{"command": "echo {_TOKEN}"}}]] [[say: finished]]'
    )
    victim.run("run", "-p", prompt, "--allow", "shell")
    stored = victim.stored()
    held(_TOKEN.encode() not in stored, "a key is in the database")
    victim.run("run", "-p", f"[[say: {line}]]", env={"ANTHROPIC_API_KEY": _ANTHROPIC})
    held(line.encode() not in victim.stored(), "the configured key is stored in base64")


@attack("L1", "store a key through the Python library")
def stored_by_library(victim: Victim) -> None:
    program = f"""
import asyncio, sapwood
async def main():
    async with sapwood.open({str(victim.home / "library.db")!r}) as db:
        agent = await db.start("talk")
        async with agent.turn("My key is {_TOKEN}") as turn:
            await turn.call()
            asked = sapwood.ToolCall("1", "echo", '{{"k": "{_TOKEN}"}}')
            await turn.reply(calls=[asked])
            await turn.result("1", "{_TOKEN}")
            await turn.call()
            await turn.reply("{_TOKEN}")
asyncio.run(main())
"""
    ended = victim.call([*victim.command()[:2], "-c", program])
    held(ended.code == 0, f"the library failed: {ended.err[-500:]}")
    stored = b"".join(file.read_bytes() for file in victim.home.glob("library.db*"))
    held(_TOKEN.encode() not in stored, "a key is in the database")


@attack("S11", "read private files after they were copied, set or restored")
def readable_copies(victim: Victim) -> None:
    settings = victim.home / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"env": {"TOKEN": "private-text"}}')
    settings.chmod(0o600)
    victim.run("install", "claude-code", "--yes")
    victim.run("config", "set", "context.cap", "50000")
    held(_mode(settings) == 0o600, f"the settings have mode {_mode(settings):o}")
    held(_mode(victim.config_file) == 0o600, "the configuration is readable by others")
    for place in ("data", "state", "config", "cache"):
        for file in (victim.home / place).rglob("*"):
            if file.is_file() and b"private-text" in file.read_bytes():
                held(not _others(file), f"{file.name} is readable by others")


def _mode(file: Path) -> int:
    return stat.S_IMODE(file.stat().st_mode)


def _others(file: Path) -> bool:
    """Whether other users can read a file."""
    if not file.stat().st_mode & 0o044:
        return False
    folders = [folder for folder in file.parents if folder.name]
    return all(os.stat(folder).st_mode & 0o011 for folder in folders)


@attack("low", "print a password of a server's address with config and doctor")
def printed_passwords(victim: Victim) -> None:
    victim.configure()
    text = victim.config_file.read_text()
    text += 'openai = "http://me:pass-word-1@127.0.0.1:9/v1"\n'
    text += '[servers.notes]\nurl = "http://me:pass-word-2@127.0.0.1:9/mcp"\n'
    victim.config_file.write_text(text)
    printed = victim.run("config").text + victim.run("doctor").text
    for word in ("pass-word-1", "pass-word-2"):
        held(word not in printed, f"{word} is printed")


@attack("low", "hang the importer with a pipe that nobody writes to")
def pipe_to_import(victim: Victim) -> None:
    pipe = victim.project / "session.jsonl"
    os.mkfifo(pipe)
    try:
        victim.run("import", str(pipe), limit=60.0)
    except subprocess.TimeoutExpired:
        held(False, "the importer waits for a pipe")
