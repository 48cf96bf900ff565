"""A server and two workers on one PostgreSQL database, with their logs and numbers."""

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

import yaml

from tools.postgres import dying_with_us

_RULES = Path(__file__).resolve().parents[2] / "deploy" / "monitoring" / "alerts.yaml"
_SAMPLE = re.compile(r"(\w+)(?:\{(.*)\})? (\S+)")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_SCRAPE_SECONDS = 6.0
_LOOK = 0.2

Numbers = list[tuple[str, dict[str, str], float]]
"""The samples of `/metrics`: name, labels, value."""


class IncidentError(Exception):
    """An incident did not go as the runbook says."""


class Process:
    """A server or a worker, with its log in a file."""

    def __init__(self, folder: Path, name: str, environ: dict[str, str], *arguments: str) -> None:
        self.log = folder / f"{name}.log"
        self.token = ""
        self.earlier: list[dict[str, Any]] = []
        self._command = [*dying_with_us(), sys.executable, "-m", "sapwood.cli", *arguments]
        self._environ = environ
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Starts it; `address` waits until it has one. What it logged before is kept."""
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

    def address(self) -> str:
        """Where it answers; empty if it does not yet."""
        said = " ".join(line["message"] for line in self.lines())
        found = re.search(r"http://127\.0\.0\.1:\d+", said)
        return found[0] if found else ""

    async def get(self, path: str) -> tuple[int, str]:
        """The status and the text of an answer; 0 if there is none in time."""
        return await asyncio.to_thread(self._get, path)

    def _get(self, path: str) -> tuple[int, str]:
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        try:
            request = urllib.request.Request(self.address() + path, headers=headers)
            with urllib.request.urlopen(request, timeout=_SCRAPE_SECONDS) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except (OSError, ValueError):
            return 0, ""

    async def numbers(self) -> Numbers:
        """What Prometheus would read, with its own `up`."""
        status, text = await self.get("/metrics")
        found: Numbers = [("up", {}, float(status == 200))]
        for line in text.splitlines() if status == 200 else ():
            if match := _SAMPLE.fullmatch(line):
                labels = dict(_LABEL.findall(match[2] or ""))
                found.append((match[1], labels, float(match[3])))
        return found


def total(numbers: Numbers, name: str, **labels: str) -> float:
    """The sum of the samples that have these labels."""
    found = [sample for sample in numbers if sample[0] == name]
    return sum(value for _, has, value in found if labels.items() <= has.items())


def passes(alert: str, value: float) -> bool:
    """Whether a value is beyond the threshold of an alert."""
    [group] = yaml.safe_load(_RULES.read_text())["groups"]
    [rule] = [each for each in group["rules"] if each["alert"] == alert]
    match = re.search(r"([<>]) ([\d.]+)$", rule["expr"])
    assert match is not None
    bound = float(match[2])
    return value < bound if match[1] == "<" else value > bound


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
        app = ("--app", "proofs.incidents.app:runtime", "--spaces", "*", "--health", "0")
        self.workers = [
            Process(folder, f"worker-{number}", self.environ, "worker", *app) for number in (1, 2)
        ]
        self.server = Process(folder, "server", self.environ, "serve", "--no-agents", "--port", "0")

    @property
    def processes(self) -> list[Process]:
        """All of them."""
        return [*self.workers, self.server]

    async def start(self) -> None:
        """Starts everything and waits until it is ready."""
        for each in self.processes:
            each.start()
            await until(f"{each.log.name} has an address", each.address)
        said = await self.run("token", "new", "prometheus", "--scope", "admin")
        found = re.search(r"sw_\S+", said)
        if found is None:
            raise IncidentError(f"No token was made: {said}")
        self.server.token = found[0]
        for each in self.processes:
            await until(f"{each.log.name} is ready", lambda each=each: is_up(each))

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

    async def numbers(self) -> Numbers:
        """The numbers of all workers."""
        return [sample for worker in self.workers for sample in await worker.numbers()]

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
        for each in self.processes:
            each.stop()


async def is_up(process: Process) -> bool:
    """Whether Prometheus can read its numbers."""
    return total(await process.numbers(), "up") == 1
