"""The virtual environment of the peers, created on demand from pinned and hashed requirements.

It is beside this file and shares nothing with ours, so the dependencies of the peers and of
Sapwood never meet.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

_HERE = Path(__file__).resolve().parent
_REPOSITORY = _HERE.parent.parent
_ENVIRONMENT = _HERE / ".venv"
_REQUIREMENTS = _HERE / "requirements.txt"
_STAMP = _ENVIRONMENT / "made-from"

_SCRIPTS = "Scripts" if os.name == "nt" else "bin"


class PeersError(Exception):
    """The peers cannot be measured. The text has the reason and the next step."""


def peers_python() -> Path:
    """The interpreter of the peers' environment, which is created if it is missing."""
    python = _ENVIRONMENT / _SCRIPTS / "python"
    stamp = _stamp()
    if not _STAMP.exists() or _STAMP.read_text() != stamp:
        _make(python)
        _STAMP.write_text(stamp)
    return python


def _stamp() -> str:
    """A fingerprint of the requirements. If it changes, the environment is created again."""
    requirements = hashlib.sha256(_REQUIREMENTS.read_bytes()).hexdigest()
    return f"{sys.version}\n{requirements}\n"


def _make(python: Path) -> None:
    uv = _find_uv()
    print("peers: making their environment, once", file=sys.stderr, flush=True)
    _run(uv, "venv", "--clear", "--python", sys.executable, str(_ENVIRONMENT))
    _run(
        *(uv, "pip", "sync", "--require-hashes", "--compile-bytecode"),
        *("--python", str(python), str(_REQUIREMENTS)),
    )


def _find_uv() -> str:
    uv = shutil.which("uv") or shutil.which("uv", path=_REPOSITORY / ".venv" / _SCRIPTS)
    if uv is None:
        raise PeersError("uv was not found. Run `just setup`, then try again.")
    return uv


def _run(*command: str) -> None:
    try:
        subprocess.run(command, check=True, stdout=sys.stderr)
    except subprocess.CalledProcessError as failure:
        raise PeersError(
            f"`uv {command[1]}` failed while the peers' environment was made; its message is "
            "above. The packages come from the package index, so check that it can be reached."
        ) from failure
