"""An earlier version as a user has it: wheels, installed in an environment of their own.

The wheels, of Sapwood and of its engine for Temporal, are built from a revision of the repository,
and their libraries are those that the revision pinned. The environment is beside this file and is
used again by the next run.
"""

import io
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

_HERE = Path(__file__).resolve().parent
_ROOT = _HERE.parents[1]
_EXTRAS = "engine,models,postgres"
_TEMPORAL = "packages/sapwood-temporal"
_NEEDED = ("src", "pyproject.toml", "README.md", "LICENSE", "requirements", _TEMPORAL)


class WheelError(Exception):
    """The wheel could not be built or installed. The text has the reason and the next step."""


def newest_tag() -> str:
    """The newest tag of the repository; empty if it has none."""
    return _output("git", "tag", "--sort=-creatordate").partition("\n")[0]


def installed_wheel(revision: str) -> Path:
    """The interpreter of an environment that has the wheel of this revision."""
    commit = _output("git", "rev-parse", f"{revision}^{{commit}}")
    environment = _HERE / f".venv-{commit[:12]}"
    python, stamp = environment / "bin" / "python", environment / "made-from"
    made_from = f"{commit} {_TEMPORAL} {sys.version}"
    if not stamp.exists() or stamp.read_text() != made_from:
        print(f"building and installing {commit[:12]}, once", flush=True)
        _make(commit, environment)
        stamp.write_text(made_from)
    place = Path(_output(str(python), "-c", "import sapwood; print(sapwood.__file__)"))
    if environment not in place.parents:
        raise WheelError(f"{python} imports {place}, which is not that of the wheel.")
    return python


def _make(commit: str, environment: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="sapwood-wheel-") as name:
        folder = Path(name)
        packed = subprocess.run(
            ["git", "archive", commit, *_NEEDED], cwd=_ROOT, capture_output=True, check=True
        )
        with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
            archive.extractall(folder, filter="data")
        build = ("build", "--quiet", "--wheel", "--no-build-isolation", "--python", sys.executable)
        for source in (folder, folder / _TEMPORAL):
            _uv(*build, "--out-dir", str(folder / "dist"), str(source))
        wheels = sorted((folder / "dist").glob("*.whl"))
        _uv("venv", "--quiet", "--clear", "--python", sys.executable, str(environment))
        pins = ("--constraint", str(folder / "requirements" / "dev.txt"))
        python = ("--python", str(environment / "bin" / "python"))
        named = [f"{it}[{_EXTRAS}]" if it.name.startswith("sapwood-") else str(it) for it in wheels]
        _uv("pip", "install", "--quiet", "--compile-bytecode", *python, *pins, *named)


def _uv(*arguments: str) -> None:
    uv = shutil.which("uv") or shutil.which("uv", path=str(_ROOT / ".venv" / "bin"))
    if uv is None:
        raise WheelError("uv was not found. Run `just setup`, then try again.")
    try:
        subprocess.run([uv, *arguments], check=True, stdout=sys.stderr)
    except subprocess.CalledProcessError as failure:
        raise WheelError(
            f"`uv {arguments[0]}` failed; its message is above. The libraries come from the "
            "package index, so check that it can be reached."
        ) from failure


def _output(*command: str) -> str:
    found = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True)
    if found.returncode:
        raise WheelError(f"`{' '.join(command[:3])}` failed: {found.stderr.strip()}")
    return found.stdout.strip()
