"""Attacks on the bounds: a model that works without end, and processes that outlive their call."""

import json
import os
import shlex
import stat
import subprocess
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from proofs.attack.registry import attack, held
from proofs.attack.victim import Ended, Victim
from scripted_model import ModelRequest, ReplyLike, call

_LATE = 10.0
"""Seconds that a run may take longer than its timeout and a harmless run together."""
_CPU = 8.0
"""Seconds of processor time that a hostile answer may cost more than a harmless one."""
_TIMEOUT = 25.0
_CALLS = 600
"""More model calls than this mean that no default budget has ended the work."""


@attack("S18", "rewind to an own mark again and again")
def rewind_loop(victim: Victim) -> None:
    def model(request: ModelRequest) -> ReplyLike:
        marked = "Marked" in json.dumps(request.body)
        return call("slash", {"command": "clear" if marked else "mark", "args": "T"})

    victim.server.script(model)
    _ends(victim)


@attack("S18", "fork without end")
def fork_bomb(victim: Victim) -> None:
    def model(_request: ModelRequest) -> ReplyLike:
        return call("slash", {"command": "fork", "args": "-- Fork again."})

    victim.server.script(model)
    _ends(victim)


def _ends(victim: Victim) -> None:
    ended = victim.run("run", "-p", "Start.", "--timeout", "150", limit=240.0)
    calls = len(victim.server.requests)
    held(calls <= _CALLS, f"{calls} model calls")
    held("budget" in ended.text.casefold(), f"no budget is named: {ended.text[-500:]}")
    held(ended.code != 0, "the program ended with code 0")
    time.sleep(1.0)
    held(len(victim.server.requests) == calls, "the model is still called")


_DEEP = "import os\nfor _ in range(2_500): os.mkdir('d'); os.chdir('d')"


@attack("S18", "stop every later turn with folders that are nested too deeply")
def deep_folders(victim: Victim) -> None:
    _next_turn_works(victim, f"python3 -c {shlex.quote(_DEEP)}")
    subprocess.run(["rm", "-rf", str(victim.project / "d")], check=True)


@attack("S18", "stop every later turn with pipes in place of files that git reads")
def pipes_for_git(victim: Victim) -> None:
    _next_turn_works(victim, "mkdir sub; mkfifo .gitignore .gitattributes sub/.gitignore")


def _next_turn_works(victim: Victim, command: str) -> None:
    """A command in the sandbox, and a turn after it, which needs a checkpoint of what is there."""
    for words in (["init", "--quiet"], ["commit", "--quiet", "--allow-empty", "--message=One"]):
        who = ["-c", "user.name=P", "-c", "user.email=p@example.com"]
        subprocess.run(["git", *who, *words], cwd=victim.project, check=True)
    for line in (command, "echo more > more.txt"):
        prompt = f"Go. [[tool: shell {json.dumps({'command': line})}]] [[say: finished]]"
        ended = victim.ask(prompt)
        held("finished" in ended.out, f"the turn did not end: {ended.text[-300:]}")
    held((victim.project / "more.txt").exists(), "the second command was not run")


@attack("low", "leave a process behind that has left its session and its environment")
def stray_process(victim: Victim) -> None:
    stray = "import os,time;open('stray','w').write(str(os.getpid()));time.sleep(60)"
    python = shlex.quote(stray)
    line = f"setsid env -i /usr/bin/python3 -c {python} & sleep 1"
    prompt = f"Go. [[tool: shell {json.dumps({'command': line})}]] [[say: finished]]"
    victim.ask(prompt, "--allow", "shell")
    written = victim.project / "stray"
    held(written.exists(), "the process did not start, so nothing was tried")
    alive = [pid for pid in _processes() if b"open('stray','w')" in _line_of(pid)]
    for pid in alive:
        os.kill(pid, 9)
    held(not alive, "a process outlived its tool call")


def _processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _line_of(pid: int) -> bytes:
    try:
        line = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
    return b"" if b"setsid" in line else line


@attack("X16", "ask for 10,000 tool calls in one reply")
def many_calls(victim: Victim) -> None:
    harmless = _timed_run(victim)
    reply = [call("read_file", {"path": f"file-{number}"}) for number in range(10_000)]
    victim.server.script(lambda _request: reply)
    _ends_in_time(victim, harmless)


@attack("X16", "send one line of 300 MB, which never ends")
def endless_line(victim: Victim) -> None:
    with _raw_model(b'data: {"type":"content_block_delta","x":"', 300_000_000) as url:
        harmless = _timed_run(victim)
        _use_model(victim, url)
        _ends_in_time(victim, harmless)


