"""A Prometheus that reads the service and evaluates the alert rules.

It has the rules of `deploy/monitoring/alerts.yaml`, with shorter windows and without `for`, so that
an incident of seconds is enough. Thresholds and metrics are those of the file.
"""

import asyncio
import json
import re
import shutil
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tools.postgres import dying_with_us, free_port

_MONITORING = Path(__file__).resolve().parents[2] / "deploy" / "monitoring"
_WINDOW, _INTERVAL = "30s", "3s"
"""A process takes two seconds to say that its database is down."""
_START_SECONDS = 30.0


class PrometheusError(Exception):
    """Prometheus is not there, or did not answer. The message has the next step."""


class Target(NamedTuple):
    """A process that is read."""

    name: str
    address: str
    token: str = ""


class Prometheus:
    """A server of Prometheus, with its data in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = free_port()
        self._server: subprocess.Popen[bytes] | None = None

    def start(self, targets: list[Target]) -> None:
        """Starts it and waits until it answers. Raises `PrometheusError`."""
        program = shutil.which("prometheus")
        if program is None:
            raise PrometheusError("Prometheus is not installed: apt-get install prometheus")
        self._folder.mkdir()
        (self._folder / "rules.yaml").write_text(yaml.safe_dump(staged_rules()))
        config = self._folder / "prometheus.yaml"
        config.write_text(yaml.safe_dump(_configuration(targets)))
        with (self._folder / "prometheus.log").open("wb") as log:
            self._server = subprocess.Popen(
                [
                    *(*dying_with_us(), program, f"--config.file={config}"),
                    f"--storage.tsdb.path={self._folder / 'data'}",
                    f"--web.listen-address=127.0.0.1:{self._port}",
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        deadline = time.monotonic() + _START_SECONDS
        while True:
            try:
                self._get("/-/ready", {})
            except urllib.error.URLError:
                if self._server.poll() is not None or time.monotonic() > deadline:
                    said = (self._folder / "prometheus.log").read_text()[-1_000:]
                    raise PrometheusError(f"Prometheus did not start: {said}") from None
                time.sleep(0.1)
            else:
                return

    def stop(self) -> None:
        """Stops it."""
        if self._server is not None:
            self._server.terminate()
            self._server.wait(30)

    async def fires(self, alert: str, **labels: str) -> bool:
        """Whether an alert with these labels fires now."""
        found = json.loads(await asyncio.to_thread(self._get, "/api/v1/alerts", {}))
        wanted = {"alertname": alert, **labels}
        return any(wanted.items() <= each["labels"].items() for each in found["data"]["alerts"])

    async def query(self, expression: str) -> list[dict[str, str]]:
        """The labels of each series that an expression has now. Raises `PrometheusError`."""
        try:
            text = await asyncio.to_thread(self._get, "/api/v1/query", {"query": expression})
        except urllib.error.HTTPError as error:
            raise PrometheusError(f"{expression}: {error.read().decode()}") from None
        return [each["metric"] for each in json.loads(text)["data"]["result"]]

    def _get(self, path: str, query: Mapping[str, str]) -> str:
        place = f"http://127.0.0.1:{self._port}{path}?{urllib.parse.urlencode(query)}"
        with urllib.request.urlopen(place, timeout=10) as answer:
            return answer.read().decode()


def alert_rules() -> dict[str, Any]:
    """The file of alert rules."""
    return yaml.safe_load((_MONITORING / "alerts.yaml").read_text())


def dashboard() -> dict[str, Any]:
    """The dashboard, as Grafana imports it."""
    return json.loads((_MONITORING / "dashboard.json").read_text())


def dashboard_queries() -> list[str]:
    """The expressions that the panels of the dashboard show."""
    return [target["expr"] for panel in dashboard()["panels"] for target in panel["targets"]]


def staged_rules() -> dict[str, Any]:
    """The alert rules, for an incident of seconds."""
    rules = alert_rules()
    for group in rules["groups"]:
        group["interval"] = _INTERVAL
        for rule in group["rules"]:
            rule.pop("for", None)
            rule["expr"] = re.sub(r"\[\d+m\]", f"[{_WINDOW}]", rule["expr"])
    return rules


def staged_queries() -> list[str]:
    """The queries of the dashboard, for an incident of seconds."""
    return [each.replace("$__rate_interval", _WINDOW) for each in dashboard_queries()]


def _configuration(targets: list[Target]) -> dict[str, Any]:
    return {
        "global": {"scrape_interval": _INTERVAL, "scrape_timeout": _INTERVAL},
        "rule_files": ["rules.yaml"],
        "scrape_configs": [
            {
                "job_name": each.name,
                "static_configs": [
                    {
                        "targets": [each.address],
                        "labels": {"job": "sapwood", "instance": each.name},
                    }
                ],
                **({"authorization": {"credentials": each.token}} if each.token else {}),
            }
            for each in targets
        ],
    }
