"""The built wheels, each installed into an environment of its own."""

import subprocess
import sys
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
_DISTRIBUTIONS = (".", "packages/sapwood-server")


class Installation:
    """Wheels of this working copy, and the environments into which they are installed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._wheels = folder / "wheels"

    def build(self) -> None:
        """Builds the wheels."""
        command = ["uv", "build", "--quiet", "--wheel", "--no-build-isolation"]
        for each in _DISTRIBUTIONS:
            subprocess.run(
                [*command, "--out-dir", str(self._wheels), str(_ROOT / each)], check=True
            )

    def install(self, name: str, extra: str = "") -> None:
        """Installs Sapwood into a new environment of this name. Dependencies are downloaded."""
        environment = self.environment(name)
        venv = ["uv", "venv", "--quiet", "--python", sys.executable, str(environment)]
        subprocess.run(venv, check=True)
        (sapwood,) = self._wheels.glob("sapwood-[0-9]*.whl")
        wanted = [f"sapwood{extra} @ {sapwood.as_uri()}"]
        if extra:
            wanted += map(str, self._wheels.glob("sapwood_server-*.whl"))
        install = ["uv", "pip", "install", "--quiet", "--python", str(environment / "bin/python")]
        subprocess.run([*install, *wanted], check=True)

    def environment(self, name: str) -> Path:
        """The folder of an environment."""
        return self._folder / "environments" / name

    def home(self, name: str) -> Path:
        """The folder for a home of this name."""
        return self._folder / "homes" / name