@attack("X16", "send short lines without end")
def endless_lines(victim: Victim) -> None:
    with _raw_model(b": nothing\n\n" * 100, 300_000_000) as url:
        harmless = _timed_run(victim)
        _use_model(victim, url)
        _ends_in_time(victim, harmless)


def _timed_run(victim: Victim) -> tuple[Ended, float]:
    """A run with a timeout, and how many seconds it took."""
    began = time.monotonic()
    ended = victim.run("run", "--new", "-p", "Start.", "--timeout", f"{_TIMEOUT:g}")
    return ended, time.monotonic() - began


def _ends_in_time(victim: Victim, harmless: tuple[Ended, float]) -> None:
    ended, took = _timed_run(victim)
    cpu = ended.cpu - harmless[0].cpu
    held(took < _TIMEOUT + harmless[1] + _LATE, f"ended after {took:.1f} s")
    held(cpu < _CPU, f"{cpu:.1f} s more of processor time")
    held(ended.code != 0, "the program ended with code 0")
    held("Traceback" not in ended.text, ended.text[-500:])


def _newest(victim: Victim) -> str:
    return str(victim.agents()[0]["agent"])


def _use_model(victim: Victim, url: str) -> None:
    text = victim.config_file.read_text(encoding="utf-8")
    victim.config_file.write_text(text.replace(victim.server.anthropic_url, url), encoding="utf-8")


@contextmanager
def _raw_model(piece: bytes, size: int) -> Generator[str]:
    """The address of a model whose stream is this piece again and again."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            chunk = piece + (b"" if piece.endswith(b"\n") else b"x" * 100_000)
            try:
                for _ in range(size // len(chunk)):
                    self.wfile.write(chunk)
                    chunk = chunk if piece.endswith(b"\n") else b"x" * 100_000
            except OSError:
                pass

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@attack("X17", "put 3,000 and 100,000 nested lists into the configuration")
def nested_config(victim: Victim) -> None:
    for depth in (3_000, 100_000):
        text = f"model = {'[' * depth}{']' * depth}\n"
        victim.config_file.write_text(text, encoding="utf-8")
        _is_clear(victim.run("agents").text, "config.toml")


@attack("X17", "put nested lists into the file of API keys")
def nested_keys(victim: Victim) -> None:
    keys = victim.config_file.with_name("keys.toml")
    keys.write_text(f"anthropic = {'[' * 3_000}{']' * 3_000}\n", encoding="utf-8")
    keys.chmod(0o600)
    ended = victim.run("run", "-p", "Hello.", env={"ANTHROPIC_API_KEY": ""})
    _is_clear(ended.text, "keys.toml")


@attack("X17", "send a nested message to the MCP server")
def nested_message(victim: Victim) -> None:
    deep = "[" * 100_000 + "]" * 100_000
    line = f'{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"a":{deep}}}}}\n'
    ended = victim.run("mcp", stdin=line)
    held("RecursionError" not in ended.text, ended.text[-300:])
    held("-32700" in ended.out, f"the message is not answered: {ended.text[-300:]}")


def _is_clear(text: str, file: str) -> None:
    held("RecursionError" not in text and "Unexpected" not in text, text[-300:])
    held(file in text, f"the file is not named: {text[-300:]}")


@attack("X20", "read what the program leaves behind, as another user")
def modes_of_files(victim: Victim) -> None:
    (victim.project / "notes.txt").write_text("one", encoding="utf-8")
    written = set(victim.home.rglob("*"))
    edit = json.dumps({"path": "made.txt", "content": "two"})
    os.umask(0o022)
    victim.ask(f"Go. [[tool: write_file {edit}]] [[say: done]]", "--allow", "write_file")
    agent = _newest(victim)
    for command in (
        ("do", agent, "/mark HERE"),
        ("log", agent),
        ("doctor",),
        ("token", "new", "phone"),
        ("backup", str(victim.home / "copy.db")),
        ("config", "set", "model", "claude-sonnet-5-5"),
    ):
        victim.run(*command)
    found = [each for each in victim.home.rglob("*") if each not in written]
    private = [each for each in found if victim.project not in each.parents]
    held(any(each.name == "sapwood.log" for each in private), "no log was written")
    open_ = [f"{each} {oct(mode)}" for each in private if (mode := _mode(each)) & 0o077]
    held(not open_, f"others can read {open_}")


def _mode(path: Path) -> int:
    return 0 if path.is_symlink() else stat.S_IMODE(path.stat().st_mode)
