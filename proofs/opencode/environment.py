"""The real opencode, fetched by npm on first use, in a version whose hash is written here."""

import base64
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

from proofs.agents_e2e.environment import ProofError, one_at_a_time
from scripted_model import ScriptedModel

VERSION = "1.18.33"
_HASHES = {
    "linux-x64": (
        "q/t/3p2CTxOT9y2kvjesb/LZab2+1eqlhhWA02Be6mjTtmYtNBcBsrI5yDo4Fw7ZSPBW2oyMIGMNRqiKQjiAWw=="
    ),
}
_CACHE = Path(__file__).resolve().parent / "node_modules"
_SECONDS = 300


def find_opencode() -> Path:
    """The executable. It is fetched if it is missing. Raises `ProofError`."""
    system = f"linux-{'arm64' if platform.machine() == 'aarch64' else 'x64'}"
    found = _CACHE / f"opencode-{VERSION}"
    with one_at_a_time():
        if not found.exists():
            _fetch(system, found)
    return found


def _fetch(system: str, target: Path) -> None:
    npm, digest = shutil.which("npm"), _HASHES.get(system)
    if npm is None or digest is None:
        raise ProofError(f"opencode {VERSION} needs npm and is not pinned for every system.")
    print("opencode: fetching it, once", file=sys.stderr, flush=True)
    _CACHE.mkdir(exist_ok=True)
    name = f"opencode-{system}@{VERSION}"
    try:
        command = [npm, "pack", "--silent", name, "--pack-destination", str(_CACHE)]
        subprocess.run(command, check=True, capture_output=True, timeout=_SECONDS)
    except subprocess.SubprocessError as error:
        raise ProofError(f"npm could not fetch {name}: {error}") from error
    archive = _CACHE / f"opencode-{system}-{VERSION}.tgz"
    fetched = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    if fetched != digest:
        archive.unlink()
        raise ProofError(f"{name} has another hash than the one that is pinned.")
    with tarfile.open(archive) as packed:
        packed.extract("package/bin/opencode", _CACHE, filter="data")
    archive.unlink()
    program = _CACHE / "package" / "bin" / "opencode"
    program.chmod(0o755)
    os.replace(program, target)


def opencode_environment(root: Path, model: ScriptedModel, **settings: object) -> dict[str, str]:
    """Makes a home with opencode and its settings; returns the environment of programs there."""
    (root / "bin").mkdir(parents=True)
    (root / "project").mkdir()
    (root / "bin" / "opencode").symlink_to(find_opencode())
    model_settings = {"name": "m1", "limit": {"context": 200_000, "output": 8_000}}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Scripted",
        "options": {"baseURL": f"{model.openai_url}", "apiKey": "any"},
        "models": {"m1": model_settings},
    }
    config = root / ".config" / "opencode" / "opencode.json"
    config.parent.mkdir(parents=True)
    chosen = {
        "autoupdate": False,
        "share": "disabled",
        "model": "scripted/m1",
        "small_model": "scripted/m1",
        "compaction": {"auto": False},
        "provider": {"scripted": provider},
        **settings,
    }
    config.write_text(json.dumps(chosen))
    return {
        "HOME": str(root),
        "PATH": f"{root}/bin:{Path(sys.executable).parent}:/usr/bin:/bin",
        "PYTHONPATH": str(Path(__file__).resolve().parents[2] / "src"),
        "SAPWOOD_DATA": str(root / "data"),
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
    }
