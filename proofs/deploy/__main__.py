"""Checks the deployment files by the real programs; the last line is the figure.

What no program here can check is printed with its reason.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from proofs.agents_e2e.environment import ProofError
from proofs.deploy.chart import CHART, EVERYTHING, rendered
from proofs.deploy.programs import program

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
_SECONDS = 120


class NotChecked(Exception):
    """A program is missing. The text has the reason."""


def _run(*command: str | Path, **environ: str) -> str:
    done = subprocess.run(
        [str(each) for each in command],
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    if done.returncode:
        raise AssertionError((done.stdout + done.stderr).strip()[-1500:])
    return done.stdout


def _installed(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise NotChecked(f"{name} is not installed")
    return found


def _caddyfile() -> None:
    check = ("validate", "--adapter", "caddyfile", "--config", DEPLOY / "Caddyfile")
    with tempfile.TemporaryDirectory() as home:
        _run(program("caddy"), *check, HOME=home, SAPWOOD_SITE="http://localhost:8080")


def _nginx() -> None:
    nginx = _installed("nginx")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "nginx.conf"
        file.write_text(
            f"pid {folder}/pid;\nerror_log stderr;\nevents {{}}\n"
            f"http {{\naccess_log off;\ninclude {DEPLOY}/nginx.conf;\n}}\n"
        )
        _run(nginx, "-t", "-p", folder, "-c", file)


def _containerfile() -> None:
    _run(program("hadolint"), "--ignore", "DL3013", DEPLOY / "Containerfile")


def _image() -> None:
    for builder in ("docker", "podman", "buildah"):
        found = shutil.which(builder)
        if (
            found
            and not subprocess.run([found, "info"], capture_output=True, check=False).returncode
        ):
            _run(found, "build", "-f", DEPLOY / "Containerfile", "-t", "sapwood", DEPLOY.parent)
            return
    raise NotChecked("there is no builder of images that answers")


def _compose() -> None:
    docker = _installed("docker")
    if subprocess.run([docker, "compose", "version"], capture_output=True, check=False).returncode:
        raise NotChecked("docker has no command 'compose'; the file is read as YAML by the tests")
    names = {"POSTGRES_PASSWORD": "x", "SAPWOOD_HOST_NAME": "localhost"}
    _run(docker, "compose", "-f", DEPLOY / "compose.yaml", "config", "--quiet", **names)


def _units() -> None:
    analyze = _installed("systemd-analyze")
    with tempfile.TemporaryDirectory() as folder:
        for name, instance in (("sapwood-server@", "8421"), ("sapwood-worker@", "9091")):
            text = (DEPLOY / "systemd" / f"{name}.service").read_text()
            unit = Path(folder) / f"{name}{instance}.service"
            unit.write_text(text.replace("/usr/local/sapwood/bin/sapwood", "/bin/true"))
            _run(analyze, "verify", "--man=no", unit)


def _alerts() -> None:
    _run(_installed("promtool"), "check", "rules", DEPLOY / "monitoring" / "alerts.yaml")


def _chart_by_helm() -> None:
    _run(program("helm"), "lint", "--strict", CHART)


def _by_helm(values: dict[str, Any]) -> list[dict[str, Any]]:
    """The objects of the chart as Helm renders them."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        yaml.safe_dump(values, file)
        file.flush()
        text = _run(program("helm"), "template", "demo", CHART, "--values", file.name)
    return [each for each in yaml.safe_load_all(text) if each]


def _chart_as_the_tests_render_it() -> None:
    for values in ({}, EVERYTHING):
        ours, theirs = rendered(**values), _by_helm(values)
        assert _sorted(ours) == _sorted(theirs), "the tests render the chart in another way"


def _sorted(objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(objects, key=lambda each: (each["kind"], each["metadata"]["name"]))


def _chart_by_schemas() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for number, each in enumerate([*_by_helm({}), *_by_helm(EVERYTHING)]):
            file = Path(folder) / f"{number}.yaml"
            file.write_text(yaml.safe_dump(each))
            _run(program("kubernetes-validate"), "--strict", "--quiet", file)


CHECKS: dict[str, Callable[[], None]] = {
    "Caddyfile, by Caddy": _caddyfile,
    "nginx.conf, by nginx": _nginx,
    "Containerfile, by hadolint": _containerfile,
    "Containerfile, by building the image": _image,
    "compose.yaml, by docker compose": _compose,
    "systemd units, by systemd-analyze": _units,
    "alerts.yaml, by promtool": _alerts,
    "Helm chart, by helm lint": _chart_by_helm,
    "Helm chart, by helm template": _chart_as_the_tests_render_it,
    "Helm chart, by the schemas of Kubernetes": _chart_by_schemas,
}


def main() -> int:
    """Runs every check; returns 1 if one failed or none could be run."""
    passed = failed = left = 0
    for name, check in CHECKS.items():
        try:
            check()
        except (NotChecked, ProofError) as reason:
            left += 1
            print(f"not checked: {name}: {reason}")
        except (AssertionError, subprocess.TimeoutExpired) as problem:
            failed += 1
            print(f"NO {name}: {problem}")
        else:
            passed += 1
            print(f"ok {name}")
    print(f"deploy-check: {passed} passed, {failed} failed, {left} not checked")
    return int(failed > 0 or not passed)


if __name__ == "__main__":
    sys.exit(main())
