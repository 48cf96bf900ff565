"""A server and two workers on one PostgreSQL database, with their logs, and a Prometheus."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from proofs.incidents.prometheus import Prometheus, Target
from tools.postgres import dying_with_us, free_port

_ANSWER_SECONDS = 6.0
_LOOK = 0.2


class IncidentError(Exception):
    """An incident did not go as the runbook says."""


class Process:
    """A server or a worker, with its log in a file. It keeps its port when it is restarted."""

    def __init__(self, folder: Path, name: str, environ: dict[str, str], *arguments: str) -> None:
        self.name = name
        self.log = folder / f"{name}.log"
        self.address = f"127.0.0.1:{free_port()}"
        self.earlier: list[dict[str, Any]] = []
        port = self.address.rpartition(":")[2]
        self._command = [*dying_with_us(), sys.executable, "-m", "sapwood.cli", *arguments, port]
        self._environ = environ
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Starts it. What it logged before is kept."""
        if self.log.exists():
            self.earlier += self.lines()
        with self.log.open("wb") as file:
            self._process = subprocess.Popen(
                self._command, env=self._environ, stdin=subprocess.DEVNULL, stdout=file, stderr=file
            )

    def send(self, number: signal.Signals) -> None:
        """Sends a signal."""
        assert self._process is not None
        self._process.send_signal(number)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        """Sends a signal and waits for the end."""
        if self._process is not None:
            self._process.send_signal(signal.SIGCONT)
            self._process.send_signal(number)
            self._process.wait(60)
            self._process = None

    @property
    def has_ended(self) -> bool:
        """Whether it ended by itself."""
        return self._process is not None and self._process.poll() is not None

    def lines(self) -> list[dict[str, Any]]:
        """What it has logged since its start. Raises `IncidentError` if a line is no JSON."""
        whole = self.log.read_text().rpartition("\n")[0]
        try:
            return [json.loads(line) for line in whole.splitlines()]
        except ValueError:
            raise IncidentError(f"A line of {self.log.name} is not JSON: {whole[-500:]}") from None

    def last_words(self) -> str:
        """How it ended, if it did, and what it logged last."""
        return "ended; " * self.has_ended + " | ".join(
            line["message"] for line in self.lines()[-3:]
        )

    async def status(self, path: str = "/readyz") -> int:
        """The status of an answer; 0 if there is none in time."""
        return await asyncio.to_thread(self._status, path)

    def _status(self, path: str) -> int:
        try:
            place = f"http://{self.address}{path}"
            with urllib.request.urlopen(place, timeout=_ANSWER_SECONDS) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return 0


async def until(what: str, check: Callable[[], Any], seconds: float = 60.0) -> None:
    """Waits until a check is true. Raises `IncidentError` that says what did not happen."""
    deadline = time.monotonic() + seconds
    while True:
        found = check()
        if await found if asyncio.iscoroutine(found) else found:
            return
        if time.monotonic() > deadline:
            raise IncidentError(f"not seen within {seconds:g} s: {what}")
        await asyncio.sleep(_LOOK)


class Site:
    """The processes of the service."""

    def __init__(self, folder: Path, database: str, model: str) -> None:
        self.environ = {
            **{k: v for k, v in os.environ.items() if not k.startswith("SAPWOOD_")},
            "HOME": str(folder),
            "XDG_DATA_HOME": str(folder / "data"),
            "XDG_CONFIG_HOME": str(folder / "config"),
            "SAPWOOD_DATABASE": database,
            "SAPWOOD_INCIDENTS_MODEL": model,
            "SAPWOOD_LOG_FORMAT": "json",
        }
        app = ("--app", "proofs.incidents.app:runtime", "--spaces", "*", "--health")
        self.workers = [
            Process(folder, f"worker-{number}", self.environ, "worker", *app) for number in (1, 2)
        ]
        self.server = Process(folder, "server", self.environ, "serve", "--no-agents", "--port")
        self.prometheus = Prometheus(folder / "prometheus")

    @property
    def processes(self) -> list[Process]:
        """All of them."""
        return [*self.workers, self.server]

    async def start(self) -> None:
        """Starts everything and waits until it is ready."""
        for each in self.processes:
            each.start()
        for each in self.processes:
            await until(f"{each.name} is ready", lambda each=each: is_ready(each))
        said = await self.run("token", "new", "prometheus", "--scope", "admin")
        found = re.search(r"sw_\S+", said)
        if found is None:
            raise IncidentError(f"No token was made: {said}")
        tokens = {self.server: found[0]}
        self.prometheus.start(
            [Target(each.name, each.address, tokens.get(each, "")) for each in self.processes]
        )

    async def run(self, *arguments: str, space: str = "local") -> str:
        """Runs a command as the engineer on call would. Returns what it printed."""
        done = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "sapwood.cli", *arguments),
            env={**self.environ, "SAPWOOD_SPACE": space},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        said, _ = await done.communicate()
        if done.returncode:
            raise IncidentError(f"sapwood {' '.join(arguments)}: {said.decode()}")
        return said.decode()

    async def fires(self, alert: str, within: float = 60.0, **labels: str) -> None:
        """Waits until an alert fires, and says so. Raises `IncidentError`."""
        await until(f"{alert} fires", lambda: self.prometheus.fires(alert, **labels), within)
        print(f"  {alert} fires {' '.join(labels.values())}", flush=True)

    async def calms(self, alert: str, **labels: str) -> None:
        """Waits until an alert does not fire any more. Raises `IncidentError`."""

        async def is_calm() -> bool:
            return not await self.prometheus.fires(alert, **labels)

        await until(f"{alert} ends", is_calm)

    def logged(self, **fields: object) -> list[dict[str, Any]]:
        """The lines of the workers that have these fields."""
        lines = [line for each in self.workers for line in (*each.earlier, *each.lines())]
        return [line for line in lines if fields.items() <= line.items()]

    async def restart_ended(self) -> None:
        """Starts workers again that have ended, as a supervisor does, until it is cancelled."""
        while True:
            for worker in self.workers:
                if worker.has_ended:
                    worker.start()
            await asyncio.sleep(_LOOK)

    def stop(self) -> None:
        """Stops everything."""
        self.prometheus.stop()
        for each in self.processes:
            each.stop()


async def is_ready(process: Process) -> bool:
    """Whether it answers, and has its database."""
    return await process.status() == 200
