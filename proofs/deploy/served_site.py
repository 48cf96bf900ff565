"""A site: two servers and a worker on one PostgreSQL database, with Caddy in front of them."""

import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

from proofs.agents_e2e.environment import ProofError
from proofs.deploy.programs import program
from sapwood_server.application import PUBLIC_PATHS
from tools.postgres import free_port

NAME = "localhost"
READINESS = "/readyz" if "/readyz" in tuple[str, ...](PUBLIC_PATHS) else "/healthz"
_CADDYFILE = Path(__file__).resolve().parents[2] / "deploy" / "Caddyfile"
_STOP_SECONDS = 60


class ServerProcess:
    """`sapwood serve --no-agents` on a port of its own, which can be restarted."""

    def __init__(self, home: Path, environ: dict[str, str]) -> None:
        self._home = home
        self._environ = environ
        self.port = free_port()
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Starts it and waits until it is ready."""
        arguments = ["serve", "--no-agents", "--port", str(self.port)]
        self._process = _start(self._home, self._environ, *arguments)
        assert self._process.stderr is not None
        line = self._process.stderr.readline()
        if not re.match(r"Serving on (\S+)\. ", line):
            raise ProofError(f"The server did not start: {line}{self._process.stderr.read()}")
        await_answer(f"http://127.0.0.1:{self.port}{READINESS}")

    def stop(self) -> float:
        """Stops it by SIGTERM. Returns how many seconds that took."""
        if self._process is None:
            return 0.0
        started = time.monotonic()
        self._process.send_signal(signal.SIGTERM)
        code = self._process.wait(_STOP_SECONDS)
        assert self._process.stderr is not None
        said = self._process.stderr.read()
        self._process.stderr.close()
        self._process = None
        if code != 0:
            raise ProofError(f"The server ended with {code}: {said[-1500:]}")
        return time.monotonic() - started


class ServedSite:
    """All processes of the site."""

    def __init__(self, home: Path, database: str, model_url: str) -> None:
        (home / "config" / "sapwood").mkdir(parents=True)
        (home / "config" / "sapwood" / "config.toml").write_text(
            f'model = "claude-sonnet-5-5"\n[base_urls]\nanthropic = "{model_url}"\n'
        )
        self.environ = {
            **{k: v for k, v in os.environ.items() if not k.startswith("SAPWOOD_")},
            "HOME": str(home),
            "XDG_DATA_HOME": str(home / "data"),
            "XDG_CONFIG_HOME": str(home / "config"),
            "SAPWOOD_DATABASE": database,
            "ANTHROPIC_API_KEY": "sk-ant-scripted-0123456789",
        }
        self._home = home
        self.servers = [ServerProcess(home, self.environ) for _ in range(2)]
        self._proxy_port = free_port()
        self._others: list[subprocess.Popen[str]] = []

    @property
    def address(self) -> str:
        """The address of the site."""
        return f"http://{NAME}:{self._proxy_port}"

    def start(self) -> None:
        """Starts the servers, the worker and the proxy."""
        for server in self.servers:
            server.start()
        self._others.append(_start(self._home, self.environ, "worker", "--spaces", "*"))
        upstreams = " ".join(f"127.0.0.1:{server.port}" for server in self.servers)
        caddy = [
            str(program("caddy")),
            "run",
            "--config",
            str(_CADDYFILE),
            "--adapter",
            "caddyfile",
        ]
        with (self._home / "proxy.log").open("w") as log:
            self._others.append(
                subprocess.Popen(
                    caddy,
                    env={
                        **self.environ,
                        "SAPWOOD_SITE": f"http://{NAME}:{self._proxy_port}",
                        "SAPWOOD_SERVERS": upstreams,
                        "SAPWOOD_READINESS": READINESS,
                    },
                    stdout=log,
                    stderr=log,
                    text=True,
                )
            )
        await_answer(f"{self.address}{READINESS}")

    def token(self) -> str:
        """A token for everything."""
        made = _start(self._home, self.environ, "token", "new", "proof", out=subprocess.PIPE)
        said, problem = made.communicate(timeout=60)
        found = re.search(r"sw_\S+", said + problem)
        if found is None:
            raise ProofError(f"No token was made: {said}{problem}")
        return found[0]

    def stop(self) -> None:
        """Stops everything."""
        for process in reversed(self._others):
            process.terminate()
            process.wait(_STOP_SECONDS)
            if process.stderr is not None:
                process.stderr.close()
        for server in self.servers:
            server.stop()


def _start(
    home: Path, environ: dict[str, str], *arguments: str, out: int | None = None
) -> subprocess.Popen[str]:
    if out is None and arguments[0] == "worker":
        log = (home / "worker.log").open("w")
        with log:
            return subprocess.Popen(
                [sys.executable, "-m", "sapwood.cli", *arguments],
                cwd=home,
                env=environ,
                stdout=log,
                stderr=log,
                text=True,
            )
    return subprocess.Popen(
        [sys.executable, "-m", "sapwood.cli", *arguments],
        cwd=home,
        env=environ,
        stdout=out,
        stderr=subprocess.PIPE,
        text=True,
    )


def await_answer(address: str) -> None:
    """Returns when the address answers well."""
    deadline = time.monotonic() + 60
    while True:
        try:
            with urllib.request.urlopen(address, timeout=5) as answer:
                if answer.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            pass
        if time.monotonic() > deadline:
            raise ProofError(f"{address} does not answer.")
        time.sleep(0.05)
