"""The command line of the proof; its last line is the figure.

The clients of OpenAI and AG-UI are real ones. Those of our own API are generated from its
description by the usual generators.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from proofs.agents_e2e.environment import ProofError
from proofs.integrations.frameworks import FRAMEWORKS, Framework, python_of
from sapwood.config.server_tokens import SCOPES, TokenStore
from sapwood_server.access.rate_limit import OpenStreams
from sapwood_server.application import endpoints
from sapwood_server.routes.openapi import openapi_document
from scripted_model import ScriptedModel

LIMIT = 240.0
"""The time limit of a client, in seconds. On a quiet machine it takes a few of them."""

_HERE = Path(__file__).resolve().parent
_GENERATED = _HERE / "build"


def _ag_ui() -> list[str]:
    """The command of the AG-UI client, which is fetched on first use."""
    folder = _HERE / "ag_ui"
    return [_fetched(folder, "@ag-ui/client"), str(folder / "client.mjs")]


def _fetched(folder: Path, package: str) -> str:
    """The program `node`, after the packages of a folder were fetched on first use."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        raise ProofError("node and npm are not installed: apt-get install nodejs npm")
    if not (folder / "node_modules" / package).exists():
        print(f"protocols: fetching {package}, once", file=sys.stderr, flush=True)
        done = subprocess.run([npm, "ci", "--silent", "--no-fund"], cwd=folder, check=False)
        if done.returncode:
            raise ProofError("`npm ci` failed. The packages come from the registry of npm.")
    return node


def _agents_sdk() -> list[str]:
    """The command of the Agents SDK."""
    python = python_of(FRAMEWORKS["openai_agents"])
    return [str(python), str(_HERE / "agents_sdk_client.py")]


def _description(folder: Path) -> str:
    """Writes the description of our API. Returns its path."""
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / "openapi.json"
    place.write_bytes(msgspec.json.encode(openapi_document(endpoints(OpenStreams(1)))))
    return str(place)


def _python() -> list[str]:
    """The command of the story with a generated Python client. A warning of the generator fails."""
    python = python_of(Framework("openapi_client"))
    target = _GENERATED / "python"
    command = [str(python.parent / "openapi-python-client"), "generate", "--overwrite"]
    options = ["--fail-on-warning", "--meta", "none"]
    package = str(target / "sapwood_client")
    _run(*command, *options, "--path", _description(target), "--output-path", package)
    return [str(python), str(_HERE / "python_story.py"), str(target)]


def _typescript() -> list[str]:
    """The command of the story with generated types for TypeScript, which are checked strictly."""
    folder = _HERE / "typescript"
    node = _fetched(folder, "openapi-fetch")
    target = folder / "build"
    bin_ = folder / "node_modules" / ".bin"
    types = str(target / "api.d.ts")
    _run(str(bin_ / "openapi-typescript"), _description(target), "--output", types, cwd=folder)
    _run(str(bin_ / "tsc"), "--project", str(folder), cwd=folder)
    return [node, str(target / "story.js")]


def _run(*command: str, cwd: Path | None = None) -> None:
    done = subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, timeout=LIMIT, check=False
    )
    if done.returncode:
        raise ProofError(f"{Path(command[0]).name} failed: {(done.stdout + done.stderr)[-1500:]}")


CLIENTS: dict[str, Callable[[], list[str]]] = {
    "ag-ui": _ag_ui,
    "openai-agents": _agents_sdk,
    "python": _python,
    "typescript": _typescript,
}


@contextmanager
def _served(home: Path, model: ScriptedModel) -> Generator[tuple[str, str]]:
    """`sapwood serve` in a home of its own; its address and a token."""
    data, config = home / "data", home / "config"
    (config / "sapwood").mkdir(parents=True)
    (config / "sapwood" / "config.toml").write_text(
        'model = "claude-sonnet-5-5"\nsandbox_ask = true\n'
        f'[base_urls]\nanthropic = "{model.anthropic_url}"\n'
    )
    environ = {
        **{k: v for k, v in os.environ.items() if not k.startswith("SAPWOOD_")},
        "HOME": str(home),
        "XDG_DATA_HOME": str(data),
        "XDG_CONFIG_HOME": str(config),
        "ANTHROPIC_API_KEY": "sk-ant-scripted-0123456789",
    }
    server = subprocess.Popen(
        [sys.executable, "-m", "sapwood.cli", "serve", "--port", "0"],
        cwd=home,
        env=environ,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert server.stderr is not None
    try:
        line = server.stderr.readline()
        found = re.match(r"Serving on (\S+)\. ", line)
        if found is None:
            raise ProofError(f"The server did not start: {line}{server.stderr.read()}")
        store = TokenStore(data / "sapwood" / "server-tokens.json")
        yield found[1], store.create("proof", "local", SCOPES)[0]
    finally:
        server.terminate()
        server.wait(30)
        server.stderr.close()


def main(arguments: list[str]) -> int:
    """Runs each client; returns 1 if a check failed."""
    parser = argparse.ArgumentParser(prog="python -m proofs.protocols", description=__doc__)
    parser.add_argument("clients", nargs="*", help=f"only these: {', '.join(CLIENTS)}")
    options = parser.parse_args(arguments)
    passed = failed = 0
    started = time.monotonic()
    names = options.clients or list(CLIENTS)
    if unknown := set(names) - set(CLIENTS):
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    for name in names:
        try:
            lines = _play(name)
        except (ProofError, subprocess.TimeoutExpired) as error:
            lines = [f"NO {name}: {error}"]
        for line in lines:
            print(f"{name}: {line}")
        passed += sum(line.startswith("ok ") for line in lines)
        failed += sum(not line.startswith("ok ") for line in lines)
    seconds = time.monotonic() - started
    total = passed + failed
    print(f"protocols: {passed} of {total} passed with {', '.join(names)} in {seconds:.0f} s")
    return int(failed > 0 or not passed)


def _play(name: str) -> list[str]:
    """Runs one client against a server. Returns the lines that it printed."""
    command = CLIENTS[name]()
    with (
        tempfile.TemporaryDirectory() as folder,
        ScriptedModel(retry_after=0.01) as model,
        _served(Path(folder), model) as (address, token),
    ):
        done = subprocess.run(
            [*command, address, token],
            env={"PATH": os.environ["PATH"], "HOME": folder, "NODE_NO_WARNINGS": "1"},
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
        lines = [line for line in done.stdout.splitlines() if line[:3] in ("ok ", "NO ")]
        ended = done.returncode == 0 and bool(lines)
        lines.append(f"ok {name} ends well" if ended else f"NO it ends with {done.stderr[-1500:]}")
        refused = model.rejections
        lines.append(
            f"NO the model refused {refused}" if refused else "ok the model refused nothing"
        )
        return lines


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
