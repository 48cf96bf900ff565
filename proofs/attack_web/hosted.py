"""A server for several tenants, in a process of its own, with a scripted model and real tools."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct

from proofs.attack_web.raw_http import Answer, Target, send
from sapwood.config.server_tokens import TokenScope, TokenStore
from scripted_model import ScriptedModel

SECRET = "the-heron-of-the-operator"
_MODEL = "claude-sonnet-5-5"
_SECONDS = 60


class Hosted(Struct, frozen=True):
    """The server of an operator. The space `acme` is the attacker's, `bolt` another tenant's.

    `acme` and `bolt` have folders below `folders`, `bare` has none. `work` is the current folder of
    the server, with a file that only the operator may read; so has the folder of `bolt`.
    """

    target: Target
    home: Path
    work: Path
    folders: Path
    printed: str

    @property
    def store(self) -> TokenStore:
        """The tokens, which only the operator can write."""
        return TokenStore(self.home / "data/sapwood/server-tokens.json")

    def token(self, *scopes: TokenScope, space: str = "acme", name: str = "mallory") -> str:
        """A token that the operator gave to somebody, by default for reading and writing."""
        return self.store.create(name, space, scopes or ("read", "write"))[0]

    def run(self, *arguments: str) -> str:
        """Runs a command of `sapwood` as the operator."""
        done = subprocess.run(
            [sys.executable, "-m", "sapwood.cli", *arguments],
            env=_environ(self.home),
            capture_output=True,
            text=True,
            check=True,
            timeout=_SECONDS,
        )
        return done.stdout

    def post(self, token: str, path: str, body: dict[str, Any]) -> Answer:
        """Sends a request of the attacker."""
        return send(self.target, "POST", path, token=token, body=json.dumps(body).encode())

    def give(self, token: str, kind: str, **command: object) -> Answer:
        """Gives a command of the core."""
        return self.post(token, "/v1/dispatch", {"kind": kind, "command": command})

    def start(self, token: str, agent: str, **workspace: str) -> Answer:
        """Starts a conversation in a workspace, with the model of the server."""
        settings = {"model": _MODEL, "permission_mode": "ask"}
        return self.give(token, "StartAgent", agent=agent, settings=settings, workspace=workspace)

    def ask(self, token: str, agent: str, tool: str, **arguments: str) -> str:
        """Has the model call a tool. Returns the log of the conversation when the turn has ended.

        A question about the call is answered with yes, if the token may do that.
        """
        text = f"[[tool: {tool} {json.dumps(arguments)}]] [[say: done]]"
        self.post(token, f"/v1/agents/{agent}/turns", {"text": text})
        began, log = time.monotonic(), ""
        while time.monotonic() - began < _SECONDS:
            log = send(self.target, "GET", f"/v1/agents/{agent}/log?limit=500", token=token).body
            if "turn.completed" in log or "turn.failed" in log or "turn.started" not in log:
                return log
            self._approve(token, agent)
            time.sleep(0.1)
        raise RuntimeError(f"the turn does not end: {log[-500:]}")

    def _approve(self, token: str, agent: str) -> None:
        path = f"/v1/agents/{agent}/permissions"
        waiting = send(self.target, "GET", path, token=token)
        for each in json.loads(waiting.body or "{}").get("questions", ()):
            answered = self.post(token, f"{path}/{each['id']}", {"key": "y", "hash": each["hash"]})
            if answered.status == 403:
                self.post(token, f"/v1/agents/{agent}/interrupt", {})


@contextmanager
def hosted(folder: Path) -> Generator[Hosted]:
    """Starts the server in a folder of its own, with folders for two of its spaces."""
    home, work, folders = (folder / name for name in ("home", "work", "folders"))
    for each in (home, work, folders / "acme", folders / "bolt", home / "config/sapwood"):
        each.mkdir(parents=True)
    for each in (work, folders / "bolt"):
        (each / "secret.txt").write_text(SECRET)
        (each / "AGENTS.md").write_text(f"Instructions: {SECRET}")
    options = [f"--folder=acme={folders}/acme", f"--folder=bolt={folders}/bolt"]
    with ScriptedModel(retry_after=0.01) as model:
        (home / "config/sapwood/config.toml").write_text(
            f'model = "{_MODEL}"\nengine = "local"\n'
            f'[base_urls]\nanthropic = "{model.anthropic_url}"\n'
        )
        process = subprocess.Popen(
            [sys.executable, "-m", "sapwood.cli", "serve", "--port", "0", *options],
            cwd=work,
            env=_environ(home),
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stderr is not None
            line, printed = process.stderr.readline(), process.stderr.readline()
            found = re.match(r"Serving on http://127\.0\.0\.1:(\d+)\. ", line)
            assert found, line + printed
            store = TokenStore(home / "data/sapwood/server-tokens.json")
            target = Target(int(found[1]), "", "", "", "", "", "", "", SECRET, store.file)
            yield Hosted(target, home, work, folders, printed.rpartition(" ")[2].strip())
        finally:
            process.terminate()
            process.wait(30)
            if process.stderr is not None:
                process.stderr.close()


def _environ(home: Path) -> dict[str, str]:
    return {
        **{name: value for name, value in os.environ.items() if name[:8] != "SAPWOOD_"},
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / "config"),
        "XDG_DATA_HOME": str(home / "data"),
        "XDG_STATE_HOME": str(home / "state"),
        "ANTHROPIC_API_KEY": "sk-ant-scripted-0123456789",
    }
