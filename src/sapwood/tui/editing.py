"""Writing in the person's own editor."""

import os
import shlex
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

__all__ = ["edited", "editor_of"]


def editor_of(environ: Mapping[str, str] = os.environ) -> list[str]:
    """The command that the person set, else one that is everywhere."""
    return shlex.split(environ.get("VISUAL") or environ.get("EDITOR") or "vi")


def edited(text: str, environ: Mapping[str, str] = os.environ) -> str:
    """The text after the editor was closed; as it was if the editor failed."""
    with tempfile.TemporaryDirectory(prefix="sapwood-") as folder:
        file = Path(folder) / "message.md"
        file.write_text(text, encoding="utf-8")
        done = subprocess.run([*editor_of(environ), str(file)], check=False)
        return file.read_text(encoding="utf-8").rstrip("\n") if done.returncode == 0 else text
